"""Pure ops as tables from the op to its function on NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, VectorType
from xdsl.ir import Operation

from layoutc.interpreter.values import (
    Array,
    Fault,
    from_python,
    quieted,
    rounded,
    signed,
    unsigned,
    value_dtype,
    wrapped,
)

Function = Callable[..., Any]
PureOp = Callable[[Any, tuple[Array, ...]], Array]
"""From an op and the values of its operands to the value of its result."""


def result_dtype(op: Operation) -> np.dtype[Any]:
    return value_dtype(op.results[0].type)


def refuse(op: Operation, bad: Array, what: str) -> None:
    if np.any(bad):
        raise Fault(f"{op.name}: {what}")


# --- integers --------------------------------------------------------------------------------------------------


def truncated_quotient(x: Array, y: Array) -> Array:
    return (x - np.fmod(x, y)) // y


def ceiling_quotient(x: Array, y: Array) -> Array:
    quotient = x // y
    return quotient + (quotient * y != x)


def _integer(view: Function, function: Function, op: Operation, args: tuple[Array, ...]) -> Array:
    return wrapped(function(*map(view, args)), result_dtype(op))


def _division(view: Function, function: Function, op: Operation, args: tuple[Array, ...]) -> Array:
    x, y = map(view, args)
    refuse(op, y == 0, "division by zero")
    if y.dtype.kind == "i":
        refuse(op, (y == -1) & (x == np.iinfo(x.dtype).min), "the quotient overflows")
    return wrapped(function(x, y), result_dtype(op))


def _shift(view: Function, function: Function, op: Operation, args: tuple[Array, ...]) -> Array:
    x, by = view(args[0]), unsigned(args[1])
    bits = 1 if args[0].dtype.kind == "b" else 8 * args[0].dtype.itemsize
    refuse(op, by >= bits, f"shift by {bits} bits or more")
    return wrapped(function(x, by.astype(x.dtype)), result_dtype(op))


INTEGER: dict[type[Operation], Function] = {
    arith.AddiOp: partial(_integer, unsigned, np.add),
    arith.SubiOp: partial(_integer, unsigned, np.subtract),
    arith.MuliOp: partial(_integer, unsigned, np.multiply),
    arith.AndIOp: partial(_integer, unsigned, np.bitwise_and),
    arith.OrIOp: partial(_integer, unsigned, np.bitwise_or),
    arith.XOrIOp: partial(_integer, unsigned, np.bitwise_xor),
    arith.MinSIOp: partial(_integer, signed, np.minimum),
    arith.MaxSIOp: partial(_integer, signed, np.maximum),
    arith.MinUIOp: partial(_integer, unsigned, np.minimum),
    arith.MaxUIOp: partial(_integer, unsigned, np.maximum),
    arith.DivSIOp: partial(_division, signed, truncated_quotient),
    arith.DivUIOp: partial(_division, unsigned, np.floor_divide),
    arith.FloorDivSIOp: partial(_division, signed, np.floor_divide),
    arith.CeilDivSIOp: partial(_division, signed, ceiling_quotient),
    arith.CeilDivUIOp: partial(_division, unsigned, ceiling_quotient),
    arith.RemSIOp: partial(_division, signed, np.fmod),
    arith.RemUIOp: partial(_division, unsigned, np.fmod),
    arith.ShLIOp: partial(_shift, unsigned, np.left_shift),
    arith.ShRUIOp: partial(_shift, unsigned, np.right_shift),
    arith.ShRSIOp: partial(_shift, signed, np.right_shift),
}

# --- floats ----------------------------------------------------------------------------------------------------


def _minimum(of_unequal: Function, x: Array, y: Array) -> Array:
    """Of equal operands (zeros of two signs) the negative one."""
    return np.where(x == y, np.where(np.signbit(x), x, y), of_unequal(x, y))


def _maximum(of_unequal: Function, x: Array, y: Array) -> Array:
    return np.where(x == y, np.where(np.signbit(x), y, x), of_unequal(x, y))


FLOAT: dict[type[Operation], Function] = {
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.DivfOp: np.true_divide,
    arith.NegfOp: np.negative,
    arith.MinimumfOp: partial(_minimum, np.minimum),
    arith.MaximumfOp: partial(_maximum, np.maximum),
    arith.MinnumfOp: partial(_minimum, np.fmin),
    arith.MaxnumfOp: partial(_maximum, np.fmax),
    math.RoundEvenOp: np.rint,
}


def _float(function: Function, op: Operation, args: tuple[Array, ...]) -> Array:
    return np.asarray(function(*args)).astype(result_dtype(op))


# --- comparisons, selection ------------------------------------------------------------------------------------

INTEGER_PREDICATES: tuple[tuple[Function, Function], ...] = (
    *((signed, f) for f in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)),
    *((unsigned, f) for f in (operator.lt, operator.le, operator.gt, operator.ge)),
)
"""In the order of arith.cmpi's predicates."""


def _never(x: Array, y: Array) -> Array:
    return np.zeros(np.broadcast_shapes(x.shape, y.shape), np.bool_)


def _always(x: Array, y: Array) -> Array:
    return ~_never(x, y)


_SIX = (operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne)
FLOAT_PREDICATES: tuple[Function, ...] = (_never, *_SIX, _always, *_SIX, _never, _always)
"""In the order of arith.cmpf's predicates: the first 8 hold on ordered operands only, the others on unordered too."""


def _compare_integers(op: arith.CmpiOp, args: tuple[Array, ...]) -> Array:
    view, predicate = INTEGER_PREDICATES[op.predicate.value.data]
    return predicate(*map(view, args))


def _compare_floats(op: arith.CmpfOp, args: tuple[Array, ...]) -> Array:
    code, (x, y) = op.predicate.value.data, args
    unordered, holds = np.isnan(x) | np.isnan(y), FLOAT_PREDICATES[code](x, y)
    return holds & ~unordered if code < 8 else holds | unordered


def _select(op: Operation, args: tuple[Array, ...]) -> Array:
    result_dtype(op)  # faults for memrefs
    condition, *choices = args
    of_lanes = isinstance(op.results[0].type, VectorType) and not isinstance(op.operands[0].type, VectorType)
    return np.where(condition[..., None] if of_lanes else condition, *choices)


# --- constants, casts ------------------------------------------------------------------------------------------


def _constant(op: arith.ConstantOp, _: tuple[Array, ...]) -> Array:
    match op.value:
        case IntegerAttr() | FloatAttr() as value:
            return from_python(value.value.data, result_dtype(op))
        case DenseIntOrFPElementsAttr() as values if isinstance(op.result.type, VectorType):
            dtype = result_dtype(op)
            return np.stack([from_python(value, dtype) for value in cast("Sequence[float]", values.get_values())])
        case value:
            raise Fault(f"no interpretation for the constant {value}")


def _resize(view: Function, op: Operation, args: tuple[Array, ...]) -> Array:
    return wrapped(view(args[0]), result_dtype(op))


def _from_integer(view: Function, op: Operation, args: tuple[Array, ...]) -> Array:
    return rounded(view(args[0]), result_dtype(op))


def _to_integer(view: Function, op: Operation, args: tuple[Array, ...]) -> Array:
    """Towards zero; a value that the integer type cannot hold has no result."""
    dtype = result_dtype(op)
    limits = np.iinfo(view(np.zeros((), dtype)).dtype)
    whole = np.trunc(args[0].astype(np.float64))
    holds = (whole >= float(limits.min)) & (whole < float(int(limits.max) + 1))
    refuse(op, ~holds, f"a value does not fit {op.results[0].type}")
    return whole.astype(limits.dtype).view(dtype)


def _round(op: Operation, args: tuple[Array, ...]) -> Array:
    return rounded(quieted(args[0]), result_dtype(op))


def reinterpret(op: Operation, args: tuple[Array, ...]) -> Array:
    """The same bits as another type of the same width."""
    dtype = result_dtype(op)
    if (args[0].dtype.itemsize, args[0].dtype == np.bool_) != (dtype.itemsize, dtype == np.bool_):
        raise Fault(f"{op.name}: {op.operands[0].type} and {op.results[0].type} differ in width")
    return args[0].view(dtype)


CASTS: dict[type[Operation], Function] = {
    arith.ConstantOp: _constant,
    arith.SelectOp: _select,
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.IndexCastOp: partial(_resize, signed),
    arith.TruncIOp: partial(_resize, unsigned),
    arith.ExtSIOp: partial(_resize, signed),
    arith.ExtUIOp: partial(_resize, unsigned),
    arith.SIToFPOp: partial(_from_integer, signed),
    arith.UIToFPOp: partial(_from_integer, unsigned),
    arith.FPToSIOp: partial(_to_integer, signed),
    arith.FPToUIOp: partial(_to_integer, unsigned),
    arith.ExtFOp: _round,
    arith.TruncFOp: _round,
    arith.BitcastOp: reinterpret,
}

ARITHMETIC: dict[type[Operation], PureOp] = {
    **INTEGER,
    **{op: partial(_float, function) for op, function in FLOAT.items()},
    **CASTS,
}
