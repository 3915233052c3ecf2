"""What several chains of ops have in common: one macro gives what the last of them does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from layoutc.targets.words.c_vector_types import VectorType as Named


class MacroCall(NamedTuple):
    """A macro, what it is given, and the type that it gives; without one it may give any, and its result is cast."""

    helper: str
    operands: Sequence[SSAValue]
    type: Named | None = None
