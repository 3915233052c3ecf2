"""What the loads and the stores of a tile have in common: its plan and its lanes, and the place where it is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.builder import Builder
from xdsl.ir import Attribute, SSAValue

from layoutc.planning.copies.copy_digits import SideName
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.packed_tile import PackedTile, tile_program
from layoutc.planning.tiles.tile import Piece
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.vector_ops import integer_type, vector_type
from layoutc.transforms.planned.tile_constants import TileMasks
from layoutc.transforms.planned.tile_site import TileSite, further
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.register_parts import WHOLE, Calls, RegisterPart
from layoutc.transforms.values.shared_bytes import unpacked

if TYPE_CHECKING:
    from layoutc.transforms.planned.tiled_nest import TiledCopy


MOVED_AS_THEY_ARE = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8"}
"""element types that are those of lanes; others move as integers"""


class TileFrame:
    """A tile's plan, the type of its lanes, constants ahead of it, and the site of the one that is built."""

    site: TileSite
    base: dict[SideName, int]
    """how far the tile that is built lies from the first of all, in elements of memory"""
    calls: Calls

    def __init__(self, copy: TiledCopy, plan: CopyPlan):
        self.copy, self.plan = copy, plan
        self.program = tile_program(plan)
        self.together = self.program.together if isinstance(self.program, PackedTile) else 1
        """registers that are loaded for one of the network"""
        self.is_fill = plan.copy.is_fill
        self.element, self.source_element = copy.memory.element, copy.memory.source_element
        # What shares bytes and is moved as it is converts nothing, whenever its plan says so.
        self.converts_loads = plan.widths.converted_at == "src" or copy.memory.conversion is None
        moved = self.element if self.converts_loads else self.source_element
        width = integer_type(8 * plan.widths.moved)
        is_direct = copy.ratio == 1 and str(moved) in MOVED_AS_THEY_ARE
        self.lane_type: Attribute = moved if is_direct else width
        self.zeros: dict[int, SSAValue] = {}
        """registers of zeros, and pieces of them, by their lanes"""
        self.masks = TileMasks(copy.nest, copy.ratio)

    @property
    def builder(self) -> Builder:
        """Where ops are put."""
        return self.site.builder

    def lanes(self, count: int) -> Lanes:
        """So many lanes, built here."""
        return Lanes(self.builder, self.copy.nest, count)

    def static(self, starts: Sequence[int], side: SideName) -> int:
        """How far the first of tiles that are alike lies from the first of all, in elements of memory."""
        elements = sum(s * d.of(side) for s, d in zip(starts, self.plan.copy.digits, strict=True))
        return self.copy.in_memory(side, elements)

    def at(self, piece: Piece, side: SideName) -> SSAValue:
        """Where a piece begins."""
        place = self.site.src if side == "src" else self.site.dst
        assert place is not None, "a fill loads nothing"
        distance = self.base[side] + self.copy.in_memory(side, piece.offset)
        return further(self.builder, self.copy.nest, place, piece.step, distance)

    def zero(self, lanes: int) -> SSAValue:
        """So many lanes of zeros."""
        return self.cast(self.zeros[lanes], vector_type(self.lane_type, lanes))

    def shuffle(self, a: SSAValue, b: SSAValue, mask: Sequence[int], name: str) -> SSAValue:
        """Lanes of two registers."""
        if a is b is self.zeros.get(len(mask)):
            return a
        return inserted(self.builder, vector_ops.shuffle(a, b, mask, self.lane_type, name))

    def cast(self, value: SSAValue, type: Attribute) -> SSAValue:
        """The bits of a value as another type."""
        if value.type == type:
            return value
        return inserted(self.builder, vector_ops.bitcast(value, type))

    def converted(
        self, value: SSAValue, piece: Piece, lanes: int, target: SSAValue | None = None, part: RegisterPart = WHOLE
    ) -> SSAValue:
        """The lanes of a piece, that part of a register, as they are stored; `target` is where, if that is known."""
        conversion, old = self.copy.memory.conversion, None
        if conversion is None:
            return value
        if conversion.adds:
            assert target is not None, "a sum is made where elements are stored"
            count = self.copy.in_memory("dst", lanes)
            old = inserted(self.builder, vector_ops.load(self.copy.target, target, vector_type(self.element, count)))
            if (share := self.plan.widths.dst_per_byte) > 1:
                old = unpacked(self.lanes(count), old, share)
        params = PieceParams(self.site.params, piece.params)
        if self.converts_loads and lanes < self.program.lanes:
            # What is joined is no function's, but that of all of the register.
            return conversion.convert(self.lanes(lanes), value, params, old)
        return conversion.call(self.lanes(lanes), value, part, params, old, self.calls)
