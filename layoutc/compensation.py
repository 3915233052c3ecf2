"""Compensation: sums over weights that a reorder appends to them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from layoutc.checks import integers
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError


@dataclass(frozen=True)
class Compensation:
    """
    Sums over s8 weights that a reorder appends to them, as oneDNN's integer convolutions and products want them.

    After the data, rounded up to 4 bytes, come s32 values, row-major over the padded dims of the axes:
    `s8s8`: -128 times the sum of the weights that are written, over all other axes; then `asymmetric`: minus the sum.
    Each names its axes, `None` means none; those of block padding are 0. The weights may be scaled; zero points
    and `sum` beside a compensation are refused. (oneDNN's `scale_adjust` is a power of two: a factor of `src_scale`.)
    """

    s8s8: tuple[int, ...] | None = None
    asymmetric: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, axes in self._named():
            found = None if axes is None else integers(f"{name} axes", axes)
            if found is not None and (not found or any(a >= b for a, b in pairwise(found))):
                raise LayoutcError(f"{name} axes {found} are not one or more in increasing order")
            object.__setattr__(self, name, found)

    def __str__(self) -> str:
        return ", ".join(f"{name} of axes {list(axes)}" for name, axes in self._named() if axes is not None)

    @property
    def parts(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """(the factor of the sum, its axes) of each part, in the order in which they lie in memory."""
        factors = {"s8s8": -128, "asymmetric": -1}
        return tuple((factors[name], axes) for name, axes in self._named() if axes is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """What the parts are called, in the same order."""
        return tuple(name for name, axes in self._named() if axes is not None)

    @property
    def shared_axes(self) -> tuple[int, ...] | None:
        """The axes of all parts, if these are the same."""
        axes = {axes for _, axes in self.parts}
        return axes.pop() if len(axes) == 1 else None

    def offsets_bytes(self, desc: MemoryDesc) -> tuple[int, ...]:
        """Where each part starts in the buffer of `desc`, in bytes, and at the end the size of it all."""
        found = [-(-desc.size_bytes // 4) * 4]
        for _, axes in self.parts:
            found.append(found[-1] + 4 * prod(desc.padded_dims[axis] for axis in axes))
        return tuple(found)

    def check(self, desc: MemoryDesc) -> None:
        """Raises LayoutcError unless it can follow the buffer of `desc`."""
        if desc.element_type.name != "s8":
            raise LayoutcError(f"compensation is of s8 weights, the destination has {desc.element_type}")
        for name, axes in self._named():
            if axes and axes[-1] >= desc.rank:
                raise LayoutcError(f"{name} compensation is per index of axis {axes[-1]}, the rank is {desc.rank}")

    def _named(self) -> tuple[tuple[str, tuple[int, ...] | None], ...]:
        return (("s8s8", self.s8s8), ("asymmetric", self.asymmetric))
