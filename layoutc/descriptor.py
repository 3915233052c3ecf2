"""MemoryDesc: everything needed to find an element of a tensor in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from layoutc.checks import MAX_SIZE, instance, integer, integers, shown, verb
from layoutc.deferred import Deferred
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError
from layoutc.layout import AxisGroup, Layout
from layoutc.once import once
from layoutc.strides import are_distinct, dense_strides, position_of

if TYPE_CHECKING:
    from xdsl.ir import affine

    from layoutc.equality import NormalForm
    from layoutc.padding import Box
else:
    affine = Deferred("xdsl.ir.affine")


@dataclass(frozen=True)
class MemoryDesc:
    """
    Dims, element type, layout, strides, base offset and border of one tensor.

    `strides` are in elements, one per digit of the layout (physical axis), slowest first; empty, they
    become the dense ones. `base_offset` is in elements and added last. `low` and `high` are border elements before and
    after each axis (empty: none): logical index 0 is coordinate `low`.

    Raises LayoutcError if the parts do not fit each other or the size overflows 63 bits.
    """

    dims: tuple[int, ...]
    element_type: ElementType
    layout: Layout
    strides: tuple[int, ...] = ()
    base_offset: int = 0
    low: tuple[int, ...] = ()
    high: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        instance("layout", self.layout, Layout, "layoutc.desc reads a text")
        put(self, "dims", integers("dims", self.dims, 1))
        put(self, "element_type", element_type(self.element_type))
        self.check_length("dims", self.dims)
        for name in ("low", "high"):
            border = integers(f"{name} border", getattr(self, name))
            put(self, name, border if any(border) else ())
            self.check_length(f"{name} border", border, allow_empty=True)
        put(self, "base_offset", integer("base offset", self.base_offset))
        strides = integers("strides", self.strides)
        put(self, "strides", strides or dense_strides(self.physical_shape))
        if len(self.strides) != len(self.physical_shape):
            raise LayoutcError(
                f"got {len(self.strides)} strides, expected {len(self.physical_shape)}, "
                f"one per physical axis of {self.layout}"
            )
        if max(self.span, prod(self.physical_shape)) * self.element_type.bits > MAX_SIZE:
            needed = max(self.span - self.base_offset, prod(self.physical_shape)) * self.element_type.bits
            cause = f"dims {shown(self.dims)} need" if needed > MAX_SIZE else f"base offset {self.base_offset} needs"
            raise LayoutcError(f"{cause} more than 2^63 bits")

    def check_length(self, name: str, got: tuple[int, ...], allow_empty: bool = False) -> None:
        """Raises LayoutcError unless there is one number for each axis."""
        if len(got) != self.layout.rank and (got or not allow_empty):
            has = verb(name, "have")
            raise LayoutcError(f"{name} {shown(got)} {has} rank {len(got)}, layout {self.layout} has rank {self.rank}")

    # --- sizes -------------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of logical axes."""
        return self.layout.rank

    @once
    def extents(self) -> tuple[int, ...]:
        """Coordinates per axis: dims and borders."""
        if not self.low and not self.high:
            return self.dims
        return tuple(map(sum, zip(self.lows, self.dims, self.highs, strict=True)))

    @once
    def lows(self) -> tuple[int, ...]:
        """Border elements before each axis, also where there are none."""
        return self.low or (0,) * self.rank

    @once
    def highs(self) -> tuple[int, ...]:
        """Border elements after each axis, also where there are none."""
        return self.high or (0,) * self.rank

    @once
    def physical_shape(self) -> tuple[int, ...]:
        """Extents of the physical axes, slowest first."""
        return self.layout.physical_shape(self.extents)

    @once
    def padded_dims(self) -> tuple[int, ...]:
        """Dims with border and block padding; a flattened group of axes is padded as a whole, not per axis."""
        padded = list(self.extents)
        for group in self.layout.groups:
            if len(group.axes) == 1:
                padded[group.axes[0]] = self.layout.padded(group, self.extents[group.axes[0]])
        return tuple(padded)

    @property
    def inner_blocks(self) -> tuple[tuple[int, int], ...]:
        """(axis, block) of each block, outermost first."""
        return self.layout.inner_blocks

    @property
    def elements(self) -> int:
        """Number of logical elements."""
        return prod(self.dims)

    @once
    def span(self) -> int:
        """Elements from the start of the buffer to the last position, block padding and border included."""
        return self.base_offset + sum((n - 1) * s for n, s in zip(self.physical_shape, self.strides, strict=True)) + 1

    @property
    def size_bytes(self) -> int:
        """Bytes that a buffer of this descriptor must have."""
        return self.element_type.size_bytes(self.span)

    @property
    def is_dense(self) -> bool:
        """Whether the buffer is exactly the physical shape in row-major order."""
        return self.base_offset == 0 and not self.own_strides

    @property
    def own_strides(self) -> tuple[int, ...]:
        """The strides; none where they are those of the physical shape in row-major order."""
        return () if self.strides == dense_strides(self.physical_shape) else self.strides

    @once
    def is_injective(self) -> bool:
        """Whether no two positions of the physical shape share an element of the buffer."""
        return are_distinct(self.physical_shape, self.strides)

    # --- the offset map ----------------------------------------------------------------------------------------

    def offset(self, *index: int) -> int:
        """
        Offset in elements of the element at a logical index.

        Raises LayoutcError for an index outside of dims.
        """
        return self.coordinate_offset(self.coordinates(index))

    def coordinates(self, index: Sequence[int]) -> tuple[int, ...]:
        """The coordinate of each axis group at a logical index: border added, flattened axes joined."""
        index = integers("index", index, -MAX_SIZE)
        if len(index) != self.rank or not all(0 <= i < n for i, n in zip(index, self.dims, strict=True)):
            raise LayoutcError(f"index {index} lies outside of dims {self.dims}")
        return tuple(self.group_coordinate(group, index) for group in self.layout.groups)

    def group_coordinate(self, group: AxisGroup, index: Sequence[Any]) -> Any:
        """The coordinate of one group at an index of integers, arrays or affine expressions."""
        first, *rest = group.axes
        coordinate = self._shifted(first, index)
        for axis in rest:
            coordinate = coordinate * self.extents[axis] + self._shifted(axis, index)
        return coordinate

    def _shifted(self, axis: int, index: Sequence[Any]) -> Any:
        # Nothing is added to an affine expression that need not be.
        return index[axis] + self.low[axis] if self.low and self.low[axis] else index[axis]

    def physical_index(self, *index: int) -> tuple[int, ...]:
        """
        The value of every digit at a logical index.

        Raises LayoutcError for an index outside of dims.
        """
        of_axes = dict(zip((group.axes for group in self.layout.groups), self.coordinates(index), strict=True))
        return tuple(digit.of(of_axes[digit.axes]) for digit in self.layout.digits)

    def coordinate_offset(self, coordinates: Sequence[Any]) -> Any:
        """
        Offset of the coordinates of all axis groups, in border and block padding too.

        This one sum is the offset map: on integers it gives an offset, on NumPy arrays an array of them, on
        affine expressions an affine expression. Digits of extent 1 and moduli that nothing reaches are left out.
        """
        total: Any = None
        groups = zip(self.layout.groups, coordinates, strict=True)
        bounds = {
            g.axes: (coordinate, self.layout.padded(g, prod(self.extents[axis] for axis in g.axes)))
            for g, coordinate in groups
        }
        for digit, extent, stride in zip(self.layout.digits, self.physical_shape, self.strides, strict=True):
            term, padded = bounds[digit.axes]
            if extent == 1 or stride == 0:
                continue
            if digit.divisor != 1:
                term = term // digit.divisor
            if digit.modulus is not None and digit.divisor * digit.modulus < padded:
                term = term % digit.modulus
            if stride != 1:
                term = term * stride
            total = term if total is None else total + term
        if total is None:
            return self.base_offset
        return total + self.base_offset if self.base_offset else total

    def offset_map(self) -> affine.AffineMap:
        """The affine map from a logical index to an element offset: rank dims, one result."""
        from xdsl.ir.affine import AffineExpr, AffineMap

        dims = [AffineExpr.dimension(axis) for axis in range(self.rank)]
        offset = self.coordinate_offset([self.group_coordinate(group, dims) for group in self.layout.groups])
        return AffineMap(self.rank, 0, (AffineExpr.constant(offset) if isinstance(offset, int) else offset,))

    def same_memory(self, other: MemoryDesc) -> bool:
        """Whether both put every element and all padding at the same offsets of an equally large buffer."""
        from layoutc.equality import same_memory

        instance("the other", other, MemoryDesc, "layoutc.desc makes one of a text and dims")
        return same_memory(self, other)

    @once
    def normal_form(self) -> NormalForm:
        """The offset map with nothing left that could be left out or merged; equal for equal memory."""
        from layoutc.equality import normal_form

        return normal_form(self)

    # --- the same memory as another tensor -----------------------------------------------------------------------

    def submemory(self, dims: Sequence[int], offsets: Sequence[int]) -> MemoryDesc:
        """
        The part of the tensor that begins at `offsets` and is `dims` long, in the same buffer.

        It may begin and end inside of blocks: all that is left out becomes border, which a reorder neither reads nor
        writes. Raises LayoutcError for a part that lies outside.
        """
        from layoutc.reshaped import part_of

        return part_of(self, dims, offsets)

    def permute(self, axes: Sequence[int]) -> MemoryDesc:
        """
        The tensor with its axes in another order, in the same memory: axis `i` is axis `axes[i]` of this one.

        So NumPy and torch count; oneDNN's `permute_axes` has the inverse. Raises LayoutcError for no permutation.
        """
        from layoutc.reshaped import permuted

        return permuted(self, axes)

    def reshape(self, dims: Sequence[int]) -> MemoryDesc:
        """
        The tensor with other dims, whose elements are these in the same row-major order, in the same memory.

        An axis of any layout can be split; axes are joined that follow each other in memory, or are flattened together.
        Raises LayoutcError where no descriptor has that, or for dims of another number of elements.
        """
        from layoutc.reshaped import reshaped

        return reshaped(self, dims)

    # --- the inverse, and the padding --------------------------------------------------------------------------

    def index_of(self, offset: int) -> tuple[int, ...] | None:
        """The logical index at an offset in elements; None for padding, border and gaps."""
        distance = integer("offset", offset, -MAX_SIZE) - self.base_offset
        found = position_of(self.physical_shape, self.strides, distance)
        return None if found is None else self.logical_index(found)

    def logical_index(self, position: Sequence[int]) -> tuple[int, ...] | None:
        """The logical index at a physical index; None for padding and border."""
        index = tuple(c - low for c, low in zip(self.axis_coordinates(position), self.lows, strict=True))
        return index if all(0 <= i < n for i, n in zip(index, self.dims, strict=True)) else None

    def axis_coordinates(self, position: Sequence[int]) -> tuple[int, ...]:
        """The coordinate of every axis at a physical index, in border and block padding too; LayoutcError outside."""
        shape, position = self.physical_shape, integers("physical index", position, -MAX_SIZE)
        if len(position) != len(shape) or not all(0 <= p < n for p, n in zip(position, shape, strict=True)):
            raise LayoutcError(f"physical index {shown(position)} lies outside of physical shape {shape}")
        coordinates = [0] * self.rank
        for group in self.layout.groups:
            digits = self.layout.digits
            rest = sum(position[p] * digits[p].divisor for p in group.positions)
            for axis in reversed(group.axes[1:]):
                rest, coordinates[axis] = divmod(rest, self.extents[axis])
            coordinates[group.axes[0]] = rest
        return tuple(coordinates)

    @once
    def padding_boxes(self) -> tuple[Box, ...]:
        """The block padding as disjoint boxes; LayoutcError for more than `padding.MAX_BOXES`."""
        from layoutc.padding import padding_boxes

        return tuple(padding_boxes(self))

    @once
    def padding_elements(self) -> int:
        """How many positions of the physical shape are block padding."""
        from layoutc.padding import padding_elements

        return padding_elements(self)

    def __str__(self) -> str:
        parts = [f"{'x'.join(map(str, self.dims))}{'x' if self.dims else ''}{self.element_type}", str(self.layout)]
        if self.own_strides:
            parts.append(f"strides {self.strides}")
        names = (("base_offset", "offset"), ("low", "low"), ("high", "high"))
        parts += [f"{name} {value}" for attribute, name in names if (value := getattr(self, attribute))]
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"<layoutc.MemoryDesc {self}>"


def check_copy(source: MemoryDesc, destination: MemoryDesc) -> None:
    """
    Raises LayoutcError unless the elements of one descriptor have their places in the other, whatever their types.

    Dims must be equal, and the destination must hold each position once, with block padding in boxes that are not
    too many.
    """
    if source.dims != destination.dims:
        raise LayoutcError(f"source dims {source.dims} differ from destination dims {destination.dims}")
    if not destination.is_injective:
        raise LayoutcError(
            f"destination strides {destination.strides} put two positions of shape "
            f"{destination.physical_shape} at one offset"
        )
    _ = destination.padding_boxes  # refuses too many
