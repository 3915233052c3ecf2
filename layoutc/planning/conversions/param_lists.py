"""
Lists of parameters that tiles treat in ways of their own, by their numbers: those of `params` of a copy's digits.

The conversions are as copies see them (`Reorder.seen`).
"""

from __future__ import annotations

from layoutc.conversion import Conversion
from layoutc.element_type import ElementType

BYTE, NUMBER = 8, 32
"""bits below which parameters are taken out of bytes that they share, and become wider"""


def divisor_list(conversion: Conversion, destination: ElementType) -> int | None:
    """The list that integers are the quotients by, if one is."""
    scale = conversion.dst_scale
    if scale is None or not scale.axes or conversion.reciprocal or not destination.is_integer:
        return None
    return conversion.groupings.index(scale.grouping)


def asked_list(conversion: Conversion, source: ElementType, destination: ElementType) -> int | None:
    """The list that integers are scaled by to bf16, if one is."""
    scale = conversion.src_scale
    is_asked = source.is_integer and destination.name == "bf16" and conversion.scales_alone
    if scale is not None and scale.axes and is_asked:
        return conversion.groupings.index(scale.grouping)
    return None


def widened_list(conversion: Conversion) -> int | None:
    """The first list whose values have fewer bits than the f32 that they become before they are of use."""
    widened = (param for param in conversion.params.values() if param.axes and param.type.bits < NUMBER)
    return next((conversion.groupings.index(param.grouping) for param in widened), None)


def packed_lists(conversion: Conversion) -> list[int]:
    """The lists whose values share bytes."""
    packed = (param for param in conversion.params.values() if param.axes and param.type.bits < BYTE)
    return [conversion.groupings.index(param.grouping) for param in packed]
