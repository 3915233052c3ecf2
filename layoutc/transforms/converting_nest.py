"""
The plain plan of a reorder that converts: a loop nest over the logical index, and one per box of block padding.

Elements that share bytes are written by a nest over bytes (`packed_nest`), so that each byte is stored once.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from layoutc.transforms.element_access import Conversions, element_offset, load_element, offset_value, store_element
from layoutc.transforms.lanes import Lanes
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.packed_nest import build_packed_nest
from layoutc.transforms.plain_nest import COMMENT, IndexSpace, build_fills, comment, loop_names
from layoutc.transforms.weight_sums import build_weight_sums


def build_converting_nest(nest: NestBuilder, conversions: Conversions, axis_names: Sequence[str]) -> None:
    """All that one reorder with a conversion does."""
    names = loop_names(axis_names)
    if conversions.target.desc.element_type.bits < 8:
        build_packed_nest(nest, conversions, names)
        return
    _build_copy(nest, conversions, names)
    build_fills(nest, conversions.target, names)
    build_weight_sums(nest, conversions, names)


def _build_copy(nest: NestBuilder, conversions: Conversions, names: Sequence[str]) -> None:
    source, target = conversions.source, conversions.target
    space = IndexSpace(target.desc, (None,) * len(target.desc.layout.groups), names)

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        lanes = Lanes(inner, nest)
        from_offset = offset_value(lanes, element_offset(source.desc, space.index), counters, "src_offset")
        to_offset = offset_value(lanes, target.desc.coordinate_offset(space.coordinates), counters, "dst_offset")
        element, old = target.desc.element_type, None
        if conversions.conversion.sum:
            old = load_element(lanes, target.memory, element, to_offset, "old")
        value = conversions.value(lanes, space.index, counters, from_offset, old)
        store_element(lanes, value, target.memory, element, to_offset)
        first = inner.insertion_point.block.first_op
        assert first is not None
        return first

    outermost = nest.nest(space.loops, body)
    lines = [f"loop {', '.join(loop.name for loop in space.loops)}"] if space.loops else []
    if conversions.conversion.has_attributes:
        lines.insert(0, f"with {conversions.conversion}")
    if space.loops:
        outermost.attributes[COMMENT] = comment(source.desc, target.desc, names, *lines)
