"""Reorder: what is planned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.once import once
from layoutc.planning.conversions.spread_params import spread_params
from layoutc.planning.copies.widths import Widths

LARGE = 8 << 20
"""
bytes of a destination that most caches do not hold: one number, and none of a machine, as it decides what the copies
are, and who reads a plan on another machine has to find the same
"""


@dataclass(frozen=True)
class Reorder:
    """Both sides, and what becomes of elements on the way."""

    source: MemoryDesc
    destination: MemoryDesc
    conversion: Conversion = NO_ATTRIBUTES

    def __str__(self) -> str:
        conversion = "" if self.conversion == NO_ATTRIBUTES else f" with {self.conversion}"
        return f"{self.source} to {self.destination}{conversion}"

    @property
    def moves(self) -> bool:
        """Whether elements stay what they are."""
        return self.conversion.arithmetic(self.source.element_type, self.destination.element_type) == "move"

    @property
    def bytes(self) -> int:
        """Of both buffers."""
        return self.source.size_bytes + self.destination.size_bytes

    @property
    def is_large(self) -> bool:
        """Whether the destination does not fit most caches."""
        return self.destination.size_bytes >= LARGE

    @once
    def widths(self) -> Widths:
        """Bytes of the elements of both sides, how many share one, and whether registers convert them."""
        bits = self.source.element_type.bits, self.destination.element_type.bits
        src, dst = (max(width // 8, 1) for width in bits)
        per_byte = [max(8 // width, 1) for width in bits]
        return Widths(src, dst, *per_byte, converts=not self.moves or max(per_byte) > 1)

    @once
    def seen(self) -> Conversion:
        """The conversion as copies see it: some parameters have smaller groups."""
        found = spread_params(self.source, self.destination, self.conversion)
        return replace(self.conversion, **found) if found else self.conversion
