"""Interleaving C channels of one register each, for any small C: networks for runs that are no power of two."""

from __future__ import annotations

from collections.abc import Callable

from layoutc.planning.network import Network
from layoutc.planning.synthesis import make_machine

CHANNEL_LIMIT = 16
CHUNK_BYTES = 16

Place = Callable[[int], int]
"""where in the inputs, element by element, an element of the outputs comes from"""


def interleave(
    channels: int, lanes: int, element_bytes: int, *, native_bytes: int = 64, unpack_only: bool = False
) -> Network:
    """
    From one register per channel to memory order: element f of the outputs is lane f // C of channel f % C.

    C registers of `lanes` lanes go in and come out. Raises LayoutcError if the machine has no such vectors.
    """
    machine = make_machine(lanes, element_bytes, native_bytes, unpack_only)
    _check_channels(channels)
    if _is_power_of_two(channels):
        return _from_bits(channels, lanes, element_bytes, native_bytes, unpack_only, _interleaved_lanes)
    builder = _Builder(channels, lanes)
    if unpack_only and machine.positions:
        builder.pack_rounds()
    else:
        builder.gather(range(channels), lambda element: element % channels * lanes + element // channels)
    return builder.network()
