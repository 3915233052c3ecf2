"""
What is narrowed to bf16 by one helper: two registers that go side by side, and numbers whose NaN become the usual one.

Where a processor narrows two registers by one instruction, and asks for NaN and subnormals at once, both are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any, NamedTuple, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import BFloat16Type, DenseIntOrFPElementsAttr, FloatAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.discardable import IS_NORMAL, IS_SCALED
from layoutc.targets.patterns.c_quotient import stands_beside
from layoutc.targets.words.c_types import once_per_type
from layoutc.targets.words.vectors import CASTS, F32_LANES, is_f32_register, shuffled, side_by_side
from layoutc.walk import operands, relation


class Narrowed(NamedTuple):
    """
    The f32 that lanes of bf16 are narrowed from, register by register, whether all NaN become the usual one, and
    whether none is subnormal. Both may be asked of the parameters that scaled integers, if there are any.
    """

    numbers: Sequence[SSAValue]
    has_usual_nan: bool
    is_normal: bool
    params: Sequence[SSAValue] = ()

    @property
    def operands(self) -> Sequence[SSAValue]:
        """What the text is made from."""
        return (*self.numbers, *self.params)

    @property
    def kind(self) -> tuple[bool, bool, bool]:
        """What registers have in common that are narrowed together."""
        return self.has_usual_nan, self.is_normal, bool(self.params)


def narrowed(op: Operation) -> Narrowed | None:
    """What an op narrows: a truncf, or a shuffle that puts two of them side by side. None for other ops."""
    if op.__class__ is not vector.ShuffleOp:
        return _truncated(cast("arith.TruncFOp", op)) if op.__class__ is arith.TruncFOp else None
    if shuffled(op) != side_by_side(F32_LANES):
        return None
    low, high = (_narrowed_once(operand) for operand in op.operands)
    if low is None or high is None or low.kind != high.kind:
        return None
    params = tuple(dict.fromkeys((*low.params, *high.params)))
    return Narrowed((*low.numbers, *high.numbers), low.has_usual_nan, low.is_normal, params)


def helper_of(found: Narrowed) -> str:
    """The helper that narrows so many registers."""
    usual = "narrow_scaled_bf16" if found.params else "narrow_usual_bf16"
    word = usual if found.has_usual_nan else "narrow_normal_bf16" if found.is_normal else "narrow_bf16"
    return f"{word}_f32x{F32_LANES * len(found.numbers)}"


def _narrowed_once(value: SSAValue) -> Narrowed | None:
    """What a value that nobody else uses was narrowed from, whatever its bits are called."""
    while (op := value.owner).__class__ in CASTS and value.has_one_use():
        (value,) = operands(cast("Operation", op))
    is_narrowed = op.__class__ is arith.TruncFOp and value.has_one_use()
    return _truncated(cast("arith.TruncFOp", op)) if is_narrowed else None


def _truncated(op: arith.TruncFOp) -> Narrowed | None:
    (given,) = operands(op)
    if not (is_f32_register(given.type) and _is_bf16(op.results[0].type)):
        return None
    number = with_any_nan(given)
    if number is None:
        return Narrowed((given,), False, IS_NORMAL in op.attributes)
    return Narrowed((number,), True, False, _scaled_by(number, op) if IS_SCALED in op.attributes else ())


def _scaled_by(product: SSAValue, op: Operation) -> Sequence[SSAValue]:
    """
    The parameters of a product, if they are constants, stand ahead of a loop around it or are given to a function: then
    they are asked once, and numbers often.
    """
    if not isinstance(product.owner, arith.MulfOp):
        return ()
    difference, scale = operands(product.owner)
    found = (scale, operands(difference.owner)[1]) if isinstance(difference.owner, arith.SubfOp) else (scale,)
    return () if any(stands_beside(each, op) for each in found) else found


@once_per_type
def _is_bf16(type: Attribute) -> bool:
    return isinstance(type, VectorType) and isinstance(cast("VectorType[Any]", type).element_type, BFloat16Type)


def with_any_nan(value: SSAValue) -> SSAValue | None:
    """The numbers of which NaN were replaced by the usual one, if that is what a value is."""
    op = value.owner
    if not isinstance(op, arith.SelectOp):
        return None
    condition, yes, no = operands(op)
    if not isinstance(asked := condition.owner, arith.CmpfOp):
        return None
    lhs, rhs = operands(asked)
    is_nan = relation(asked) == "uno"
    return no if is_nan and lhs is rhs is no and _is_usual_nan(yes) else None


def _is_usual_nan(value: SSAValue) -> bool:
    """Whether all lanes are the quiet NaN without payload, as constants of it are."""
    op = value.owner
    if isinstance(op, vector.BroadcastOp):
        op = op.source.owner
    if not isinstance(op, arith.ConstantOp):
        return False
    if isinstance(op.value, FloatAttr):
        return isnan(op.value.value.data)
    return isinstance(op.value, DenseIntOrFPElementsAttr) and all(map(isnan, op.value.get_values()))  # pyright: ignore[reportArgumentType]
