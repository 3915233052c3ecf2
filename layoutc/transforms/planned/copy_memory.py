"""The memory that a copy moves elements between, and what becomes of an element on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.sums.running_sums import RunningSums
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.register_conversion import RegisterConversion

Convert = Callable[[Lanes, SSAValue, PieceParams, SSAValue | None], SSAValue]
"""from what was loaded to what is stored, with the parameters, and what the destination holds if that counts"""


def unchanged(_: Lanes, loaded: SSAValue, *_how: object) -> SSAValue:
    """What is stored of elements that are moved as they are."""
    return loaded


@dataclass(frozen=True)
class Memory:
    """Both flat buffers, the type and width of the destination's elements, and a zero of that type."""

    source: SSAValue
    target: SSAValue
    element: Attribute
    element_bytes: int
    zero: SSAValue | None
    conversion: RegisterConversion | None = None
    """what makes these of the source's elements; None: they are moved as they are"""
    loaded_zero: SSAValue | None = None
    """a zero of the source's elements, where there is one before they are converted"""
    sums: RunningSums | None = None
    """where what tiles store is added up"""

    @property
    def convert(self) -> Convert:
        """What becomes of elements."""
        return unchanged if self.conversion is None else self.conversion.convert

    @property
    def adds(self) -> bool:
        """Whether what the destination holds counts."""
        return self.conversion is not None and self.conversion.adds

    @property
    def source_element(self) -> Attribute:
        """The type of the source's elements."""
        return self.element if self.conversion is None else self.conversion.source_element

    @property
    def source_bytes(self) -> int:
        """The width of the source's elements."""
        return self.element_bytes if self.conversion is None else self.conversion.source.bits // 8

    @property
    def widest_bytes(self) -> int:
        """The width of the widest number that a value is on its way to the destination."""
        converted = 0 if self.conversion is None else self.conversion.conversions.widest_bytes
        return max(self.element_bytes, converted)

    def ratio(self, plan: CopyPlan) -> int:
        """How many elements of this memory are one of a plan: several that stay neighbours are moved as one."""
        return 1 if plan.widths.converts else plan.widths.src // self.element_bytes

    @property
    def as_loaded(self) -> Memory:
        """The memory of copies into a buffer from which others convert, if anything does."""
        zero = self.zero if self.conversion is None else self.loaded_zero
        return Memory(self.source, self.target, self.source_element, self.source_bytes, zero)

    @property
    def as_gathered(self) -> Memory:
        """The memory of tiles that are loaded from a buffer in which elements are converted already."""
        return Memory(self.source, self.target, self.element, self.element_bytes, self.zero, sums=self.sums)
