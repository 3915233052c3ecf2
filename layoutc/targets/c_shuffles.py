"""Shuffles that come often: each mask becomes a macro, so that its lanes are read once, by people and compilers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xdsl.dialects import vector
from xdsl.ir import Operation

from layoutc.targets.c_text import MAX_WIDTH, wrapped

MIN_USES, MIN_LANES = 3, 16
"""below which a shuffle is read best with its lanes in place"""

BUILTIN = "__builtin_shufflevector"


class Shuffles:
    """The names of masks in one file."""

    def __init__(self, ops: Iterable[Operation]) -> None:
        masks = Counter(op.mask.data.data for op in ops if isinstance(op, vector.ShuffleOp))
        self._often = {mask for mask, uses in masks.items() if uses >= MIN_USES and len(mask) >= 8 * MIN_LANES}
        self._numbers: dict[bytes, int] = {}
        self._lanes: dict[bytes, str] = {}

    def call(self, op: vector.ShuffleOp, first: str, second: str) -> str:
        """The text of a shuffle of two vectors."""
        mask = op.mask.data.data
        if mask not in self._lanes:
            self._lanes[mask] = ", ".join(map(str, op.mask.get_values()))
        if mask not in self._often:
            return f"{BUILTIN}({first}, {second}, {self._lanes[mask]})"
        number = self._numbers.setdefault(mask, len(self._numbers) + 1)
        return f"shuffle_{number}({first}, {second})"

    def definitions(self) -> list[str]:
        """The macros that were called."""
        return [_definition(f"shuffle_{number}", self._lanes[mask]) for mask, number in self._numbers.items()]


def _definition(name: str, lanes: str) -> str:
    head, *rest = [f"#define {name}(a, b)", *wrapped(f"  {BUILTIN}(a, b, {lanes})", MAX_WIDTH - 2)]
    return " \\\n".join((head, *rest))
