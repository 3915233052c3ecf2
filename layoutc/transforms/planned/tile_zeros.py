"""The zeros of a tile: those that are joined with what is loaded, and those that lanes become which are no elements."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue

from layoutc.planning.tiles.tile import Register
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.vector_ops import bitcast, integer_type, vector_type


def lanes_of_zeros(tiles: Iterable[Iterable[Register]], piece: int) -> list[int]:
    """
    How many lanes there are of zeros: of pieces of so many lanes, and of what is joined of such alone.

    They are made once, ahead of all loops: where most of a tile is zero, joining takes more than all that is loaded.
    """
    found: set[int] = set()
    for register in {register for tile in tiles for register in tile if None in register.pieces}:
        lanes, are_zero = register.inserted or piece, [piece is None for piece in register.pieces]
        while any(are_zero):
            found.add(lanes)
            pairs = zip(are_zero[::2], are_zero[1::2], strict=False)
            lanes, are_zero = 2 * lanes, [] if register.inserted else [a and b for a, b in pairs]
    return sorted(found)


def without(lanes: Lanes, value: SSAValue, zeros: int, bytes: int) -> SSAValue:
    """A vector but for the lanes of these bits, which are zeros and no elements, of so many bytes each."""
    assert lanes.count is not None
    type = vector_type(integer_type(8 * bytes), lanes.count)
    kept = DenseIntOrFPElementsAttr.from_list(type, [(zeros >> lane & 1) - 1 for lane in range(lanes.count)])
    bits = value if value.type == type else inserted(lanes.builder, bitcast(value, type))
    only = lanes.and_(bits, lanes.nest.element(kept))
    return only if only.type == value.type else inserted(lanes.builder, bitcast(only, value.type))
