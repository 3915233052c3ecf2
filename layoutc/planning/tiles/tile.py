"""
A tile as a straight-line program: which pieces are loaded into which lanes, what is shuffled, which pieces are stored.

Everything here is numbers: offsets are relative to the tile's first element, in elements of the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from layoutc.once import once
from layoutc.planning.copies.copy_digits import CopyDigit, SideName
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.shuffles.interleave import deinterleave, interleave
from layoutc.planning.shuffles.network import Network
from layoutc.planning.shuffles.synthesis import synthesize
from layoutc.planning.tiles.lanes import lane_count

Bit = tuple[int, int]
"""(digit, k): bit k of a digit's value in the tile"""
Params = tuple[tuple[int, ...], ...]
"""how far parameters lie from those of the tile's first element: one list per grouping"""


class Piece(NamedTuple):
    """
    Contiguous memory: how far it lies from the tile's first element.

    Where a digit carries on this side, `step` is its value, counted from the tile's first, and not in the offset.
    A piece that is not all lanes of a vector has those whose bits are set in `mask` (0: all of them).
    """

    offset: int
    step: int = 0
    params: Params = ()
    """those of its elements"""
    mask: int = 0
    zeros: int = 0
    """the lanes of a store that are zero whatever was loaded, as bits"""


class Register(NamedTuple):
    """A register and the pieces of memory that lie in its lanes, from the low lanes up; None is zero."""

    pieces: tuple[Piece | None, ...]


class Swap(NamedTuple):
    """
    A bit of the step of the digit that swaps, which changes places with one of the place of an element in its byte.

    Steps that differ in it are lanes `apart` of each other in a register, or registers, if it is `across` them.
    """

    bit: int
    apart: int
    across: bool


class SwappedSteps(NamedTuple):
    """
    The digit of a box that swaps the elements of bytes: so many steps, registers `apart` of each other.

    They are registers as loaded, or as stored, by the side on which the digit swaps.
    """

    steps: int
    apart: int
    per_byte: int
    side: SideName

    @property
    def swaps_stores(self) -> bool:
        """Whether registers swap before they are stored."""
        return self.side == "dst"


def in_memory(mask: int, ratio: int) -> int:
    """Lanes of memory, of which `ratio` are one element of the plan, for those of a mask of elements."""
    each = (1 << ratio) - 1
    return sum(each << at * ratio for at in range(mask.bit_length()) if mask >> at & 1)


def pieces_of(registers: Iterable[Register]) -> list[Piece]:
    """What lies in registers of memory."""
    return [piece for register in registers for piece in register.pieces if piece is not None]


def runs_of(digit: CopyDigit, tile: int) -> list[range]:
    """Where the tiles of a digit start that are loaded whole, then in part, then not at all."""
    if digit.is_whole:
        return [range(1)]
    whole = digit.loaded // tile * tile
    loaded = -(-digit.loaded // tile) * tile
    parts = ((0, whole), (whole, loaded), (loaded, digit.extent))
    return [range(start, stop, tile) for start, stop in parts if start < stop]


class TileProgram:
    """The loads, the network and the stores of a plan's tile."""

    def __init__(self, plan: CopyPlan):
        self.plan = plan
        self.digits = plan.copy.digits
        self.partial = [(position, digit) for position, digit in enumerate(self.digits) if not digit.is_whole]
        """the digits that are loaded in part, and where they stand"""
        self.channels = plan.odd_lanes[0] if plan.odd_lanes else None
        """a few channels, side by side in the lanes of one side"""
        bits = [(g, k) for g, extent in enumerate(plan.tile) for k in range(extent.bit_length() - 1)]
        if self.channels is not None:
            bits = [bit for bit in bits if bit[0] != self.channels.digit]
        self.bits = bits
        most = lane_count(plan.target_lanes) if plan.pads_elements else plan.vector_bytes // plan.widths.moved
        source, target = (
            [bit for bit in _bits(lanes) if bit in bits] for lanes in (plan.source_lanes, plan.target_lanes)
        )
        self.lanes = min(most, 1 << len({*source, *target} if source else bits))
        width = self.lanes.bit_length() - 1
        self.load_piece, self.store_piece = 1 << len(source), 1 << len(target)
        """elements of one load, and of one store"""
        # Registers swap by fewer instructions than lanes do: these are filled with other bits, if there are enough.
        swapping = plan.copy.swapping
        fillers = target if swapping is None else sorted(target, key=lambda bit: bit[0] != swapping)
        self.source_lanes = _filled(source, fillers, width)
        self.target_lanes = _filled(target, source if source else bits, width)
        self.lane_params: dict[SideName, Params] = {"src": (), "dst": ()}
        if plan.copy.params:
            self.lane_params = {"src": self._params_of(_values(source)), "dst": self._params_of(_values(target))}
        self.source_fill = self.source_lanes[len(source) :]
        self.target_fill = self.target_lanes[len(target) :]

    @once
    def network(self) -> Network:
        """From the registers as loaded to the registers as stored."""
        plan, channels = self.plan, self.channels
        vectors = plan.widths.moved, plan.vector_bytes, plan.shuffles
        if channels is not None and plan.keeps_rows:
            return Network(channels.extent, self.lanes, (), tuple(range(channels.extent)))
        if channels is not None:
            return _of_channels(channels in plan.target_lanes, channels.extent, self.lanes, *vectors)
        registers = tuple(bit for bit in self.bits if bit not in self.source_lanes)
        return _of_bits(tuple(self.source_lanes), registers, tuple(self.target_lanes), *vectors)

    def loads(self, starts: Sequence[int]) -> list[Register]:
        """The registers as loaded, of the tile that starts at these values of the digits loaded in part."""
        if self.channels is not None:
            return self._channel_registers("src", self.plan.source_lanes)
        registers = [bit for bit in self.bits if bit not in self.source_lanes]
        return [
            Register(tuple(self._loaded({**register, **piece}, starts) for piece in _values(self.source_fill)))
            for register in _values(registers)
        ]

    def stores(self) -> list[Register]:
        """The registers as stored; a fill stores the same register of zeros everywhere."""
        if self.channels is not None:
            return self._channel_registers("dst", self.plan.target_lanes)
        if self.plan.copy.is_fill:
            registers = [bit for bit in self.bits if bit not in self.target_lanes]
        else:
            registers = [bit for bit in self.bits if bit in self.network.target_registers]
            registers.sort(key=self.network.target_registers.index)
        return [
            Register(tuple(self._piece({**register, **piece}, "dst") for piece in _values(self.target_fill)))
            for register in _values(registers)
        ]

    @once
    def swaps(self) -> tuple[Swap, ...]:
        """What registers swap once they are loaded: nothing, where no digit does."""
        swapping = self.plan.copy.swapping
        registers = [bit for bit in self.bits if bit not in self.source_lanes]
        places = ((bits, bit) for bits in (self.source_lanes, registers) for bit in bits if bit[0] == swapping)
        return tuple(Swap(bit[1], 1 << bits.index(bit), bits is registers) for bits, bit in places)

    @property
    def swapped_steps(self) -> SwappedSteps | None:
        """Those of boxes alone."""
        return None

    @property
    def load_counts(self) -> tuple[int, int]:
        """The registers as loaded, and the pieces of each."""
        if self.channels is not None:
            return self.channels.extent, self.lanes // self.load_piece
        return 1 << len(self.bits) - len(self.source_lanes), 1 << len(self.source_fill)

    @property
    def store_counts(self) -> tuple[int, int]:
        """The registers as stored, and the pieces of each."""
        if self.channels is not None:
            return self.channels.extent, self.lanes // self.store_piece
        return 1 << len(self.bits) - len(self.target_lanes), 1 << len(self.target_fill)

    def _channel_registers(self, side: SideName, lanes: Sequence[Part]) -> list[Register]:
        """A register per channel; where the channels lie side by side, the registers follow one another."""
        assert self.channels is not None
        step = self.lanes if self.channels in lanes else self.digits[self.channels.digit].stride(side)
        params, size = self._channel_params(lanes), lanes[-1].extent
        places = ((n * step, 0) if isinstance(step, int) else (0, n) for n in range(self.channels.extent))
        return [
            Register(
                tuple(
                    Piece(offset + start, carried, tuple(each[start : start + size] for each in params[n]))
                    for start in range(0, self.lanes, size)
                )
            )
            for n, (offset, carried) in enumerate(places)
        ]

    def _channel_params(self, lanes: Sequence[Part]) -> list[Params]:
        """The parameters of each register, where its lanes are pixels of one channel, or all channels of pixels."""
        assert self.channels is not None
        count, channel = self.channels.extent, self.digits[self.channels.digit].params
        pixel = next(self.digits[part.digit].params for part in lanes if part != self.channels)
        places = list(product(range(count), range(self.lanes)))
        if self.channels in lanes:
            places = [divmod(n * self.lanes + lane, count)[::-1] for n, lane in places]
        registers = (places[n * self.lanes : (n + 1) * self.lanes] for n in range(count))
        return [
            tuple(tuple(c * a + p * b for c, p in register) for a, b in zip(channel, pixel, strict=True))
            for register in registers
        ]

    def _params_of(self, lanes: Sequence[dict[Bit, int]]) -> Params:
        """How far the parameters of some values of the digits lie from those of the first of the tile."""
        return tuple(
            tuple(sum((v << k) * self.digits[g].params[n] for (g, k), v in values.items()) for values in lanes)
            for n in range(len(self.plan.copy.params))
        )

    def _loaded(self, values: dict[Bit, int], starts: Sequence[int]) -> Piece | None:
        for position, digit in self.partial:
            value = sum(v << k for (g, k), v in values.items() if g == position)
            if starts[position] + value >= digit.loaded:
                return None
        return self._piece(values, "src")

    def _piece(self, values: dict[Bit, int], side: SideName) -> Piece:
        offset = step = 0
        for (g, k), v in values.items():
            stride = self.digits[g].stride(side)
            if isinstance(stride, int):
                offset += (v << k) * stride
            else:
                step += v << k
        if not (lanes := self.lane_params[side]):
            return Piece(offset, step)
        base = self._params_of([values])
        params = tuple(tuple(first + lane for lane in many) for (first,), many in zip(base, lanes, strict=True))
        return Piece(offset, step, params)


@lru_cache(maxsize=256)
def _of_channels(go_together: bool, channels: int, lanes: int, *vectors: Any) -> Network:
    """The network of a few channels, of which several plans are made, and the one that is chosen is built."""
    return (interleave if go_together else deinterleave)(channels, lanes, *vectors)


@lru_cache(maxsize=256)
def _of_bits(source: tuple[Bit, ...], registers: tuple[Bit, ...], target: tuple[Bit, ...], *vectors: Any) -> Network:
    """The same of index bits."""
    return synthesize(source, registers, target, *vectors)


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
