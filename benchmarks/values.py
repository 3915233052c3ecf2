"""What reorders that convert compute with: their attributes, and data of sensible magnitude."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.buffers import Buffer, Bytes
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, element_type
from layoutc.numeric.arithmetic import constant_bytes
from layoutc.numeric.convert import convert
from layoutc.param import Param
from layoutc.tools.attributes import attribute_options, given_attributes

DEVIATIONS = 3
"""Of the values that integers are quantised from, so many standard deviations on each side are not saturated."""
WIDEST = 3000
"""the greatest integer of wide types: an accumulator seldom holds more"""
SOME = 1_048_573
"""values that are drawn; a longer buffer repeats them: a prime, so that rows are not alike, which a kernel may mix"""


@cache
def conversion(text: str) -> Conversion:
    """The attributes that options of `layoutc reorder` stand for. Raises click.ClickException."""

    @click.command()
    @attribute_options
    def read(**options: Any) -> Conversion:
        return Conversion(**given_attributes(options))

    return read.main(text.split(), standalone_mode=False)


def parameters(
    given: Conversion, source: MemoryDesc, destination: MemoryDesc, draw: np.random.Generator
) -> dict[str, Bytes]:
    """Bytes of the scales and zero points of a conversion; those that it leaves open are drawn."""
    types = source.element_type, destination.element_type
    found: dict[str, Bytes] = {}
    for name, param in given.params.items():
        if param.values is None:
            own, other = types if name.startswith("src") else reversed(types)
            count = prod(param.shape(source.dims))
            drawn = scales if name.endswith("scale") else zero_points
            param = Param(drawn(own, other, param, draw.uniform(0.5, 1.5, count)), param.axes, param.groups, param.type)
        found[name] = constant_bytes(param)
    return found


def scales(own: ElementType, other: ElementType, param: Param, factors: NDArray[Any]) -> NDArray[Any]:
    """Such that values of one type come to lie in the range of the other; of e8m0 the nearest powers of two."""
    values = factors * (unit(own) / unit(other))
    return np.exp2(np.rint(np.log2(values))) if param.type.name == "e8m0" else values


def zero_points(own: ElementType, _: ElementType, param: Param, factors: NDArray[Any]) -> NDArray[Any]:
    """Around the middle of the range."""
    values = factors * (own.integer_range.start + own.integer_range.stop) / 2
    return values if param.type.float_format else np.rint(values).astype(np.int64)


def unit(type: ElementType) -> float:
    """What one step of an integer type is worth, if it holds normally distributed values; 1 for floats."""
    return DEVIATIONS / min(type.integer_range[-1], WIDEST) if type.is_integer else 1.0


def fill_values(buffer: Buffer, type: ElementType, draw: np.random.Generator) -> None:
    """Normally distributed floats and wide integers; narrow integers take all their values."""
    if type.is_integer and type.bits <= 8:
        buffer.bytes[:] = np.frombuffer(draw.bytes(buffer.bytes.size), np.uint8)
        return
    values = (draw.standard_normal(SOME) / unit(type)).astype(np.float64)
    codes = convert(values.view(np.uint64), element_type("f64"), type)
    buffer.bytes[:] = np.resize(codes.view(np.uint8), buffer.bytes.size)
