"""Digit and Layout: where each piece of a logical index goes in memory, without any dims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import lcm, prod
from typing import Any

from layoutc.checks import instance, integer, integers, shown
from layoutc.errors import LayoutcError
from layoutc.once import once

MAX_RANK = 12
MAX_BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class Digit:
    """
    A mixed-radix piece of an axis: `(index floordiv divisor) mod modulus`.

    The most significant digit of an axis has no modulus. `axes` names one axis, or several that are
    flattened row-major before the digit is taken (`yxs` in OpenVINO's names).
    """

    axes: tuple[int, ...]
    divisor: int = 1
    modulus: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "axes", integers("digit axes", self.axes))
        if not self.axes:
            raise LayoutcError("a digit has no axes, expected one or more")
        put(self, "divisor", integer("digit divisor", self.divisor, 1))
        if self.modulus is not None:
            put(self, "modulus", integer("block", self.modulus, 1))

    def of(self, coordinate: int) -> int:
        """The digit's value for a coordinate of its (flattened) axes; NumPy arrays work too."""
        quotient = coordinate // self.divisor if self.divisor != 1 else coordinate
        return quotient if self.modulus is None else quotient % self.modulus

    def text(self, coordinate: str) -> str:
        """The digit in MLIR's words, `coordinate` standing for its flattened axes."""
        if self.divisor != 1:
            coordinate += f" floordiv {self.divisor}"
        if self.modulus is None:
            return coordinate
        return f"{f'({coordinate})' if self.divisor != 1 else coordinate} mod {self.modulus}"


@dataclass(frozen=True)
class AxisGroup:
    """Axes that are cut into digits together: one axis, or several flattened."""

    axes: tuple[int, ...]
    positions: tuple[int, ...]
    """positions of the group's digits in the layout, least significant first"""
    block: int
    """product of the moduli"""
    multiple: int
    """what the (flattened) coordinate count is rounded up to: the block, and the alignment"""


@dataclass(frozen=True)
class Layout:
    """
    An ordered list of digits, slowest to fastest.

    `align` gives, per axis, a multiple that the axis is padded to though it is not blocked (empty: none).
    `axis_names` are letters for people; two layouts that differ in them alone are equal.
    """

    rank: int
    digits: tuple[Digit, ...]
    align: tuple[int, ...] = ()
    axis_names: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        self._normalise()
        if not self.axis_names:
            object.__setattr__(self, "axis_names", generic_names(self.rank))
        for name, got in (("alignments", self.align), ("axis names", self.axis_names)):
            if len(got) != self.rank and got:
                raise LayoutcError(f"got {len(got)} {name}, expected {self.rank}, one per axis")
        if all(multiple == 1 for multiple in self.align):
            object.__setattr__(self, "align", ())
        _ = self.groups  # checks the digits

    def _normalise(self) -> None:
        put = object.__setattr__
        put(self, "rank", _checked_rank(self.rank))
        put(self, "digits", _sequence("digits", self.digits))
        for digit in self.digits:
            instance("a digit", digit, Digit)
        put(self, "align", integers("alignments", self.align))
        put(self, "axis_names", _sequence("axis names", self.axis_names))
        for name in self.axis_names:
            instance("an axis name", name, str)

    @classmethod
    def row_major(cls, rank: int, axis_names: Sequence[str] = ()) -> Layout:
        """The layout whose last axis is the fastest, as in C."""
        rank = _checked_rank(rank)
        return cls(rank, tuple(Digit((axis,)) for axis in range(rank)), axis_names=tuple(axis_names))

    @once
    def groups(self) -> tuple[AxisGroup, ...]:
        """The axis groups in the order of their first axis; every axis is in exactly one."""
        members: dict[tuple[int, ...], list[int]] = {}
        for position, digit in enumerate(self.digits):
            members.setdefault(digit.axes, []).append(position)
        axes = sorted(axis for group in members for axis in group)
        if axes != list(range(self.rank)):
            raise LayoutcError(f"digits of axes {axes} do not cover each of the axes 0..{self.rank - 1} once")
        return tuple(self._group(group, members[group]) for group in sorted(members))

    def _group(self, axes: tuple[int, ...], positions: list[int]) -> AxisGroup:
        name = "".join(self.axis_names[axis] for axis in axes)
        digits = self.digits
        chain = sorted(positions, key=lambda p: (digits[p].divisor, digits[p].modulus or 1 << 62))
        block = 1
        for position in chain:
            digit = digits[position]
            if digit.divisor != block:
                raise LayoutcError(f"digits of axis {name} do not nest: got divisor {digit.divisor}, expected {block}")
            if (digit.modulus is None) != (position == chain[-1]):
                raise LayoutcError(f"axis {name} needs exactly one digit without mod, its most significant one")
            modulus = 1 if digit.modulus is None else digit.modulus
            if not 1 <= modulus <= MAX_BLOCK:
                raise LayoutcError(f"block {modulus} of axis {name} is outside 1..{MAX_BLOCK}")
            block *= modulus
        align = [self.align[axis] for axis in axes] if self.align else [1]
        if min(align) < 1 or max(align) > MAX_BLOCK:
            raise LayoutcError(f"alignment {align[0]} of axis {name} is outside 1..{MAX_BLOCK}")
        if len(axes) > 1 and max(align) > 1:
            raise LayoutcError(f"the flattened axes {name} cannot be aligned one by one")
        return AxisGroup(axes, tuple(chain), block, lcm(block, align[0]))

    @once
    def inner_blocks(self) -> tuple[tuple[int, int], ...]:
        """(axis, block) of every digit with a modulus, outermost first; the first axis of a flattened group."""
        return tuple((d.axes[0], d.modulus) for d in self.digits if d.modulus is not None)

    def axis_name(self, axes: Sequence[int]) -> str:
        """The letters of these axes, joined: `yx`."""
        return "".join(self.axis_names[axis] for axis in axes)

    @once
    def digit_names(self) -> tuple[str, ...]:
        """
        A name per digit for people, as OpenVINO writes them: `f` whole, `fs` the slice of a blocked axis,
        `fsv` its innermost block, `fsa` (then `fsb`, ...) the blocks outside that one.
        """
        names = [self.axis_name(digit.axes) for digit in self.digits]
        for group in self.groups:
            if len(group.positions) > 1:
                *outer, inner = sorted(p for p in group.positions if self.digits[p].modulus is not None)
                names[group.positions[-1]] += "s"
                names[inner] += "sv"
                for letter, position in zip("abcdefghijkl", outer, strict=False):
                    names[position] += f"s{letter}"
        return tuple(names)

    def __str__(self) -> str:
        source = ", ".join(self.axis_names)
        results = ", ".join(d.text(self.axis_name(d.axes)) for d in self.digits)
        align = f" align {self.align}" if self.align else ""
        return f"({source}) -> ({results}){align}"

    def __repr__(self) -> str:
        return f"<layoutc.Layout {self}>"

    def permute(self, axes: Sequence[int]) -> Layout:
        """The layout with its axes in another order: axis `i` is axis `axes[i]` of this one. Raises LayoutcError."""
        axes = integers("axes", axes)
        if sorted(axes) != list(range(self.rank)):
            raise LayoutcError(f"axes {axes} are no permutation of {tuple(range(self.rank))}")
        digits = tuple(replace(d, axes=tuple(axes.index(axis) for axis in d.axes)) for d in self.digits)
        align = tuple(self.align[axis] for axis in axes) if self.align else ()
        return Layout(self.rank, digits, align, tuple(self.axis_names[axis] for axis in axes))

    def padded(self, group: AxisGroup, extent: int) -> int:
        """`extent` coordinates of a group rounded up to whole blocks and to the alignment."""
        return -(-extent // group.multiple) * group.multiple

    def physical_shape(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Extents of all digits, given the coordinate count of every axis (borders included)."""
        shape = [d.modulus or 0 for d in self.digits]
        for group in self.groups:
            padded = self.padded(group, prod(extents[axis] for axis in group.axes))
            shape[group.positions[-1]] = padded // group.block
        return tuple(shape)


def _checked_rank(rank: int) -> int:
    """A rank that layouts may have. Raises LayoutcError for any other, ahead of anything that has as many parts."""
    if not 0 <= (rank := integer("rank", rank)) <= MAX_RANK:
        raise LayoutcError(f"rank {rank} is outside 0..{MAX_RANK}")
    return rank


def _sequence(name: str, values: Any) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise LayoutcError(f"{name} are {shown(values)}, expected a sequence") from None


def generic_names(rank: int) -> tuple[str, ...]:
    """The names that axes have where nobody named them, as in MLIR."""
    return tuple(f"d{axis}" for axis in range(rank))


def common_axis_names(*layouts: Layout) -> tuple[str, ...]:
    """Of several layouts of one tensor, the axis names that say most: a domain's (n c h w) over numbering (a b c d)."""
    named = [layout.axis_names for layout in layouts if layout.axis_names != generic_names(layout.rank)]
    numbering = tuple("abcdefghijkl")
    named.sort(key=lambda names: names == numbering[: len(names)])
    return named[0] if named else generic_names(layouts[0].rank)
