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
WHOLE = (arith.SelectOp, arith.AddfOp)
"""ops that such a chain may end with"""


class Whole(NamedTuple):
    """What integers are made from, and their range."""

    dividend: SSAValue
    divisor: SSAValue
    zero_point: SSAValue | None
    low: float
    high: float

    @property
    def operands(self) -> tuple[SSAValue, ...]:
        """What the text mentions."""
        given = (self.dividend, self.divisor)
        return given if self.zero_point is None else (*given, self.zero_point)

    @property
    def factors(self) -> tuple[float, float] | None:
        """The two products that are as good as the quotient, if the divisor is known and they are."""
        divisor = splat(self.divisor)
        zero_point = 0.0 if self.zero_point is None else splat(self.zero_point)
        if divisor is None or zero_point is None:
            return None
        return two_products(divisor, Integers(int(self.low), int(self.high), zero_point))

    @property
    def helper(self) -> str:
        """The macro that makes them."""
        word = "whole" if self.factors is None else "whole_known"
        return f"{word}_f32x{F32_LANES}" if self.zero_point is None else f"{word}_shifted_f32x{F32_LANES}"

    @property
    def numbers(self) -> tuple[float, ...]:
        """What the macro is given behind the operands."""
        return *(self.factors or ()), self.low, self.high


def whole(op: Operation) -> Whole | None:
    """The chain that an op ends, if it is one and products make it; unsigned integers have no choice at its end."""
    if op.__class__ is arith.SelectOp and splat(operands(op)[1]) == 0.0:
        asked, total = operands(op)[0].owner, operands(op)[2].owner
        if not (isinstance(asked, arith.CmpfOp) and isinstance(total, arith.AddfOp)) or relation(asked) != "uno":
            return None
        found = _chain(total)
        return found if found and asked.lhs is asked.rhs and asked.lhs is _clamped(total)[0] else None
    found = _chain(op) if op.__class__ is arith.AddfOp else None
    return found if found and found.low >= 0 else None


def _chain(total: Operation) -> Whole | None:
    """What a sum whose low bits are integers is made from."""
    if splat(operands(total)[1]) != TO_LOW_BITS:
        return None
    number, low, high = _clamped(total)
    if number is None or low is None or high is None:
        return None
    zero_point = number.owner.rhs if isinstance(number.owner, arith.AddfOp) else None
    scaled = number.owner.lhs.owner if isinstance(number.owner, arith.AddfOp) else number.owner
    if not isinstance(scaled, arith.DivfOp) or not is_by_products(scaled):
        return None
    return Whole(scaled.lhs, scaled.rhs, zero_point, low, high)


def _clamped(total: Operation) -> tuple[SSAValue | None, float | None, float | None]:
    """The number that is clamped, and to what."""
    above, high = _extremum(operands(total)[0], "olt")
    number, low = _extremum(above, "ogt")
    return number, low, high


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
