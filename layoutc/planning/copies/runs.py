"""Elements of a copy that lie side by side in the source or the destination, and rows of them with gaps between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutc.planning.copies.copy_digits import CopyDigit, SideName, StridedCopy

MOST_GAPS = 1.5
"""times the elements of rows that these and what lies between them may be, where rows count as one: 3 stored 4 apart"""


def across_gaps(copy: StridedCopy, side: SideName, found: Sequence[int], reach: int) -> Iterator[tuple[int, int]]:
    """Further digits whose steps lie a little more than `reach` elements apart, and their stride."""
    left = {i: d.stride(side) for i, d in enumerate(copy.digits) if d.extent > 1 and d.is_whole and i not in found}
    strides = {i: stride for i, stride in left.items() if isinstance(stride, int)}
    while begin := [i for i, stride in strides.items() if reach <= stride <= MOST_GAPS * reach]:
        position = min(begin, key=lambda i: strides[i])
        stride = strides.pop(position)
        yield position, stride
        reach += (copy.digits[position].extent - 1) * stride


def contiguous(copy: StridedCopy, side: SideName) -> Iterator[tuple[int, CopyDigit]]:
    """
    The digits by rising stride on one side, as long as each begins where the one before ends.

    Of digits that have the same stride, as those of a source that overlaps itself may, the longest comes first.
    """
    stride = 1
    digits = copy.digits
    strides = {i: digit.stride(side) for i, digit in enumerate(digits) if digit.extent > 1}
    while begin := [i for i, other in strides.items() if other == stride]:
        found = min(begin, key=lambda i: (-digits[i].extent, digits[i].dst)) if len(begin) > 1 else begin[0]
        del strides[found]
        digit = digits[found]
        yield found, digit
        # Of a digit that is loaded in part a single step may be there: the next one has its stride too.
        stride *= digit.loaded if side == "src" else digit.extent


def run_of(copy: StridedCopy, side: SideName, steps: Sequence[int]) -> int:
    """Elements that lie side by side on one side, of so many steps of each digit."""
    run = 1
    for position, digit in contiguous(copy, side):
        run *= steps[position]
        if steps[position] < digit.extent:
            break
    return run


def chain_of(copy: StridedCopy, side: SideName, near: int = 0, further: int = 0) -> Iterator[tuple[int, int]]:
    """
    The digits by rising stride on one side, and their strides, as long as each begins where what is there of the one
    before ends.

    The first one may have a stride of more than an element, but less than `near`, and each `further` one a stride of
    more than what is there of the one before, but less than that.
    """
    # Each load, or store, of what swaps has one step in all of its lanes.
    left = [g for g, d in enumerate(copy.digits) if d.extent > 1 and not (d.swaps and d.swaps_at == side)]
    inner = 1
    while left:
        found = next((g for g in left if copy.digits[g].steps(side, inner)), None)
        if found is None:
            strides = [(stride, g) for g in left if isinstance(stride := copy.digits[g].stride(side), int)]
            most = near if inner == 1 else further
            apart = [(stride, g) for stride, g in strides if inner < stride < most]
            if not apart:
                return
            inner, found = min(apart)
        yield found, inner
        left.remove(found)
        inner *= copy.digits[found].steps(side, inner)
