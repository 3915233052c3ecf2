"""
The plain plan of a reorder that converts: a loop nest over the logical index, and one per box of block padding.

Elements that share bytes are written by a nest over bytes (`packed_nest`), so that each byte is stored once.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.plain.element_nest import build_element_nest
from layoutc.transforms.plain.packed_nest import build_packed_nest
from layoutc.transforms.plain.plain_nest import build_fills, loop_names
from layoutc.transforms.plain.weight_sums import build_weight_sums
from layoutc.transforms.values.element_access import Conversions


def build_converting_nest(nest: NestBuilder, conversions: Conversions, axis_names: Sequence[str]) -> None:
    """All that one reorder with a conversion does."""
    names = loop_names(axis_names)
    if conversions.target.desc.element_type.bits < 8:
        build_packed_nest(nest, conversions, names)
        return
    build_element_nest(nest, conversions, names)
    build_fills(nest, conversions.target, names)
    build_weight_sums(nest, conversions, names)
