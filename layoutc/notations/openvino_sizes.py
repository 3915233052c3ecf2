"""FormatDesc: a tensor as OpenVINO describes it, with the sizes and offsets that OpenVINO computes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from layoutc.checks import MAX_SIZE, instance, integers
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError
from layoutc.notations.openvino_formats import NEWEST, Format, format_in, known_release
from layoutc.notations.openvino_grammar import FormatName
from layoutc.notations.openvino_names import describe, format_desc
from layoutc.notations.openvino_traits import Traits, is_default_format, to_weights_format, traits
from layoutc.once import once
from layoutc.split import SplitDesc

_DATA_TENSOR, _WEIGHTS_TENSOR = "bfxyzwuvlk", "oixyzwuvg"
"""The order of axes in which releases before 2024 computed sizes; l and k, of local convolutions, are at the end."""


@dataclass(frozen=True)
class FormatDesc:
    """
    OpenVINO's `layout`: a format, logical sizes, an element type, and the padding before and after each axis.

    `lower` and `upper` are in the order of dims. Dims of a lower rank than the format's get trailing ones, and padding
    of fewer axes trailing zeros. Sizes are computed as `release` does. Raises LayoutcError for a format that the
    release has not, or that is no linear memory.
    """

    format: str
    dims: tuple[int, ...]
    element_type: ElementType
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    release: str = NEWEST

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "element_type", element_type(self.element_type))
        put(self, "release", known_release(self.release))
        _ = self._rules
        rank = len(self.traits.dims_order)
        put(self, "dims", (*self.dims, *(1,) * (rank - len(self.dims))))
        for name in ("lower", "upper"):
            sizes = tuple(getattr(self, name))
            put(self, name, (*sizes, *(0,) * (rank - len(sizes))))
        _ = self.memory

    @classmethod
    def of(cls, desc: MemoryDesc, release: str = NEWEST) -> FormatDesc:
        """The description of a dense descriptor, border included. LayoutcError if OpenVINO has no such format."""
        instance("desc", desc, MemoryDesc, "layoutc.desc makes one")
        name = format_desc(replace(desc, low=(), high=(), strides=()) if desc.is_dense else desc)
        return cls(name.partition("@")[0], desc.dims, desc.element_type, desc.low, desc.high, release)

    @once
    def _rules(self) -> Format:
        return format_in(self.format, self.release)

    @once
    def _name(self) -> FormatName:
        return FormatName(self._rules.reads)

    @once
    def traits(self) -> Traits:
        """The format's axes and blocks."""
        return traits(self.format)

    @once
    def memory(self) -> MemoryDesc | SplitDesc:
        """Where the elements are."""
        text = f"{self.format}@{self.release}"
        return describe(text, self.dims, self.element_type, low=self.lower, high=self.upper)

    @property
    def is_padded(self) -> bool:
        """Whether any axis has padding."""
        return any((*self.lower, *self.upper))

    @property
    def padded_dims(self) -> tuple[int, ...]:
        """Dims with padding, in logical order."""
        return tuple(low + dim + high for low, dim, high in zip(self.lower, self.dims, self.upper, strict=True))

    def get_linear_size(self) -> int:
        """
        Elements of the buffer as the release computes them: 32-bit words for the formats of packed bits.

        Up to 2021 each block of an axis is rounded up to on its own; up to 2022 axes are in the tensor's
        order, since then in that of dims, where the grouped formats' special rules hit the wrong axes.
        """
        logical = self.release == NEWEST
        letters = self._name.axes if logical else _WEIGHTS_TENSOR if self.traits.is_weights else _DATA_TENSOR
        known = dict(zip(self._name.axes, self.padded_dims, strict=True))
        sizes = [known.get(letter, 1) for letter in letters]
        blocks = self.traits.logic_block_sizes if logical else self.traits.block_sizes
        combined = {axis: prod(size for a, size in blocks if a == axis) for axis, _ in blocks}
        for axis, size in combined.items() if self.release in ("2022", NEWEST) else blocks:
            sizes[axis] = _rounded(sizes[axis], size)
        self._special_sizes(sizes, letters)
        total = prod(sizes)
        return -(-total // 32) if self._rules.unit == "bit" else total

    def _special_sizes(self, sizes: list[int], letters: str) -> None:
        """What the release does beyond blocks: by the place of an axis, whatever axis that is for a grouped format."""
        flattened = dict(self._name.blocks).get("yx")
        if flattened:
            sizes[3], sizes[2] = _rounded(sizes[2] * sizes[3], flattened), 1
        elif self._rules.last_x:
            if sizes[0] % 32:
                sizes[0], sizes[3], sizes[2] = _rounded(sizes[0], 32), _rounded(sizes[2] * sizes[3], 2), 1
        else:
            align = {"o": 32} if self._name.swizzle != 1 and ("o", False) in self._name.outer else self._name.align
            for letter, multiple in align.items():
                sizes[letters.index(letter)] = _rounded(sizes[letters.index(letter)], multiple)

    def bytes_count(self) -> int:
        """Bytes of the buffer as the release computes them; a word of packed bits has four."""
        if self._rules.unit == "bit":
            return 4 * self.get_linear_size()
        return self.element_type.size_bytes(self.get_linear_size())

    def get_pitches(self) -> tuple[int, ...]:
        """
        Products of the padded dims that follow each axis in the format's order, per logical axis.

        Blocks are not in them: for a blocked format they are no distances in memory.
        """
        pitches, pitch = [0] * len(self.dims), 1
        for axis in reversed(self.traits.dims_order):
            pitches[axis], pitch = pitch, pitch * self.padded_dims[axis]
        return tuple(pitches)

    def get_linear_offset(self, element: Sequence[int] = ()) -> int:
        """
        Offset in elements of an element, counted from the first one that is not padding; none given: that one.

        It may lie in the padding. Raises LayoutcError, in OpenVINO's words, for one past that. Where OpenVINO's own
        function contradicts its kernels (blocks within blocks, swizzles), the kernels are right.
        """
        element = integers("element", element, -MAX_SIZE)
        element = (*element, *(0,) * (len(self.dims) - len(element)))
        bounds = zip(element, self.dims, self.lower, self.upper, strict=True)
        if not all(-low <= i < size + high for i, size, low, high in bounds):
            raise LayoutcError(
                "Requested to calculate linear offset for an element which lies outside of the buffer range."
            )
        if isinstance(self.memory, SplitDesc):
            return self.memory.offset(*element)
        coordinates = [self.memory.group_coordinate(group, element) for group in self.memory.layout.groups]
        return self.memory.coordinate_offset(coordinates)

    def to_weights(self, is_grouped: bool = False) -> FormatDesc:
        """The same memory as weights. LayoutcError where OpenVINO has no such reinterpretation."""
        name = to_weights_format(self.format, is_grouped)
        return FormatDesc(name, self.dims, self.element_type, release=self.release)

    @property
    def is_default(self) -> bool:
        """Whether the format is the planar one of its rank."""
        return is_default_format(self.format)


def _rounded(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
