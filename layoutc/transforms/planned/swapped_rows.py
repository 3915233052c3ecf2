"""Rows of a tile that swap the elements of their bytes once they are loaded: those of registers, or of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from layoutc.planning.tiles.tile import Register, Swap, pieces_of
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.vector_ops import vector_type
from layoutc.transforms.values.shared_bytes import swapped, swapped_halves, swapped_lanes

if TYPE_CHECKING:
    from layoutc.transforms.planned.tile_loads import TileLoads

WORD, LANE = 2, 8
"""bytes of the narrowest and of the widest lanes that shifts are done in"""


class SwappedRows:
    """The registers of a tile that is built, each with what other ones, or other lanes of its own, had in its place."""

    def __init__(self, tile: TileLoads, registers: Sequence[Register]):
        self.tile, self.registers, self.swaps = tile, registers, tile.program.swaps
        self.bits = 8 >> len(self.swaps)
        """of an element"""
        self.values: dict[tuple[int, int], SSAValue] = {}
        """by how many swaps are done, and the number of the register"""

    def register(self, number: int) -> SSAValue:
        """A register once all is swapped."""
        return self._after(len(self.swaps), number)

    def _after(self, done: int, number: int) -> SSAValue:
        """A register after so many swaps."""
        if (done, number) not in self.values:
            if done == 0 or not pieces_of([self.registers[number]]):
                self.values[done, number] = self.tile.register([self.registers[number]])
            else:
                self._swap(done, number, self.swaps[done - 1])
        return self.values[done, number]

    def _swap(self, done: int, number: int, swap: Swap) -> None:
        """One swap more of a register, and of the one that it swaps with."""
        bits, before = self.bits << swap.bit, self._after(done - 1, number)
        if swap.across:
            first = number - number // swap.apart % 2 * swap.apart
            rows = [self._after(done - 1, row) for row in (first, first + swap.apart)]
            made = swapped(self._lanes(WORD), *rows, bits)
        else:
            first, made = number, (self._in_lanes(before, bits, swap.apart * self.tile.plan.widths.moved),)
        for row, value in zip((first, first + swap.apart), made, strict=False):
            self.values[done, row] = self.tile.cast(value, before.type)

    def _in_lanes(self, value: SSAValue, bits: int, apart: int) -> SSAValue:
        """What lies so many bytes apart in a register, swapped: by shifts, as far as these go."""
        if 2 * apart <= LANE:
            return swapped_halves(self._lanes(2 * apart), value, bits, apart)
        lanes = self._lanes(LANE)
        numbers = vector_ops.lanes_of(wide := self.tile.cast(value, vector_type(i64, lanes.count or 1)))
        others = [number ^ apart // LANE for number in numbers]
        other = inserted(self.tile.builder, vector_ops.shuffle(wide, wide, others, i64, "other"))
        return swapped_lanes(lanes, wide, other, bits, [number < other for number, other in zip(numbers, others)])

    def _lanes(self, width: int) -> Lanes:
        """All lanes of a register that have so many bytes each."""
        return self.tile.lanes(self.tile.program.lanes * self.tile.plan.widths.moved // width)
