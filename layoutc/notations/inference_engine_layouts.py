"""The Inference Engine's enum `Layout`: values, ranks, orders of axes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from layoutc.checks import as_annotated
from layoutc.errors import LayoutcError
from layoutc.notations.inference_engine_common import DEFAULT_RELEASE, is_checked, shown, sizes, year_of


class Layout(IntEnum):
    """
    The library's layouts under its numbers.

    ANY and SCALAR describe no axes, and BLOCKED has the order that a BlockingDesc gives; the rest have one order.
    """

    ANY = 0
    NCHW = 1
    NHWC = 2
    NCDHW = 3
    NDHWC = 4
    OIHW = 64
    GOIHW = 65
    OIDHW = 66
    GOIDHW = 67
    SCALAR = 95
    C = 96
    CHW = 128
    HWC = 129
    HW = 192
    NC = 193
    CN = 194
    BLOCKED = 200

    @classmethod
    def of(cls, layout: Layout | str | int) -> Layout:
        """The member of that name or number. Raises LayoutcError, naming all, for any other."""
        try:
            return cls[layout] if isinstance(layout, str) else cls(layout)
        except (KeyError, ValueError):
            raise LayoutcError(f"unknown layout {shown(layout)}, expected one of {' '.join(cls.__members__)}") from None

    @property
    def order(self) -> tuple[int, ...]:
        """The axes in memory, slowest first; empty for ANY, SCALAR and BLOCKED, which have none of their own."""
        return _ORDERS.get(self, ())

    @property
    def rank(self) -> int | None:
        """Number of axes; None for ANY and BLOCKED, which take any."""
        return None if self in (Layout.ANY, Layout.BLOCKED) else len(self.order)

    def printed(self, release: str = DEFAULT_RELEASE) -> str:
        """How the library's messages print it: before 2022 the number of those it had no name for."""
        unnamed = (Layout.GOIHW, Layout.OIDHW, Layout.GOIDHW, Layout.SCALAR)
        return str(self.value) if self in unnamed and not is_checked(release) else self.name


_ORDERS: dict[Layout, tuple[int, ...]] = {
    Layout.NHWC: (0, 2, 3, 1),
    Layout.NDHWC: (0, 2, 3, 4, 1),
    Layout.HWC: (1, 2, 0),
    Layout.CN: (1, 0),
    **{
        row_major: tuple(range(len(row_major.name)))
        for row_major in (
            Layout.NCHW,
            Layout.NCDHW,
            Layout.OIHW,
            Layout.GOIHW,
            Layout.OIDHW,
            Layout.GOIDHW,
            Layout.C,
            Layout.CHW,
            Layout.HW,
            Layout.NC,
        )
    },
}

_BY_RANK = (Layout.SCALAR, Layout.C, Layout.NC, Layout.CHW, Layout.NCHW, Layout.NCDHW)

_INFERRED = {layout.order: layout for layout in (*_BY_RANK[1:], Layout.HWC, Layout.NHWC, Layout.NDHWC)}
"""What the library calls a planar order"""


@as_annotated
def layout_by_rank(rank: int) -> Layout:
    """The planar layout of so many axes: BLOCKED from 6 on."""
    return _BY_RANK[rank] if 0 <= rank < len(_BY_RANK) else Layout.BLOCKED


@as_annotated
def layout_by_dims(dims: Sequence[int], release: str = DEFAULT_RELEASE) -> Layout:
    """
    The planar layout of these dims (`getLayoutByDims`): SCALAR, C, NC, CHW, NCHW, NCDHW, else BLOCKED.

    In 2018 no dims were BLOCKED; since 2022 the dims (0,), which stand for a dynamic shape, are.
    """
    checked = sizes("dims", dims)
    if (is_checked(release) and checked == (0,)) or (year_of(release) == 2018 and not checked):
        return Layout.BLOCKED
    return layout_by_rank(len(checked))


@as_annotated
def layout_by_order(order: Sequence[int]) -> Layout:
    """What the library calls a blocking of one block per axis; of two axes all that are not NC are CN."""
    if len(order) == 2:
        return _INFERRED.get(tuple(order), Layout.CN)
    return _INFERRED.get(tuple(order), Layout.BLOCKED)
