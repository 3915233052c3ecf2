"""
What is known of the numbers that become integers: between which they are, and by which product a quotient is rounded.

Both follow from the source's type and from known parameters, so that what is clamped, asked or divided in vain need not
be in the code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from layoutc.conversion import Conversion
from layoutc.element_type import ElementType
from layoutc.float_format import value_of
from layoutc.param import Param

Floats = npt.NDArray[np.float32]
Step = Callable[[Any, Any], Floats]
MOST_TRIED_BITS = 16
"""of integers, all of which are tried in two milliseconds"""
FLOAT_BITS = 8
"""of floats whose numbers are tried; those of more go too far"""
NEIGHBOURS = (0, 1, -1)
"""steps of a factor from the nearest reciprocal that are tried"""


class Known(NamedTuple):
    """The least and the greatest of some numbers, and whether NaN may be among them."""

    least: float
    greatest: float
    has_nan: bool


UNKNOWN = Known(-inf, inf, True)


@lru_cache(maxsize=256)
def known_numbers(source: ElementType, conversion: Conversion) -> Known:
    """Those f32 that become elements of the destination."""
    numbers = _ends(source)
    if conversion.sum or numbers is None:
        return UNKNOWN
    # Each step rises all the way in the number, or falls: what is between two numbers stays between them.
    ends = np.array([np.nanmin(numbers), np.nanmax(numbers)], np.float32)
    for step, values in _steps(conversion):
        if values is None:
            return UNKNOWN
        with np.errstate(all="ignore"):
            found = step(ends[:, None], values[None, :])
        if not np.isfinite(found).all():
            return UNKNOWN
        ends = np.array([found.min(), found.max()], np.float32)
    if not np.isfinite(ends).all():
        return UNKNOWN
    return Known(float(ends[0]), float(ends[1]), bool(np.isnan(numbers).any()))


@lru_cache(maxsize=256)
def factor_of_quotients(source: ElementType, destination: ElementType, conversion: Conversion) -> float | None:
    """
    What numbers of a source may be multiplied by in place of the division by `dst_scale`, as they become the same
    integers. Those that no limit clamps are the same before they would be clamped: nobody may ask again.
    """
    params = conversion.params
    is_known = all(_known(param) is not None and len(param.values or ()) == 1 for param in params.values())
    if not is_known or conversion.sum or conversion.reciprocal or source.bits > MOST_TRIED_BITS:
        return None
    numbers = _all_numbers(source)
    if numbers is None:
        return None
    *before, (_, divisor) = _steps(conversion, until="dst_scale")
    shift = _known(params["dst_zero_point"]) if "dst_zero_point" in params else np.zeros(1, np.float32)
    assert divisor is not None and shift is not None
    with np.errstate(all="ignore"):
        for step, values in before:
            numbers = step(numbers, values)
        wanted = _rounded(numbers / divisor + shift)
        nearest: Floats = np.float32(1) / divisor
        for steps in NEIGHBOURS:
            factor: Floats = nearest * np.float32(1 + steps * 2.0**-23)
            found = _rounded(numbers * factor + shift)
            if np.isfinite(factor).all() and _become_the_same(found, wanted, destination):
                return float(factor[0])
    return None


def _ends(source: ElementType) -> Floats | None:
    """Numbers of a type between which all others are, and a NaN if it has one; None where they are not of use."""
    if not source.is_integer:
        return _all_numbers(source)
    return np.array([source.integer_range[0], source.integer_range[-1]], np.float32)


@lru_cache(maxsize=32)
def _all_numbers(source: ElementType) -> Floats | None:
    """All numbers of a type of few bits."""
    if source.is_integer:
        return np.arange(source.integer_range[0], source.integer_range[-1] + 1).astype(np.float32)
    format = source.float_format
    if format is None or source.bits > FLOAT_BITS:
        return None
    return np.array([value_of(format, code) for code in range(1 << source.bits)], np.float32)


def _steps(conversion: Conversion, until: str = "") -> list[tuple[Step, Floats | None]]:
    """What is done to each number, and by which values, None where these are not known; up to a parameter."""
    every: dict[str, Step] = {
        "src_zero_point": np.subtract,
        "src_scale": np.multiply,
        "dst_scale": _times_reciprocal if conversion.reciprocal else np.divide,
        "dst_zero_point": np.add,
    }
    names = list(every)[: list(every).index(until) + 1] if until else every
    return [(every[name], _known(conversion.params[name])) for name in names if name in conversion.params]


def _times_reciprocal(numbers: Floats, divisors: Floats) -> Floats:
    reciprocals: Floats = np.float32(1) / divisors
    return numbers * reciprocals


def _known(param: Param) -> Floats | None:
    """The values of a parameter, each once."""
    return np.unique(np.array(param.values, np.float32)) if param.is_constant and param.values else None


def _rounded(numbers: Floats) -> npt.NDArray[np.float64]:
    return np.where(np.isnan(numbers), 0, np.rint(numbers.astype(np.float64)))


def _become_the_same(found: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64], destination: ElementType) -> bool:
    """Whether whole numbers are the same, or the same limit of a type is the nearest to both."""
    low, high = destination.integer_range[0], destination.integer_range[-1]
    is_inside = (low <= wanted) & (wanted <= high)
    same = np.where(is_inside, found, found.clip(low, high)) == np.where(is_inside, wanted, wanted.clip(low, high))
    return bool(np.all(same))
