"""What OpenVINO knows of a format: the order of its axes, its blocks, and its counterpart for weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from layoutc.checks import as_annotated
from layoutc.errors import LayoutcError
from layoutc.notations.openvino_formats import Format, current_formats, formats
from layoutc.notations.openvino_grammar import FormatName

Blocks = tuple[tuple[int, int], ...]
"""(axis, size) pairs, outermost first"""

DATA_DEFAULTS = {4: "bfyx", 5: "bfzyx", 6: "bfwzyx", 7: "bfuwzyx", 8: "bfvuwzyx"}
WEIGHTS_DEFAULTS = {4: "oiyx", 5: "oizyx"}
GROUPED_DEFAULTS = {5: "goiyx", 6: "goizyx"}

_INTERNAL = {letter: axis for letters in ("bfxyzwuvlk", "oixyzwuvg") for axis, letter in enumerate(letters)}
"""The place of an axis in the order in which OpenVINO's traits number the axes of blocks."""

_WEIGHTS = {
    "bfyx": "oiyx",
    "fbyx": "ioyx",
    "fyxb": "iyxo",
    "byxf": "oyxi",
    "byfx": "oyix",
    "bxfy": "oxiy",
    "yxfb": "yxio",
    "bfzyx": "oizyx",
    "b_fs_yx_fsv4": "o_is_yx_isv4",
    "b_fs_yx_fsv16": "o_is_yx_isv16",
    "bs_fs_fsv8_bsv8": "os_i_osv8__ai8",
}
_OTHER_BLOCKS = {
    "bs_fs_fsv8_bsv8": (("b", 8), ("f", 8)),
    "bs_fs_fsv8_bsv16": (("b", 16), ("f", 8)),
    "os_is_yx_osv32_isv2": (("o", 32),),
    "os_is_yx_osv64_isv2": (("o", 64),),
    "os_i_osv8__ai8": (("i", 8), ("o", 8)),
    "os_i_osv16__ai8": (("i", 8), ("o", 16)),
    "g_os_is_zyx_isv16_osv16": (("o", 16), ("i", 16)),
}
"""The formats whose blocks in OpenVINO's table are not those of the name."""

_GROUPED_WEIGHTS = {"bfzyx": "goiyx", "bfwzyx": "goizyx"}


@dataclass(frozen=True)
class Traits:
    """
    A format as OpenVINO's table of traits has it, mistakes included.

    `order` are the letters of the axes in memory, `dims_order` the logical axes of these. `block_sizes` number the axes
    in OpenVINO's internal order (b f x y z w u v, o i x y z w u v g), `logic_block_sizes` in that of the dims.
    """

    order: str
    dims_order: tuple[int, ...]
    block_sizes: Blocks
    logic_block_sizes: Blocks

    @property
    def is_weights(self) -> bool:
        """Whether the format is one of weights: it has an axis o or i."""
        return bool(set(self.order) & {"o", "i"})

    @property
    def is_grouped(self) -> bool:
        """Whether it is one of weights in groups."""
        return "g" in self.order


@as_annotated
@cache
def traits(name: str) -> Traits:
    """The traits of a format that is linear memory. LayoutcError for other names."""
    found = formats().get(name)
    if found is None or found.reason:
        known = f": {found.reason}" if found else ""
        raise LayoutcError(f"[GPU] Format description is missing in fmt traits: {name[:60]}{known}")
    read = FormatName(found.reads)
    blocks = _blocks(found, read)
    dims_order = tuple(read.axes.index(letter) for letter in read.order)
    places = read.axes
    if read.order == "gozyxi" and read.outer[1] == ("o", True):
        # In these the table lists the axes of the order itself: the block of i is given the place of x.
        dims_order, places = tuple(range(len(read.axes))), read.order
    return Traits(
        read.order,
        dims_order,
        tuple((_INTERNAL[letter], size) for letter, size in blocks),
        tuple((places.index(letter), size) for letter, size in blocks),
    )


def _blocks(format: Format, read: FormatName) -> Sequence[tuple[str, int]]:
    """The blocks of single axes as the table has them: as the name says, with exceptions."""
    if read.swizzle != 1 and "_isa8_" in read.text:
        return (("o", 32), ("i", 32))
    return _OTHER_BLOCKS.get(format.name) or [(letters, size) for letters, size in read.blocks if len(letters) == 1]


@as_annotated
def default_format(rank: int, is_weights: bool = False, is_grouped: bool = False) -> str:
    """The planar format of a rank: data of a rank below 4 have that of 4. LayoutcError where OpenVINO has none."""
    if not is_weights:
        rank = max(rank, 4)
    table = (GROUPED_DEFAULTS if is_grouped else WEIGHTS_DEFAULTS) if is_weights else DATA_DEFAULTS
    if rank not in table:
        kind = f"{'grouped ' * is_grouped}weights" if is_weights else "data"
        expected = " ".join(map(str, table))
        raise LayoutcError(f"OpenVINO has no default format of {kind} of rank {rank}, expected one of {expected}")
    return table[rank]


@as_annotated
def is_default_format(name: str) -> bool:
    """Whether the format is the planar one of its rank."""
    return name in {*DATA_DEFAULTS.values(), *WEIGHTS_DEFAULTS.values(), *GROUPED_DEFAULTS.values()}


@as_annotated
def find_format(
    order: Sequence[int], block_sizes: Sequence[tuple[int, int]], is_weights: bool = False, is_grouped: bool = False
) -> str:
    """
    The one format of the newest release with this order of logical axes and these blocks (in internal numbering).

    Raises LayoutcError, in OpenVINO's words, if there is none, or more than one.
    """
    wanted = (tuple(order), tuple((axis, size) for axis, size in block_sizes), is_weights, is_grouped)
    found: list[str] = []
    for name in (format.name for format in current_formats() if not format.reason):
        known = traits(name)
        if (known.dims_order, known.block_sizes, known.is_weights, known.is_grouped) == wanted:
            found.append(name)
    if not found:
        raise LayoutcError("[GPU] Cannot find a format with the specified parameters")
    if len(found) > 1:
        raise LayoutcError(f"[GPU] Cannot find a format. Specified parameters are ambiguous: {' '.join(found)}")
    return found[0]


@as_annotated
def to_weights_format(name: str, is_grouped: bool = False) -> str:
    """The weights format that the memory of a data format is reinterpreted as. LayoutcError if there is none."""
    if traits(name).is_weights:
        return name
    found = (_GROUPED_WEIGHTS.get(name) if is_grouped else None) or _WEIGHTS.get(name)
    if found is None and name in _GROUPED_WEIGHTS:
        raise LayoutcError(
            "Invalid conversion of data format to weights format. bfwzyx can't be non-grouped as 4D spatials are not "
            "supported"
        )
    if found is None:
        raise LayoutcError(f"Unable to convert data format {name} to weights format")
    return found
