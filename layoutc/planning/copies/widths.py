"""Widths: bytes of an element on each side of a copy, and on its way through the registers."""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.planning.copies.copy_digits import SideName


@dataclass(frozen=True, slots=True)
class Widths:
    """
    Bytes of an element in the source and in the destination; they differ where elements are converted.

    Elements that share bytes have a byte each in registers, where these widths hold, and so many to a byte in memory.
    """

    src: int
    dst: int
    src_per_byte: int = 1
    dst_per_byte: int = 1
    converts: bool = False
    """whether elements are converted, or at least taken out of bytes that they share"""
    at: SideName | None = None
    """where they are: as they are loaded (`src`) or stored (`dst`); None: narrowed as loaded, widened as stored"""

    def of(self, side: SideName) -> int:
        return self.src if side == "src" else self.dst

    def bytes(self, side: SideName, elements: int) -> int | None:
        """The bytes of so many elements of a side; None if that is no whole number."""
        count, rest = divmod(elements * self.of(side), self.per_byte(side))
        return None if rest else count

    def elements(self, side: SideName, bytes: int) -> int | None:
        """The elements in so many bytes of a side; None if that is no whole number."""
        count, rest = divmod(bytes * self.per_byte(side), self.of(side))
        return None if rest else count

    def per_byte(self, side: SideName) -> int:
        """Elements that share a byte of memory."""
        return self.src_per_byte if side == "src" else self.dst_per_byte

    @property
    def are_packed(self) -> bool:
        """Whether elements share bytes on a side."""
        return max(self.src_per_byte, self.dst_per_byte) > 1

    @property
    def narrows(self) -> bool:
        """Whether elements have fewer bits in the destination."""
        return self.dst * self.src_per_byte < self.src * self.dst_per_byte

    @property
    def converted_at(self) -> SideName:
        """Where elements are converted: as they are loaded, or as they are stored."""
        return self.at or ("src" if self.dst <= self.src else "dst")

    @property
    def moved(self) -> int:
        """Bytes of an element on its way through the registers."""
        return self.dst if self.converted_at == "src" else self.src

    def held(self, side: SideName) -> int:
        """The most bytes of an element in a load or a store, and in the register that it fills or empties."""
        return max(self.of(side), self.moved)
