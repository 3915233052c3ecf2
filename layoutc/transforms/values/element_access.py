"""One element of a reorder with a conversion: its load, its parameters, its store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from struct import pack, unpack
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects import func, memref, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    f32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.memory import mlir_element_type
from layoutc.element_type import ElementType, element_type
from layoutc.layout import Layout
from layoutc.param import Param
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import created, insert
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import Buffer, NestBuilder, apply
from layoutc.transforms.values.convert_codes import is_by_codes
from layoutc.transforms.values.convert_integers import as_number
from layoutc.transforms.values.convert_values import FAR, Values, convert, register_type, to_f32
from layoutc.transforms.values.shared_bytes import load_part, store_part

BYTE = element_type("u8")
"""what a boolean is in memory"""
Index = Sequence[Any]
"""affine expressions or integers, one per axis"""


# --- between memory and arithmetic -----------------------------------------------------------------------------------


def to_register(lanes: Lanes, loaded: SSAValue, element: ElementType) -> SSAValue:
    """What was loaded, as arithmetic takes it."""
    return _as_type(lanes, loaded, register_type(element))


def from_register(lanes: Lanes, value: SSAValue, element: ElementType) -> SSAValue:
    """A value as it is stored."""
    return _as_type(lanes, value, mlir_element_type(element))


def _as_type(lanes: Lanes, value: SSAValue, element: Attribute) -> SSAValue:
    """The same bits. Unsigned integers are no operands of arith's ops: to MLIR they are other types."""
    type = lanes.type(element)
    if value.type is type or value.type == type:
        return value
    if not (_has_sign(element) or _has_sign(lanes.element(value))):
        return lanes.bitcast(value, element, value.name_hint)
    kind = UnrealizedConversionCastOp if lanes.count is None else vector.BitcastOp
    return lanes.insert(created(kind, (value,), type), value.name_hint)


def _has_sign(element: Attribute) -> bool:
    type: Any = element
    return isinstance(element, IntegerType) and type.signedness.data != Signedness.SIGNLESS


def load_element(lanes: Lanes, memory: SSAValue, element: ElementType, offset: SSAValue, name: str) -> SSAValue:
    """The element at an offset in elements; of those that share a byte, its low bits."""
    if element.bits < 8:
        return load_part(lanes, memory, 8 // element.bits, offset, name)
    if element.name == "boolean":
        # Any byte but 0 is true; a load of i1 takes for granted that it is 0 or 1.
        byte = load_element(lanes, lanes.nest.bytes_of(memory), BYTE, offset, name)
        return lanes.compare("ne", byte, 0, "is_true")
    return to_register(lanes, lanes.insert(vector_ops.element(memory, offset), name), element)


def store_element(lanes: Lanes, value: SSAValue, memory: SSAValue, element: ElementType, offset: SSAValue) -> None:
    """Stores an element at an offset in elements; one that shares a byte leaves the other bits of that."""
    if element.bits < 8:
        store_part(lanes, value, memory, 8 // element.bits, offset)
        return
    insert(lanes.builder, vector_ops.put(from_register(lanes, value, element), memory, offset))


def offset_value(lanes: Lanes, offset: AffineExpr | int, counters: Sequence[SSAValue], name: str) -> SSAValue:
    """An offset as a value; a constant one stands ahead of the loops."""
    if isinstance(offset, int):
        return lanes.nest.element(IntegerAttr.from_index_int_value(offset))
    return apply(lanes.builder, offset, counters, name)


def element_offset(desc: MemoryDesc, index: Index) -> AffineExpr | int:
    """Where the element at a logical index is."""
    return desc.coordinate_offset([desc.group_coordinate(group, index) for group in desc.layout.groups])


# --- parameters ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conversions:
    """A conversion between two buffers, and the memory of those of its parameters that have many values."""

    conversion: Conversion
    source: Buffer
    target: Buffer
    memories: Mapping[str, Buffer]
    sums: Sequence[Buffer] = ()
    vector_bytes: int = 0
    """of the registers that elements are converted in, where there are any"""

    @classmethod
    def of(
        cls, nest: NestBuilder, conversion: Conversion, source: Buffer, target: Buffer, arguments: Sequence[Buffer]
    ) -> Conversions:
        """With constant lists of values as globals, and `arguments` for those that are given at run time."""
        given, memories = iter(arguments), dict[str, Buffer]()
        for name, param in conversion.params.items():
            if not param.is_constant:
                memories[name] = next(given)
            elif len(param.values or ()) > 1:
                memories[name] = _global_values(nest, name, param, target.desc.dims)
        return cls(conversion, source, target, memories, tuple(given))

    @property
    def arithmetic(self) -> str:
        """How elements are converted (see `Conversion.arithmetic`)."""
        return self.conversion.arithmetic(self.source.desc.element_type, self.target.desc.element_type)

    @property
    def converts(self) -> bool:
        """Whether elements do not stay what they are."""
        return self.arithmetic != "move"

    @property
    def in_integers(self) -> bool:
        """Whether the arithmetic is that of integers."""
        return self.arithmetic == "integer"

    @property
    def goes_by_f32(self) -> bool:
        """Whether elements are f32 on their way."""
        becomes_float = self.target.desc.element_type.float_format is not None
        return not self.in_integers and (self.arithmetic != "direct" or becomes_float)

    @property
    def widest_bytes(self) -> int:
        """Bytes of the widest number that a value is on its way."""
        source, target = self.source.desc.element_type, self.target.desc.element_type
        sides = max(source.bits, target.bits) // 8
        if self.in_integers or (source.is_integer and source.bits > 32 and target.name in FAR):
            return 8
        is_exact = (source.is_integer and target.is_integer) or is_by_codes(source, target, self.vector_bytes)
        return max(1, sides) if is_exact and not self.conversion.has_attributes else max(4, sides)

    def value(
        self, lanes: Lanes, index: Index, counters: Sequence[SSAValue], offset: SSAValue, old: SSAValue | None = None
    ) -> SSAValue:
        """The converted element: loaded from `offset` in the source, with the parameters of a logical index."""
        loaded = load_element(lanes, self.source.memory, self.source.desc.element_type, offset, "value")
        return self.converted(lanes, loaded, index, counters, old)

    def converted(
        self,
        lanes: Lanes,
        value: SSAValue,
        index: Index = (),
        counters: Sequence[SSAValue] = (),
        old: SSAValue | None = None,
    ) -> SSAValue:
        """A value that was loaded, with the parameters of a logical index: those that all elements share need none."""
        return self.converted_with(lanes, value, lambda name: self._param(lanes, name, index, counters), old)

    def converted_with(
        self, lanes: Lanes, value: SSAValue, param: Callable[[str], SSAValue], old: SSAValue | None = None
    ) -> SSAValue:
        """A value that was loaded, with parameters by name; those that are one constant are made here."""
        source, target = self.source.desc.element_type, self.target.desc.element_type
        names = self.conversion.params
        params = {name: param(name) if name in self.memories else self._constant(lanes, name) for name in names}
        return convert(lanes, value, source, target, self.conversion, Values(params, old, self.vector_bytes))

    def _constant(self, lanes: Lanes, name: str) -> SSAValue:
        values = self.conversion.params[name].values
        assert values is not None
        return lanes.constant(values[0], i64) if self.in_integers else lanes.constant(as_f32(values[0]), f32)

    def as_operand(self, lanes: Lanes, loaded: SSAValue, name: str) -> SSAValue:
        """A parameter as arithmetic takes it."""
        type = self.memories[name].desc.element_type
        if not self.in_integers:
            return to_f32(lanes, loaded, type, quiets=False)
        return lanes.resize(as_number(lanes, loaded, type), 64, type.integer_range[0] < 0, name)

    def _param(self, lanes: Lanes, name: str, index: Index, counters: Sequence[SSAValue]) -> SSAValue:
        return lanes.spread(self._loaded_param(replace(lanes, count=None), name, index, counters))

    def _loaded_param(self, lanes: Lanes, name: str, index: Index, counters: Sequence[SSAValue]) -> SSAValue:
        """The value out of its memory."""
        param, memory = self.conversion.params[name], self.memories[name]
        type, place = memory.desc.element_type, element_offset(memory.desc, _param_index(param, index))
        offset = offset_value(lanes, place, counters, f"{name}_offset")
        return self.as_operand(lanes, load_element(lanes, memory.memory, type, offset, name), name)


def _param_index(param: Param, index: Index) -> list[Any]:
    """The index of a parameter's value for an element."""
    pairs = zip(param.axes, param.groups, strict=True)
    return [index[axis] // group if group > 1 else index[axis] for axis, group in pairs]


def as_f32(value: float) -> float:
    """A number as f32 has it."""
    return unpack("f", pack("f", float(value)))[0]


def _global_values(nest: NestBuilder, name: str, param: Param, dims: Sequence[int]) -> Buffer:
    """The values of a constant parameter as a memref.global of its element type."""
    function = nest.function
    shape, kept = (len(param.values or ()),), _KEPT.get(param.type.name, param.type)
    element: Any = mlir_element_type(kept)
    values = DenseIntOrFPElementsAttr.from_list(TensorType(element, shape), list(param.values or ()))
    symbol = free_name(function, f"{function.sym_name.data}_{name}")
    type = MemRefType(element, shape)
    made = memref.GlobalOp.get(
        StringAttr(symbol), type, values, sym_visibility=StringAttr("private"), constant=UnitAttr()
    )
    Builder(InsertPoint.before(function)).insert(made)
    memory = nest.insert_ahead(memref.GetGlobalOp(symbol, type)).results[0]
    memory.name_hint = name
    dims = param.shape(dims)
    return Buffer(memory, MemoryDesc(dims, kept, Layout.row_major(len(dims))))


_KEPT = {
    **dict.fromkeys(("f16", "bf16", "e8m0"), element_type("f32")),
    **dict.fromkeys(("s8", "u8", "s4", "u4"), element_type("s32")),
}
"""what constants are kept as, where it is other than their type: arithmetic takes them as these anyway"""


def free_name(function: func.FuncOp, name: str) -> str:
    """The name, or the first with a number behind it that the module does not have."""
    module = function.parent_block()
    assert module is not None
    taken = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp | memref.GlobalOp)}
    numbered = (f"{name}_{number}" for number in count(2))
    return next(candidate for candidate in chain([name], numbered) if candidate not in taken)
