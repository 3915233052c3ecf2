"""
Groups of parameters that do not go with the blocks of their axis: their values are spread ahead of all copies.

Groups of 24 and blocks of 16 would cut an axis at 16, 24, 32, ..., and each piece would be a copy of its own, with
short tiles and text of its own. Where a list of parameters is short beside the tensor, a buffer with a value for each
index of the axis costs next to nothing, and blocks cut the axis alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.param import Grouping, Param

MAX_SPREAD = 32 << 10
"""values of a parameter that are spread, at most: 128 KiB on the stack"""
SPREAD_PART = 16
"""elements of the tensor for each value that is spread, at least"""
SHARED_LANES = 16
"""neighbours that share a value evenly: as many lanes as a register has when it converts"""


def spread_params(source: MemoryDesc, destination: MemoryDesc, conversion: Conversion) -> Mapping[str, Param]:
    """The parameters that copies take from a buffer with more values, by name, with the groups that they have there."""
    grouped = {name: param for name, param in conversion.params.items() if any(group > 1 for group in param.groups)}
    cuts = [*_cuts(source), *_cuts(destination)] if grouped else []
    found: dict[str, Param] = {}
    for name, param in grouped.items():
        groups = tuple(
            1 if _straddles(group, source.dims[axis], [cut for along, cut in cuts if along == axis]) else group
            for axis, group in zip(param.axes, param.groups, strict=True)
        )
        count = prod(Grouping(param.axes, groups).shape(source.dims))
        if groups != param.groups and count <= min(MAX_SPREAD, source.elements // SPREAD_PART):
            found[name] = replace(param, groups=groups)
    return found


def _cuts(desc: MemoryDesc) -> list[tuple[int, int]]:
    """Axes that go by themselves, and where their blocks begin."""
    _, groups = desc.normal_form
    return [(group.axes[0], cut) for group in groups if len(group.axes) == 1 for cut, _, _ in group.pieces if cut > 1]


def _straddles(group: int, dim: int, cuts: list[int]) -> bool:
    """Whether groups of several values do not go with the blocks of an axis, or with the lanes of a register."""
    if group == 1 or group == dim:
        return False
    return any(cut % group and group % cut for cut in (*cuts, SHARED_LANES))
