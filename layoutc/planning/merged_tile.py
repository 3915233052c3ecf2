"""
A tile whose registers are merged in pairs: any box of elements, in pieces of any number of elements.

Each load and store takes what is contiguous: whole registers, and the first lanes of one for what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from math import prod

from layoutc.planning.copy_digits import SideName
from layoutc.planning.machine import Shuffles
from layoutc.planning.merging import Elements, merge
from layoutc.planning.network import Network
from layoutc.planning.plan import CopyPlan, Part
from layoutc.planning.tile import Piece, Register

MERGED_VECTOR = 64
"""bytes: AVX-512 has masks for single lanes, and takes any lanes of two registers"""


def merges_registers(vector: int, shuffles: Shuffles, element: int) -> bool:
    """Whether any lanes of two registers are one instruction, for elements of so many bytes."""
    return vector == MERGED_VECTOR and (shuffles == "any" or (shuffles == "words" and element > 1))


class MergedTile:
    """The loads, the network and the stores of such a tile."""

    def __init__(self, plan: CopyPlan):
        self.plan = plan
        self.lanes = self.load_piece = self.store_piece = plan.vector_bytes // plan.element_bytes
        self.held = self._rows("src", plan.source_lanes, plan.target_lanes)
        self.wanted = self._rows("dst", plan.target_lanes, plan.source_lanes)

    @cached_property
    def network(self) -> Network:
        """From the registers as loaded to the registers as stored."""
        held, wanted = (tuple(elements for _, elements in rows) for rows in (self.held, self.wanted))
        return merge(held, wanted, self.lanes)

    def loads(self, starts: Sequence[int]) -> list[Register]:
        """The registers as loaded."""
        return [Register((piece,)) for piece, _ in self.held]

    def stores(self) -> list[Register]:
        """The registers as stored."""
        return [Register((piece,)) for piece, _ in self.wanted]

    def _rows(self, side: SideName, lanes: Sequence[Part], others: Sequence[Part]) -> list[tuple[Piece, Elements]]:
        """The pieces of memory, row by row, and the numbers of their elements in the tile."""
        along = [part.digit for part in lanes]
        across = [part.digit for part in others if part.digit not in along]
        rest = [g for g, extent in enumerate(self.plan.tile) if extent > 1 and g not in (*along, *across)]
        run = self._numbers(along)
        return [
            (Piece(self._offset(values, side) + first, count=count % self.lanes), tuple(row[first : first + count]))
            for values in self._values((*across, *rest))
            for row in [[number + self._number(values) for number in run]]
            for first, count in self._pieces(len(row), side)
        ]

    def _pieces(self, run: int, side: SideName) -> list[tuple[int, int]]:
        """Where the pieces of a row begin, and their elements; a last load of a whole register begins earlier."""
        found = [(first, min(self.lanes, run - first)) for first in range(0, run, self.lanes)]
        if side == "src" and run > self.lanes:
            found[-1] = (run - self.lanes, self.lanes)
        return found

    def _values(self, digits: Sequence[int]) -> list[dict[int, int]]:
        """All values of some digits, the first counting fastest."""
        counts = product(*(range(self.plan.tile[g]) for g in reversed(digits)))
        return [dict(zip(reversed(digits), values, strict=True)) for values in counts]

    def _numbers(self, digits: Sequence[int]) -> list[int]:
        return [self._number(values) for values in self._values(digits)]

    def _number(self, values: dict[int, int]) -> int:
        """Of an element in the tile, its digits counted one after the other."""
        return sum(value * prod(self.plan.tile[:g]) for g, value in values.items())

    def _offset(self, values: dict[int, int], side: SideName) -> int:
        return sum(self.plan.copy.digits[g].offset(side, value) for g, value in values.items())
