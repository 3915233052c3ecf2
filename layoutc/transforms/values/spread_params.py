"""Parameters with a value for each of several neighbours, in a buffer ahead of all copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from layoutc.descriptor import MemoryDesc
from layoutc.dialects.memory import mlir_element_type
from layoutc.element_type import element_type
from layoutc.layout import Layout
from layoutc.param import Param
from layoutc.planning.conversions.spread_params import spread_params
from layoutc.planning.machine import LINE
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import Buffer, Loop, NestBuilder
from layoutc.transforms.values.element_access import (
    Conversions,
    element_offset,
    load_element,
    offset_value,
    store_element,
)


def spread(nest: NestBuilder, conversions: Conversions) -> Conversions:
    """The conversions with buffers for the parameters whose groups do not go with the blocks of their axes."""
    conversion, sides = conversions.conversion, (conversions.source.desc, conversions.target.desc)
    found = {name: p for name, p in spread_params(*sides, conversion).items() if name in conversions.memories}
    buffers = {name: _spread(nest, conversions, name, conversion.params[name], param) for name, param in found.items()}
    return replace(
        conversions,
        conversion=replace(conversion, **found),
        memories={**conversions.memories, **buffers},
    )


def _spread(nest: NestBuilder, conversions: Conversions, name: str, param: Param, wanted: Param) -> Buffer:
    """The buffer of one parameter: loops over its values, and inside of them over those that each becomes."""
    memory, dims = conversions.memories[name], conversions.source.desc.dims
    type = element_type("s32" if conversions.in_integers else "f32")
    desc = MemoryDesc(wanted.shape(dims), type, Layout.row_major(len(wanted.axes)))
    made = nest.insert(memref.AllocaOp.get(mlir_element_type(type), LINE, [desc.elements])).results[0]
    made.name_hint = f"{name}_spread"
    loops: list[Loop] = []
    read: list[AffineExpr | int] = []
    written: list[AffineExpr | int] = []
    sizes = zip(param.shape(dims), param.groups, wanted.groups, strict=True)
    for number, (values, group, smaller) in enumerate(sizes):
        value, within = _counter(loops, f"group{number}", values), _counter(loops, f"k{number}", group // smaller)
        read.append(value)
        written.append(value * (group // smaller) + within)

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        def at(desc: MemoryDesc, index: Sequence[AffineExpr | int]) -> SSAValue:
            return offset_value(lanes, element_offset(desc, index), counters, f"{name}_offset")

        lanes = Lanes(inner, nest)
        loaded = load_element(lanes, memory.memory, memory.desc.element_type, at(memory.desc, read), name)
        number = conversions.as_operand(lanes, loaded, name)
        number = lanes.resize(number, type.bits, True, name) if type.is_integer else number
        store_element(lanes, number, made, type, at(desc, written))
        return made.owner

    nest.nest(loops, body)
    return Buffer(made, desc)


def _counter(loops: list[Loop], name: str, count: int) -> AffineExpr | int:
    """A further loop's counter, where it has several steps."""
    if count == 1:
        return 0
    loops.append(Loop(name, range(count)))
    return AffineExpr.dimension(len(loops) - 1)
