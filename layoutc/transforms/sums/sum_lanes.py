"""
Adding registers of 8-bit weights up to sums of 32 bits, as arithmetic on lanes.

The 8 bits of two neighbours are the halves of a lane of 16 bits, which shifts take apart. Neighbours that go into one
sum are added at once, others have totals of their own; so with lanes of 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import SSAValue

from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.building.vector_ops import vector_type

Values = list[SSAValue]


class SumLanes:
    """
    What the lanes of registers of so many weights are added up to: `count` totals of `lanes` times 32 bits.

    `kept` says of each bit of a lane's number whether lanes that differ in it go into other sums.
    """

    def __init__(self, nest: NestBuilder, width: int, kept: Sequence[bool]):
        self.nest, self.width, self.lanes, self.kept = nest, width, width // 4, kept
        self.count = (1 + self.kept[0]) * (1 + self.kept[1])
        self.length = 1 << sum(self.kept[2:])
        """lanes of the vectors of sums"""

    def zeros(self, lanes: Lanes) -> Values:
        """The totals before any weight."""
        return [replace(lanes, count=self.lanes).constant(0, i32)] * self.count

    def added(self, lanes: Lanes, weights: Sequence[SSAValue], totals: Sequence[SSAValue]) -> Values:
        """The totals with a few registers of weights added."""
        lanes_32 = replace(lanes, count=self.lanes)
        long = self.added_up(lanes, weights)
        return [lanes_32.add(total, part, "total") for total, part in zip(totals, long, strict=True)]

    def added_up(self, lanes: Lanes, weights: Sequence[SSAValue]) -> Values:
        """What a few registers of weights add up to, 128 at most."""
        short: Values = []
        for register in weights:
            parts = self._parts(lanes, register, 16, self.kept[0])
            lanes_16 = replace(lanes, count=self.width // 2)
            short = [lanes_16.add(a, b, "pairs") for a, b in zip(short, parts, strict=True)] if short else parts
        return [*chain.from_iterable(self._parts(lanes, part, 32, self.kept[1]) for part in short)]

    def _parts(self, lanes: Lanes, value: SSAValue, bits: int, are_apart: bool) -> Values:
        """The halves of each lane of so many bits, as lanes of all of them, or their sum."""
        count = self.width * 8 // bits
        wide = inserted(lanes.builder, vector_ops.bitcast(value, vector_type(IntegerType(bits), count)))
        lanes = replace(lanes, count=count)
        low = lanes.sar(lanes.shl(wide, bits // 2), bits // 2, "low")
        high = lanes.sar(wide, bits // 2, "high")
        return [low, high] if are_apart else [lanes.add(low, high, "pairs")]

    def sums(self, lanes: Lanes, totals: Sequence[SSAValue]) -> Values:
        """The totals as vectors of one lane per sum, in the order of the weights."""
        vectors = [[self._folded(lanes, total)] for total in totals]
        while len(vectors) > 1:
            # Those that differ in the higher bit stand side by side.
            vectors = [self._zipped(lanes, *pair) for pair in zip(vectors[::2], vectors[1::2], strict=True)]
        return vectors[0]

    def _folded(self, lanes: Lanes, total: SSAValue) -> SSAValue:
        """A total with the lanes that go into one sum added."""
        count = self.lanes
        for bit in reversed(range(len(self.kept) - 2)):
            if self.kept[bit + 2]:
                continue
            low, high = ([n for n in range(count) if n >> bit & 1 == half] for half in (0, 1))
            count //= 2
            part, other = (self._shuffled(lanes, total, total, mask) for mask in (low, high))
            total = replace(lanes, count=count).add(part, other, "folded")
        return total

    def _zipped(self, lanes: Lanes, evens: Values, odds: Values) -> Values:
        """The lanes of two totals in turn."""
        mask = [lane + half * self.length for lane in range(self.length) for half in (0, 1)]
        parts = mask[: self.length], mask[self.length :]
        return [self._shuffled(lanes, *pair, part) for pair in zip(evens, odds, strict=True) for part in parts]

    def runs(self, offsets: Sequence[int]) -> Iterator[tuple[int, int, range]]:
        """Sums that are stored at once, of lanes that go to these offsets: their vector, their offset, its lanes."""
        for number, first in enumerate(range(0, len(offsets), self.length)):
            for run in _contiguous(offsets[first : first + self.length]):
                yield number, offsets[first + run.start], run

    def cut(self, lanes: Lanes, sums: SSAValue, run: range) -> SSAValue:
        """Some lanes of a vector of sums that follow one another."""
        return sums if len(run) == self.length else self._shuffled(lanes, sums, sums, run)

    @staticmethod
    def _shuffled(lanes: Lanes, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
        return inserted(lanes.builder, vector_ops.shuffle(a, b, mask, i32, "lanes"))


def _contiguous(offsets: Sequence[int]) -> Iterator[range]:
    """The positions of offsets that follow one another."""
    start = 0
    for end in range(1, len(offsets) + 1):
        if end == len(offsets) or offsets[end] != offsets[end - 1] + 1:
            yield range(start, end)
            start = end
