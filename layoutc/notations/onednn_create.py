"""How oneDNN makes a memory descriptor: from a tag, or from strides that it checks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from layoutc.element_type import ElementType, TypeName, element_type
from layoutc.errors import LayoutcError
from layoutc.layout import MAX_RANK, Layout
from layoutc.notations.onednn_desc import RUNTIME_DIM, Desc, axis_blocks, integers, invalid_arguments, rounded_up
from layoutc.notations.onednn_tags import ALPHABET, format, parse

MAX_ELEMENTS = 2**63 - 1
MAX_BYTES = 2**64 - 1


def create_with_tag(dims: Sequence[int], element_type: TypeName, tag: str | Layout) -> Desc:
    """
    The dense descriptor of a tag, as `dnnl_memory_desc_create_with_tag` makes it; tags outside of the enum too.

    Dims may be 0, or `RUNTIME_DIM`, which makes the strides outside of them so too.
    Raises NotationError for a text that is no tag, StatusError for what oneDNN refuses.
    """
    layout = tag if isinstance(tag, Layout) else parse(tag)
    format(layout)
    dims, data_type = checked_dims(dims), checked_type(element_type)
    if len(dims) != layout.rank:
        invalid_arguments(f"got {len(dims)} dims, layout {layout} has {layout.rank} axes")
    blocks = [(axis, size) for axis, size in layout.inner_blocks if size > 1]
    sizes, axes = tuple(size for _, size in blocks), tuple(axis for axis, _ in blocks)
    order = [digit.axes[0] for digit in layout.digits[: layout.rank]]
    strides = dense_strides(dims, order, sizes, axes)
    return checked(Desc(dims, data_type, strides, sizes, axes))


def create_with_strides(dims: Sequence[int], element_type: TypeName, strides: Sequence[int] | None = None) -> Desc:
    """
    The descriptor of plain strides, as `dnnl_memory_desc_create_with_strides` makes it; row-major without strides.

    Each stride, by size, must reach past the one before; 0 broadcasts, and axes that are 1 long may have any.
    Raises StatusError for what oneDNN refuses: strides that interleave, reversed views, odd strides of 4-bit types.
    """
    dims, data_type = checked_dims(dims), checked_type(element_type)
    if strides is None:
        strides = dense_strides(dims, range(len(dims)), zero=0)
    else:
        strides = integers("strides", strides, len(dims))
    desc = checked(Desc(dims, data_type, strides))
    if not desc.is_runtime and 0 not in desc.dims:
        _check_nesting(desc)
    return desc


def checked_dims(dims: Sequence[int]) -> tuple[int, ...]:
    """The dims; StatusError unless each is 0 or more, or known at run time only."""
    dims = integers("dims", dims)
    if not 1 <= len(dims) <= MAX_RANK:
        raise LayoutcError(f"oneDNN describes 1 to {MAX_RANK} dims, got {len(dims)}")
    for letter, dim in zip(ALPHABET, dims, strict=False):
        if dim < 0 and dim != RUNTIME_DIM:
            invalid_arguments(f"dim {dim} of axis {letter} is negative")
    return dims


def checked_type(name: TypeName) -> ElementType:
    """The element type; StatusError for one that oneDNN makes no descriptors of."""
    found = element_type(name)
    if found.onednn is None or found.name == "boolean":
        invalid_arguments(f"oneDNN has no memory of {found.name} elements")
    return found


def dense_strides(
    dims: Sequence[int], order: Sequence[int], sizes: Sequence[int] = (), axes: Sequence[int] = (), zero: int = 1
) -> tuple[int, ...]:
    """
    The strides of axes that follow each other in `order`, slowest first, outside of these blocks.

    A dim of 0 counts as `zero`; once a dim is known at run time only, so are the strides outside of it.
    """
    blocks = axis_blocks(len(dims), sizes, axes)
    counts = rounded_up(dims, blocks)
    stride, strides = 1, [0] * len(dims)
    for block in blocks:
        stride *= block
    for axis in reversed(order):
        strides[axis] = stride
        if RUNTIME_DIM in (stride, dims[axis]):
            stride = RUNTIME_DIM
        else:
            stride *= counts[axis] // blocks[axis] or zero
    return tuple(strides)


# --- the checks ----------------------------------------------------------------------------------------------------


def checked(desc: Desc) -> Desc:
    """The descriptor; StatusError for negative strides, sizes past 64 bits, and 4-bit elements that begin mid-byte."""
    _check_elements(desc)
    if 0 in desc.dims or desc.is_runtime:
        return desc  # nothing is stored, or it is checked when it is known
    for letter, dim, stride in zip(desc.letters, desc.dims, desc.strides, strict=True):
        if dim > 1 and stride < 0:
            invalid_arguments(f"stride {stride} of axis {letter} is negative")
        if dim > 1 and desc.element_type.bits < 8 and stride % 2 and stride != 1:
            message = f"stride {stride} of axis {letter} begins inside of a byte, expected 1 or an even one"
            invalid_arguments(f"{message} for {desc.data_type}")
    elements = desc.size_elements
    if elements > MAX_ELEMENTS or desc.element_type.size_bytes(elements) > MAX_BYTES:
        invalid_arguments(f"dims {desc.dims} with strides {desc.strides} need more than 2^64 bytes")
    return desc


def _check_elements(desc: Desc) -> None:
    """Counts the elements of all dims that are not 0 or known at run time only."""
    elements = prod(dim for dim in desc.dims if dim > 0)
    if elements > MAX_ELEMENTS:
        invalid_arguments(f"dims {desc.dims} are {elements} elements, expected fewer than 2^63")


def _check_nesting(desc: Desc) -> None:
    """Each stride, from the smallest, must be past all that the one before it reaches."""
    reach, below = 1, ""
    for stride, dim, letter in sorted(zip(desc.strides, desc.dims, desc.letters, strict=True)):
        if stride == 0 or dim == 1:
            continue
        if stride < reach:
            message = f"stride {stride} of axis {letter} lies inside of the {reach} elements that axis {below} covers"
            invalid_arguments(message)
        reach, below = stride * dim, letter
