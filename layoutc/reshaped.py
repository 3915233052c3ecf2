"""The same memory as another tensor: a part of it, its axes in another order, or split, joined, dropped and put in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from layoutc.checks import integers
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import Digit, Layout


def part_of(desc: MemoryDesc, dims: Sequence[int], offsets: Sequence[int]) -> MemoryDesc:
    """The part that begins at `offsets` and is `dims` long; what is left out is border."""
    dims, offsets = integers("dims", dims, 1), integers("offsets", offsets)
    desc.check_length("dims", dims)
    desc.check_length("offsets", offsets)
    ends = tuple(at + dim for at, dim in zip(offsets, dims, strict=True))
    if any(end > whole for end, whole in zip(ends, desc.dims, strict=True)):
        raise LayoutcError(f"a part of dims {dims} at {offsets} lies outside of dims {desc.dims}")
    low = tuple(border + at for border, at in zip(desc.lows, offsets, strict=True))
    high = tuple(border + n - end for border, n, end in zip(desc.highs, desc.dims, ends, strict=True))
    return replace(desc, dims=dims, low=low, high=high)


def permuted(desc: MemoryDesc, axes: Sequence[int]) -> MemoryDesc:
    """The tensor whose axis `i` is axis `axes[i]` of this one."""
    axes = integers("axes", axes)
    layout = desc.layout.permute(axes)
    dims, low, high = (tuple(of[axis] for axis in axes) for of in (desc.dims, desc.lows, desc.highs))
    return replace(desc, dims=dims, layout=layout, low=low, high=high)


def reshaped(desc: MemoryDesc, dims: Sequence[int]) -> MemoryDesc:
    """
    The tensor with these dims, which hold the same elements in the same row-major order, in the same memory.

    Raises LayoutcError, with got and expected, where memory has another order than the joined axes, or an axis that
    would be split, joined or dropped has a border or padding.
    """
    dims = integers("dims", dims, 1)
    if prod(dims) != desc.elements:
        raise LayoutcError(f"dims {dims} have {prod(dims)} elements, expected the {desc.elements} of dims {desc.dims}")
    return _Reshape(desc, dims).result()


@dataclass
class _Reshape:
    """Matches axes from the first to the last, in the smallest groups of equally many elements."""

    desc: MemoryDesc
    dims: tuple[int, ...]
    becomes: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """the axes that each old one is from now on, flattened; none where the one before it has these"""
    rows: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """the axes that an old one with a single digit is, each with a digit of its own"""
    added: list[int] = field(default_factory=list[int])
    """axes of one element that are nothing in the memory"""

    def result(self) -> MemoryDesc:
        for old, new in self._groups():
            self._match(old, new)
        shape, strides = self.desc.physical_shape, self.desc.strides
        outermost = strides[0] * shape[0] if strides else 1
        digits = [(Digit((axis,)), outermost) for axis in self.added]
        for digit, stride in zip(self.desc.layout.digits, strides, strict=True):
            digits += self._digits(digit, stride)
        kept = {new[0]: old for old, new in self.becomes.items() if len(new) == 1}
        axes = [kept.get(axis) for axis in range(len(self.dims))]
        low, high = ([0 if axis is None else of[axis] for axis in axes] for of in (self.desc.lows, self.desc.highs))
        align = [1 if axis is None else self._align(axis) for axis in axes]
        layout = Layout(len(self.dims), tuple(digit for digit, _ in digits), tuple(align))
        found = tuple(stride for _, stride in digits)
        return MemoryDesc(
            self.dims, self.desc.element_type, layout, found, self.desc.base_offset, tuple(low), tuple(high)
        )

    def _groups(self) -> Iterator[tuple[list[int], list[int]]]:
        """The axes that are dropped, those that are put in, and those that become others."""
        old, new = list(range(self.desc.rank)), list(range(len(self.dims)))
        while old or new:
            is_unit, is_new_unit = bool(old) and self._size(old[0]) == 1, bool(new) and self.dims[new[0]] == 1
            if is_unit and not is_new_unit:
                yield [old.pop(0)], []
            elif is_new_unit and not is_unit:
                yield [], [new.pop(0)]
            else:
                olds, news = [old.pop(0)], [new.pop(0)]
                while (have := prod(map(self._size, olds))) != (wanted := prod(self.dims[axis] for axis in news)):
                    if have < wanted:
                        olds.append(old.pop(0))
                    else:
                        news.append(new.pop(0))
                yield olds, news

    def _size(self, axis: int) -> int:
        return self.desc.dims[axis]

    def _align(self, axis: int) -> int:
        return self.desc.layout.align[axis] if self.desc.layout.align else 1

    def _match(self, old: list[int], new: list[int]) -> None:
        if len(old) == len(new) == 1:
            self.becomes[old[0]] = (new[0],)
            return
        self._check_whole(old)
        for axis in (axis for axis in old if self._size(axis) == 1 and self._is_row(axis)):
            self.rows[axis] = ()
        self.added += [axis for axis in new if self.dims[axis] == 1]
        old = [axis for axis in old if axis not in self.rows]
        new = [axis for axis in new if self.dims[axis] > 1]
        if all(map(self._is_row, old)) and all(map(self._follows, old, old[1:])):
            for axis in old:
                self.rows[axis] = tuple(new) if axis == old[-1] else ()
        elif old and self._are_flattened(old) and (new or not self._are_flattened(old, alone=True)):
            for axis in old:
                self.becomes[axis] = tuple(new) if axis == old[0] else ()
        elif old:
            raise LayoutcError(
                f"axes {self._names(old)} cannot become dims {tuple(self.dims[axis] for axis in new)}: "
                "in memory they do not follow each other, or have blocks"
            )

    def _check_whole(self, axes: Sequence[int]) -> None:
        """Raises LayoutcError for an axis with a border or an alignment, which no part of it, and no other, has."""
        for axis in axes:
            if self.desc.lows[axis] or self.desc.highs[axis] or self._align(axis) > 1:
                raise LayoutcError(f"axis {self._names([axis])} has a border or padding, expected none to change it")

    def _names(self, axes: Sequence[int]) -> str:
        return " ".join(self.desc.layout.axis_names[axis] for axis in axes)

    def _is_row(self, axis: int) -> bool:
        """Whether an axis has one digit, and that no other axis."""
        return self._places(axis) == 1 and self._are_flattened([axis], alone=True)

    def _places(self, axis: int) -> int:
        return sum(axis in digit.axes for digit in self.desc.layout.digits)

    def _are_flattened(self, axes: Sequence[int], alone: bool = False) -> bool:
        """Whether one group of axes has these one after the other, or these alone."""
        group = next(group.axes for group in self.desc.layout.groups if axes[0] in group.axes)
        start = group.index(axes[0])
        return group == tuple(axes) if alone else group[start : start + len(axes)] == tuple(axes)

    def _follows(self, slow: int, fast: int) -> bool:
        """Whether a step of one axis is all of the other."""
        return self._stride(slow) == self._stride(fast) * self._size(fast)

    def _stride(self, axis: int) -> int:
        pairs = zip(self.desc.layout.digits, self.desc.strides, strict=True)
        return next(stride for digit, stride in pairs if axis in digit.axes)

    def _digits(self, digit: Digit, stride: int) -> list[tuple[Digit, int]]:
        """What a digit of the layout becomes, and the strides."""
        if len(digit.axes) == 1 and digit.axes[0] in self.rows:
            found: list[tuple[Digit, int]] = []
            for axis in reversed(self.rows[digit.axes[0]]):
                found.insert(0, (Digit((axis,)), stride))
                stride *= self.dims[axis]
            return found
        axes = tuple(new for axis in digit.axes for new in self.becomes[axis])
        return [(Digit(axes, digit.divisor, digit.modulus), stride)]
