"""From layoutc's model to DirectML's: one stride per axis."""

from __future__ import annotations

from layoutc.checks import as_annotated
from layoutc.descriptor import MemoryDesc
from layoutc.equality import normal_form
from layoutc.errors import LayoutcError
from layoutc.notations.directml_types import MAX_DIMENSIONS


@as_annotated
def strides_of(desc: MemoryDesc) -> tuple[int, ...]:
    """One stride per axis of a memory descriptor. Raises LayoutcError where that is not enough."""
    if not 1 <= desc.rank <= MAX_DIMENSIONS:
        raise LayoutcError(f"DirectML has 1 to {MAX_DIMENSIONS} dimensions, got {desc.rank}")
    if desc.base_offset or desc.low or desc.high:
        raise LayoutcError("DirectML has no base offset or border")
    strides = [0] * desc.rank
    for group in normal_form(desc)[1]:
        if len(group.axes) != 1 or len(group.pieces) != 1 or group.tail is not None:
            raise LayoutcError(f"DirectML has one stride per axis, no blocks or padding, got {desc.layout}")
        strides[group.axes[0]] = group.pieces[0][2]
    return _with_unit_axes(desc, strides)


def _with_unit_axes(desc: MemoryDesc, strides: list[int]) -> tuple[int, ...]:
    """Axes of size 1 may have any stride: that of their digit, or of the axis after them, as if packed."""
    own = {digit.axes: s for digit, s in zip(desc.layout.digits, desc.strides, strict=True) if digit.modulus is None}
    for axis in range(desc.rank - 1, -1, -1):
        if desc.dims[axis] == 1:
            inner = strides[axis + 1] * desc.dims[axis + 1] if axis + 1 < desc.rank else 1
            strides[axis] = own.get((axis,), inner)
    return tuple(strides)
