"""
Lanes of 32 bits that are clamped and become bytes, which processors narrow two registers at a time, saturating.

Before, of which the text is that of the last op, from what is clamped:

    %low = arith.maxsi %x, %c-128 : vector<8xi32>
    %clamped = arith.minsi %low, %c127 : vector<8xi32>             (and so %b, %c and %d)
    %a = vector.bitcast %clamped : vector<8xi32> to vector<16xi16>
    %ab = vector.shuffle %a, %b [0, 2, 4, ..., 30] : vector<16xi16>, vector<16xi16>
    %pairs = vector.bitcast %ab : vector<16xi16> to vector<32xi8>  (and so %others)
    %bytes = vector.shuffle %pairs, %others [0, 2, 4, ..., 62] : vector<32xi8>, vector<32xi8>

as well as what makes lanes narrow by themselves, and joins them. What is clamped may be an f32 that is rounded
(`whole_ops`): its low bits are those of the integer. Integers in the largest registers are clamped one by one, and
their low bytes taken by shuffles of two registers (`c_low_bytes`): L2 takes 1.00 of that, DRAM 1.07 of 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp
from typing import NamedTuple, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.c_quotient import becomes_integer
from layoutc.targets.patterns.whole_ops import Quotient, division_of, quotient_of, rounded
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.vectors import CASTS, as_shuffled, lane_bits, lane_type, lanes_in, shuffled, splat
from layoutc.walk import operands

WORD, PAIR, BYTE = 32, 16, 8
"""bits of the lanes on the way"""
LANES = (4, 8, 16)
"""of words in a register"""
REGISTERS = (2, 4)
"""that become a half of one, or one"""
HALF = 0.5
"""the mantissa of a power of two"""
LEAST_HALF = 16
"""bytes of a register, below which a half of one is none"""
LIMITS = {(-128, 127): "i", (0, 255): "u"}
"""what bytes saturate to by themselves -> their kind"""
SIGNED = range(-128, 128)
"""other limits: whole numbers that bytes with a sign have"""
EVEN = {count: as_shuffled(range(0, 2 * count, 2)) for count in (8, 16, 32, 64)}
"""every second lane of two registers of so many"""
SIDE_BY_SIDE = {count: as_shuffled(range(2 * count)) for count in (4, 8, 16, 32)}


class Clamped(NamedTuple):
    """The number that is clamped, and to what."""

    number: SSAValue
    low: float
    high: float


class Saturated(NamedTuple):
    """
    What is clamped, register by register, and its limits; of quotients the parts, and the two factors that are as good
    as a known divisor.
    """

    numbers: tuple[SSAValue, ...]
    limits: tuple[int, int]
    wide: Named
    quotients: tuple[Quotient, ...] = ()
    factors: tuple[tuple[float, float], ...] = ()

    @property
    def operands(self) -> tuple[SSAValue, ...]:
        """What the text mentions: all dividends, then all divisors, then all zero points."""
        if not self.quotients:
            return self.numbers
        parts = zip(*self.quotients, strict=True)
        return tuple(value for part in parts for value in part if value is not None)

    @property
    def narrow(self) -> Named:
        """What they become: integers within narrower limits are signed bytes on their way."""
        return Named(LIMITS.get(self.limits, "i"), BYTE, len(self.numbers) * self.wide.lanes)


def saturated(op: Operation) -> Saturated | None:
    """The registers whose clamped lanes an op has as bytes, if it is the last one that makes them so."""
    if op.__class__ not in (vector.ShuffleOp, arith.TruncIOp) or lane_bits(op.results[0].type) != BYTE:
        return None
    registers = _registers(op)
    if registers is None or len(registers) not in REGISTERS:
        return None
    found = [clamped for register in registers if (clamped := _clamped(register)) is not None]
    kinds = {(lanes_in(each.number), lane_type(each.number.type) == f32, each.low, each.high) for each in found}
    if len(found) != len(registers) or len(kinds) > 1:
        return None
    ((lanes, is_float, low, high),) = kinds
    is_narrow = (low, high) in LIMITS or (low in SIGNED and high in SIGNED)
    if lanes not in LANES or lanes * len(registers) < LEAST_HALF or not is_narrow:
        return None
    if not is_float and lanes == LANES[-1]:
        return None
    numbers, limits = tuple(each.number for each in found), (int(low), int(high))
    made = Saturated(numbers, limits, Named("f" if is_float else "i", WORD, lanes))
    return _with_quotients(made) if is_float else made


def _with_quotients(made: Saturated) -> Saturated:
    """The same with the parts of its numbers, if all are quotients."""
    quotients = [quotient for number in made.numbers if (quotient := _by_products(number)) is not None]
    if len(quotients) != len(made.numbers) or len({each.zero_point is None for each in quotients}) > 1:
        return made
    factors = [factors for each in quotients if (factors := each.factors(*made.limits)) is not None]
    is_known = len(factors) == len(quotients)
    return made._replace(quotients=tuple(quotients), factors=tuple(factors) if is_known else ())


def _by_products(number: SSAValue) -> Quotient | None:
    """The parts of a quotient by what divides more than it; by a power of two it is a product."""
    division = division_of(number)
    if division is None or not becomes_integer(division):
        return None
    divisor = splat(division.rhs)
    if divisor is not None and abs(frexp(divisor)[0]) == HALF:
        return None
    return quotient_of(number, division)


def _registers(op: Operation) -> list[SSAValue] | None:
    """The registers of words whose low bytes an op has side by side, each for nothing else."""
    result = op.results[0]
    if op.__class__ is arith.TruncIOp:
        (words,) = operands(op)
        return [words] if lane_bits(words.type) == WORD else _pair(words)
    if op.__class__ is not vector.ShuffleOp:
        return None
    lanes, sides = shuffled(op), operands(op)
    count = lanes_in(sides[0])
    if lanes == SIDE_BY_SIDE.get(count):
        return _both([_registers(made) if (made := _behind(side)) else None for side in sides])
    if lanes != EVEN.get(count) or lane_bits(result.type) != BYTE:
        return None
    pairs = [_as_lanes(side, PAIR) for side in sides]
    return _both([_pair(pair) if pair is not None else None for pair in pairs])


def _pair(value: SSAValue) -> list[SSAValue] | None:
    """The two registers of words of which a value has every lower half."""
    op = value.owner
    if op.__class__ is not vector.ShuffleOp or not value.has_one_use():
        return None
    shuffle = cast("Operation", op)
    sides = operands(shuffle)
    if shuffled(shuffle) != EVEN.get(lanes_in(sides[0])) or lane_bits(value.type) != PAIR:
        return None
    words = [_as_lanes(side, WORD) for side in sides]
    return None if None in words else cast("list[SSAValue]", words)


def _both(found: Sequence[list[SSAValue] | None]) -> list[SSAValue] | None:
    """The registers of both sides."""
    first, second = found
    return None if first is None or second is None else first + second


def _behind(value: SSAValue) -> Operation | None:
    """The op that makes a value for nothing else, whatever sign its bytes are said to have meanwhile."""
    while value.owner.__class__ in CASTS and value.has_one_use():
        (value,) = operands(cast("Operation", value.owner))
    return value.owner if isinstance(value.owner, Operation) and value.has_one_use() else None


def _as_lanes(value: SSAValue, bits: int) -> SSAValue | None:
    """The value of so many bits a lane that another one has by other names."""
    while value.owner.__class__ in CASTS and value.has_one_use() and lane_bits(value.type) != bits:
        (value,) = operands(cast("Operation", value.owner))
    return value if lane_bits(value.type) == bits else None


def _clamped(words: SSAValue) -> Clamped | None:
    """What words are that nobody else uses: integers within limits, or the bits of a number that was rounded."""
    if not words.has_one_use() or not isinstance(words.owner, Operation):
        return None
    if words.owner.__class__ is arith.BitcastOp:
        (sum,) = operands(words.owner)
        found = rounded(sum.owner) if isinstance(sum.owner, Operation) and sum.has_one_use() else None
        return None if found is None else Clamped(found.number, found.low, found.high)
    above, high = _limited(words, arith.MinSIOp)
    number, low = (None, None) if above is None else _limited(above, arith.MaxSIOp)
    return None if number is None or low is None or high is None else Clamped(number, low, high)


def _limited(value: SSAValue, kind: type[Operation]) -> tuple[SSAValue | None, float | None]:
    """What is limited, and the limit."""
    op = value.owner
    if op.__class__ is not kind:
        return None, None
    number, limit = operands(cast("Operation", op))
    return number, splat(limit)
