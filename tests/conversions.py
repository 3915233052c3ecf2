"""Values and layouts for the tests of conversions."""

from __future__ import annotations

import os

import numpy as np

from layoutc.element_type import ELEMENT_TYPES, ElementType, element_type
from layoutc.numeric.packing import packed

RANDOM = int(os.environ.get("LAYOUTC_RANDOM_VALUES", "2000"))
"""how many random bit patterns of wide types are converted; a million takes minutes"""

FLOAT_BITS = {"f64": 52, "f32": 23}


def interesting_codes(type: ElementType) -> np.ndarray:
    """All codes of a type up to 16 bits; of wider ones boundaries of every type, ties, and random ones."""
    if type.bits <= 16:
        return np.arange(1 << type.bits, dtype=f"u{max(1, type.bits // 8)}")
    dtype = np.dtype(f"u{type.bits // 8}")
    random = np.random.default_rng(1).integers(0, 256, RANDOM * dtype.itemsize, np.uint8).view(dtype)
    return np.concatenate([_boundaries(type).astype(dtype), random])


def _boundaries(type: ElementType) -> np.ndarray:
    if type.is_integer:
        powers = [1 << n for n in range(type.bits)]
        numbers = {sign * (power + d) for power in powers for d in (-2, -1, 0, 1, 2) for sign in (-1, 1)}
        numbers |= {sign * (power + power // 2 + d) for power in powers for d in (-1, 0, 1) for sign in (-1, 1)}
        return np.array(sorted(n % (1 << type.bits) for n in numbers), np.uint64)
    return _float_boundaries(type.name)


def _float_boundaries(name: str) -> np.ndarray:
    """Around every number of a narrow type, the middle between two of them, and every limit of an integer type."""
    numbers: list[float] = []
    for narrow in ELEMENT_TYPES:
        format = narrow.float_format
        if format is None:
            limits = (narrow.integer_range[0], narrow.integer_range[-1])
            numbers += [limit + d for limit in limits for d in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)]
        else:
            ends = [float(format.max), float(format.smallest), float(format.smallest_normal)]
            numbers += [end * f for end in ends for f in (0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2)]
    numbers += [n / 4 for n in range(64)]
    floats = np.array(numbers, np.float64)
    floats = np.concatenate([floats, -floats])
    dtype, bits = (np.float64, np.uint64) if name == "f64" else (np.float32, np.uint32)
    with np.errstate(all="ignore"):
        codes = floats.astype(dtype).view(bits)
    codes = np.concatenate([codes, codes + bits(1), codes - bits(1)])
    top = bits(((1 << (11 if name == "f64" else 8)) - 1) << FLOAT_BITS[name])
    sign = bits(1 << (63 if name == "f64" else 31))
    middle = [top, top + bits(1), top + bits(1 << (FLOAT_BITS[name] - 1)), top + bits((1 << FLOAT_BITS[name]) - 1)]
    special = np.array([*middle, *(code | sign for code in middle), 0, sign, 1, sign | bits(1)], bits)
    ties = _ties(name)
    return np.concatenate([codes, special, ties]).astype(np.uint64)


def _ties(name: str) -> np.ndarray:
    """Every exponent, with the fractions that lie next to or on the middle between two narrow numbers."""
    bits, dtype = FLOAT_BITS[name], np.uint64
    fields = np.arange(1 << (63 - bits if name == "f64" else 31 - bits), dtype=dtype)[:: 3 if name == "f64" else 1]
    fractions: list[int] = []
    for kept in (1, 2, 3, 7, 10):
        half = 1 << (bits - kept - 1)
        fractions += [half - 1, half, half + 1, 3 * half - 1, 3 * half, 3 * half + 1]
    return ((fields[:, None] << dtype(bits)) | np.array(fractions, dtype)).ravel()


def in_memory(codes: np.ndarray, type: ElementType) -> np.ndarray:
    """Codes as the bytes of a dense buffer."""
    return packed(codes, type.bits) if type.bits < 8 else np.ascontiguousarray(codes).view(np.uint8)


ALL = tuple(type.name for type in ELEMENT_TYPES)
PAIRS = tuple((element_type(a), element_type(b)) for a in ALL for b in ALL)
