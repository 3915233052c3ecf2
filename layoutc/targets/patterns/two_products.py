"""
Quotients by a known divisor as the sum of two products, where that gives the same integers.

With h + l = 1 / s, h rounded towards zero and l to nearest, x / s is about fma(x, h, x * l): it is off by less than
2^-22 of a place before it is rounded, and so hardly ever rounded another way. Whether it is where an integer changes
can be tried: both functions of x rise all the way, or fall, as each of their roundings does, and so do the integers
that they become after a zero point was added. Two such functions are equal if each integer begins at the same x.

h and l have one sign, so infinities stay what they are, and NaN comes of NaN alone.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from layoutc.targets.patterns.c_quotient import USUAL

Floats = npt.NDArray[np.float32]
MOST_INTEGERS = 256
"""so many are tried in 0.3 ms"""
MOST_SHIFT = 1 << 16
"""of a zero point: a sum with a greater one has too few places for the search below"""
UNCERTAIN = 2.0**-51
"""of a sum of two products in f64, how far it may be from the exact one"""


class Integers(NamedTuple):
    """What quotients become: a zero point is added, and the sum clamped and rounded half to even."""

    low: int
    high: int
    zero_point: float

    def of(self, quotients: npt.NDArray[Any]) -> Floats:
        """Not clamped."""
        return np.rint(quotients.astype(np.float32) + np.float32(self.zero_point))


@lru_cache(maxsize=256)
def two_products(divisor: float, integers: Integers) -> tuple[float, float] | None:
    """The factors of quotients by an f32, themselves f32, or None where some quotient would become another integer."""
    size = float(np.float32(abs(divisor)))
    few = integers.high - integers.low < MOST_INTEGERS and abs(integers.zero_point) <= MOST_SHIFT
    if not few or not 2.0 ** USUAL[0] <= size <= 2.0 ** USUAL[-1]:
        return None
    nearest = np.float32(1 / size)
    high = nearest if float(nearest) * size <= 1 else np.nextafter(nearest, np.float32(0))
    low = np.float32((1 - float(high) * size) / size)
    if not low:
        return None
    sign = 1 if divisor > 0 else -1
    begins = Beginnings.of(np.float32(size), integers if sign > 0 else _mirrored(integers))
    # Neighbours are tried too: a quotient that is all but midway between two floats needs an error of the right sign.
    tried = (np.float32(low * (1 + steps * 2.0**-23)) for steps in (0, 1, -1, 2, -2))
    found = next((part for part in tried if begins.are_those_of(high, part)), None)
    return None if found is None else (sign * float(high), sign * float(found))


def _mirrored(integers: Integers) -> Integers:
    """What negative quotients become, negated: rounding half to even does not ask for the sign."""
    low, high, zero_point = integers
    return Integers(-high, -low, -zero_point)


class Beginnings(NamedTuple):
    """Integers but the least, and the least dividends whose quotients become these."""

    integers: Integers
    wanted: Floats
    first: Floats

    @classmethod
    def of(cls, divisor: np.float32, integers: Integers) -> Beginnings:
        """Found by halving what lies about them; the divisor is positive."""
        wanted = np.arange(integers.low + 1, integers.high + 1, dtype=np.float32)
        halves = wanted.astype(np.float64) - 0.5 - integers.zero_point
        ends = [((halves + side) * float(divisor)).astype(np.float32).view(np.int32) for side in (-0.25, 0.25)]
        # The bits of negative floats rise as the floats fall, so either end may have the greater ones.
        below, reached = ends
        while (np.abs(reached.astype(np.int64) - below) > 1).any():
            middle = ((below.astype(np.int64) + reached) >> 1).astype(np.int32)
            is_reached = integers.of(middle.view(np.float32) / divisor) >= wanted
            below, reached = np.where(is_reached, below, middle), np.where(is_reached, middle, reached)
        return cls(integers, wanted, reached.view(np.float32))

    def are_those_of(self, high: np.float32, low: np.float32) -> bool:
        """Whether two products with these factors become the same integers there, and just before."""
        before = np.nextafter(self.first, np.float32(-np.inf))
        return all(map(partial(self._becomes, high, low), (self.first, before), (self.wanted, self.wanted - 1)))

    def _becomes(self, high: np.float32, low: np.float32, x: Floats, wanted: Floats) -> bool:
        """Whether the two products of these dividends surely become these integers."""
        total = x.astype(np.float64) * float(high) + (x * low).astype(np.float64)
        return all((self.integers.of(total * (1 + off)) == wanted).all() for off in (-UNCERTAIN, UNCERTAIN))
