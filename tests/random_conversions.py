"""Random scales, zero points, sums and compensations, and the bytes of those that are given at run time."""

from __future__ import annotations

import random
import zlib
from math import prod

import numpy as np

from layoutc.compensation import Compensation
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.numeric.arithmetic import constant_bytes
from layoutc.param import Param

SCALES, POINTS = ("f32", "f32", "f16", "bf16"), ("s32", "s8", "u4", "f32")
MOST_CONSTANTS = 5000


def random_conversion(draw: random.Random, source: MemoryDesc, destination: MemoryDesc) -> Conversion:
    """Attributes of one reorder. Raises LayoutcError where the reorder cannot have them."""
    dims = source.dims
    made = Conversion(
        random_param(draw, dims, SCALES, True),
        random_param(draw, dims, POINTS, False),
        random_param(draw, dims, SCALES, True),
        random_param(draw, dims, POINTS, False),
        sum=draw.choice((0, 0, 0, 0.5)),
        reciprocal=draw.random() < 0.3,
        compensation=random_compensation(draw, destination),
    )
    made.check(source, destination)
    return made


def random_param(draw: random.Random, dims: tuple[int, ...], types: tuple[str, ...], is_scale: bool) -> Param | None:
    if draw.random() < 0.4:
        return None
    axes = tuple(axis for axis in range(len(dims)) if draw.random() < 0.5)
    groups = tuple(draw.choice([g for g in range(1, dims[axis] + 1) if dims[axis] % g == 0]) for axis in axes)
    type = draw.choice(types)
    if draw.random() < 0.5:
        return Param(None, axes, groups, type)
    count = prod(dims[axis] // group for axis, group in zip(axes, groups, strict=True))
    if count > MOST_CONSTANTS:
        return None
    least = 0 if type.startswith("u") else -7
    values = [draw.choice((0.5, 1.5, -0.25, 0.75)) if is_scale else draw.randint(least, 7) for _ in range(count)]
    return Param(values, axes, groups, type)


def random_compensation(draw: random.Random, destination: MemoryDesc) -> Compensation | None:
    """Seldom, and only of weights that have one."""
    rank = destination.rank
    if destination.element_type.name != "s8" or not rank or draw.random() < 0.7:
        return None
    s8s8, asymmetric = (tuple(sorted(draw.sample(range(rank), draw.randint(1, rank)))) for _ in range(2))
    return Compensation(s8s8, asymmetric if draw.random() < 0.5 else None)


def values_of(param: Param, dims: tuple[int, ...]) -> np.ndarray:
    """The bytes of values that are given later: ordinary numbers of the type."""
    count = prod(param.shape(dims))
    numbers = [
        [0.5, 1.25, -0.75, 3.0, 0.01171875][n * n % 5] if not param.type.is_integer else n * 5 % 7 for n in range(count)
    ]
    known = Param(numbers, param.axes, param.groups, param.type)
    return constant_bytes(known)


def arguments_of(conversion: Conversion, dims: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The bytes of all parameters that are given at run time."""
    return {name: values_of(param, dims) for name, param in conversion.arguments.items()}


def random_codes(seed: str, desc: MemoryDesc) -> np.ndarray:
    """A buffer with codes of all kinds, more often of small numbers."""
    draw = np.random.default_rng(zlib.crc32(seed.encode()))
    data = draw.integers(0, 256, desc.size_bytes, np.uint8)
    if desc.element_type.name == "f32" and data.size % 4 == 0:
        small = draw.standard_normal(data.size // 4).astype(np.float32) * 50
        data.view(np.float32)[::2] = small[::2]
    return data
