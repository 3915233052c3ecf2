"""
Channels side by side and back on machines that only unpack bytes: x86-64 before SSSE3.

Such a machine has shifts and masks of wide lanes for what it cannot shuffle. So channels are put together in pairs of
neighbours, twice as wide each time, until words of four bytes are left, which it shuffles at will; and taken apart the
other way round. Two pixels of an odd number of channels are whole pairs: r g b r g b is r g, b r, g b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from layoutc.planning.shuffles.network import Network, NetworkBuilder

WORD_BYTES = 4
T = TypeVar("T")
Chunk = tuple[int, int]
"""a value, and the number of one of its chunks"""


def join(channels: int, lanes: int, element_bytes: int) -> Network:
    """From one register per channel to memory order. Steps are unpacks, shifts of pairs, and shuffles of words."""
    builder = _Builder(channels, lanes, element_bytes)
    return builder.network(builder.joined(list(range(channels)), 1))


def part(channels: int, lanes: int, element_bytes: int) -> Network:
    """From memory order to one register per channel, the cheaper of two ways: by pairs, or by perfect shuffles."""
    values = list(range(channels))
    shuffles = _Builder(channels, lanes, element_bytes)
    shuffled = shuffles.network(shuffles.shuffled(values))
    if channels % 2 == 0:
        return shuffled
    pairs = _Builder(channels, lanes, element_bytes)
    parted = pairs.network(pairs.parted(values, lanes))
    return parted if pairs.cost < shuffles.cost else shuffled


class _Builder(NetworkBuilder):
    """
    Registers hold chunks of `size` elements, which are elements of the channels at first, or pairs of such chunks.

    Chunks of two registers have numbers one after the other.
    """

    def __init__(self, channels: int, lanes: int, element_bytes: int):
        super().__init__(channels, lanes)
        self.word = max(WORD_BYTES // element_bytes, 1)
        self.shuffles_words = element_bytes <= WORD_BYTES and lanes == 4 * self.word
        self.shifted: set[int] = set()
        """values that take two shifts or masks, and an or"""

    @property
    def cost(self) -> int:
        """Instructions."""
        return len(self.numbers) + 2 * len(self.shifted)

    # --- together --------------------------------------------------------------------------------------------------

    def joined(self, values: list[int], size: int) -> list[int]:
        """Channels of chunks in memory order."""
        if size == self.lanes:
            return values
        if len(values) % 2 == 0:
            low, high = ([self._chunks(a, b, half, size) for a, b in _twos(values)] for half in self._unpacks(size))
            return self.joined(low, 2 * size) + self.joined(high, 2 * size)
        pairs = list(_twos([(value, pixel) for pixel in (0, 1) for value in values]))
        if size == self.word and self.shuffles_words:
            return self._joined_words([self._evens(*pair) for pair in pairs])
        return self.joined([self._paired(*pair, size) for pair in pairs], 2 * size)

    def _evens(self, first: Chunk, second: Chunk) -> int:
        """Every second word of both registers, from some word on: w w' of the first, then of the second."""
        (a, x), (b, y) = first, second
        return self._chunks(a, b, (x, x + 2, y + 4, y + 6), self.word)

    def _joined_words(self, pairs: Sequence[int]) -> list[int]:
        """Memory order, out of registers that hold the first words of two pairs, then the second ones."""
        places = [(pair, k) for k in (0, 1) for pair in pairs]
        return [self._chunks(a, b, (k, k + 2, m + 4, m + 6), self.word) for (a, k), (b, m) in _twos(places)]

    def _paired(self, first: Chunk, second: Chunk, size: int) -> int:
        """Every second chunk of a register, each before one of another."""
        (a, x), (b, y) = first, second
        count = self.lanes // size
        value = self._chunks(a, b, [k for i in range(0, count, 2) for k in (i + x, count + i + y)], size)
        if size < self.word:
            self.shifted.add(value)
        return value

    # --- apart -----------------------------------------------------------------------------------------------------

    def parted(self, values: list[int], size: int) -> list[int]:
        """Channels, out of an odd number of registers of chunks that are their neighbours in memory."""
        if size == 1:
            return values
        if size == self.lanes and self.shuffles_words:
            return self.parted(self._parted_words(values), self.word)
        halves = [(values[place // 2], place % 2) for place in range(2 * len(values))]
        return self.parted([self._paired(*pair, size // 2) for pair in _apart(halves)], size // 2)

    def _parted_words(self, values: Sequence[int]) -> list[int]:
        """A channel has four words: two that one shuffle brought into a register, and two of another."""
        words = [(values[word // 4], word % 4) for word in range(4 * len(values))]
        halves = words[: len(words) // 2], words[len(words) // 2 :]
        firsts, seconds = (self._gathered(list(_apart(half))) for half in halves)
        return [
            self._chunks(a, b, (w, x, y + 4, z + 4), self.word)
            for (a, w, x), (b, y, z) in zip(firsts, seconds, strict=True)
        ]

    def _gathered(self, wanted: Sequence[tuple[Chunk, Chunk]]) -> list[tuple[int, int, int]]:
        """For two words each: a register that has both, and where. One shuffle serves two that come from the same."""
        found: list[tuple[int, int, int]] = []
        while len(found) < len(wanted):
            (a, w), (b, x) = wanted[len(found)]
            if a == b:
                found.append((a, w, x))
                continue
            alike = [(w, x) for (c, w), (d, x) in wanted[len(found) : len(found) + 2] if (c, d) == (a, b)]
            (w, x), (y, z) = alike[0], alike[-1]
            register = self._chunks(a, b, (w, y, x + 4, z + 4), self.word)
            found += [(register, k, k + 2) for k in range(len(alike))]
        return found

    def shuffled(self, values: list[int]) -> list[int]:
        """Perfect shuffles: log2(lanes) times the elements of the second half go between those of the first."""
        low, high = self._unpacks(1)
        for _ in range(self.lanes.bit_length() - 1):
            halves = [(value, half) for value in values for half in (0, 1)]
            pairs = enumerate(_apart(halves))
            values = [self._chunks(a, self._half(*b, i % 2), (low, high)[i % 2], 1) for i, ((a, _), b) in pairs]
        return values

    def _half(self, value: int, half: int, place: int) -> int:
        """A register with a half of another in its low (0) or high (1) half."""
        swapped = (*range(self.lanes // 2, self.lanes), *range(self.lanes // 2))
        return value if half == place else self.step(value, None, swapped)

    # --- chunks ----------------------------------------------------------------------------------------------------

    def _unpacks(self, size: int) -> tuple[list[int], list[int]]:
        """The chunks that punpckl and punpckh take."""
        count = self.lanes // size
        low = [k for i in range(count // 2) for k in (i, count + i)]
        return low, [k + count // 2 for k in low]

    def _chunks(self, first: int, second: int, order: Iterable[int], size: int) -> int:
        return self.step(first, second, [lane for k in order for lane in range(k * size, (k + 1) * size)])


def _twos(items: Sequence[T]) -> Iterable[tuple[T, T]]:
    """Neighbours."""
    return zip(items[::2], items[1::2], strict=True)


def _apart(items: Sequence[T]) -> Iterable[tuple[T, T]]:
    """Items of the first half, each with that of the second."""
    half = len(items) // 2
    return zip(items[:half], items[half:], strict=True)
