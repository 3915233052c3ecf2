"""
Tiles that put elements together to the bytes that they share as they load them: the network shuffles whole bytes.

Elements that share a byte of the destination come from rows of their own where tiles transpose. A byte of their lanes
then holds one of each of these rows, and there are as many registers fewer to shuffle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from layoutc.planning.copies.copy_digits import CopyDigit
from layoutc.planning.copies.widths import Widths
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.tiles.merged_tile import MergedTile
from layoutc.planning.tiles.tile import Piece, Register, TileProgram


def tile_program(plan: CopyPlan) -> MergedTile | TileProgram:
    """What the tiles of a plan do."""
    if plan.merges:
        return MergedTile(plan)
    return PackedTile(plan) if packs_rows(plan) else TileProgram(plan)


def packs_rows(plan: CopyPlan) -> bool:
    """Whether elements that share bytes of the destination are loaded as codes, each from a row of its own."""
    share = plan.widths.dst_per_byte
    parts = (*plan.source_lanes, *plan.target_lanes)
    if share == 1 or plan.copy.is_fill or plan.merges or plan.pads_elements or not plan.source_lanes:
        return False
    if plan.widths.converted_at == "dst" or not all(is_power_of_two(part.extent) for part in parts):
        return False
    position, lanes = plan.target_lanes[0].digit, plan.target_lanes[0].extent
    rows = plan.copy.digits[position]
    if position in (part.digit for part in plan.source_lanes) or rows.carries or not rows.is_whole:
        return False
    steps = (step for digit in plan.copy.digits if digit is not rows for _, step in digit.all_steps("dst"))
    return lanes % share == rows.extent % share == 0 and all(step % share == 0 for step in steps)


class PackedTile(TileProgram):
    """
    The loads, the network and the stores of such a tile; its lanes are bytes, places are those of the plan's elements.

    Of the registers that are loaded, `together` that follow each other are one of the network.
    """

    def __init__(self, plan: CopyPlan):
        super().__init__(_in_bytes(plan))
        self.together = plan.widths.dst_per_byte
        self.rows = plan.copy.digits[plan.target_lanes[0].digit]

    def loads(self, starts: Sequence[int]) -> list[Register]:
        """The registers as loaded, of the tile that starts at these values of the digits loaded in part."""
        rows = range(self.together)
        return [self._further(register, row) for register in super().loads(starts) for row in rows]

    def stores(self) -> list[Register]:
        """The registers as stored."""
        pieces = (register.pieces for register in super().stores())
        return [Register(tuple(p and p._replace(offset=p.offset * self.together) for p in each)) for each in pieces]

    def _further(self, register: Register, row: int) -> Register:
        """A register so many rows further on."""
        return Register(tuple(piece and self._piece_of(piece, row) for piece in register.pieces))

    def _piece_of(self, piece: Piece, row: int) -> Piece:
        found = zip(self.rows.params, piece.params, strict=False)
        params = tuple(tuple(first + row * step for first in lanes) for step, lanes in found)
        return piece._replace(offset=piece.offset + row * self.rows.src, params=params)


def _in_bytes(plan: CopyPlan) -> CopyPlan:
    """The plan's tile with bytes of the destination in place of the elements that share them."""
    share, (first, *others) = plan.widths.dst_per_byte, plan.target_lanes
    extents = [share if g == first.digit else 1 for g in range(len(plan.tile))]
    tile = tuple(size // rows for size, rows in zip(plan.tile, extents, strict=True))
    digits = tuple(_in_rows(*each, share) for each in zip(plan.copy.digits, extents, strict=True))
    macro = tuple(size if digit.is_whole else digit.extent for size, digit in zip(tile, digits, strict=True))
    lanes = _filling([Part(first.digit, first.extent // share), *others], tile, plan.vector_bytes)
    return replace(
        plan,
        copy=replace(plan.copy, digits=digits),
        widths=Widths(1, 1),
        tile=tile,
        target_lanes=lanes,
        macro=macro,
        store="normal",
        load="normal",
        prefetch=0,
    )


def _filling(lanes: Sequence[Part], tile: Sequence[int], vector_bytes: int) -> tuple[Part, ...]:
    """The lanes with more steps of the last digit in the tile: registers have room for these where they are bytes."""
    *before, last = lanes
    room = vector_bytes // prod(part.extent for part in before)
    return (*before, Part(last.digit, max(last.extent, min(tile[last.digit], room))))


def _in_rows(digit: CopyDigit, rows: int, share: int) -> CopyDigit:
    """A digit whose steps are so many rows each of the source, and are counted in bytes in the destination."""
    if rows > 1:
        params = tuple(step * rows for step in digit.params)
        return CopyDigit(digit.extent // rows, digit.src * rows, digit.dst, digit.extent // rows, (), params)
    carries = tuple((side, carry.shared(share) if side == "dst" else carry) for side, carry in digit.carries)
    return replace(digit, dst=digit.dst // share, carries=carries)
