"""Regions of interest: descriptors of a part of an Inference Engine tensor, in the same memory or in its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutc.errors import LayoutcError
from layoutc.notations.inference_engine_blocking import BlockingDesc
from layoutc.notations.inference_engine_common import InferenceEngineError, is_checked, size, sizes, year_of
from layoutc.notations.inference_engine_layouts import Layout
from layoutc.notations.inference_engine_tensor import TensorDesc

Slice = tuple[int, int]
"""Start and size along one logical axis"""


@dataclass(frozen=True)
class ROI:
    """A rectangle of one image: `id` is its place in the batch, the rest are elements along W (x) and H (y)."""

    id: int = 0
    pos_x: int = 0
    pos_y: int = 0
    size_x: int = 0
    size_y: int = 0

    def __post_init__(self) -> None:
        for name in ("id", "pos_x", "pos_y", "size_x", "size_y"):
            object.__setattr__(self, name, size(name, getattr(self, name)))


def make_roi_desc(
    desc: TensorDesc,
    roi: ROI | Sequence[int],
    end: Sequence[int] | bool | None = None,
    use_orig_mem_desc: bool = True,
) -> TensorDesc:
    """
    The descriptor of a part of a tensor: of an ROI, or, from 2022 on, from begin to end (`roi`, `end`) on every axis.

    With `use_orig_mem_desc`, which stands third after an ROI as in the library, it describes the part where it lies,
    with the strides of the whole, else a packed copy. Raises InferenceEngineError with the library's text: an ROI
    needs NCHW or NHWC, and a blocked tensor has no parts.
    """
    if isinstance(roi, ROI):
        if end is not None and not isinstance(end, bool):
            raise LayoutcError("make_roi_desc takes an ROI, or begin and end, got both")
        return _part(desc, _image_slices(desc, roi), use_orig_mem_desc if end is None else end)
    if end is None or isinstance(end, bool):
        raise LayoutcError("make_roi_desc takes an ROI, or begin and end, got no end")
    return _part(desc, _slices(desc, sizes("begin", roi), sizes("end", end)), use_orig_mem_desc)


def _image_slices(desc: TensorDesc, roi: ROI) -> list[Slice]:
    if desc.layout not in (Layout.NCHW, Layout.NHWC):
        raise InferenceEngineError(f"Unsupported layout {desc.layout.printed(desc.release)}")
    if len(desc.dims) != 4:
        raise LayoutcError(f"an ROI needs 4 dims, got {desc.dims}")
    return [(roi.id, 1), (0, desc.dims[1]), (roi.pos_y, roi.size_y), (roi.pos_x, roi.size_x)]


def _slices(desc: TensorDesc, begin: tuple[int, ...], end: tuple[int, ...]) -> list[Slice]:
    if not is_checked(desc.release):
        raise LayoutcError(f"release {desc.release} has no begin and end in make_roi_desc, 2022 brought them")
    if len(begin) != len(end):
        raise InferenceEngineError("`begin` vector size must match `end` vector size")
    for first, last in zip(begin, end, strict=True):
        _assert(last >= first, "end[i] >= begin[i]", desc)
    return [(first, last - first) for first, last in zip(begin, end, strict=True)]


def _part(desc: TensorDesc, slices: list[Slice], use_orig_mem_desc: bool) -> TensorDesc:
    _check_slices(desc, slices)
    blocking, rank = desc.blocking, len(desc.dims)
    _assert(len(blocking.strides) == rank, "origBlkStrides.size() == numDims", desc)
    _assert(len(blocking.order) == rank, "origBlkOrder.size() == numDims", desc)
    _assert(len(blocking.dim_offsets) == rank, "roiBlkDimOffsets.size() == numDims", desc)
    if any(axis >= rank for axis in blocking.order):
        raise LayoutcError(f"the order {blocking.order} names axes past dims {desc.dims}")
    dims = [0] * rank
    for axis in blocking.order:
        dims[axis] = slices[axis][1]
    starts = [slices[axis][0] for axis in blocking.order]
    shape = [slices[axis][1] for axis in blocking.order]
    if not use_orig_mem_desc:
        return TensorDesc(desc.precision, dims, BlockingDesc(shape, blocking.order, release=desc.release))
    offset = blocking.offset + sum(start * stride for start, stride in zip(starts, blocking.strides, strict=True))
    in_whole = [old + start for old, start in zip(blocking.dim_offsets, starts, strict=True)]
    part = BlockingDesc(shape, blocking.order, offset, in_whole, blocking.strides, release=desc.release)
    return TensorDesc(desc.precision, dims, part)


def _check_slices(desc: TensorDesc, slices: list[Slice]) -> None:
    if len(slices) != len(desc.dims):
        raise InferenceEngineError(f"ROI num dims {len(slices)} differs from original num dims {len(desc.dims)}")
    for axis, ((start, count), dim) in enumerate(zip(slices, desc.dims, strict=True)):
        if start + count > dim:
            raise InferenceEngineError(f"ROI [{start}, {start + count}) is out of range {dim} for dimension {axis}")


def _assert(holds: bool, condition: str, desc: TensorDesc) -> None:
    """What the library asserts; its wording changed in 2023."""
    if not holds:
        failed = "AssertionError" if year_of(desc.release) >= 2023 else "AssertionFailed:"
        raise InferenceEngineError(f"{failed} {condition}")
