"""
The plain plan of a reorder: a loop nest over the logical index, and one per box of block padding.

Both offset maps stand in plain view as `affine.apply`; nothing is tiled, staged or vectorised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from layoutc.descriptor import MemoryDesc
from layoutc.dialects.memory import mlir_element_type
from layoutc.discardable import COMMENT
from layoutc.padding import Box
from layoutc.transforms.building.loop_nest import Buffer, Loop, NestBuilder, apply


class IndexSpace:
    """The loops over one box of a descriptor, and the index and group coordinates in terms of their counters."""

    def __init__(self, desc: MemoryDesc, box: Box, names: Sequence[str]):
        self.loops: list[Loop] = []
        self.index: list[Any] = [0] * desc.rank
        self.coordinates: list[Any] = []
        for group, part in zip(desc.layout.groups, box, strict=True):
            if part is not None:
                self.coordinates.append(self._counter("".join(names[axis] for axis in group.axes), part))
                continue
            for axis in group.axes:
                self.index[axis] = self._counter(names[axis], range(desc.dims[axis]))
            self.coordinates.append(desc.group_coordinate(group, self.index))

    def _counter(self, name: str, values: range) -> AffineExpr | int:
        """A loop's counter as an expression; a range of one value needs no loop."""
        if len(values) == 1:
            return values.start
        self.loops.append(Loop(name, values))
        return AffineExpr.dimension(len(self.loops) - 1)


def build_plain_nest(builder: NestBuilder, source: Buffer, target: Buffer, axis_names: Sequence[str]) -> None:
    """The copy and the zero-fill of one reorder."""
    names = loop_names(axis_names)
    _build_copy(builder, source, target, names)
    build_fills(builder, target, names)


def loop_names(axis_names: Sequence[str]) -> list[str]:
    """The names of axes as those of counters."""
    return [name if SSAValue.is_valid_name(name) else f"d{axis}" for axis, name in enumerate(axis_names)]


def build_fills(builder: NestBuilder, target: Buffer, names: Sequence[str]) -> None:
    """Zeros for all block padding."""
    if target.desc.padding_boxes:
        zero = build_zero(builder, target)
        for box in target.desc.padding_boxes:
            _build_fill(builder, target, zero, IndexSpace(target.desc, box, names))


def _build_copy(builder: NestBuilder, source: Buffer, target: Buffer, names: Sequence[str]) -> None:
    space = IndexSpace(target.desc, (None,) * len(target.desc.layout.groups), names)
    coordinates = [source.desc.group_coordinate(group, space.index) for group in source.desc.layout.groups]
    src_offset = _offset(builder, source.desc.coordinate_offset(coordinates), "src_offset")
    dst_offset = _offset(builder, target.desc.coordinate_offset(space.coordinates), "dst_offset")

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        offset = src_offset(inner, counters)
        load = inner.insert(memref.LoadOp.get(source.memory, [offset]))
        load.res.name_hint = "value"
        inner.insert(memref.StoreOp.get(load.res, target.memory, [dst_offset(inner, counters)]))
        return load

    nest = builder.nest(space.loops, body)
    loops = [f"loop {', '.join(loop.name for loop in space.loops)}"] if space.loops else []
    nest.attributes[COMMENT] = comment(source.desc, target.desc, names, *loops)


def comment(source: MemoryDesc, target: MemoryDesc, names: Sequence[str], *more: str) -> StringAttr:
    """What is reordered, for people."""
    letters = tuple(names)
    return StringAttr("\n".join((f"from {_spelled(source, letters)}", f"to   {_spelled(target, letters)}", *more)))


@lru_cache(maxsize=4096)
def _spelled(desc: MemoryDesc, names: tuple[str, ...]) -> str:
    """The descriptor with these letters for its axes."""
    return str(replace(desc, layout=replace(desc.layout, axis_names=names)))


def _build_fill(builder: NestBuilder, target: Buffer, zero: SSAValue, space: IndexSpace) -> None:
    dst_offset = _offset(builder, target.desc.coordinate_offset(space.coordinates), "dst_offset")

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        return inner.insert(memref.StoreOp.get(zero, target.memory, [dst_offset(inner, counters)]))

    builder.nest(space.loops, body).attributes[COMMENT] = StringAttr("zero the block padding")


def _offset(
    builder: NestBuilder, offset: AffineExpr | int, name: str
) -> Callable[[Builder, Sequence[SSAValue]], SSAValue]:
    """How to build an offset inside of a nest; one that is constant is made ahead of it."""
    if isinstance(offset, int):
        constant = builder.constant(offset)
        return lambda inner, counters: constant
    return lambda inner, counters: apply(inner, offset, counters, name)


def build_zero(builder: NestBuilder, target: Buffer) -> SSAValue:
    """A zero of the element type: all its bits are zero, also for e8m0, which has no number zero."""
    element = mlir_element_type(target.desc.element_type)
    width = IntegerType(target.desc.element_type.bits)
    if isinstance(element, Float16Type | BFloat16Type | Float32Type | Float64Type):
        zero = arith.ConstantOp(FloatAttr(0.0, element))
    else:
        zero = arith.ConstantOp(IntegerAttr(0, IntegerType(1) if element == IntegerType(1) else width))
    value = builder.insert(zero).results[0]
    value.name_hint = "zero"
    if value.type == element:
        return value
    if element == IntegerType(width.width.data, Signedness.UNSIGNED):
        cast = UnrealizedConversionCastOp.cast_one(value, element)[0]
    else:
        cast = arith.BitcastOp(value, element)
    builder.insert(cast).results[0].name_hint = "zero"
    return cast.results[0]
