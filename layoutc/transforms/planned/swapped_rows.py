"""Rows of a tile that swap the elements of their bytes once they are loaded: those of registers, or of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from layoutc.planning.tiles.tile import Register, Swap, pieces_of
from layoutc.transforms.values.shared_bytes import swapped, swapped_lanes

if TYPE_CHECKING:
    from layoutc.transforms.planned.tile_loads import TileLoads


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
        words = self.tile.lanes(self.tile.program.lanes * self.tile.plan.widths.moved // 2)
        if swap.across:
            first = number - number // swap.apart % 2 * swap.apart
            rows = [self._after(done - 1, row) for row in (first, first + swap.apart)]
            made = swapped(words, *rows, bits)
        else:
            lanes, width = range(self.tile.program.lanes), self.tile.plan.widths.moved
            other = self.tile.shuffle(before, before, [lane ^ swap.apart for lane in lanes], "other")
            firsts = [not lane & swap.apart for lane in lanes for _ in range(width)]
            first, made = number, (swapped_lanes(words, before, other, bits, firsts),)
        for row, value in zip((first, first + swap.apart), made, strict=False):
            self.values[done, row] = self.tile.cast(value, before.type)
