"""
What a tile takes that is made once, in front of the loops: blanks, and the masks of what is less than a register.

Zeros are joined with what is loaded, or become of lanes that are no elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, SSAValue

from layoutc.planning.tiles.tile import Piece, Register, in_memory
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.building.vector_ops import (
    bitcast,
    blanks,
    first_lanes,
    integer_type,
    some_lanes,
    vector_type,
)


def lanes_of_zeros(tiles: Iterable[Iterable[Register]], whole: int) -> list[int]:
    """
    How many lanes there are of zeros: of pieces of registers of `whole` lanes, and of what is joined of such alone.

    They are made once, ahead of all loops: where most of a tile is zero, joining takes more than all that is loaded.
    """
    found: set[int] = set()
    for register in {register for tile in tiles for register in tile if None in register.pieces}:
        are_zero = [piece is None for piece in register.pieces]
        lanes = whole // len(are_zero)
        while any(are_zero):
            found.add(lanes)
            pairs = zip(are_zero[::2], are_zero[1::2], strict=False)
            lanes, are_zero = 2 * lanes, [a and b for a, b in pairs]
    return sorted(found)


def without(lanes: Lanes, value: SSAValue, dropped: int, bytes: int) -> SSAValue:
    """A vector but for the lanes of these bits, which are zeros and no elements, of so many bytes each."""
    assert lanes.count is not None
    type = vector_type(integer_type(8 * bytes), lanes.count)
    kept = DenseIntOrFPElementsAttr.from_list(type, [(dropped >> lane & 1) - 1 for lane in range(lanes.count)])
    bits = value if value.type == type else inserted(lanes.builder, bitcast(value, type))
    only = lanes.and_(bits, lanes.nest.element(kept))
    return only if only.type == value.type else inserted(lanes.builder, bitcast(only, value.type))


@dataclass
class TileMasks:
    """
    The masks of pieces that are less than a register, and what is in the lanes beside what loads under these take.

    A lane of the plan is `ratio` ones of memory.
    """

    nest: NestBuilder
    ratio: int
    beside: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """blanks, by how many lanes of the plan pieces have"""
    masks: dict[tuple[int, int], SSAValue] = field(default_factory=dict[tuple[int, int], SSAValue])
    """by lanes of memory, and which of them are taken, as bits"""

    def prepare(
        self,
        loads: Iterable[tuple[Piece, int]],
        stores: Iterable[tuple[Piece, int]],
        source: Attribute,
        are_converted: bool,
    ) -> None:
        """Those of pieces with so many lanes each, ahead of the loops; elements of the source have this type."""
        loaded, stored = ({(lanes, piece.mask) for piece, lanes in pieces if piece.mask} for pieces in (loads, stores))
        for lanes in sorted({lanes for lanes, _ in loaded}):
            self.beside[lanes] = blanks(self.nest, vector_type(source, lanes * self.ratio), are_converted)
        found = {(lanes * self.ratio, in_memory(bits, self.ratio)) for lanes, bits in loaded | stored}
        self.masks = masks_of(self.nest, found)

    def of(self, piece: Piece, lanes: int) -> SSAValue:
        """The mask of a piece of so many lanes."""
        return self.masks[lanes * self.ratio, in_memory(piece.mask, self.ratio)]


def masks_of(nest: NestBuilder, found: Iterable[tuple[int, int]]) -> dict[tuple[int, int], SSAValue]:
    """Masks, by how many lanes there are, and which of them are taken, as bits: some of them, or the first ones."""
    masks: dict[tuple[int, int], SSAValue] = {}
    for lanes, bits in sorted(found):
        if bits & (bits + 1):
            masks[lanes, bits] = nest.element(some_lanes(bits, lanes))
        else:
            mask = first_lanes(nest.constant(bits.bit_length()), lanes)
            masks[lanes, bits] = nest.insert(mask).results[0]
    return masks
