"""Groups of parameters that do not go with blocks: their values are spread ahead, and blocks alone cut copies."""

from __future__ import annotations

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import Conversion
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.conversions.spread_params import spread_params
from layoutc.planning.machine import machine
from tests.random_conversions import arguments_of, random_codes

DIMS = (2, 240, 9, 7)


@pytest.mark.parametrize("group", [3, 5, 24, 80])
@pytest.mark.parametrize("layout", ["nChw16c", "nChw32c"])
def test_groups_cut_no_copies(layout: str, group: int) -> None:
    """As many as without parameters: groups of 3 in blocks of 32 were 34."""
    source, destination = layoutc.desc("nchw", DIMS, "f32"), layoutc.desc(layout, DIMS, "s8")
    grouped = Conversion(src_scale=Param(axes=1, groups=group))
    alone = Conversion(src_scale=0.5)
    copies = [len(choose_plan(source, destination, machine("avx512"), 1, one).copies) for one in (grouped, alone)]
    assert copies[0] == copies[1]


@pytest.mark.parametrize(
    ("layout", "param", "groups"),
    [
        ("nChw16c", Param(axes=1, groups=48), None),
        ("nChw16c", Param(axes=1, groups=240), None),
        ("nChw16c", Param(axes=1, groups=24), (1,)),
        ("nchw", Param(axes=1, groups=5), (1,)),
        ("nchw", Param(axes=1, groups=8), None),
        ("nChw16c", Param(axes=(0, 1), groups=(2, 24)), (2, 1)),
        ("nChw16c", Param(axes=(1, 2, 3), groups=(24, 1, 1)), None),
    ],
)
def test_what_is_spread(layout: str, param: Param, groups: tuple[int, ...] | None) -> None:
    """Along the axes whose groups straddle blocks or registers; never a list as long as the tensor."""
    source, destination = layoutc.desc("nchw", DIMS, "f32"), layoutc.desc(layout, DIMS, "s8")
    found = spread_params(source, destination, Conversion(src_scale=param))
    assert {name: spread.groups for name, spread in found.items()} == ({"src_scale": groups} if groups else {})


SCALES = Param(tuple(0.5 + n / 8 for n in range(10)), 1, 24)
POWERS = Param(tuple(2.0**n for n in range(10)), 1, 24)
POINTS = tuple(n - 5 for n in range(10))
BY_24 = Param(axes=1, groups=24)


@pytest.mark.parametrize(
    ("types", "conversion"),
    [
        (("f32", "s8"), Conversion(src_scale=BY_24)),
        (("u4", "f32"), Conversion(src_scale=BY_24, src_zero_point=Param(axes=1, groups=5, dtype="s4"))),
        (("s8", "s32"), Conversion(src_zero_point=Param(axes=1, groups=24, dtype="u8"), dst_zero_point=3)),
        (("u8", "s8"), Conversion(src_zero_point=Param(POINTS, 1, 24, "s8"))),
        (("f32", "u8"), Conversion(dst_scale=SCALES, dst_zero_point=Param(axes=(0, 1), groups=(1, 3), dtype="s32"))),
        (("bf16", "s8"), Conversion(dst_scale=POWERS, sum=0.5)),
        (("f32", "bf16"), Conversion(src_scale=SCALES, dst_scale=BY_24, reciprocal=True)),
    ],
)
@pytest.mark.parametrize("executor", ["c", "interpret"])
def test_bytes_are_those_of_the_definition(executor: Executor, types: tuple[str, str], conversion: Conversion) -> None:
    """Arguments and constants, packed ones, several groupings, by the arithmetic of floats and of integers."""
    source, destination = layoutc.desc("nchw", DIMS, types[0]), layoutc.desc("nChw16c", DIMS, types[1])
    assert spread_params(source, destination, conversion)
    read, old = random_codes("read", source), random_codes("old", destination)
    arguments = arguments_of(conversion, DIMS)
    expected, found = old.copy(), old.copy()
    reference.reorder(source, destination, read, expected, conversion, arguments)
    kernel = Kernel(source, destination, executor, conversion=conversion)
    kernel(read, found, **{name: bytes(values) for name, values in arguments.items()})
    np.testing.assert_array_equal(found, expected)


def test_what_is_spread_is_explained() -> None:
    source, destination = layoutc.desc("nchw", DIMS, "f32"), layoutc.desc("nChw16c", DIMS, "s8")
    text = Kernel(source, destination, conversion=Conversion(src_scale=BY_24)).explain()
    assert "src scale: spread ahead of all copies, from groups of 24 to groups of 1" in text
