"""Steps of a tile that swap the elements of their bytes: registers, loaded or to be stored, or lanes of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from layoutc.planning.tiles.tile import Register, Swap, SwappedSteps, pieces_of
from layoutc.transforms.values.swapped_bytes import Term, gathered, swapped_across, swapped_within

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


class SwappedParts:
    """Registers of a tile that have elements of other ones, where short rows are swapped: each as it is asked for."""

    def __init__(self, tile: TileLoads, steps: SwappedSteps, register: Callable[[int], SSAValue]):
        self.tile, self.steps, self.before = tile, steps, register
        self.lanes = tile.lanes(tile.program.lanes * tile.plan.widths.moved)
        """the bytes of a register"""

    def register(self, number: int) -> SSAValue:
        """A register once elements are swapped."""
        steps, apart, per_byte, side = self.steps
        step = number // apart % steps
        first, terms = number - step * apart, list[Term]()
        for place in range(per_byte):
            # Which step and place the element comes from: of rows, or of what follows one another.
            if side == "src":
                found, row = divmod(step * per_byte + place, steps)[::-1]
            else:
                found, row = divmod(place * steps + step, per_byte)
            terms.append((self.before(first + found * apart), row, place))
        value = gathered(self.lanes, terms, 8 // per_byte)
        return self.tile.cast(value, terms[0][0].type)
