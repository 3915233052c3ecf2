"""
The sums of a compensation as one strided problem, and the registers that it runs through.

Every weight of the destination, block padding included, is added to a sum: digits of the axes that a sum keeps lead
through both memories, those of the other axes have stride 0 in the sums. Padding is zero by then, so that nothing has
to be told apart. A register is loaded from contiguous weights, whatever digits they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from layoutc.descriptor import MemoryDesc
from layoutc.planning.copies.axis_copies import Side
from layoutc.planning.copies.copy_digits import CopyDigit, StridedCopy, merged
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.copies.strided_copy import NotStridedError, side_of
from layoutc.planning.plans.plan import Part
from layoutc.strides import dense_strides

MIN_LANES = 8
"""a register of fewer weights is not worth its steps"""
ADDED_LOADS = 8
"""registers that are added up in 16 bits, before their sum is added to one of 32: 128 would still fit"""
KEPT_REGISTERS = 4
"""registers of other sums that are added up side by side; 2 took 1.6 times as long where rows of 4 KiB are added up"""


@dataclass(frozen=True)
class SumPlan:
    """
    Weights (`src`) that are added to sums (`dst`), digits by falling stride of the weights.

    A register holds the weights of `lanes`, the lowest first. A turn takes `kept` steps of each digit that the sums
    keep, and adds up registers along the digit at position `added` (None: each sum is one register's).
    """

    copy: StridedCopy
    lanes: tuple[Part, ...]
    kept: tuple[int, ...]
    added: int | None

    def is_kept(self, position: int) -> bool:
        """Whether the steps of a digit are other sums."""
        return self.copy.digits[position].dst != 0

    def lane_steps(self, position: int) -> int:
        """How many steps of a digit are in a register."""
        return next((part.extent for part in self.lanes if part.digit == position), 1)

    @property
    def lane_bits(self) -> tuple[int, ...]:
        """The digit that each bit of a lane's number counts, the lowest bit first."""
        return tuple(part.digit for part in self.lanes for _ in range(part.extent.bit_length() - 1))

    @property
    def lane_offsets(self) -> list[int]:
        """Where the sum of each lane goes, those of lanes that go into one sum once."""
        offsets = [0]
        for part in self.lanes:
            if step := self.copy.digits[part.digit].dst:
                offsets = [number * step + offset for number in range(part.extent) for offset in offsets]
        return offsets

    @property
    def width(self) -> int:
        """Weights in a register."""
        return prod(part.extent for part in self.lanes)


def plan_weight_sums(weights: MemoryDesc, axes: Sequence[int], vector_bytes: int) -> SumPlan:
    """
    The plan of the sums over all axes but some, in registers of up to so many bytes.

    Raises NotStridedError where the digits of an axis that is kept are shared with others, or too few weights of one
    register lie together.
    """
    found = merged(_strided_sums(weights, axes))
    copy = replace(found, digits=tuple(sorted(found.digits, key=lambda digit: -digit.src)))
    lanes = tuple(_lanes(copy, vector_bytes))
    if prod(part.extent for part in lanes) < MIN_LANES:
        raise NotStridedError(f"fewer than {MIN_LANES} weights lie together")
    last = lanes[-1].digit
    digits = range(len(copy.digits))
    steps = {part.digit: part.extent for part in lanes}
    left = [g for g in digits if copy.digits[g].dst == 0 and copy.digits[g].extent > steps.get(g, 1)]
    # What fills no register is at the end of the digit whose registers are counted out.
    added = last if last in left else (left[-1] if left else None)
    kept = [steps.get(g, 1) if copy.digits[g].dst else 1 for g in digits]
    if copy.digits[last].dst:
        most = min(KEPT_REGISTERS, copy.digits[last].extent // kept[last])
        kept[last] *= 1 << (most.bit_length() - 1)
    return SumPlan(copy, lanes, tuple(kept), added)


def _strided_sums(weights: MemoryDesc, axes: Sequence[int]) -> StridedCopy:
    offset, groups = weights.normal_form
    strides = dict(zip(axes, dense_strides([weights.padded_dims[axis] for axis in axes]), strict=True))
    flattened = {group.axes for group in groups if len(group.axes) > 1}
    together = {axis for group in flattened for axis in group}
    digits: list[CopyDigit] = []
    for part in (*flattened, *((axis,) for axis in range(weights.rank) if axis not in together)):
        side, stride = side_of(weights, part, groups), 0
        if not together.isdisjoint(part) and not strides.keys().isdisjoint(part):
            raise NotStridedError("sums of axes that are flattened with others are added up one by one")
        if part[0] in strides:
            if side.low or side.high or side.padded != weights.padded_dims[part[0]]:
                raise NotStridedError("sums of an axis with a border are added up one by one")
            stride = strides[part[0]]
        digits += _digits(side, stride)
    return StridedCopy(offset, 0, tuple(digits))


def _digits(side: Side, stride: int) -> Iterator[CopyDigit]:
    """The digits of an axis, whose neighbours' sums are `stride` apart."""
    cuts = [piece.cut for piece in side.pieces] + [side.padded]
    for piece, (cut, larger) in zip(side.pieces, pairwise(cuts), strict=True):
        if larger % cut:
            raise NotStridedError("sums over blocks that do not divide each other are added up one by one")
        yield CopyDigit(larger // cut, piece.stride, cut * stride, larger // cut)


def _lanes(copy: StridedCopy, most: int) -> Iterator[Part]:
    """Digits that follow one another without a gap, up to so many weights; the last one may be cut."""
    for position, digit in contiguous(copy, "src"):
        part = 1 << (min(most, digit.extent).bit_length() - 1)
        if part > 1:
            yield Part(position, part)
        most //= part
        if part < digit.extent or most == 1:
            return
