"""The registers of a tile, put together from the pieces of memory that are loaded for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from layoutc.planning.conversions.short_loads import has_short_loads
from layoutc.planning.machine import has_masks
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.tile import Piece, Register, runs_of
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.joined_lanes import all_in_pairs
from layoutc.transforms.building.vector_ops import vector_type
from layoutc.transforms.planned.last_loads import asked_before, begin_earlier
from layoutc.transforms.planned.tile_frame import TileFrame
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.register_parts import Join
from layoutc.transforms.values.shared_bytes import together, unpacked

if TYPE_CHECKING:
    from layoutc.transforms.planned.tiled_nest import TiledCopy


class TileLoads(TileFrame):
    """A tile that is loaded."""

    def __init__(self, copy: TiledCopy, plan: CopyPlan):
        super().__init__(copy, plan)
        self.runs = list(product(*map(runs_of, plan.copy.digits, plan.tile)))
        """the starts of tiles along each digit, of tiles that are alike: they share a body"""
        self.loads = [[] if self.is_fill else self.program.loads(starts_of(runs)) for runs in self.runs]
        self.begin_earlier = begin_earlier(plan, self.loads[0], self.program.load_piece)
        """where loads begin in a line that the one before asks for: they ask for the line in which they end"""
        self.asked_before = asked_before(plan, self.loads[0])
        """where they begin that ask for nothing"""
        self.join = Join(self.program.lanes, self.lane_type, plan.shuffles)

    def register(self, registers: Sequence[Register]) -> SSAValue:
        """A register, or one of whose bytes each has an element of several."""
        loaded = [self._load(register) for register in registers]
        if len(loaded) == 1:
            return loaded[0]
        lanes = self.lanes(self.program.lanes // 2)
        return self.cast(together(lanes, loaded), vector_type(self.lane_type, self.program.lanes))

    def _load(self, register: Register) -> SSAValue:
        """A register, put together from its pieces."""
        if self.plan.pads_elements:
            return self._padded(register)
        if (found := self._converted_at_once(register)) is not None:
            return found
        lanes = self.lanes_of(register)
        if pieces := self._joined_as_bytes(register):
            return self._unpacked(pieces, lanes)
        loaded = {piece: self._load_piece(piece, lanes) for piece in dict.fromkeys(register.pieces)}
        return all_in_pairs([loaded[piece] for piece in register.pieces], self._joined)

    def _joined_as_bytes(self, register: Register) -> Sequence[Piece]:
        """All pieces of a register that are joined before elements that share bytes are taken apart; none of others."""
        if self.plan.widths.src_per_byte == 1 or self.converts_loads or has_short_loads(self.plan):
            return ()
        whole = [piece for piece in register.pieces if piece is not None and not piece.mask]
        return whole if 1 < len(whole) == len(register.pieces) else ()

    def _unpacked(self, pieces: Sequence[Piece], lanes: int) -> SSAValue:
        """The register of pieces that have so many lanes each."""
        loaded = {piece: self._bytes(piece, lanes) for piece in dict.fromkeys(pieces)}
        bytes = all_in_pairs([loaded[piece] for piece in pieces], self._joined_bytes)
        count = len(vector_ops.lanes_of(bytes))
        value = unpacked(self.lanes(count), bytes, self.plan.widths.src_per_byte)
        return self.cast(value, vector_type(self.lane_type, self.program.lanes))

    def _joined_bytes(self, a: SSAValue, b: SSAValue) -> SSAValue:
        join = Join(2 * len(vector_ops.lanes_of(a)), self.source_element, self.plan.shuffles)
        return join.two(self.builder, self.copy.nest, a, b)

    def _padded(self, register: Register) -> SSAValue:
        """A register of zeros, and of elements that are put into its lanes one by one."""
        value = self.zeros[self.program.lanes]
        for number, piece in enumerate(register.pieces):
            if piece is not None:
                loaded = self._load_piece(piece, self.program.load_piece)
                element = inserted(self.builder, vector_ops.lane(loaded, self.lane_type, 0))
                value = inserted(self.builder, vector_ops.with_lane(value, element, number))
        return value

    def _joined(self, a: SSAValue, b: SSAValue) -> SSAValue:
        type: Any = a.type
        (lanes,) = type.get_shape()
        if a is b is self.zeros.get(lanes):
            return self.zero(2 * lanes)
        return self.join.two(self.builder, self.copy.nest, a, b)

    def _converted_at_once(self, register: Register) -> SSAValue | None:
        """A register whose pieces one function converts, and joins; None if none is called."""
        found = [piece for piece in register.pieces if piece is not None]
        is_joined = 1 < len(found) == self.program.lanes // self.program.load_piece
        if not (is_joined and self.converts_loads and self.calls.are_made):
            return None
        lanes, params = self.program.load_piece, [PieceParams(self.site.params, piece.params) for piece in found]
        conversion = self.copy.memory.conversion
        convert = conversion and conversion.joining(self.lanes(lanes), params, self.join, self.calls)
        return None if convert is None else convert([self._raw_piece(piece, lanes) for piece in found])

    def _load_piece(self, piece: Piece | None, lanes: int) -> SSAValue:
        if piece is None:
            return self.zero(lanes)
        value = self._raw_piece(piece, lanes)
        if self.converts_loads and self.plan.widths.converts:
            value = self.converted(value, piece, lanes)
        return self.cast(value, vector_type(self.lane_type, lanes))

    def _raw_piece(self, piece: Piece, lanes: int) -> SSAValue:
        """A piece as it lies in memory; elements that share bytes have one each."""
        if piece.mask:
            mask, beside = self.masks.of(piece, lanes), self.masks.beside[lanes]
            is_within = not has_masks(self.plan.vector_bytes, self.plan.shuffles)
            index, ahead = self.at(piece, "src"), self._ahead(piece)
            load = vector_ops.load_masked(self.copy.tile_source, index, mask, beside, ahead, is_within=is_within)
            return inserted(self.builder, load)
        value, share = self._bytes(piece, lanes), self.plan.widths.src_per_byte
        return unpacked(self.lanes(self.copy.in_memory("src", lanes)), value, share) if share > 1 else value

    def _bytes(self, piece: Piece, lanes: int) -> SSAValue:
        """A piece as it lies in memory."""
        type = vector_type(self.source_element, self.copy.in_memory("src", lanes))
        load = vector_ops.load(self.copy.tile_source, self.at(piece, "src"), type, self._ahead(piece))
        return inserted(self.builder, load)

    def _ahead(self, piece: Piece) -> int:
        """How far ahead of it lies what is asked for meanwhile, in elements of memory; 0 if nothing is."""
        if self.plan.asks == "by tiles" or piece.offset in self.asked_before:
            return 0
        last = self.program.load_piece - 1 if piece.offset in self.begin_earlier else 0
        return self.copy.in_memory("src", self.plan.prefetch + last)

    def lanes_of(self, register: Register) -> int:
        """How many each of its pieces has."""
        return self.program.lanes // len(register.pieces)


def starts_of(runs: Sequence[range]) -> list[int]:
    """Where the first of tiles that are alike starts along each digit."""
    return [run.start for run in runs]
