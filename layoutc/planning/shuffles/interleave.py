"""
Networks between C channels of one register each and C interleaved registers, for any small C that is no power of two.

Those of powers of two move bits of indices (`synthesis`).
"""

from __future__ import annotations

from collections.abc import Callable

from layoutc.errors import LayoutcError
from layoutc.planning.machine import Shuffles
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.shuffles.exchanges import VectorUnit
from layoutc.planning.shuffles.merging import staying
from layoutc.planning.shuffles.network import Network, NetworkBuilder
from layoutc.planning.shuffles.pairs import join, part
from layoutc.planning.shuffles.staying import can_stay, cheaper
from layoutc.planning.shuffles.synthesis import vector_unit

CHANNEL_LIMIT = 31

Place = Callable[[int], int]
"""for an element of the outputs, its number among the elements of the inputs"""


def interleave(
    channels: int,
    lanes: int,
    element_bytes: int,
    native_bytes: int = 64,
    shuffles: Shuffles = "any",
) -> Network:
    """
    From one register per channel to memory order: element f of the outputs is lane f // C of channel f % C.

    C registers of `lanes` lanes go in and come out. Where any shuffle of two registers is one instruction, an output
    takes C - 1 of them, or the logarithm of the lanes if that is less. Raises LayoutcError for vectors that the
    machine does not have, and for other numbers of channels.
    """
    unit = vector_unit(lanes, element_bytes, native_bytes, shuffles)
    _check(channels)
    if unit.unpacks_only:
        return join(channels, lanes, element_bytes)
    builder = _Builder(channels, lanes)
    chunk = _chunk_lanes(unit)
    if chunk == lanes:
        builder.gather_all(_interleaved(channels, lanes), _halved(channels, lanes), lanes)
    else:
        inner, halved = (
            _within_groups(place(channels, chunk), channels, lanes, chunk) for place in (_interleaved, _halved)
        )
        builder.gather_all(inner, halved, chunk)
        builder.gather(_by_chunks(_interleaved(channels, lanes // chunk), chunk))
    return _or_merged(builder.network(builder.values), _interleaved(channels, lanes), unit)


def deinterleave(
    channels: int,
    lanes: int,
    element_bytes: int,
    native_bytes: int = 64,
    shuffles: Shuffles = "any",
) -> Network:
    """From memory order to one register per channel: the inverse of `interleave`."""
    unit = vector_unit(lanes, element_bytes, native_bytes, shuffles)
    _check(channels)
    if unit.unpacks_only:
        return part(channels, lanes, element_bytes)
    builder = _Builder(channels, lanes)
    chunk = _chunk_lanes(unit)
    if chunk == lanes:
        builder.gather_all(_deinterleaved(channels, lanes), _doubled(channels, lanes), lanes)
    else:
        builder.gather(_by_chunks(_deinterleaved(channels, lanes // chunk), chunk))
        inner, doubled = (
            _within_groups(place(channels, chunk), channels, lanes, chunk) for place in (_deinterleaved, _doubled)
        )
        builder.gather_all(inner, doubled, chunk)
    return _or_merged(builder.network(builder.values), _deinterleaved(channels, lanes), unit)


def _or_merged(network: Network, place: Place, unit: VectorUnit) -> Network:
    """The network, or one of registers that are merged in pairs if that takes fewer instructions."""
    lanes, count = network.lanes, network.inputs * network.lanes
    if not (unit.permutes and can_stay(lanes, unit.shuffles)):
        return network
    elements = [tuple(range(first, first + lanes)) for first in range(0, count, lanes)]
    wanted = tuple(tuple(map(place, row)) for row in elements)
    return cheaper(network, staying(tuple(elements), wanted, lanes), unit.shuffles)


def _check(channels: int) -> None:
    if not 3 <= channels <= CHANNEL_LIMIT or is_power_of_two(channels):
        raise LayoutcError(f"got {channels} channels, expected 3 to {CHANNEL_LIMIT}, and no power of two")


def _chunk_lanes(unit: VectorUnit) -> int:
    """Lanes that are handled together: those of 16 bytes on machines that shuffle bytes only within them."""
    return unit.lane_count if unit.permutes else 1 << unit.inner


def _interleaved(channels: int, lanes: int) -> Place:
    return lambda element: element % channels * lanes + element // channels


def _deinterleaved(channels: int, lanes: int) -> Place:
    return lambda element: element % lanes * channels + element // lanes


def _doubled(channels: int, lanes: int) -> Place:
    """A perfect shuffle: the second half of all elements goes between those of the first."""
    half = channels * lanes // 2
    return lambda element: element // 2 + element % 2 * half


def _halved(channels: int, lanes: int) -> Place:
    """Its inverse: even elements first, then odd ones."""
    half = channels * lanes // 2
    return lambda element: 2 * (element % half) + element // half


def _by_chunks(place: Place, chunk: int) -> Place:
    """The same for whole chunks of lanes."""
    return lambda element: place(element // chunk) * chunk + element % chunk


def _within_groups(place: Place, channels: int, lanes: int, chunk: int) -> Place:
    """The same in every chunk position by itself: a group is one chunk of each of the registers."""

    def placed(element: int) -> int:
        register, lane = divmod(element, lanes)
        group, within = divmod(lane, chunk)
        source, source_lane = divmod(place(register * chunk + within), chunk)
        assert source < channels, "a group has one chunk per channel"
        return source * lanes + group * chunk + source_lane

    return placed


class _Builder(NetworkBuilder):
    """The steps so far, and the registers that they leave."""

    def __init__(self, channels: int, lanes: int):
        super().__init__(channels, lanes)
        self.channels = channels
        self.values = list(range(channels))

    def gather_all(self, place: Place, step: Place, lanes: int) -> None:
        """
        Every register anew, the cheaper of two ways: at once from all registers, or by steps from two of them.

        A perfect shuffle doubles an element's number f modulo C * V - 1, and as V * C = 1 there, log2(V) of them bring
        f = x * C + c to c * V + x.
        """
        rounds = lanes.bit_length() - 1
        if self.channels - 1 <= rounds:
            self.gather(place)
        else:
            for _ in range(rounds):
                self.gather(step)

    def gather(self, place: Place) -> None:
        """Every register anew, each from all registers that it has elements of, one after the other."""
        self.values = [self._gathered(place, first) for first in range(0, self.channels * self.lanes, self.lanes)]

    def _gathered(self, place: Place, first: int) -> int:
        wanted = [divmod(place(element), self.lanes) for element in range(first, first + self.lanes)]
        sources = sorted({source for source, _ in wanted})
        value = self.values[sources[0]]
        for number, source in enumerate(sources[1:]):
            value = self.step(value, self.values[source], self._merged(wanted, source, first=number == 0))
        return value

    def _merged(self, wanted: list[tuple[int, int]], source: int, *, first: bool) -> list[int]:
        """
        Lanes that come from `source` enter from the second operand; all others stay, once they are in place.

        The first shuffle also puts those of the first register in place.
        """
        settled = min(held for held, _ in wanted) if first else None
        return [
            self.lanes + origin if held == source else origin if held == settled else lane
            for lane, (held, origin) in enumerate(wanted)
        ]
