"""
The body of a tile: loads, shuffles and stores of whole registers.

Leaves arith, memref and vector ops on flat buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.planning.conversions.short_loads import has_short_loads
from layoutc.planning.copies.copy_digits import SIDES, SideName
from layoutc.planning.machine import LINE, has_masks
from layoutc.planning.moves.fetched_lines import line_ends
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.joined_lines import side_by_side
from layoutc.planning.tiles.packed_tile import PackedTile, tile_program
from layoutc.planning.tiles.tile import Piece, Register, pieces_of, runs_of
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import insert, inserted
from layoutc.transforms.building.joined_lanes import all_in_pairs, all_joined
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import first_inserted
from layoutc.transforms.building.vector_ops import integer_type, vector_type, zeros
from layoutc.transforms.planned.last_loads import asked_before, begin_earlier
from layoutc.transforms.planned.step_table import Place
from layoutc.transforms.planned.tile_constants import TileMasks, lanes_of_zeros, without
from layoutc.transforms.planned.tile_site import TileSite, further
from layoutc.transforms.sums.running_sums import TileAdder
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.register_parts import WHOLE, Calls, Join, RegisterPart, part_of_register
from layoutc.transforms.values.shared_bytes import packed, together, unpacked

if TYPE_CHECKING:
    from layoutc.transforms.planned.tiled_nest import TiledCopy


MOVED_AS_THEY_ARE = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8"}
"""element types that are those of lanes; others move as integers"""


class VectorBody:
    """A tile: loads, the shuffle network, stores."""

    def __init__(self, copy: TiledCopy, plan: CopyPlan):
        self.copy, self.plan = copy, plan
        digits = plan.copy.digits
        self.program = tile_program(plan)
        self.together = self.program.together if isinstance(self.program, PackedTile) else 1
        """registers that are loaded for one of the network"""
        self.is_fill = plan.copy.is_fill
        self.runs = list(product(*map(runs_of, digits, plan.tile)))
        """the starts of tiles along each digit, of tiles that are alike: they share a body"""
        self.loads = [[] if self.is_fill else self.program.loads(_starts(runs)) for runs in self.runs]
        self.begin_earlier = begin_earlier(plan, self.loads[0], self.program.load_piece)
        """where loads begin in a line that the one before asks for: they ask for the line in which they end"""
        self.asked_before = asked_before(plan, self.loads[0])
        """where they begin that ask for nothing"""
        self.stores = self.program.stores()
        self.element, self.source_element = copy.memory.element, copy.memory.source_element
        # What shares bytes and is moved as it is converts nothing, whenever its plan says so.
        self.converts_loads = plan.widths.converted_at == "src" or copy.memory.conversion is None
        moved = self.element if self.converts_loads else self.source_element
        width = integer_type(8 * plan.widths.moved)
        is_direct = copy.ratio == 1 and str(moved) in MOVED_AS_THEY_ARE
        self.lane_type: Attribute = moved if is_direct else width
        self.join = Join(self.program.lanes, self.lane_type, plan.shuffles)
        self.calls = Calls.of(plan, self.loads, self.stores)
        self.zeros: dict[int, SSAValue] = {}
        """registers of zeros, and pieces of them, by their lanes"""
        sums = copy.memory.sums if copy.adds_up else None
        self.adder = None if sums is None else TileAdder(copy.nest, plan, sums)
        self.added: list[tuple[int, SSAValue]] = []
        """what a tile has stored, and where, in elements of the plan"""
        self.fetched = self._fetched() if plan.fetches else []
        """where the lines end that a tile stores into: the step of a digit that carries, and how far from its start"""
        self.masks = TileMasks(copy.nest, copy.ratio)

    def prepare(self) -> None:
        """The zeros that are stored, or joined with what is loaded, and masks."""
        is_whole = self.is_fill or self.plan.pads_elements
        for lanes in [self.program.lanes] if is_whole else lanes_of_zeros(self.loads, self.program.lanes):
            self.zeros[lanes] = zeros(self.copy.nest, vector_type(self.lane_type, lanes))
        self._prepare_masks()

    def _prepare_masks(self) -> None:
        """Those of pieces that are less than a register; the zeros beside what is loaded so are those of registers."""
        loaded = ((piece, self._lanes_of(each)) for each in chain(*self.loads) for piece in pieces_of([each]))
        stored = ((piece, self.program.store_piece) for piece in pieces_of(self.stores))
        self.masks.prepare(loaded, stored, self.source_element)
        if not (self.converts_loads and self.plan.widths.dst > self.plan.widths.src):
            self.zeros |= self.masks.beside

    def build(self, builder: Builder, src: Place | None, dst: Place) -> Operation:
        """A tile, or one after the other along digits that are loaded in part; returns the first operation."""
        outside, first = TileSite(builder, src, dst, self.copy.param_sites), first_inserted(builder)
        for runs, registers in zip(self.runs, self.loads, strict=True):
            self.site = self._inside(outside, runs)
            self.base = {side: self._static(_starts(runs), side) for side in SIDES}
            self._tile(registers)
        return first()

    def _inside(self, site: TileSite, runs: Sequence[range]) -> TileSite:
        """Where the tiles with these starts are built: in a loop along each digit that has more than one."""
        for digit, run in zip(self.plan.copy.digits, runs, strict=True):
            site = site.further(digit, run.start)
            if len(run) > 1:
                src, dst = (self.copy.in_memory(side, run.step * digit.of(side)) for side in SIDES)
                site = site.inside(self.copy.nest, digit, run, src, dst)
        return site

    @property
    def builder(self) -> Builder:
        return self.site.builder

    def _lanes(self, count: int) -> Lanes:
        return Lanes(self.builder, self.copy.nest, count)

    def _fetched(self) -> list[tuple[int, int]]:
        """Where the lines end that a tile stores into, in elements of memory."""
        runs: list[tuple[int, int, int]] = []
        for piece in pieces_of(self.stores):
            stop = piece.offset + (piece.mask.bit_length() or self.program.store_piece * self.together)
            runs.append((piece.step, self.copy.in_memory("dst", piece.offset), self.copy.in_memory("dst", stop)))
        return line_ends(runs, LINE // self.plan.widths.dst * self.copy.ratio)

    def _tile(self, registers: Sequence[Register]) -> None:
        for step, distance in self.fetched:
            place = further(self.builder, self.copy.nest, self.site.dst, step, self.base["dst"] + distance)
            insert(self.builder, vector_ops.fetch(self.copy.target, place, writes=True))
        if self.is_fill:
            results = [self.zeros[self.program.lanes]] * len(self.stores)
        else:
            results = self._moved_through(registers)
        if self.plan.store == "nontemporal" and self.plan.widths.dst_per_byte > 1:
            self._store_lines(results)
            return
        for register, value in zip(self.stores, results, strict=True):
            self._store(register, value)
        if self.adder is not None:
            self.adder.add(self.builder, self.site.params[self.adder.sums.number], self.added)
            self.added = []

    def _moved_through(self, registers: Sequence[Register]) -> Iterable[SSAValue]:
        """
        What the network makes of registers; where it merges many, each is loaded just before it is needed, and short
        ones just before they are converted and stored.
        """
        network, values = self.program.network, dict[int, SSAValue]()

        def value(number: int) -> SSAValue:
            if number not in values:
                first = number * self.together
                values[number] = self._loaded(registers[first : first + self.together])
            return values[number]

        is_lazy = has_short_loads(self.plan)
        if not self.plan.merges and not is_lazy:
            for number in range(network.inputs):
                value(number)
        for number, step in enumerate(network.steps, network.inputs):
            first = value(step.first)
            second = first if step.second is None else value(step.second)
            values[number] = self._shuffle(first, second, step.mask, "t")
        made = (value(output) for output in network.outputs)
        return made if is_lazy else list(made)

    def _static(self, starts: Sequence[int], side: SideName) -> int:
        """How far the first of tiles that are alike lies from the first of all, in elements of memory."""
        elements = sum(s * d.of(side) for s, d in zip(starts, self.plan.copy.digits, strict=True))
        return self.copy.in_memory(side, elements)

    # --- loads and stores ----------------------------------------------------------------------------------------

    def _loaded(self, registers: Sequence[Register]) -> SSAValue:
        """A register, or one of whose bytes each has an element of several."""
        loaded = [self._load(register) for register in registers]
        if len(loaded) == 1:
            return loaded[0]
        lanes = self._lanes(self.program.lanes // 2)
        return self._cast(together(lanes, loaded), vector_type(self.lane_type, self.program.lanes))

    def _load(self, register: Register) -> SSAValue:
        """A register, put together from its pieces."""
        if self.plan.pads_elements:
            return self._padded(register)
        if (found := self._converted_at_once(register)) is not None:
            return found
        lanes = self._lanes_of(register)
        loaded = {piece: self._load_piece(piece, lanes) for piece in dict.fromkeys(register.pieces)}
        return all_in_pairs([loaded[piece] for piece in register.pieces], self._joined)

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
            return self._zero(2 * lanes)
        return self.join.two(self.builder, self.copy.nest, a, b)

    def _converted_at_once(self, register: Register) -> SSAValue | None:
        """A register whose pieces one function converts, and joins; None if none is called."""
        found = [piece for piece in register.pieces if piece is not None]
        is_joined = 1 < len(found) == self.program.lanes // self.program.load_piece
        if not (is_joined and self.converts_loads and self.calls.are_made):
            return None
        lanes, params = self.program.load_piece, [PieceParams(self.site.params, piece.params) for piece in found]
        conversion = self.copy.memory.conversion
        convert = conversion and conversion.joining(self._lanes(lanes), params, self.join, self.calls)
        return None if convert is None else convert([self._raw_piece(piece, lanes) for piece in found])

    def _zero(self, lanes: int) -> SSAValue:
        """So many lanes of zeros."""
        return self._cast(self.zeros[lanes], vector_type(self.lane_type, lanes))

    def _load_piece(self, piece: Piece | None, lanes: int) -> SSAValue:
        if piece is None:
            return self._zero(lanes)
        value = self._raw_piece(piece, lanes)
        if self.converts_loads and self.plan.widths.converts:
            value = self._converted(value, piece, lanes)
        return self._cast(value, vector_type(self.lane_type, lanes))

    def _raw_piece(self, piece: Piece, lanes: int) -> SSAValue:
        """A piece as it lies in memory; elements that share bytes have one each."""
        index = self._at(piece, "src")
        last = self.program.load_piece - 1 if piece.offset in self.begin_earlier else 0
        is_quiet = self.plan.asks == "by tiles" or piece.offset in self.asked_before
        ahead = 0 if is_quiet else self.copy.in_memory("src", self.plan.prefetch + last)
        if piece.mask:
            mask, beside = self.masks.of(piece, lanes), self.masks.beside[lanes]
            is_within = not has_masks(self.plan.vector_bytes, self.plan.shuffles)
            load = vector_ops.load_masked(self.copy.tile_source, index, mask, beside, ahead, is_within=is_within)
            return inserted(self.builder, load)
        count = self.copy.in_memory("src", lanes)
        type = vector_type(self.source_element, count)
        value: SSAValue = inserted(self.builder, vector_ops.load(self.copy.tile_source, index, type, ahead))
        share = self.plan.widths.src_per_byte
        return unpacked(self._lanes(count), value, share) if share > 1 else value

    def _lanes_of(self, register: Register) -> int:
        """How many each of its pieces has."""
        return self.program.lanes // len(register.pieces)

    def _store(self, register: Register, value: SSAValue) -> None:
        for number, piece in enumerate(register.pieces):
            assert piece is not None
            index = self._at(piece, "dst")
            stored = self._stored(register, number, value, index)
            self.added.append((piece.offset, stored))
            if piece.mask:
                mask = self.masks.of(piece, self.program.store_piece)
                insert(self.builder, vector_ops.store_masked(stored, self.copy.target, index, mask))
                continue
            streams = self.plan.store == "nontemporal"
            insert(self.builder, vector_ops.store(stored, self.copy.target, index, streams))

    def _stored(self, register: Register, number: int, value: SSAValue, index: SSAValue) -> SSAValue:
        """A piece of a register as it lies in memory."""
        lanes, share = self.program.store_piece, self.plan.widths.dst_per_byte // self.together
        piece = register.pieces[number]
        assert piece is not None
        if self.converts_loads:
            if lanes < self.program.lanes:
                value = vector_ops.part(
                    self.builder, value, range(number * lanes, (number + 1) * lanes), self.lane_type
                )
            stored = self._cast(value, vector_type(self.element, lanes * self.copy.ratio))
        else:
            part = part_of_register(number, lanes, self.program.lanes, self.lane_type, self.source_element)
            stored = self._converted(value, piece, lanes, index, part)
        if piece.zeros:
            stored = without(self._lanes(lanes), stored, piece.zeros, self.plan.widths.dst)
        return packed(self._lanes(lanes // share), stored, share) if share > 1 else stored

    def _store_lines(self, results: Iterable[SSAValue]) -> None:
        """Pieces of elements that share bytes, those that lie side by side in a line put together."""
        found = [(r, n, v) for r, v in zip(self.stores, results, strict=True) for n in range(len(r.pieces))]
        pieces, piece = pieces_of(self.stores), self.program.store_piece * self.together
        for line in side_by_side(pieces, piece, LINE * self.plan.widths.dst_per_byte):
            index = self._at(pieces[line[0]], "dst")
            parts = [self._stored(*found[number], index) for number in line]
            whole = all_joined(self.builder, self.copy.nest, parts, self.plan.shuffles, "line")
            insert(self.builder, vector_ops.store(whole, self.copy.target, index, streams=True))

    def _converted(
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
                old = unpacked(self._lanes(count), old, share)
        params = PieceParams(self.site.params, piece.params)
        if self.converts_loads and lanes < self.program.lanes:
            # What is joined is no function's, but that of all of the register.
            return conversion.convert(self._lanes(lanes), value, params, old)
        return conversion.call(self._lanes(lanes), value, part, params, old, self.calls)

    def _at(self, piece: Piece, side: SideName) -> SSAValue:
        """Where a piece begins."""
        place = self.site.src if side == "src" else self.site.dst
        assert place is not None, "a fill loads nothing"
        distance = self.base[side] + self.copy.in_memory(side, piece.offset)
        return further(self.builder, self.copy.nest, place, piece.step, distance)

    def _shuffle(self, a: SSAValue, b: SSAValue, mask: Sequence[int], name: str) -> SSAValue:
        if a is b is self.zeros.get(len(mask)):
            return a
        return inserted(self.builder, vector_ops.shuffle(a, b, mask, self.lane_type, name))

    def _cast(self, value: SSAValue, type: Attribute) -> SSAValue:
        if value.type == type:
            return value
        return inserted(self.builder, vector_ops.bitcast(value, type))


def _starts(runs: Sequence[range]) -> list[int]:
    """Where the first of tiles that are alike starts along each digit."""
    return [run.start for run in runs]
