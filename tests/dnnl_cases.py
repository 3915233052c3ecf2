"""Random reorders that the real oneDNN executes, for tests: types, layouts, attributes, and what becomes of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

import layoutc
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, element_type
from layoutc.layout import Digit, Layout
from layoutc.numeric.arithmetic import constant_bytes, converted
from layoutc.numeric.convert import Codes, code_type, convert
from layoutc.numeric.packing import packed, unpacked
from layoutc.param import Param
from layoutc.reference import offsets, padding_offsets, reorder
from tests.dnnl_engine import Attributes, Engine, RefusedError, Values
from tests.libdnnl import Answer, Library
from tests.test_onednn_live import NAMES_OF_RANK

TYPES = ("f32", "bf16", "f16", "s32", "s8", "u8", "f8_e5m2", "f8_e4m3", "e8m0", "s4", "u4", "f4_e2m1")
F32, S64 = element_type("f32"), element_type("s64")
LIBRARY = Library()
ENGINE = Engine(LIBRARY)


@dataclass(frozen=True)
class Side:
    """A descriptor of ours and the library's."""

    desc: MemoryDesc
    answer: Answer

    def codes(self, buffer: np.ndarray) -> Codes:
        """The codes of all elements of a buffer."""
        type = self.desc.element_type
        data = buffer[: self.desc.size_bytes]
        return unpacked(data, type.bits, self.desc.span) if type.bits < 8 else data.view(code_type(type))


@dataclass(frozen=True)
class Case:
    """A reorder that the library executed."""

    source: Side
    destination: Side
    conversion: Conversion
    read: np.ndarray
    before: np.ndarray
    after: np.ndarray
    implementation: str

    @cached_property
    def ours(self) -> Codes:
        """The codes that layoutc leaves in the whole buffer of the destination."""
        written = self.before.copy()
        src, dst = self.source.desc, self.destination.desc
        reorder(src, dst, self.read[: src.size_bytes], written[: dst.size_bytes], self.conversion)
        return self.destination.codes(written)

    @cached_property
    def theirs(self) -> Codes:
        return self.destination.codes(self.after)

    def data(self, codes: Codes) -> Codes:
        """Of a buffer of the destination the codes of the tensor, in the order of the dims."""
        return codes[offsets(self.destination.desc)]

    def computed(
        self, conversion: Conversion, *types: ElementType, held: int | None = None, is_exact: bool = False
    ) -> Codes:
        """
        What becomes of the tensor with these attributes, rounded to one type after another.

        `held` is the code that a sum finds in every element instead of the old one. With `is_exact` the zero point of
        an integer source is subtracted before anything is rounded.
        """
        source, destination = self.source.desc.element_type, self.destination.desc.element_type
        x = self.source.codes(self.read)[offsets(self.source.desc)]
        old = self.data(self.destination.codes(self.before))
        old = old if held is None else np.full_like(old, held)
        if is_exact:
            x = converted(x, source, S64, Conversion(src_zero_point=conversion.src_zero_point))
            source, conversion = S64, replace(conversion, src_zero_point=None)
        codes = converted(x, source, types[0], conversion, old=lambda: convert(old, destination, types[0]))
        for before, after in pairwise(types):
            codes = convert(codes, before, after)
        return codes

    @cached_property
    def values(self) -> np.ndarray:
        """The tensor as f32, before it is converted to the type of the destination."""
        return self.computed(self.conversion, F32).view(np.float32)

    def __str__(self) -> str:
        return f"{self.source.desc} -> {self.destination.desc}, {self.conversion}, {self.implementation}"


def random_side(draw: random.Random, dims: tuple[int, ...], type: str) -> Side | None:
    """By a tag, or by strides that are dense but for gaps; None where one of both refuses."""
    if draw.random() < 0.7:
        tag = draw.choice(NAMES_OF_RANK[len(dims)])
        answer = LIBRARY.with_tag(dims, type, tag)
        return Side(layoutc.desc(f"onednn:{tag}", dims, type), answer) if answer.status == "success" else None
    order = draw.sample(range(len(dims)), len(dims))
    strides, stride = [0] * len(dims), 1
    for axis in order:
        stride += draw.choice((0, 0, 0, 1, 2, 7)) if stride > 1 else 0
        strides[axis] = stride
        stride *= dims[axis]
    answer = LIBRARY.with_strides(dims, type, strides)
    if answer.status != "success":
        return None
    digits = tuple(Digit((axis,)) for axis in reversed(order))
    physical = tuple(strides[axis] for axis in reversed(order))
    return Side(MemoryDesc(dims, element_type(type), Layout(len(dims), digits), physical), answer)


def random_codes(draw: np.random.Generator, side: Side) -> np.ndarray:
    """
    A buffer of the library's size: numbers of a few dozen, some special codes, zero in all block padding.

    Floats are numbers with quarters, halves among them; now and then the bits are any.
    """
    type, buffer = side.desc.element_type, np.zeros(side.answer.size, np.uint8)
    count = side.desc.span
    if draw.random() < 0.3:
        codes = draw.integers(0, 1 << type.bits, count, np.uint64).astype(code_type(type))
    else:
        numbers = (draw.integers(-400, 400, count) / draw.choice([1, 4, 8])).astype(np.float32)
        codes = convert(numbers.view(np.uint32), F32, type)
    codes[padding_offsets(side.desc)] = 0
    data = layoutc_bytes(codes, type)
    buffer[: data.size] = data
    return buffer


def layoutc_bytes(codes: Codes, type: ElementType) -> np.ndarray:
    return packed(codes, type.bits) if type.bits < 8 else codes.view(np.uint8)


def random_values(draw: random.Random, dims: tuple[int, ...], kind: str, is_source: bool) -> tuple[Param, Values]:
    """A scale or zero point, common, per any dims or, of a source, per groups along the last two dims."""
    rank = len(dims)
    mask = draw.choice((0, 0, 0, draw.randrange(1 << rank), draw.randrange(1 << rank)))
    groups: tuple[int, ...] = ()
    if kind == "scales":
        type = draw.choice(("f32", "f32", "f32", "f16", "bf16")) if is_source else "f32"
    else:
        type = draw.choice(("s32", "s32", "s8", "u8")) if is_source else "s32"
    if is_source and rank >= 2 and draw.random() < 0.2:
        mask |= 3 << (rank - 2)
        groups = tuple(draw.choice([n for n in range(1, dim + 1) if dim % n == 0]) for dim in dims[-2:])
    axes = tuple(axis for axis in range(rank) if mask >> axis & 1)
    sizes = tuple(groups[axis - rank + 2] if groups and axis >= rank - 2 else 1 for axis in axes)
    count = prod(dims[axis] // size for axis, size in zip(axes, sizes, strict=True))
    if kind == "scales":
        numbers = [draw.choice((0.5, 2.0, 0.1, 3.0, 1.5, draw.uniform(0.05, 4))) for _ in range(count)]
    else:
        numbers = [draw.choice((0, 1, 3, 7, 100, 5) if type == "u8" else (-9, 1, 3, -1, 100)) for _ in range(count)]
    param = Param(numbers, axes, sizes, type)
    return param, Values(mask, count, constant_bytes(param), type, groups)


def random_attributes(draw: random.Random, dims: tuple[int, ...]) -> tuple[Conversion, Attributes]:
    given: dict[str, Any] = {}
    theirs: dict[str, dict[str, Values]] = {"scales": {}, "zero_points": {}}
    for kind, name, side in product(theirs, ("scale", "zero_point"), ("src", "dst")):
        if kind.startswith(name) and draw.random() < (0.35 if kind == "scales" else 0.12):
            param, values = random_values(draw, dims, kind, side == "src")
            given[f"{side}_{name}"] = param
            theirs[kind][side] = values
    beta = draw.choice((0, 0, 0, 0, 1, 0.5, 2))
    return Conversion(**given, sum=beta), Attributes(theirs["scales"], theirs["zero_points"], beta)


def random_case(seed: int) -> Case | None:
    """The reorder of a seed; None where either refuses it."""
    draw, numbers = random.Random(f"reorder {seed}"), np.random.default_rng(seed)
    rank = draw.choice((1, 2, 2, 3, 3, 4, 4, 5))
    dims = tuple(draw.choice((1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 20, 32, 33)) for _ in range(rank))
    if prod(dims) > 20_000:
        return None
    sides = [random_side(draw, dims, draw.choice(TYPES)) for _ in range(2)]
    source, destination = sides
    if source is None or destination is None or max(s.answer.size for s in (source, destination)) > 400_000:
        return None
    conversion, attributes = (NO_ATTRIBUTES, Attributes())
    if draw.random() < 0.5:
        conversion, attributes = random_attributes(draw, dims)
    read, before = random_codes(numbers, source), random_codes(numbers, destination)
    after = before.copy()
    try:
        implementation = ENGINE.reorder(source.answer, destination.answer, read, after, attributes)
    except RefusedError:
        return None
    return Case(source, destination, conversion, read, before, after, implementation)


def cases(count: int, seed: int) -> Iterator[Case]:
    """The first so many from a seed on that the library executes."""
    while count:
        case = random_case(seed)
        seed += 1
        if case is not None:
            count -= 1
            yield case
