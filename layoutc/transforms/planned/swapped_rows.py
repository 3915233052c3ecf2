"""Steps of a tile that swap the elements of their bytes: registers once they are loaded, or lanes of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from layoutc.planning.tiles.tile import Register, Swap, pieces_of
from layoutc.transforms.values.swapped_bytes import swapped_across, swapped_within

if TYPE_CHECKING:
    from layoutc.transforms.planned.tile_loads import TileLoads


class SwappedRows:
    """The registers of a tile that is built, each of which is loaded, and swapped, as it is first asked for."""

    def __init__(self, tile: TileLoads, registers: Sequence[Register]):
        self.tile, self.registers, self.swaps = tile, registers, tile.program.swaps
        self.width = tile.plan.widths.moved
        self.lanes = tile.lanes(tile.program.lanes * self.width)
        """the bytes of a register"""
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
        if not swap.across:
            value = swapped_within(self.lanes, before, bits, swap.apart * self.width)
            self.values[done, number] = self.tile.cast(value, before.type)
            return
        first = number - number // swap.apart % 2 * swap.apart
        one, two = (self._after(done - 1, row) for row in (first, first + swap.apart))
        for row, value in zip((first, first + swap.apart), swapped_across(self.lanes, one, two, bits), strict=True):
            self.values[done, row] = self.tile.cast(value, before.type)
