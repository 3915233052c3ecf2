"""Reading: what a text in some notation says, and how it becomes a layout or a memory descriptor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Self, TypeVar

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, TypeName, element_type
from layoutc.errors import LayoutcError, NoDimsError, NotationError
from layoutc.layout import MAX_BLOCK, AxisGroup, Digit, Layout

Piece = tuple[tuple[int, ...], int | None]
"""Axes that are flattened together, and the block of them; None for what lies outside of their blocks."""

_Stated = TypeVar("_Stated", int, tuple[int, ...])


@dataclass(frozen=True)
class Options:
    """
    What is given beside a text: strides per physical axis, an offset, border elements per axis, a multiple per axis.
    """

    strides: tuple[int, ...] = ()
    offset: int = 0
    low: tuple[int, ...] = ()
    high: tuple[int, ...] = ()
    align: tuple[int, ...] = ()


NO_OPTIONS = Options()


@dataclass(frozen=True)
class Reading:
    """
    What a text says: always a layout, and in some notations also dims, strides, an offset, a border, an element type.

    `shape` are physical extents that the text states (Inference Engine's blocked dims): they may be
    larger than the dims need, which binds as an alignment. `extents` are (axis, coordinate count) pairs
    that coefficients in the text imply. With `trailing_ones`, dims of a lower rank than the layout's are completed.
    """

    layout: Layout
    dims: tuple[int, ...] | None = None
    strides: tuple[int, ...] = ()
    base_offset: int = 0
    shape: tuple[int, ...] = ()
    extents: tuple[tuple[int, int], ...] = ()
    low: tuple[int, ...] = ()
    high: tuple[int, ...] = ()
    element_type: ElementType | None = None
    trailing_ones: bool = field(default=False, compare=False, kw_only=True)

    def completed(self, dims: Sequence[int]) -> tuple[int, ...]:
        """Dims, followed by ones up to the layout's rank where the notation completes a lower rank."""
        return (*dims, *(1,) * self._missing(dims))

    def completed_border(self, border: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
        """Border elements of each of `dims`, followed by zeros where those are completed; of any other rank, as is."""
        return (*border, *(0,) * self._missing(dims)) if border and len(border) == len(dims) else tuple(border)

    def _missing(self, dims: Sequence[int]) -> int:
        return max(0, self.layout.rank - len(dims)) if self.trailing_ones else 0

    def elements(self, given: TypeName | None) -> ElementType:
        """The element type: the given one, else the text's, else f32. LayoutcError if they contradict each other."""
        if given is None:
            return self.element_type or element_type("f32")
        found = element_type(given)
        if self.element_type not in (None, found):
            raise LayoutcError(f"element type {found} differs from {self.element_type} in the text")
        return found

    @property
    def is_layout(self) -> bool:
        """Whether the layout is all that the text says about memory; a stride of 1 for a sole axis says nothing."""
        border = self.low or self.high
        return self.strides in ((), (1,)) and not self.base_offset and not self.extents and not border

    def says_all(self, elements: ElementType) -> bool:
        """Whether the layout is all that the text says about memory of these elements."""
        return self.is_layout

    def layout_alone(self, text: str) -> Layout:
        """The layout; NotationError about `text`, which this was read from, if it says more than a layout holds."""
        if not self.is_layout:
            message = "the text gives strides, an offset or sizes, which a layout alone cannot hold"
            raise NotationError(text, 0, message)
        return self.layout

    @property
    def options(self) -> Options:
        """What the text says as if it were given beside it."""
        return Options(self.strides, self.base_offset, self.low, self.high, self.layout.align)

    def given(self, options: Options) -> Self:
        """The same with what is given beside the text. Raises LayoutcError where the text says that already."""
        if options == NO_OPTIONS:
            return self
        return replace(
            self,
            layout=replace(self.layout, align=options.align) if options.align else self.layout,
            strides=_one_of("strides", self.strides, options.strides),
            base_offset=_one_of("offset", self.base_offset, options.offset),
            low=_one_of("low border", self.low, options.low),
            high=_one_of("high border", self.high, options.high),
        )

    def bind(
        self, dims: Sequence[int] | None, element_type: TypeName | None, options: Options = NO_OPTIONS
    ) -> MemoryDesc:
        """
        The descriptor of these dims.

        Raises LayoutcError where dims, strides or offset contradict what the text says.
        """
        all = self.given(options)
        dims = all._dims(dims)
        desc = MemoryDesc(dims, all.elements(element_type), all.layout, all.strides, all.base_offset, all.low, all.high)
        for axis, extent in self.extents:
            if desc.extents[axis] != extent:
                name = desc.layout.axis_names[axis]
                raise LayoutcError(f"axis {name} has {desc.extents[axis]} coordinates, the text implies {extent}")
        return all._with_shape(desc) if self.shape and self.shape != desc.physical_shape else desc

    def _dims(self, dims: Sequence[int] | None) -> tuple[int, ...]:
        if dims is None:
            if self.dims is None:
                raise NoDimsError(f"layout {self.layout} needs {self.layout.rank} dims, got none")
            return self.dims
        if self.dims is not None and not self.shape and tuple(dims) != self.dims:
            raise LayoutcError(f"dims {tuple(dims)} differ from the sizes {self.dims} in the text")
        return tuple(dims)

    def _with_shape(self, desc: MemoryDesc) -> MemoryDesc:
        """The descriptor with axes aligned so that its physical shape is the stated one."""
        align = [1] * desc.rank
        for group in desc.layout.groups:
            stated = prod(self.shape[position] for position in group.positions)
            (axis,) = group.axes
            align[axis] = _alignment(desc, group, stated)
        strides = self.strides or ()
        return replace(desc, layout=replace(desc.layout, align=tuple(align)), strides=strides)


def _alignment(desc: MemoryDesc, group: AxisGroup, padded: int) -> int:
    """The smallest multiple that pads the group's axis to exactly `padded`."""
    axis = group.axes[0]
    extent, name = desc.extents[axis], desc.layout.axis_names[axis]
    if padded < extent:
        raise LayoutcError(f"blocked dims hold {padded} of axis {name}, which has {extent}")
    if desc.layout.padded(group, extent) == padded:
        return 1
    first = (padded - extent) // group.block * group.block + group.block
    for multiple in range(first, MAX_BLOCK + 1, group.block):
        if padded % multiple == 0 and -(-extent // multiple) * multiple == padded:
            return multiple
    raise LayoutcError(f"no alignment up to {MAX_BLOCK} pads the {extent} of axis {name} to {padded}")


def _one_of(name: str, stated: _Stated, given: _Stated) -> _Stated:
    if stated and given:
        raise LayoutcError(f"{name} {given} given, the text already says {stated}")
    return stated or given


def nested_digits(pieces: Sequence[Piece]) -> tuple[Digit, ...]:
    """The digits of nested blocks, slowest first: of several blocks of an axis the first is the most significant."""
    digits: list[Digit] = []
    blocks: dict[tuple[int, ...], int] = {}
    for axes, size in reversed(pieces):
        divisor = blocks.get(axes, 1)
        digits.append(Digit(axes, divisor, size))
        blocks[axes] = divisor * (size or 1)
    return tuple(reversed(digits))


def pieces_of(layout: Layout) -> list[Piece] | None:
    """The nested blocks that give this layout's digits, or None if they are ordered in another way."""
    pieces: list[Piece] = [(digit.axes, digit.modulus) for digit in layout.digits]
    return pieces if nested_digits(pieces) == layout.digits else None


def planar(letters: str, alphabet: str) -> Layout:
    """The layout that stores axes in the order of `letters`; their logical order is that of `alphabet`."""
    names = [letter for letter in alphabet if letter in letters]
    digits = tuple(Digit((names.index(letter),)) for letter in letters)
    return Layout(len(names), digits, axis_names=tuple(letter.lower() for letter in names))


def planar_order(layout: Layout) -> tuple[int, ...] | None:
    """The axes from slowest to fastest, or None if the layout has blocks, alignment or flattened axes."""
    if layout.align or any(len(digit.axes) != 1 or digit.modulus is not None for digit in layout.digits):
        return None
    return tuple(digit.axes[0] for digit in layout.digits)
