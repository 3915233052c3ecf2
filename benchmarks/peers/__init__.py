"""
What is measured: layoutc, the two copies, oneDNN, NumPy, torch; and where it is asked for, layoutc's builds for
other processors of the family, or its plans by other rules (`RULE: VALUE`).

A peer is a module with `prepare(work) -> Prepared | None`, None for a reorder that it cannot express, and
`is_available()`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Protocol, cast

from benchmarks.peers.narrower_build import NarrowerBuild
from benchmarks.peers.other_plan import OtherPlan
from benchmarks.peers.work import Prepared, Work
from layoutc.errors import LayoutcError

__all__ = ["BUILDS", "COPIES", "PEERS", "Peer", "Prepared", "Work", "available", "peer"]

COPIES = ("nt", "memcpy")
PEERS = {
    "layoutc": "layoutc_kernel",
    "nt": "streaming_copy",
    "memcpy": "cached_copy",
    "onednn": "onednn_reorder",
    "numpy": "numpy_copy",
    "torch": "torch_copy",
}
"""name -> module; the copies move as many bytes and reorder nothing"""
BUILDS = ("avx2", "sse2")
"""targets whose builds are peers too"""


class Peer(Protocol):
    """What a module of a peer offers."""

    def is_available(self) -> bool:
        """Whether it is installed here."""
        ...

    def prepare(self, work: Work) -> Prepared | None:
        """All that is done once, outside of the measurement; None if it cannot express the reorder."""
        ...


def peer(name: str) -> Peer:
    """The peer of that name. Raises LayoutcError, naming the known ones, for any other."""
    if name in BUILDS:
        return NarrowerBuild(name)
    if ": " in name:
        return OtherPlan(*name.split(": ", 1))
    if name not in PEERS:
        raise LayoutcError(f"unknown peer {name!r}, expected one of {' '.join((*PEERS, *BUILDS))}")
    return cast(Peer, import_module(f"{__name__}.{PEERS[name]}"))


def available(names: Iterable[str]) -> dict[str, Peer]:
    """Those of these peers that are installed."""
    return {name: found for name in names if (found := peer(name)).is_available()}
