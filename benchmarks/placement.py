"""How a tensor lies in memory, as a text of the case lists: a layout, and gaps between its rows."""

from __future__ import annotations

from dataclasses import dataclass

import layoutc
from layoutc.descriptor import MemoryDesc

GAPS = " gaps "


@dataclass(frozen=True)
class Placement:
    """
    A layout in any notation and, per physical axis, the elements left free after each of its steps (empty: dense).

    Gaps are kept rather than strides because they mean the same for all dims.
    """

    layout: str
    gaps: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Placement:
        """From `nhwc`, or `nhwc gaps 0,0,64,0`: 64 elements are free between the pixels of a row."""
        layout, _, gaps = text.partition(GAPS)
        return cls(layout, tuple(int(gap) for gap in gaps.split(",") if gap))

    def __str__(self) -> str:
        return self.layout + (GAPS + ",".join(map(str, self.gaps)) if self.gaps else "")

    def desc(self, dims: tuple[int, ...], element_type: str) -> MemoryDesc:
        """The memory descriptor for these dims. Raises LayoutcError for what does not fit."""
        dense = layoutc.desc(self.layout, dims, element_type)
        if not self.gaps:
            return dense
        return layoutc.desc(self.layout, dims, element_type, strides=spaced(dense.physical_shape, self.gaps))


def spaced(shape: tuple[int, ...], gaps: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of row-major physical axes, each step as long as the one inside it and its gap ask for."""
    strides = [1 + gaps[-1]]
    for extent, gap in zip(reversed(shape[1:]), reversed(gaps[:-1]), strict=True):
        strides.insert(0, strides[0] * extent + gap)
    return tuple(strides)
