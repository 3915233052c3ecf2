"""A copy with non-temporal stores: what moving that many bytes past the caches costs."""

from __future__ import annotations

from benchmarks.peers.cached_copy import prepare_copy
from benchmarks.peers.work import Prepared, Work


def is_available() -> bool:
    return True


def prepare(work: Work) -> Prepared:
    return prepare_copy(work, "copy_streaming")
