"""The Inference Engine's `BlockingDesc`: dims in memory order, some of them blocks of one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from layoutc.errors import LayoutcError
from layoutc.notations.inference_engine_common import (
    DEFAULT_RELEASE,
    MAX_SIZE,
    InferenceEngineError,
    is_checked,
    size,
    sizes,
    year_of,
)
from layoutc.notations.inference_engine_layouts import Layout
from layoutc.strides import dense_strides


@dataclass(frozen=True, init=False)
class BlockingDesc:
    """
    Blocked dims, slowest first; `order[k]` is the axis that blocked dim k is a part of.

    Of an axis that `order` names several times the last occurrence is the least significant part. `offset` (the
    library's offsetPadding) is in elements, `dim_offsets` (offsetPaddingToData) per blocked dim: where a region of
    interest starts in the tensor that it was cut from. `strides` are in elements, packed by default.

    `order` may also be a layout or its name; then the first argument is the logical dims, which are permuted. Without
    dims or order the descriptor is empty.

    `release` decides what is checked, and is not compared. Raises InferenceEngineError with the library's text for what
    the library of that release refuses, LayoutcError for what is no size.
    """

    blocked_dims: tuple[int, ...]
    order: tuple[int, ...]
    offset: int
    dim_offsets: tuple[int, ...]
    strides: tuple[int, ...]
    release: str = field(compare=False, repr=False)

    def __init__(
        self,
        blocked_dims: Sequence[int] = (),
        order: Sequence[int] | Layout | str = (),
        offset: int = 0,
        dim_offsets: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        *,
        release: str = DEFAULT_RELEASE,
    ):
        given = sizes("blocked dims", blocked_dims)
        if isinstance(order, Layout | str):
            given, order = _permuted(given, Layout.of(order))
        order = sizes("order", order)
        shape = _filled(given, order, release)
        put = object.__setattr__
        put(self, "blocked_dims", shape)
        put(self, "order", order)
        put(self, "offset", size("offset", offset))
        put(self, "strides", _packed(shape) if strides is None else sizes("strides", strides))
        # With strides of their own but no dim offsets, the dim offsets are zeros.
        zeros = (0,) * len(shape if strides is None else given)
        put(self, "dim_offsets", zeros if dim_offsets is None else sizes("dim offsets", dim_offsets))
        put(self, "release", release)
        if strides is not None and len(self.strides) != len(given):
            raise InferenceEngineError("Strides are not initialized for all dimensions.")
        if dim_offsets is not None and len(self.dim_offsets) != len(given):
            raise InferenceEngineError("Offsets are not initialized for all dimensions.")
        is_dynamic = 0 in given and year_of(release) >= 2023
        if strides is not None and is_checked(release) and not is_dynamic:
            _check_strides(given, self.strides)

    @classmethod
    def of_layout(cls, dims: Sequence[int], layout: Layout | str, *, release: str = DEFAULT_RELEASE) -> BlockingDesc:
        """The packed descriptor of logical dims in a layout; empty for ANY and SCALAR, and for no dims."""
        return cls(dims, Layout.of(layout), release=release)

    @property
    def offset_padding(self) -> int:
        """`offset`, by the library's name."""
        return self.offset

    @property
    def offset_padding_to_data(self) -> tuple[int, ...]:
        """`dim_offsets`, by the library's name."""
        return self.dim_offsets

    def __str__(self) -> str:
        parts = [_braces(self.blocked_dims), _braces(self.order)]
        has_strides, has_starts = self.strides != _packed(self.blocked_dims), any(self.dim_offsets)
        if self.offset or has_starts or has_strides:
            parts.append(str(self.offset))
        if has_starts or has_strides:
            parts.append(_braces(self.dim_offsets))
        if has_strides:
            parts.append(_braces(self.strides))
        return f"BlockingDesc({', '.join(parts)})"


def _permuted(dims: tuple[int, ...], layout: Layout) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dims in the layout's order, and that order; both empty where there is nothing to describe."""
    if not dims or layout in (Layout.ANY, Layout.SCALAR):
        return (), ()
    order = layout.order or tuple(range(len(dims)))
    if len(order) != len(dims):
        raise InferenceEngineError("Dims and format are inconsistent.")
    return tuple(dims[axis] for axis in order), order


def _filled(given: tuple[int, ...], order: tuple[int, ...], release: str) -> tuple[int, ...]:
    """The blocked dims that the descriptor keeps: none, without an error, where dims or order are missing."""
    is_2022 = is_checked(release)
    if not given or not order:
        return ()
    if len(given) != len(order):
        of_dims, of_order = (f" ({len(given)})", f" ({len(order)})") if is_2022 else ("", "")
        words = f"dimensions{of_dims} and order{of_order}"
        raise InferenceEngineError(f"Cannot fill descriptor. Size of {words} vector don't match.")
    return given


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = dense_strides(shape)
    if strides and max(strides) > MAX_SIZE:
        raise LayoutcError(f"packed strides of {len(shape)} blocked dims are past 2^63")
    return strides


def _check_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """From 2022 on no stride may be below the packed one over the strides that follow."""
    packed = 1
    for place in range(len(shape) - 1, -1, -1):
        if strides[place] < packed:
            least = f"actual {strides[place]}, should be >= {packed}"
            raise InferenceEngineError(f"Stride in {place}-th dimension is not valid; {least}")
        packed = strides[place] * shape[place]


def _braces(values: Sequence[int]) -> str:
    return "{" + ",".join(map(str, values)) + "}"
