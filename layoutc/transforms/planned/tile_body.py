"""
The body of a tile: loads, shuffles and stores of whole registers.

Leaves arith, memref and vector ops on flat buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from layoutc.planning.conversions.short_loads import has_short_loads
from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import LINE
from layoutc.planning.moves.fetched_lines import line_ends
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.joined_lines import side_by_side
from layoutc.planning.tiles.tile import Register, pieces_of
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import insert
from layoutc.transforms.building.joined_lanes import all_joined
from layoutc.transforms.building.loop_nest import first_inserted
from layoutc.transforms.building.vector_ops import vector_type, zeros
from layoutc.transforms.planned.step_table import Place
from layoutc.transforms.planned.swapped_rows import SwappedParts, SwappedRows
from layoutc.transforms.planned.tile_constants import lanes_of_zeros, without
from layoutc.transforms.planned.tile_loads import TileLoads, starts_of
from layoutc.transforms.planned.tile_site import TileSite, further
from layoutc.transforms.sums.running_sums import TileAdder
from layoutc.transforms.values.register_parts import Calls, part_of_register
from layoutc.transforms.values.shared_bytes import packed

if TYPE_CHECKING:
    from layoutc.transforms.planned.tiled_nest import TiledCopy


class VectorBody(TileLoads):
    """A tile: loads, the shuffle network, stores."""

    def __init__(self, copy: TiledCopy, plan: CopyPlan):
        super().__init__(copy, plan)
        self.stores = self.program.stores()
        self.calls = Calls.of(plan, self.loads, self.stores)
        sums = copy.memory.sums if copy.adds_up else None
        self.adder = None if sums is None else TileAdder(copy.nest, plan, sums)
        self.added: list[tuple[int, SSAValue]] = []
        """what a tile has stored, and where, in elements of the plan"""
        self.fetched = self._fetched() if plan.fetches else []
        """where the lines end that a tile stores into: the step of a digit that carries, and how far from its start"""

    def prepare(self) -> None:
        """The zeros that are stored, or joined with what is loaded, and masks."""
        is_whole = self.is_fill or self.plan.pads_elements
        for lanes in [self.program.lanes] if is_whole else lanes_of_zeros(self.loads, self.program.lanes):
            self.zeros[lanes] = zeros(self.copy.nest, vector_type(self.lane_type, lanes))
        self._prepare_masks()

    def _prepare_masks(self) -> None:
        """Those of pieces that are less than a register; the zeros beside what is loaded so are those of registers."""
        loaded = ((piece, self.lanes_of(each)) for each in chain(*self.loads) for piece in pieces_of([each]))
        stored = ((piece, self.program.store_piece) for piece in pieces_of(self.stores))
        self.masks.prepare(loaded, stored, self.source_element, self.copy.memory.conversion is not None)
        if not (self.converts_loads and self.plan.widths.dst > self.plan.widths.src):
            self.zeros |= self.masks.beside

    def build(self, builder: Builder, src: Place | None, dst: Place) -> Operation:
        """A tile, or one after the other along digits that are loaded in part; returns the first operation."""
        outside, first = TileSite(builder, src, dst, self.copy.param_sites), first_inserted(builder)
        for runs, registers in zip(self.runs, self.loads, strict=True):
            self.site = self._inside(outside, runs)
            self.base = {side: self.static(starts_of(runs), side) for side in SIDES}
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
        load = self._loaded(registers)

        def value(number: int) -> SSAValue:
            if number not in values:
                values[number] = load(number)
            return values[number]

        is_lazy = has_short_loads(self.plan)
        if not self.plan.merges and not is_lazy:
            for number in range(network.inputs):
                value(number)
        for number, step in enumerate(network.steps, network.inputs):
            first = value(step.first)
            second = first if step.second is None else value(step.second)
            values[number] = self.shuffle(first, second, step.mask, "t")
        steps = self.program.swapped_steps
        if steps is not None and steps.swaps_stores:
            swapped = SwappedParts(self, steps, lambda number: value(network.outputs[number]))
            made = (swapped.register(number) for number in range(len(network.outputs)))
        else:
            made = (value(output) for output in network.outputs)
        return made if is_lazy else list(made)

    def _loaded(self, registers: Sequence[Register]) -> Callable[[int], SSAValue]:
        """What loads a register of the network, by its number, and swaps what is to be swapped then."""
        steps, values = self.program.swapped_steps, dict[int, SSAValue]()
        if self.program.swaps:
            return SwappedRows(self, registers).register

        def load(number: int) -> SSAValue:
            first = number * self.together
            if number not in values:
                values[number] = self.register(registers[first : first + self.together])
            return values[number]

        if steps is None or steps.swaps_stores:
            return load
        swapped = SwappedParts(self, steps, load)
        return lambda number: swapped.register(number) if pieces_of([registers[number]]) else load(number)

    def _store(self, register: Register, value: SSAValue) -> None:
        for number, piece in enumerate(register.pieces):
            assert piece is not None
            index = self.at(piece, "dst")
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
            stored = self.cast(value, vector_type(self.element, lanes * self.copy.ratio))
        else:
            part = part_of_register(number, lanes, self.program.lanes, self.lane_type, self.source_element)
            stored = self.converted(value, piece, lanes, index, part)
        if piece.zeros:
            stored = without(self.lanes(lanes), stored, piece.zeros, self.plan.widths.dst)
        return packed(self.lanes(lanes // share), stored, share) if share > 1 else stored

    def _store_lines(self, results: Iterable[SSAValue]) -> None:
        """Pieces of elements that share bytes, those that lie side by side in a line put together."""
        found = [(r, n, v) for r, v in zip(self.stores, results, strict=True) for n in range(len(r.pieces))]
        pieces, piece = pieces_of(self.stores), self.program.store_piece * self.together
        for line in side_by_side(pieces, piece, LINE * self.plan.widths.dst_per_byte):
            index = self.at(pieces[line[0]], "dst")
            parts = [self._stored(*found[number], index) for number in line]
            whole = all_joined(self.builder, self.copy.nest, parts, self.plan.shuffles, "line")
            insert(self.builder, vector_ops.store(whole, self.copy.target, index, streams=True))
