"""How many loads the parameters of a tile take: one for a register, or one for each of its lanes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.planning.plans.plan import Part


def param_loads(copy: StridedCopy, tile: Sequence[int], lanes: Sequence[Part], packed: Collection[int]) -> int:
    """
    Those of all registers of a tile that have these lanes, for each list of parameters.

    In the lists of these numbers two values share a byte.
    """
    return sum(_loads_of_list(copy, number, tile, lanes, number in packed) for number in range(len(copy.params)))


def _loads_of_list(copy: StridedCopy, number: int, tile: Sequence[int], lanes: Sequence[Part], is_packed: bool) -> int:
    """Those of one list, for each register of a tile that has other values."""
    along = {part.digit: part.extent for part in lanes}
    digits = enumerate(zip(copy.digits, tile, strict=True))
    registers = prod(max(1, size // along.get(g, 1)) for g, (digit, size) in digits if digit.params[number])
    return registers * _loads_of_register(copy, number, lanes, is_packed)


def _loads_of_register(copy: StridedCopy, number: int, lanes: Sequence[Part], is_packed: bool) -> int:
    """Values side by side are one load, and so is one value for all lanes."""
    # Values that begin inside of a byte are taken out of it one by one.
    is_inside = is_packed and any(
        place % 2 for place in (copy.params[number], *(digit.params[number] for digit in copy.digits)) if place != 1
    )
    together = apart = 1
    for part in lanes:
        step = copy.digits[part.digit].params[number]
        if step == together and apart == 1 and not is_inside:
            together *= part.extent
        elif step:
            apart *= part.extent
    return apart
