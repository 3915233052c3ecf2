"""The textbook loop nest of a reorder that converts: each element by itself, in logical order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from layoutc.discardable import COMMENT
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder, first_inserted
from layoutc.transforms.plain.plain_nest import IndexSpace, comment
from layoutc.transforms.values.element_access import (
    Conversions,
    element_offset,
    load_element,
    offset_value,
    store_element,
)


def build_element_nest(nest: NestBuilder, conversions: Conversions, names: Sequence[str]) -> None:
    """Loads, converts and stores all elements; those that share a byte are put into it one by one."""
    source, target = conversions.source, conversions.target
    space = IndexSpace(target.desc, (None,) * len(target.desc.layout.groups), names)

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        lanes, first = Lanes(inner, nest), first_inserted(inner)
        from_offset = offset_value(lanes, element_offset(source.desc, space.index), counters, "src_offset")
        to_offset = offset_value(lanes, target.desc.coordinate_offset(space.coordinates), counters, "dst_offset")
        element, old = target.desc.element_type, None
        if conversions.conversion.sum:
            old = load_element(lanes, target.memory, element, to_offset, "old")
        value = conversions.value(lanes, space.index, counters, from_offset, old)
        store_element(lanes, value, target.memory, element, to_offset)
        return first()

    outermost = nest.nest(space.loops, body)
    lines = [f"loop {', '.join(loop.name for loop in space.loops)}"] if space.loops else []
    if conversions.conversion.has_attributes:
        lines.insert(0, f"with {conversions.conversion}")
    outermost.attributes[COMMENT] = comment(source.desc, target.desc, names, *lines)
