"""
Lanes of 32 bits that are clamped and become bytes, which processors narrow two registers at a time, saturating.

Before, of which the text is that of the last op, from what is clamped:

    %low = arith.maxsi %x, %c-128 : vector<8xi32>
    %clamped = arith.minsi %low, %c127 : vector<8xi32>             (and so %b, %c and %d)
    %bytes = (the low bytes of %clamped, %b, %c and %d, as `fourth_bytes` finds them)

What is clamped may be an f32 that is rounded (`whole_ops`): its low bits are those of the integer. Integers in the
largest registers are clamped one by one, and their low bytes taken by shuffles of two registers (`c_low_bytes`): L2
takes 1.00 of that, DRAM 1.07 of 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp
from typing import NamedTuple, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.c_quotient import becomes_integer
from layoutc.targets.patterns.fourth_bytes import BYTE, WORD, as_lanes
from layoutc.targets.patterns.whole_ops import Quotient, division_of, quotient_of, rounded
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.vectors import lane_type, lanes_in, splat
from layoutc.walk import operands

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
        """What the text is made from: all dividends, then all divisors, then all zero points."""
        if not self.quotients:
            return self.numbers
        parts = zip(*self.quotients, strict=True)
        return tuple(value for part in parts for value in part if value is not None)

    @property
    def narrow(self) -> Named:
        """What they become: integers within narrower limits are signed bytes on their way."""
        return Named(LIMITS.get(self.limits, "i"), BYTE, len(self.numbers) * self.wide.lanes)


def saturated(registers: Sequence[SSAValue]) -> Saturated | None:
    """What the registers are clamped from whose low bytes an op has side by side (`fourth_bytes`)."""
    if len(registers) not in REGISTERS:
        return None
    words = [as_lanes(register, WORD) for register in registers]
    found = [clamped for each in words if each is not None and (clamped := _clamped(each)) is not None]
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
