"""Whether OpenVINO takes the memory of one tensor for that of another without a reorder."""

from __future__ import annotations

from math import prod

from layoutc.checks import as_annotated
from layoutc.notations.openvino_grammar import FormatName
from layoutc.notations.openvino_sizes import FormatDesc

_EXCLUSIVE = frozenset(
    f"{outer}_{space}_{blocks}"
    for outer, space, blocks in (
        *(("b_fs", space, f"fsv{n}") for space in ("yx", "zyx") for n in (2, 4, 16, 32)),
        ("fs_b", "yx", "fsv32"),
        *(("bs_fs", "yx", blocks) for blocks in ("bsv4_fsv4", "bsv4_fsv2")),
        *(("bs_fs", space, f"bsv8_fsv{n}") for space in ("yx", "zyx") for n in (2, 4)),
        *(("bs_fs", space, f"bsv{m}_fsv{n}") for space in ("yx", "zyx") for m in (16, 32) for n in (16, 32)),
    )
)
"""The formats that are compatible with themselves only."""


@as_annotated
def compatible(one: FormatDesc, other: FormatDesc) -> bool:
    """
    Whether a buffer of one serves as a buffer of the other, by OpenVINO's own rules of 2024 and later.

    They are about sizes and pitches, so that they say no of memory that is the same, and yes where only the number of
    elements is.
    """
    if (one.format, one.dims, one.element_type, one.lower, one.upper) == (
        other.format,
        other.dims,
        other.element_type,
        other.lower,
        other.upper,
    ):
        return True
    if one.element_type != other.element_type or one.get_linear_size() != other.get_linear_size():
        return False
    if (
        not one.is_padded
        and not other.is_padded
        and (_along_features(one, other) or (one.is_default and other.is_default))
    ):
        return True
    blocks, others = one.traits.block_sizes, other.traits.block_sizes
    if (
        _tensor(one) != _tensor(other)
        or blocks != others
        or (blocks and one.traits.dims_order != other.traits.dims_order)
    ):
        return False
    if one.format != other.format and {one.format, other.format} & _EXCLUSIVE:
        return False
    return one.get_pitches() == other.get_pitches() and one.get_linear_offset() == other.get_linear_offset()


def _tensor(desc: FormatDesc) -> dict[str, int]:
    """The sizes above 1 by letter, weights' axes as those of data."""
    letters = FormatName(desc.format).axes.replace("o", "b").replace("i", "f")
    return {letter: size for letter, size in zip(letters, desc.dims, strict=True) if size > 1}


def _along_features(one: FormatDesc, other: FormatDesc) -> bool:
    """Whether both hold their features in one run: nothing but features, or features of whole blocks at one place."""
    if len(one.traits.block_sizes) > 1 or len(other.traits.block_sizes) > 1 or prod(one.dims) != prod(other.dims):
        return False
    blocks = (*one.traits.block_sizes[:1], *other.traits.block_sizes[:1])
    block = max((size for _, size in blocks), default=1)
    features = other.dims[1]
    if one.dims[1] == features and features % block == 0 and (features == prod(one.dims) or _at_one_place(one, other)):
        return True
    return _is_one_block(one, other) or _is_one_block(other, one)


def _at_one_place(one: FormatDesc, other: FormatDesc) -> bool:
    blocks = (*one.traits.block_sizes, *other.traits.block_sizes)
    blocked_features = any(size > 1 for _, size in blocks) and all(axis != 0 for axis, _ in blocks)
    batch_first = all(desc.traits.dims_order[0] == 0 for desc in (one, other))
    single = all(size == 1 for desc in (one, other) for size in _spatial(desc))
    return blocked_features and batch_first and single and one.dims[0] == other.dims[0]


def _is_one_block(planar: FormatDesc, blocked: FormatDesc) -> bool:
    """Features last, and as many of them as the block of the other holds."""
    return (
        planar.format == "byxf"
        and blocked.format in ("b_fs_yx_fsv16", "b_fs_yx_fsv32")
        and planar.dims[1] == blocked.traits.block_sizes[0][1]
        and _spatial(planar) == _spatial(blocked)
    )


def _spatial(desc: FormatDesc) -> tuple[int, ...]:
    return desc.dims[3 if desc.traits.is_grouped else 2 :]
