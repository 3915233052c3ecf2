"""
Random kernels for differential tests: two descriptors, a conversion, a target, a plan, threads.

Everything that the planner and the lowering tell apart occurs: blocks that do not divide each other, odd blocks,
flattened axes, tails, gaps, base offsets, borders, alignment, unit dims, broadcast and overlapping sources. Plans are
the planner's own, or those that it would choose if the caches held nothing, or hand-made changes of these.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, log, prod
from typing import get_args

from benchmarks.placement import spaced
from benchmarks.random_cases import EXTENTS
from benchmarks.random_cases import random_layout as layout_of_benchmarks
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc, check_copy
from layoutc.element_type import element_type as type_of_name
from layoutc.errors import LayoutcError
from layoutc.layout import Digit, Layout
from layoutc.planning.alternatives import choose_plans
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import PLAIN, TARGETS
from layoutc.planning.moves.thread_rows import with_rows_of_threads
from layoutc.planning.neighbours import neighbours
from layoutc.planning.plan_checks import check_parts, check_together
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import Asks, CopyPlan, Load, Plan, PlanPart, Store
from layoutc.planning.plans.turns import Through, Together
from layoutc.strides import dense_strides
from layoutc.transforms.plan_reorders import read_plan_of
from tests.descriptors import layout as tagged
from tests.random_conversions import random_conversion

MACHINES = {
    **TARGETS,
    "avx512vbmi": replace(TARGETS["avx512"], shuffles="any"),
    "znver4": replace(
        TARGETS["avx512"], shuffles="single", waits_for_lines=False, fetches_rows=True, halves_registers=True
    ),
}
"""those with names, and what `native` means where single bytes can be permuted, on Intel's processors and on AMD's"""
ALL_TARGETS = (*MACHINES, PLAIN)
BYTES, SHARED = ("s8", "u8", "f8_e5m2", "f8_e4m3"), ("s4", "u4", "f4_e2m1", "u2")
TYPES = (*BYTES, "bf16", "f16", "u16", "f32", "s32", "f64", "s64", *SHARED)
CONVERTED, ATTRIBUTED = 0.5, 0.7
"""the share of reorders that may convert, and of those that have attributes"""
BLOCKS = (2, 3, 4, 4, 5, 6, 7, 8, 8, 12, 16, 16, 17, 24, 32, 48, 64)
LEAST_ELEMENTS, MOST_ELEMENTS = 16, 80_000
MOST_BYTES = 600_000
"""of a buffer with its padding and gaps"""
NO_CACHE = 1 << 10
"""bytes of a last cache that holds next to nothing: every reorder streams"""
SMALL_CACHE = 1 << 9
"""bytes of a second cache that few reorders fit: copies run together"""


@dataclass(frozen=True)
class PlannedKernel:
    """Kernel `number` of a seed; without a plan its reorder is lowered to the textbook loops."""

    number: int
    source: MemoryDesc
    destination: MemoryDesc
    target: str
    plan: Plan | None
    conversion: Conversion = NO_ATTRIBUTES

    def __str__(self) -> str:
        return f"{self.number}: {self.source} -> {self.destination}, {self.conversion}, target {self.target}"


def random_kernel(seed: int, number: int, targets: tuple[str, ...] = ALL_TARGETS, steps: int = 0) -> PlannedKernel:
    """Kernel `number`: the same on every machine, whatever else is drawn; with a plan up to so many steps further."""
    draw = random.Random(f"kernels {seed}/{number}")
    target = draw.choice(targets)
    reorder = random_reorder(draw)
    source, destination, conversion = reorder
    plan = random_plan(draw, *reorder, target, steps)
    return PlannedKernel(number, source, destination, target, plan, conversion)


def random_reorder(draw: random.Random) -> tuple[MemoryDesc, MemoryDesc, Conversion]:
    """Two descriptors that can be reordered into each other, most of them as they are."""
    while True:
        converts, attributed = draw.random() < CONVERTED, draw.random() < ATTRIBUTED
        element_type = draw.choice(TYPES)
        to_type = draw.choice(TYPES) if converts else element_type
        dims, layouts = random_shape(draw)
        try:
            source = random_desc(draw, dims, element_type, layouts[0], is_source=True)
            destination = random_desc(draw, dims, to_type, layouts[1], is_source=False)
            check_copy(source, destination)
            given = random_conversion(draw, source, destination) if converts and attributed else NO_ATTRIBUTES
        except LayoutcError:
            continue
        if max(source.size_bytes, destination.size_bytes) <= MOST_BYTES:
            return source, destination, given


def random_shape(draw: random.Random) -> tuple[tuple[int, ...], list[Layout]]:
    """Dims and two layouts: any, the same twice, a few channels first and last, or rows that collide, or nearly so."""
    kind = draw.random()
    if kind < 0.12:
        dims, tags = (draw.randint(1, 3), draw.randint(2, 33), draw.randint(1, 1000)), ["abc", "acb"]
    elif kind < 0.16:
        row = (draw.choice((1, 2, 4)) << draw.randint(9, 10)) + draw.choice((0, 0, 1, 4))
        dims, tags = (draw.randint(8, 70), row), ["ab", "ba"]
    else:
        dims = random_dims(draw)
        source = random_layout(draw, len(dims))
        return dims, [source, source if draw.random() < 0.08 else random_layout(draw, len(dims))]
    draw.shuffle(tags)
    return dims, list(map(tagged, tags))


def random_dims(draw: random.Random) -> tuple[int, ...]:
    """Extents as they occur, cut at random until they are few enough elements."""
    elements = exp(draw.triangular(log(LEAST_ELEMENTS), log(MOST_ELEMENTS), log(MOST_ELEMENTS)))
    rank = draw.choice((0, 1, 2, 2, 3, 3, 4, 4, 4, 5, 6))
    dims = [draw.choice(EXTENTS) if draw.random() < 0.7 else draw.randint(1, 600) for _ in range(rank)]
    while prod(dims) > elements:
        axis = draw.choice([axis for axis in range(rank) if dims[axis] > 1])
        dims[axis] = draw.randint(max(1, dims[axis] * 2 // 3), dims[axis] - 1)
    return tuple(dims)


# --- descriptors -----------------------------------------------------------------------------------------------------


def random_desc(
    draw: random.Random, dims: tuple[int, ...], element_type: str, layout: Layout, *, is_source: bool
) -> MemoryDesc:
    """One side. Raises LayoutcError for what does not fit together."""
    low, high = ((border(draw, len(dims)) if draw.random() < 1 / 16 else ()) for _ in range(2))
    offset = draw.choice((0, 0, 0, 0, 1, 3, 16, 64))
    dense = MemoryDesc(dims, type_of_name(element_type), layout, base_offset=offset, low=low, high=high)
    return replace(dense, strides=random_strides(draw, dense.physical_shape, is_source))


def border(draw: random.Random, rank: int) -> tuple[int, ...]:
    return tuple(draw.choice((0, 0, 0, 1, 2, 5)) for _ in range(rank))


def random_layout(draw: random.Random, rank: int) -> Layout:
    """As the benchmarks have them, or with axes flattened, digits in any order and alignment."""
    if not rank:
        return Layout(0, ())
    if draw.random() < 0.7:
        return layout_of_benchmarks(draw, rank)
    digits: list[Digit] = []
    align = [1] * rank
    for axes in random_groups(draw, rank):
        divisor = 1
        for block in (draw.choice(BLOCKS) for _ in range(draw.choice((0, 0, 1, 1, 2)))):
            digits.append(Digit(axes, divisor, block))
            divisor *= block
        digits.append(Digit(axes, divisor))
        if len(axes) == 1:
            align[axes[0]] = draw.choice((1,) * 8 + (2, 3, 8))
    blocks = sorted((digit for digit in digits if digit.modulus), key=lambda digit: -digit.divisor)
    heads = [digit for digit in digits if not digit.modulus]
    draw.shuffle(heads)
    ordered = heads + blocks
    if draw.random() < 1 / 3:
        draw.shuffle(ordered)
    return Layout(rank, tuple(ordered), tuple(align))


def random_groups(draw: random.Random, rank: int) -> Iterator[tuple[int, ...]]:
    """The axes, some of them flattened with others: mostly neighbours in order."""
    axes = list(range(rank))
    if draw.random() < 0.3:
        draw.shuffle(axes)
    while axes:
        count = draw.choice((1, 1, 1, 2, 3))
        yield tuple(axes[:count])
        axes = axes[count:]


def random_strides(draw: random.Random, shape: tuple[int, ...], is_source: bool) -> tuple[int, ...]:
    """Dense, with gaps, or in another order; those of a source may also broadcast or overlap."""
    if not shape:
        return ()
    kind = draw.choice(("dense",) * 12 + ("gaps",) * 5 + ("pitched",) * 2 + ("broadcast", "any") * is_source)
    match kind:
        case "gaps":
            gaps = [0] * len(shape)
            for _ in range(draw.randint(1, 2)):
                # Seldom between the innermost elements: nothing is contiguous then.
                axis = draw.randrange(len(shape) if draw.random() < 1 / 4 else max(1, len(shape) - 1))
                gaps[axis] = draw.choice((1, 2, 3, 8, 16, 64))
            return spaced(shape, tuple(gaps))
        case "pitched":
            return pitched(draw, shape)
        case "broadcast":
            strides = list(dense_strides(shape))
            for axis in draw.sample(range(len(shape)), draw.randint(1, min(2, len(shape)))):
                strides[axis] = 0
            return tuple(strides)
        case "any":
            return tuple(draw.randint(0, 5) for _ in shape)
        case _:
            return dense_strides(shape)


def pitched(draw: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The physical axes in any order, with gaps."""
    strides, reach = [0] * len(shape), 0
    for axis in draw.sample(range(len(shape)), len(shape)):
        strides[axis] = reach + draw.choice((1, 1, 1, 2, 3))
        reach += strides[axis] * (shape[axis] - 1)
    return tuple(strides)


# --- plans -----------------------------------------------------------------------------------------------------------


def random_plan(
    draw: random.Random,
    source: MemoryDesc,
    destination: MemoryDesc,
    conversion: Conversion,
    target: str,
    steps: int = 0,
) -> Plan | None:
    """
    The planner's plan, the one that it would choose for a large reorder, or a change of one of them: by hand, or with
    `steps` one that tuning comes to in so many at most.

    Each of them reads back from its own text.
    """
    if target == PLAIN:
        return None
    kind, threads = draw.choice(("chosen", "streamed", "edited")), draw.choice((1, 1, 2, 3))
    machine = MACHINES[target]
    if kind != "chosen" and draw.random() < 0.8:
        machine = replace(machine, llc=NO_CACHE)
    if draw.random() < 0.5:
        machine = replace(machine, l2=SMALL_CACHE)
    machine = replace(machine, llc_is_far=draw.random() < 0.5, waits_for_lines=draw.random() < 0.5)
    if target == "avx512vbmi" and draw.random() < 0.5:
        machine = replace(machine, shuffles="single")
    try:
        plan = choose_plan(source, destination, machine, threads, conversion)
    except NotStridedError:
        return None
    if steps:
        plan = draw.choice(list(choose_plans(source, destination, machine, threads, conversion)))
    if threads > 1 and not conversion.sum:
        # As where there are enough bytes for these threads.
        plan = with_rows_of_threads(replace(plan, threads=threads), 0, machine)
    # A sum stores nothing twice: any other macro tiles might.
    is_edited = kind == "edited" and not (conversion.sum or steps)
    parts = tuple(_edited_part(draw, part) for part in plan.parts) if is_edited else plan.parts
    found = replace(plan, parts=parts, threads=threads)
    for _ in range(draw.randint(1, steps) if steps else 0):
        found = draw.choice([*neighbours(found, conversion)] or [found])
    lines = plan_lines(found)
    assert parse_plan(lines) == read_plan_of(lines, source, destination, conversion) == found
    return found


def _edited_part(draw: random.Random, part: PlanPart) -> PlanPart:
    if isinstance(part, Through):
        into = (edited(draw, copy) for copy in part.into)
        kept = (new if new.store == "normal" else old for old, new in zip(part.into, into, strict=True))
        return replace(part, into=tuple(kept), out_of=tuple(edited(draw, copy) for copy in part.out_of))
    if isinstance(part, Together):
        changed = replace(part, copies=tuple(edited(draw, copy) for copy in part.copies))
        try:
            check_together(changed)
        except LayoutcError:
            return replace(changed, store="normal")
        return changed
    return edited(draw, part)


def edited(draw: random.Random, plan: CopyPlan) -> CopyPlan:
    """Other macro tiles, orders, stores and loads, such as the checks of a plan let pass."""
    if not plan.target_lanes:
        return plan
    for _ in range(20):
        order = tuple(draw.sample(range(len(plan.macro)), len(plan.macro)))
        change = _changed if draw.random() < 0.5 else _with_same_stores
        store = draw.choice(get_args(Store))
        try:
            changed = change(
                plan,
                macro=tuple(map(draw.randint, plan.tile, plan.extents)),
                outer_order=order,
                inner_order=tuple(draw.sample(order, len(order))),
                store=store,
                fetches=store == "normal" and bool(plan.target_lanes) and draw.random() < 0.5,
                side_by_side=store in ("aligned", "staged") and draw.random() < 0.5,
                load="normal" if plan.copy.is_fill else draw.choice(get_args(Load)),
                prefetch=draw.choice((0, 64, 100_000)),
                asks="",
            )
            check_parts(changed)
        except LayoutcError:
            continue
        return _asked_by_others(draw, changed)
    return plan


def _asked_by_others(draw: random.Random, plan: CopyPlan) -> CopyPlan:
    """The plan whose tiles, or lines that leave a buffer, ask for what lies ahead, if the checks let it pass."""
    try:
        check_parts(changed := replace(plan, asks=draw.choice(get_args(Asks))))
    except LayoutcError:
        return plan
    return changed


def _changed(plan: CopyPlan, load: Load, **changes: object) -> CopyPlan:
    """The plan with other loads; where these are staged, elements are converted by them."""
    is_gathered = [kind == "staged" and plan.widths.converts for kind in (plan.load, load)]
    at = plan.widths.at if is_gathered[0] == is_gathered[1] else "src" if is_gathered[1] else None
    return replace(plan, load=load, widths=replace(plan.widths, at=at), **changes)  # type: ignore[arg-type]


def _with_same_stores(plan: CopyPlan, **changes: object) -> CopyPlan:
    kept = {name: getattr(plan, name) for name in ("store", "load", "fetches", "side_by_side")}
    return _changed(plan, **{**changes, **kept})  # type: ignore[arg-type]
