"""
Building arithmetic on values of one shape: scalars, or vectors of so many lanes.

What is written once in these words runs on both: `lanes.add(x, 1.0)` is an arith.addf on f32 or on vector<16xf32>.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import isfinite
from typing import Any, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import created, give_name, inserted
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.building.vector_ops import integer_type, vector_type

NO_FLAGS = arith.FastMathFlagsAttr("none")
NO_PROMISES: dict[str, Attribute] = {"fastmath": NO_FLAGS, "overflowFlags": vector_ops.CANNOT_OVERFLOW}
Operand: TypeAlias = "SSAValue | int | float"

_PAIRS: dict[str, tuple[type[Operation] | None, type[Operation] | None]] = {
    "add": (arith.AddiOp, arith.AddfOp),
    "sub": (arith.SubiOp, arith.SubfOp),
    "mul": (arith.MuliOp, arith.MulfOp),
    "div": (None, arith.DivfOp),
}


@dataclass(frozen=True)
class Lanes:
    """A place to build at, where constants stand, and how many lanes values have (None: they are scalars)."""

    builder: Builder
    nest: NestBuilder
    count: int | None = None

    def at(self, builder: Builder) -> Lanes:
        """The same lanes at another place."""
        return replace(self, builder=builder)

    def type(self, element: Attribute) -> Attribute:
        """The type of a value of these elements."""
        return element if self.count is None else vector_type(element, self.count)

    def element(self, value: SSAValue) -> Attribute:
        """The type of the elements of a value."""
        type: Any = value.type
        return value.type if self.count is None else type.element_type

    def bits(self, value: SSAValue) -> int:
        """How wide the elements of a value are."""
        element: Any = self.element(value)
        return element.bitwidth

    def is_float(self, value: SSAValue) -> bool:
        """Whether the elements are numbers that arithmetic is done on as floats."""
        return isinstance(self.element(value), Float32Type | Float64Type)

    # --- constants -------------------------------------------------------------------------------------------------

    def constant(self, number: int | float, element: Attribute) -> SSAValue:
        """A constant, ahead of the loops; integers are taken modulo their width."""
        type: Any = element
        # Numbers and names have their hashes at hand, attributes those of all their parts.
        if element.__class__ is IntegerType:
            key = _wrapped(int(number), type.bitwidth), type.bitwidth, self.count
        else:
            key = float(number).hex(), element.name, self.count
        if (known := self.nest.numbers.get(key)) is None:
            known = self.nest.numbers[key] = self._made(key[0], type)
        return known

    def _made(self, number: int | str, type: Any) -> SSAValue:
        """A constant, a float by its bits: 0.0 and -0.0 are equal."""
        value = number if isinstance(number, int) else float.fromhex(number)
        if self.count is not None and not isfinite(value):
            # One lane is printed, and not all of them, as NaN is no equal of itself.
            return self.nest.spread(FloatAttr(value, type), vector_type(type, self.count))
        return self.nest.element(_number(number, type, self.count))

    def like(self, number: Operand, value: SSAValue) -> SSAValue:
        """A number as a constant of a value's type."""
        return number if isinstance(number, SSAValue) else self.constant(number, self.element(value))

    def spread(self, value: SSAValue) -> SSAValue:
        """A scalar in all lanes."""
        if self.count is None:
            return value
        return self.insert(created(vector.BroadcastOp, (value,), vector_type(value.type, self.count)), value.name_hint)

    # --- parts -----------------------------------------------------------------------------------------------------

    def part(self, value: SSAValue, start: int, count: int | None) -> SSAValue:
        """So many lanes of a value; of a scalar, and of all lanes, the value itself."""
        if count == self.count or count is None:
            return value
        return vector_ops.part(self.builder, value, range(start, start + count), self.element(value))

    # --- ops -------------------------------------------------------------------------------------------------------

    def insert(self, op: Operation, name: str | None = None) -> SSAValue:
        """An op, and its result under a name."""
        result = inserted(self.builder, op)
        give_name(result, name)
        return result

    def binary(self, kind: type[Operation], a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        """The result of an op on two values of one type."""
        return self.insert(created(kind, (a, self.like(b, a)), a.type, _flags(kind)), name)

    def _arithmetic(self, word: str, a: SSAValue, b: Operand, name: str | None) -> SSAValue:
        kind = _PAIRS[word][self.is_float(a)]
        assert kind is not None
        return self.binary(kind, a, b, name)

    def add(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        return self._arithmetic("add", a, b, name)

    def sub(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        return self._arithmetic("sub", a, b, name)

    def mul(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        return self._arithmetic("mul", a, b, name)

    def div(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        return self._arithmetic("div", a, b, name)

    def and_(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        return self.binary(arith.AndIOp, a, b, name)

    def or_(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        return self.binary(arith.OrIOp, a, b, name)

    def xor(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        return self.binary(arith.XOrIOp, a, b, name)

    def shl(self, a: SSAValue, places: Operand, name: str | None = None) -> SSAValue:
        return self.binary(arith.ShLIOp, a, places, name)

    def shr(self, a: SSAValue, places: Operand, name: str | None = None) -> SSAValue:
        """Zeros come in from the left."""
        return self.binary(arith.ShRUIOp, a, places, name)

    def sar(self, a: SSAValue, places: Operand, name: str | None = None) -> SSAValue:
        """Copies of the sign come in from the left."""
        return self.binary(arith.ShRSIOp, a, places, name)

    def compare(self, predicate: str, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        """A comparison by the word that arith.cmpf or arith.cmpi has for it."""
        other = self.like(b, a)
        kind = arith.CmpfOp if self.is_float(a) else arith.CmpiOp
        return self.insert(created(kind, (a, other), self.type(i1), _asked(kind, predicate)), name)

    def select(self, condition: SSAValue, yes: Operand, no: SSAValue, name: str | None = None) -> SSAValue:
        chosen = (condition, self.like(yes, no), no)
        return self.insert(created(arith.SelectOp, chosen, no.type), name)

    def least(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        """The lesser of two signed integers."""
        return self.binary(arith.MinSIOp, a, b, name)

    def most(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        """The greater of two signed integers."""
        return self.binary(arith.MaxSIOp, a, b, name)

    def least_unsigned(self, a: SSAValue, b: Operand, name: str | None = None) -> SSAValue:
        return self.binary(arith.MinUIOp, a, b, name)

    def round_even(self, a: SSAValue, name: str | None = None) -> SSAValue:
        """To the nearest whole number, half to even."""
        return self.insert(created(math.RoundEvenOp, (a,), a.type, _flags(math.RoundEvenOp)), name)

    # --- casts -----------------------------------------------------------------------------------------------------

    def _cast(self, kind: type[Operation], a: SSAValue, element: Attribute, name: str | None) -> SSAValue:
        type = self.type(element)
        return a if a.type is type or a.type == type else self.insert(created(kind, (a,), type), name)

    def bitcast(self, a: SSAValue, element: Attribute, name: str | None = None) -> SSAValue:
        """The same bits as another type."""
        return self._cast(arith.BitcastOp, a, element, name)

    def as_bits(self, a: SSAValue, name: str | None = None) -> SSAValue:
        """The bits of a float."""
        return self.bitcast(a, integer_type(self.bits(a)), name)

    def widen(self, a: SSAValue, width: int, is_signed: bool, name: str | None = None) -> SSAValue:
        """An integer of more bits."""
        return self._cast(arith.ExtSIOp if is_signed else arith.ExtUIOp, a, integer_type(width), name)

    def truncate(self, a: SSAValue, width: int, name: str | None = None) -> SSAValue:
        """The low bits of an integer."""
        return self._cast(arith.TruncIOp, a, integer_type(width), name)

    def resize(self, a: SSAValue, width: int, is_signed: bool, name: str | None = None) -> SSAValue:
        """An integer of so many bits."""
        if width < self.bits(a):
            return self.truncate(a, width, name)
        return self.widen(a, width, is_signed, name)

    def to_float(self, a: SSAValue, element: Attribute, is_signed: bool, name: str | None = None) -> SSAValue:
        """An integer as a float, rounded once. Processors convert from signed integers of 32 bits best."""
        if self.bits(a) < 32:
            a, is_signed = self.widen(a, 32, is_signed, "wide"), True
        return self._cast(arith.SIToFPOp if is_signed else arith.UIToFPOp, a, element, name)

    def to_integer(self, a: SSAValue, width: int, is_signed: bool, name: str | None = None) -> SSAValue:
        """A whole number that is known to fit, as an integer."""
        return self._cast(arith.FPToSIOp if is_signed else arith.FPToUIOp, a, integer_type(width), name)

    def extend(self, a: SSAValue, element: Attribute, name: str | None = None) -> SSAValue:
        """A float as one of a type that has all of its numbers."""
        return self._cast(arith.ExtFOp, a, element, name)

    def narrow(self, a: SSAValue, element: Attribute, name: str | None = None) -> SSAValue:
        """A float as one of another type, rounded once."""
        return self._cast(arith.TruncFOp, a, element, name)


@lru_cache(maxsize=4096)
def _number(number: int | str, type: Any, count: int | None) -> Any:
    """A constant, in so many lanes; a float by its bits."""
    value = number if isinstance(number, int) else float.fromhex(number)
    if count is not None:
        return DenseIntOrFPElementsAttr.from_list(vector_type(type, count), [value])
    return IntegerAttr(value, type) if isinstance(value, int) else FloatAttr(value, type)


def _wrapped(number: int, width: int) -> int:
    """An integer modulo its width, as signless constants are written: with a sign."""
    number %= 1 << width
    return number - (1 << width) if width > 1 and number >> (width - 1) else number


@cache
def _flags(kind: Any) -> dict[str, Attribute]:
    """The properties of an op that promises nothing."""
    known = kind.get_irdl_definition().properties
    return {name: flag for name, flag in NO_PROMISES.items() if name in known}


@cache
def _asked(kind: type[arith.CmpfOp | arith.CmpiOp], predicate: str) -> dict[str, Attribute]:
    """The properties of a comparison by a word."""
    if kind is arith.CmpfOp:
        words = arith.CMPF_COMPARISON_OPERATIONS
        return {"predicate": IntegerAttr(words.index(predicate), i64), "fastmath": NO_FLAGS}
    return {"predicate": IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(predicate), i64)}
