"""Elements of less than a byte: one per byte for NumPy, packed in memory with the first in the low bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


def unpacked(packed: Bytes, bits: int, count: int) -> Bytes:
    """The first `count` codes of `bits` bits (1, 2 or 4), one per byte."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = packed[:, None] >> shifts & np.uint8((1 << bits) - 1)
    return codes.reshape(-1)[:count]


def pack_into(packed: Bytes, codes: Bytes, bits: int) -> None:
    """Write codes from the first byte on; bits behind the last code stay as they are."""
    per_byte = 8 // bits
    rest = -len(codes) % per_byte
    if rest:
        codes = np.concatenate([codes, unpacked(packed[-1:], bits, per_byte)[per_byte - rest :]])
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    packed[:] = np.bitwise_or.reduce(codes.reshape(-1, per_byte) << shifts, axis=1)


def packed(codes: NDArray[Any], bits: int) -> Bytes:
    """Codes as packed bytes; bits of a byte above its code are left out, those behind the last code are 0."""
    result = np.zeros((codes.size * bits + 7) // 8, np.uint8)
    pack_into(result, codes.reshape(-1).astype(np.uint8) & np.uint8((1 << bits) - 1), bits)
    return result
