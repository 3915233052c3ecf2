"""
A tile as a straight-line program: which pieces are loaded into which lanes, what is shuffled, which pieces are stored.

Everything here is numbers: offsets are relative to the tile's first element, in elements of the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from layoutc.planning.network import Network
from layoutc.planning.plan import CopyPlan, Part
from layoutc.planning.synthesis import synthesize

Bit = tuple[int, int]
"""(digit, k): bit k of a digit's value in the tile"""


@dataclass(frozen=True, slots=True)
class Register:
    """A register and the pieces of memory that lie in its lanes, from the low lanes up; None is zero."""

    pieces: tuple[int | None, ...]


class TileProgram:
    """The loads, the network and the stores of a plan's tile."""

    def __init__(self, plan: CopyPlan):
        self.plan = plan
        self.digits = plan.copy.digits
        bits = [(g, k) for g, extent in enumerate(plan.tile) for k in range(extent.bit_length() - 1)]
        lanes = min(plan.vector_bytes // plan.element_bytes, 1 << len(bits))
        width = lanes.bit_length() - 1
        source, target = _bits(plan.source_lanes), _bits(plan.target_lanes)
        self.source_bits, self.target_bits = source, target
        self.source_lanes = _filled(source, target, width)
        self.target_lanes = _filled(target, source if source else bits, width)
        self.source_registers = [bit for bit in bits if bit not in self.source_lanes]
        self.lanes = lanes

    @cached_property
    def network(self) -> Network:
        """From the registers as loaded to the registers as stored."""
        return synthesize(
            tuple(self.source_lanes),
            tuple(self.source_registers),
            tuple(self.target_lanes),
            self.plan.element_bytes,
            native_bytes=self.plan.vector_bytes,
        )

    @property
    def load_piece(self) -> int:
        """Elements of one load."""
        return 1 << len(self.source_bits)

    @property
    def store_piece(self) -> int:
        """Elements of one store."""
        return 1 << len(self.target_bits)

    def loads(self, starts: Sequence[int]) -> list[Register]:
        """The registers as loaded, of the tile that starts at these values of the digits loaded in part."""
        fill = self.source_lanes[len(self.source_bits) :]
        return [
            Register(tuple(self._loaded({**register, **piece}, starts) for piece in _values(fill)))
            for register in _values(self.source_registers)
        ]

    def stores(self) -> list[Register]:
        """The registers as stored; a fill stores the same register of zeros everywhere."""
        fill = self.target_lanes[len(self.target_bits) :]
        if self.plan.copy.is_fill:
            bits = [(g, k) for g, extent in enumerate(self.plan.tile) for k in range(extent.bit_length() - 1)]
            registers = [bit for bit in bits if bit not in self.target_lanes]
        else:
            registers = list(self.network.target_registers)
        return [
            Register(tuple(self._offset({**register, **piece}, "dst") for piece in _values(fill)))
            for register in _values(registers)
        ]

    def _loaded(self, values: dict[Bit, int], starts: Sequence[int]) -> int | None:
        for position, digit in enumerate(self.digits):
            value = sum(v << k for (g, k), v in values.items() if g == position)
            if starts[position] + value >= digit.loaded and not digit.is_whole:
                return None
        return self._offset(values, "src")

    def _offset(self, values: dict[Bit, int], side: str) -> int:
        return sum((v << k) * getattr(self.digits[g], side) for (g, k), v in values.items())


def _bits(parts: Sequence[Part]) -> list[Bit]:
    return [(part.digit, k) for part in parts for k in range(part.extent.bit_length() - 1)]


def _filled(lanes: list[Bit], others: Sequence[Bit], width: int) -> list[Bit]:
    """The lanes, filled up to the register's width with the top bits of the other side."""
    rest = [bit for bit in others if bit not in lanes]
    missing = width - len(lanes)
    return lanes + (rest[len(rest) - missing :] if missing > 0 else [])


def _values(bits: Sequence[Bit]) -> list[dict[Bit, int]]:
    """All values of some bits, the first bit counting fastest."""
    return [dict(zip(bits, values[::-1], strict=True)) for values in product((0, 1), repeat=len(bits))]
