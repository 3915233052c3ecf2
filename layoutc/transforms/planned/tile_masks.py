"""The masks of loads and stores that are less than a register: made once, in front of the loops."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import SSAValue

from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.loop_nest import NestBuilder


def masks_of(nest: NestBuilder, found: Iterable[tuple[int, int]]) -> dict[tuple[int, int], SSAValue]:
    """By how many lanes there are, and which of them are taken, as bits: some of them, or the first ones."""
    masks: dict[tuple[int, int], SSAValue] = {}
    for lanes, bits in sorted(found):
        if bits & (bits + 1):
            masks[lanes, bits] = nest.element(vector_ops.some_lanes(bits, lanes))
        else:
            mask = vector_ops.first_lanes(nest.constant(bits.bit_length()), lanes)
            masks[lanes, bits] = nest.insert(mask).results[0]
    return masks
