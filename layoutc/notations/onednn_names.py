"""What oneDNN does not tell of a descriptor: the tag it could have been made from, all its names, its plain twin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from layoutc.errors import LayoutcError
from layoutc.notations.onednn_create import create_with_strides, dense_strides
from layoutc.notations.onednn_desc import Desc, check_desc
from layoutc.notations.onednn_memory import layout_of, outer_order
from layoutc.notations.onednn_tags import enum, format, parse


def tag(desc: Desc) -> str:
    """
    The canonical tag that gives a descriptor's memory, where `offset0` is its beginning.

    Read from strides and blocks alone. The stride of an axis of one block does not matter: the axis goes where its
    stride fits, else by its letter, or to where a tag of oneDNN's enum has it. The tag may lie outside of the enum.
    Raises LayoutcError for gaps, broadcasts and unowned lanes, which no tag has.
    """
    check_desc(desc)
    found = format(layout_of(desc, _order(desc)))
    return found if found in enum() else next(iter(_canonical_names(desc)), found)


def names(desc: Desc) -> tuple[str, ...]:
    """
    All names of oneDNN's enum that give the same memory for these dims, `offset0` aside; the tag itself comes first.

    Where an axis is 1 long or has one block, several do: `nchw` and `nhwc` are one layout if C is 1.
    Raises as `tag` does.
    """
    own = tag(desc)
    canonical = sorted(_canonical_names(desc), key=lambda name: name != own)
    return tuple(name for tag_name in canonical for name in enum()[tag_name])


def _canonical_names(desc: Desc) -> list[str]:
    return [canonical for canonical, order in _same_blocks(desc) if _is_dense(desc, order)]


def unblocked(desc: Desc) -> Desc:
    """The plain, row-major descriptor of the same logical tensor: reorder to it to be rid of blocks and padding."""
    check_desc(desc)
    return create_with_strides(desc.dims, desc.element_type)


def _is_dense(desc: Desc, order: Sequence[int]) -> bool:
    """Whether the strides are those of the outer axes in that order, where an axis has more than one block."""
    dense = _dense(desc, order)
    return all(n <= 1 or a == b for n, a, b in zip(desc.counts, desc.strides, dense, strict=True))


def _dense(desc: Desc, order: Sequence[int]) -> tuple[int, ...]:
    return dense_strides(desc.padded_dims, order, desc.inner_blks, desc.inner_idxs)


def _order(desc: Desc) -> list[int]:
    """The outer axes, slowest first, for which the strides are dense; LayoutcError if there is no such order."""
    if desc.is_runtime:
        raise LayoutcError(f"a tag is found for known dims and strides, {desc} has some at run time only")
    if any(padded % block for padded, block in zip(desc.padded_dims, desc.blocks, strict=True)):
        raise LayoutcError(f"{desc} owns a part of its blocks, a tag gives all of them")
    order = outer_order(desc.strides, desc.counts)
    if _dense(desc, order) != desc.strides:
        order = _by_letters(desc, order)
    if not _is_dense(desc, order):
        raise LayoutcError(f"no tag gives strides {desc.strides}: the dims {desc.dims} have gaps or share elements")
    return order


def _by_letters(desc: Desc, by_stride: list[int]) -> list[int]:
    """The axes of several blocks in their order; each other one before the next of these, as in a row-major tag."""
    order = [axis for axis in by_stride if desc.counts[axis] > 1]
    for axis in sorted(set(by_stride) - set(order), reverse=True):
        place = next((k for k, other in enumerate(order) if other > axis), len(order))
        order.insert(place, axis)
    return order


@cache
def _by_blocks() -> dict[tuple[int, tuple[tuple[int, int], ...]], list[tuple[str, tuple[int, ...]]]]:
    """Rank and blocks -> the canonical tags of the enum that have them, with the order of their axes."""
    found: dict[tuple[int, tuple[tuple[int, int], ...]], list[tuple[str, tuple[int, ...]]]] = {}
    for canonical in enum():
        layout = parse(canonical)
        order = tuple(digit.axes[0] for digit in layout.digits[: layout.rank])
        found.setdefault((layout.rank, layout.inner_blocks), []).append((canonical, order))
    return found


def _same_blocks(desc: Desc) -> list[tuple[str, tuple[int, ...]]]:
    return _by_blocks().get((desc.ndims, tuple(zip(desc.inner_idxs, desc.inner_blks, strict=True))), [])
