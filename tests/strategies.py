"""Random descriptors for hypothesis: dims, blocks, flattened groups, strides, borders, alignment."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.layout import Digit, Layout

TYPES = ("f64", "f32", "f16", "bf16", "f8_e5m2", "s64", "s32", "u16", "s8", "boolean")
"""of each width, and of each width a float"""


def many(examples: int) -> settings:
    """That many examples, however long each takes on a busy machine."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=examples, deadline=None, suppress_health_check=slow)


small_dims = st.lists(st.integers(1, 6), max_size=4).map(tuple[int, ...])


@st.composite
def groups(draw: st.DrawFn, rank: int) -> list[tuple[int, ...]]:
    """The axes as groups: mostly single, some flattened, in any order of axes within a group."""
    axes = draw(st.permutations(range(rank)))
    found: list[tuple[int, ...]] = []
    while axes:
        taken = draw(st.sampled_from((1, 1, 1, 2)))
        found.append(tuple(axes[:taken]))
        axes = axes[taken:]
    return found


@st.composite
def layouts(draw: st.DrawFn, rank: int) -> Layout:
    """Every group cut into one to three digits, all digits in any order; some axes aligned."""
    digits: list[Digit] = []
    align = [1] * rank
    for axes in draw(groups(rank)):
        divisor = 1
        for block in draw(st.lists(st.integers(1, 5), max_size=2)):
            digits.append(Digit(axes, divisor, block))
            divisor *= block
        digits.append(Digit(axes, divisor))
        if len(axes) == 1:
            align[axes[0]] = draw(st.sampled_from((1, 1, 1, 2, 3)))
    return Layout(rank, tuple(draw(st.permutations(digits))), tuple(align))


@st.composite
def strides(draw: st.DrawFn, shape: tuple[int, ...], injective: bool) -> tuple[int, ...]:
    """Dense (empty), or pitched with the physical axes in any order; else any small numbers."""
    kind = draw(st.sampled_from(("dense", "pitched") if injective else ("dense", "pitched", "any")))
    if kind == "dense":
        return ()
    if kind == "any":
        return tuple(draw(st.lists(st.integers(0, 5), min_size=len(shape), max_size=len(shape))))
    found, reach = [0] * len(shape), 0
    for axis in draw(st.permutations(range(len(shape)))):
        found[axis] = reach + draw(st.integers(1, 3))
        reach += found[axis] * (shape[axis] - 1)
    return tuple(found)


@st.composite
def memory_descs(
    draw: st.DrawFn, dims: tuple[int, ...] | None = None, type: str | None = None, injective: bool = False
) -> MemoryDesc:
    """A descriptor of at most some thousand positions; `injective` ones may be destinations."""
    dims = draw(small_dims) if dims is None else dims
    layout = draw(layouts(len(dims)))
    border: Any = st.just(()) | st.lists(st.integers(0, 2), min_size=len(dims), max_size=len(dims)).map(tuple)
    whole = MemoryDesc(
        dims,
        element_type(type or draw(st.sampled_from(TYPES))),
        layout,
        base_offset=draw(st.integers(0, 3)),
        low=draw(border),
        high=draw(border),
    )
    placed = draw(strides(whole.physical_shape, injective))
    return MemoryDesc(dims, whole.element_type, layout, placed, whole.base_offset, whole.low, whole.high)


@st.composite
def reorders(draw: st.DrawFn) -> tuple[MemoryDesc, MemoryDesc]:
    """A source and a destination of the same dims and element type."""
    dims, type = draw(small_dims), draw(st.sampled_from(TYPES))
    return draw(memory_descs(dims, type)), draw(memory_descs(dims, type, injective=True))
