"""What there is to say about a layout or a memory descriptor, as data that JSON can hold."""

from __future__ import annotations

from typing import Any

from layoutc.affine_text import offset_text
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType
from layoutc.errors import LayoutcError
from layoutc.layout import Layout
from layoutc.tools.memory_order import Place, last_place, places

Facts = dict[str, Any]


def layout_facts(layout: Layout) -> Facts:
    """What is known of a layout without dims."""
    facts: Facts = {
        "layout": str(layout),
        "rank": layout.rank,
        "axes": list(layout.axis_names),
        "physical_axes": list(layout.digit_names),
        "inner_blocks": [{"axis": layout.axis_names[axis], "block": block} for axis, block in layout.inner_blocks],
    }
    if layout.align:
        facts["align"] = list(layout.align)
    return facts


def desc_facts(desc: MemoryDesc) -> Facts:
    """Everything about a descriptor but its names and its memory order. Offsets and strides are in elements."""
    facts = layout_facts(desc.layout) | {
        "element_type": desc.element_type.name,
        "values": type_facts(desc.element_type),
        "dims": list(desc.dims),
        "offset_map": offset_text(desc),
        "padded_dims": list(desc.padded_dims),
        "physical_shape": list(desc.physical_shape),
        "strides": list(desc.strides),
        "base_offset": desc.base_offset,
        "elements": desc.elements,
        "block_padding": desc.padding_elements,
        "size_bytes": desc.size_bytes,
        "dense": desc.is_dense,
        "injective": _is_injective(desc),
    }
    borders = {"low": desc.low, "high": desc.high}
    return facts | {name: list(border) for name, border in borders.items() if border}


def type_facts(type: ElementType) -> Facts:
    """Range and packing of an element type: exact integers, floats as the nearest f64, `null` where there is none."""
    facts: Facts = {"bits": type.bits, "per_byte": 8 // type.bits or None}
    format = type.float_format
    if format is None:
        return facts | {"min": type.integer_range[0], "max": type.integer_range[-1]}
    return facts | {
        "min": float(format.min),
        "max": float(format.max),
        "smallest": float(format.smallest),
        "smallest_normal": float(format.smallest_normal),
        "precision": format.precision,
        "infinity": format.has_infinity,
        "nan": format.has_nan,
        "zero": format.has_zero,
    }


def type_text(facts: Facts) -> str:
    """The same on one line."""
    if "precision" not in facts:
        text = f"{facts['min']} to {facts['max']}"
    else:
        specials = [name for name in ("infinity", "nan") if facts[name]]
        text = ", ".join(
            [
                f"{facts['min']:.6g} to {facts['max']:.6g}",
                f"smallest {facts['smallest']:.6g}",
                *({"infinity": "infinity", "nan": "NaN"}[name] for name in specials),
                f"{facts['precision']}-bit precision",
            ]
        )
    count = facts["per_byte"]
    return text if not count or count == 1 else f"{text}; {count} in a byte, the first in the low bits"


def memory_order(desc: MemoryDesc, count: int) -> Facts:
    """The first `count` places of the memory order, and the last one."""
    return {"first": [_place_facts(place) for place in places(desc, count)], "last": _place_facts(last_place(desc))}


def _is_injective(desc: MemoryDesc) -> bool | None:
    """None where the strides interleave too much to decide it."""
    try:
        return desc.is_injective
    except LayoutcError:
        return None


def _place_facts(place: Place) -> Facts:
    return {"offset": place.offset, "index": list(place.index), "digits": list(place.digits)}
