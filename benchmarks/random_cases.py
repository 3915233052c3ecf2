"""
Random reorders, drawn without any regard to how layoutc plans them: ranks, dims, types, blocks, orders, gaps; and,
where they convert, attributes.

Case k of a seed is the same on every machine, whatever else is drawn.
"""

from __future__ import annotations

import random
from dataclasses import replace
from math import prod

from benchmarks.cases import CONVERT, RANDOM, RANDOM_CONVERSIONS, TYPES, Case, letters
from benchmarks.placement import Placement
from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ELEMENT_TYPES
from layoutc.element_type import element_type as type_of_name
from layoutc.errors import LayoutcError
from layoutc.layout import Digit, Layout

LEAST, MOST = 16_000_000, 64_000_000
"""bytes of a destination"""
COMPUTED = ("f32", "f32", "bf16", "f16", "s8", "s32")
"""types that kernels compute with: one side of a conversion; the other one has any"""
MOST_PADDING = 2
"""A buffer is at most this many times as large as the elements in it."""
BLOCKS = (2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 16, 16, 24, 32, 32, 48, 64)
EXTENTS = (
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    12,
    14,
    16,
    17,
    24,
    28,
    32,
    48,
    49,
    56,
    64,
    75,
    96,
    100,
    112,
    128,
    192,
    197,
    224,
    255,
    256,
)


def random_cases(count: int, seed: int) -> list[Case]:
    """Cases 0 to `count` - 1 of a seed."""
    return [random_case(seed, number) for number in range(count)]


def random_case(seed: int, number: int) -> Case:
    """One case, whose destination has LEAST to MOST bytes, and is not the same memory as its source."""
    draw = random.Random(f"{seed}/{number}")
    while True:
        element_type = draw.choice(TYPES)
        dims = random_dims(draw, draw.randint(2, 6), elements_of(draw.uniform(LEAST, MOST), element_type))
        placements = random_placement(draw, len(dims)), random_placement(draw, len(dims))
        source, destination = (placement.desc(dims, element_type) for placement in placements)
        if is_fit(source) and is_fit(destination, LEAST) and not source.same_memory(destination):
            name, scaled = f"random {seed}/{number}", (tuple(range(len(dims))),)
            return Case(name, dims, *placements, (element_type,), scaled, kind=RANDOM)


def random_conversions(count: int, seed: int) -> list[Case]:
    """Those of cases 0 to `count` - 1 of a seed that convert."""
    return [random_conversion(seed, number) for number in range(count)]


def random_conversion(seed: int, number: int) -> Case:
    """One case that converts, whose larger buffer has LEAST to MOST bytes."""
    draw = random.Random(f"convert {seed}/{number}")
    while True:
        source, destination = draw.sample((draw.choice(COMPUTED), draw.choice(ELEMENT_TYPES).name), 2)
        widest = max(source, destination, key=lambda name: type_of_name(name).bits)
        dims = random_dims(draw, draw.randint(2, 5), elements_of(draw.uniform(LEAST, MOST), widest))
        placements = random_placement(draw, len(dims)), random_placement(draw, len(dims))
        attributes = random_attributes(draw, source, destination, len(dims))
        sides = placements[0].desc(dims, source), placements[1].desc(dims, destination)
        if source != destination and all(map(is_fit, sides)) and max(side.size_bytes for side in sides) >= LEAST:
            name, scaled = f"{CONVERT}random {seed}/{number}", (tuple(range(len(dims))),)
            found = Case(name, dims, *placements, (f"{source}->{destination}",), scaled, kind=RANDOM_CONVERSIONS)
            return replace(found, attributes=attributes)


def random_attributes(draw: random.Random, source: str, destination: str, rank: int) -> str:
    """None in half of the cases, a common scale in a quarter, else one of an axis, with a zero point now and then."""
    side, type = ("dst", destination) if type_of_name(destination).is_integer else ("src", source)
    scale = draw.choice(("", "", "0.0236", f"argument@axis={draw.randrange(rank)}"))
    if not scale:
        return ""
    point = f" --{side}-zero-point 3" if type_of_name(type).is_integer and draw.random() < 1 / 4 else ""
    return f"--{side}-scale {scale}{point}"


def elements_of(bytes: float, element_type: str) -> int:
    """How many elements have that many bytes."""
    return int(bytes) * 8 // type_of_name(element_type).bits


def random_dims(draw: random.Random, rank: int, elements: int) -> tuple[int, ...]:
    """Extents as they occur, but for one axis that brings the tensor to about that many elements."""
    longest = 4096 if rank <= 3 else 300
    dims = [draw.choice(EXTENTS) if draw.random() < 0.6 else draw.randint(1, longest) for _ in range(rank)]
    axis = draw.randrange(rank)
    dims[axis] = 1
    dims[axis] = max(1, elements // prod(dims))
    return tuple(dims)


def is_fit(desc: MemoryDesc, least: int = 0) -> bool:
    """Whether a buffer is neither too small nor too large, nor most of it padding and gaps."""
    payload = desc.element_type.size_bytes(desc.elements)
    return least <= desc.size_bytes <= min(MOST, MOST_PADDING * payload)


def random_placement(draw: random.Random, rank: int) -> Placement:
    """Axes in any order; in half of the cases blocks, in one of six a gap."""
    layout = random_layout(draw, rank)
    gaps = [0] * len(layout.digits)
    if draw.random() < 1 / 6:
        gaps[draw.randrange(len(gaps))] = draw.choice((1, 3, 8, 16, 64))
    return Placement(text_of(layout), tuple(gaps) if any(gaps) else ())


def random_layout(draw: random.Random, rank: int) -> Layout:
    """Blocks are mostly innermost, as in all tags; sometimes all digits are in any order."""
    blocks = [(draw.randrange(rank), draw.choice(BLOCKS)) for _ in range(draw.choice((0, 0, 0, 1, 1, 2, 3)))]
    divisors = [1] * rank
    inner: list[Digit] = []
    for axis, block in blocks:
        inner.insert(0, Digit((axis,), divisors[axis], block))
        divisors[axis] *= block
    digits = [Digit((axis,), divisors[axis]) for axis in draw.sample(range(rank), rank)] + inner
    if draw.random() < 1 / 8:
        draw.shuffle(digits)
    return Layout(rank, tuple(digits), axis_names=tuple(letters(range(rank))))


def text_of(layout: Layout) -> str:
    """The oneDNN tag of a layout, or else its affine map."""
    try:
        return "onednn:" + notations.notation("onednn").format(layout)
    except LayoutcError:
        return f"affine:{layout}"
