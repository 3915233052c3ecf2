"""
Quotients and all that makes integers of them, which C has one macro for: what is clamped first need not be clamped
again, and infinities never reach the correction of a quotient.

Before, of which the text is that of the last op, from %x, %s and %zero_point:

    %scaled = arith.divf %x, %s {layout.to_integer} : vector<16xf32>
    %shifted = arith.addf %scaled, %zero_point : vector<16xf32>
    %clamped = (the lesser of 127.0 and the greater of %shifted and -128.0)
    %sum = arith.addf %clamped, 12582912.0 : vector<16xf32>
    %nan = arith.cmpf uno, %shifted, %shifted : vector<16xf32>
    %rounded = arith.select %nan, 0.0, %sum : vector<16xi1>, vector<16xf32>
"""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.c_quotient import is_by_products
from layoutc.targets.patterns.two_products import Integers, two_products
from layoutc.targets.words.vectors import F32_LANES, splat
from layoutc.walk import operands, relation

TO_LOW_BITS = 12582912.0
"""what is added to a number so that its low bits are the integer"""


class Rounded(NamedTuple):
    """The number that is clamped and rounded, and its limits."""

    number: SSAValue
    low: float
    high: float


class Quotient(NamedTuple):
    """What a number is divided by, and what is added then, if anything is."""

    dividend: SSAValue
    divisor: SSAValue
    zero_point: SSAValue | None

    def factors(self, low: float, high: float) -> tuple[float, float] | None:
        """The two products that are as good as the quotient, if the divisor is known and they are."""
        divisor = splat(self.divisor)
        zero_point = 0.0 if self.zero_point is None else splat(self.zero_point)
        if divisor is None or zero_point is None:
            return None
        return two_products(divisor, Integers(int(low), int(high), zero_point))


class Whole(NamedTuple):
    """What integers are made from, and their range."""

    quotient: Quotient
    low: float
    high: float

    @property
    def operands(self) -> tuple[SSAValue, ...]:
        """What the text is made from."""
        return tuple(value for value in self.quotient if value is not None)

    @property
    def factors(self) -> tuple[float, float] | None:
        """The two products that are as good as the quotient, if there are such."""
        return self.quotient.factors(self.low, self.high)

    @property
    def helper(self) -> str:
        """The macro that makes them, where the divisor is not known."""
        return f"whole{'' if self.quotient.zero_point is None else '_shifted'}_f32x{F32_LANES}"


def whole(op: Operation) -> Whole | None:
    """The chain that an op ends, if it is one and products make it."""
    found = rounded(op)
    divided = None if found is None else division_of(found.number)
    if found is None or divided is None or not is_by_products(divided):
        return None
    return Whole(quotient_of(found.number, divided), found.low, found.high)


def rounded(op: Operation) -> Rounded | None:
    """The number whose integer an op has as its low bits; unsigned integers have no choice at the end."""
    if op.__class__ is arith.SelectOp and splat(operands(op)[1]) == 0.0:
        asked, total = operands(op)[0].owner, operands(op)[2].owner
        if not (isinstance(asked, arith.CmpfOp) and isinstance(total, arith.AddfOp)) or relation(asked) != "uno":
            return None
        found = _rounded(total)
        return found if found and asked.lhs is asked.rhs and asked.lhs is found.number else None
    found = _rounded(op) if op.__class__ is arith.AddfOp else None
    return found if found and found.low >= 0 else None


def _rounded(total: Operation) -> Rounded | None:
    """What a sum whose low bits are integers is made from."""
    if splat(operands(total)[1]) != TO_LOW_BITS:
        return None
    above, high = _extremum(operands(total)[0], "olt")
    number, low = _extremum(above, "ogt")
    return None if number is None or low is None or high is None else Rounded(number, low, high)


def division_of(number: SSAValue) -> arith.DivfOp | None:
    """The division that makes a number, before something may be added."""
    scaled = number.owner.lhs.owner if isinstance(number.owner, arith.AddfOp) else number.owner
    return scaled if isinstance(scaled, arith.DivfOp) else None


def quotient_of(number: SSAValue, division: arith.DivfOp) -> Quotient:
    """The parts of a number that a division makes."""
    zero_point = number.owner.rhs if isinstance(number.owner, arith.AddfOp) else None
    return Quotient(division.lhs, division.rhs, zero_point)


def _extremum(value: SSAValue | None, word: str) -> tuple[SSAValue | None, float | None]:
    """The first operand and the constant that a choice compares like this."""
    op = None if value is None else value.owner
    if op.__class__ is not arith.SelectOp:
        return None, None
    condition, yes, no = operands(cast("Operation", op))
    asked = condition.owner
    if not isinstance(asked, arith.CmpfOp):
        return None, None
    lhs, rhs = operands(asked)
    is_it = lhs is yes and rhs is no and relation(asked) == word
    return (yes, splat(no)) if is_it else (None, None)
