"""What one of OpenVINO's names says once dims and element type are known: 4-bit weights, odd x, borders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, TypeName, element_type
from layoutc.errors import LayoutcError
from layoutc.layout import Digit, Layout
from layoutc.notations.openvino_formats import Format
from layoutc.notations.openvino_grammar import FormatName
from layoutc.notations.reading import NO_OPTIONS, Options, Reading
from layoutc.split import SplitDesc

NARROW = ("u4", "s4")
"""The element types whose weights have layouts of their own."""


@lru_cache(maxsize=1024)
def layout_of(name: str) -> Layout:
    """The layout that a name has by the grammar."""
    return FormatName(name).layout


@dataclass(frozen=True)
class FormatReading(Reading):
    """A reading of a format with rules that the layout alone does not hold."""

    format: Format = field(kw_only=True)

    @property
    def is_layout(self) -> bool:
        """Whether the layout is right for all dims."""
        return super().is_layout and not (self.format.last_x or self.format.ignores)

    def says_all(self, elements: ElementType) -> bool:
        """Whether the layout is right for all dims of these elements: 4-bit ones may have another."""
        return super().says_all(elements) and not (self.format.narrow and elements.name in NARROW)

    def bind(
        self,
        dims: Sequence[int] | None,
        element_type: TypeName | None,
        options: Options = NO_OPTIONS,
    ) -> MemoryDesc:
        """
        The descriptor of these dims and elements.

        Raises LayoutcError for an odd x that takes two descriptors, and for a border that the format has no room for.
        """
        options = self.given(options).options
        plain = Reading(layout_for(self.format, element_type or "f32", dims))
        if not options.strides and dims is not None and len(dims) == plain.layout.rank:
            options = replace(options, strides=_strides_without(self.format, plain.layout, dims))
        desc = plain.bind(dims, element_type, options)
        self._check_border(desc)
        if self.format.last_x and desc.extents[-1] % 2 and desc.extents[-1] > 1:
            raise LayoutcError(
                f"{self.format.name} lays out the last column of an odd x ({desc.extents[-1]}) in another way, which "
                "one memory descriptor cannot hold; layoutc.notations.openvino.describe gives both parts"
            )
        return desc

    def _check_border(self, desc: MemoryDesc) -> None:
        for letter in self.format.no_border:
            axis = desc.layout.axis_names.index(letter)
            if desc.extents[axis] != desc.dims[axis]:
                raise LayoutcError(f"{self.format.name} has no border of {letter} in memory")


def layout_for(format: Format, elements: TypeName, dims: Sequence[int] | None) -> Layout:
    """
    The layout that a format has for these elements and dims, of which an odd x above 1 is the one that is not covered.

    Raises LayoutcError for 4-bit weights that OpenVINO packs for 1x1 kernels only.
    """
    layout = layout_of(format.reads)
    if dims is None:
        return layout
    if format.narrow and element_type(elements).name in NARROW:
        if any(size != 1 for size in dims[2:]):
            raise LayoutcError(
                f"{format.name} holds 4-bit weights of 1x1 kernels only, got {'x'.join(map(str, dims[2:]))}"
            )
        return layout_of(format.narrow)
    return layout_of(format.last_x) if format.last_x and tuple(dims[-1:]) == (1,) else layout


def _strides_without(format: Format, layout: Layout, dims: Sequence[int]) -> tuple[int, ...]:
    """Strides that leave out the axes that the format ignores; empty where it ignores none."""
    ignored = [layout.axis_names.index(letter) for letter in format.ignores]
    if all(dims[axis] == 1 for axis in ignored):
        return ()
    stored = tuple(1 if axis in ignored else size for axis, size in enumerate(dims))
    strides = MemoryDesc(stored, element_type("u8"), layout).strides
    return tuple(0 if d.axes[0] in ignored else s for d, s in zip(layout.digits, strides, strict=True))


def whole_desc(format: Format, dims: Sequence[int], elements: TypeName) -> MemoryDesc:
    """The descriptor of a format of transformed values, over the transformed dims; blocks there are never partial."""
    layout = layout_of(format.reads)
    desc = MemoryDesc(tuple(dims), element_type(elements), layout)
    for group in layout.groups:
        name, size = layout.axis_name(group.axes), desc.dims[group.axes[0]]
        if name in format.whole and size % group.block:
            raise LayoutcError(f"{format.name} needs {name} in whole blocks of {group.block}, got {size}")
    return desc


def split_desc(format: Format, dims: Sequence[int], elements: TypeName) -> SplitDesc | None:
    """The two parts of an odd x above 1, the last column being laid out as `last_x`; None for any other x."""
    whole = MemoryDesc(tuple(dims), element_type(elements), layout_of(format.reads))
    *others, columns = whole.dims
    if columns % 2 == 0 or columns == 1:
        return None
    last = replace(whole, layout=layout_of(format.last_x), strides=())
    x = len(others)
    pairs = next(s for d, s in zip(last.layout.digits, last.strides, strict=True) if d == Digit((x,), 2))
    first = replace(whole, dims=(*others, columns - 1))
    return SplitDesc(x, (first, replace(last, dims=(*others, 1), base_offset=columns // 2 * pairs)))
