"""
Plans as text, a line per copy: printed for people, edited by hand, checked when read.

    threads 2
    copy 0 -> 0: 2x(340, 480) 20x(1, 8) 8x(20, 1), elements of 4, vectors of 64, any shuffles, tile 1x16x8, \
lanes 1:16 -> 2:8 1:2, macro 1x20x8, outer 0 1 2, inner 0 1 2, normal stores

A copy goes from an offset to an offset through digits `extent x (source stride, destination stride)`; `8x(20, 1)/3`
loads the first 3 of 8 and makes the rest zero, and digits in brackets count as one. Offsets and strides count elements
of that many bytes. `elements of 4 to 1` are converted on the way, and two of `1/2` share a byte; `copy 0 -> 0 with 16`
and a third number of each digit, `64x(1, 1, 1)`, say where their parameters are. Copies that run together stand
indented under a line with their shared loops, `together: 512x(100352, 53312) by 2, in bytes`. `docs/plans.md` has all
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import get_args

from layoutc.errors import LayoutcError
from layoutc.planning.copy_digits import (
    SIDES,
    Carry,
    CopyDigit,
    SideName,
    Stride,
    StridedCopy,
    axis_digit,
    fuse,
    unfused,
    without_partial,
)
from layoutc.planning.machine import Shuffles
from layoutc.planning.plan import MAX_THREADS, CopyPlan, Load, Part, Plan, SharedLoop, Store, Together
from layoutc.planning.plan_checks import check_parts, check_together
from layoutc.planning.promotion import promotions
from layoutc.planning.together import restored

SHUFFLES: dict[str, Shuffles] = {"any": "any", "words": "words", "unpack": "unpack"}
STORES: dict[str, Store] = {name: name for name in get_args(Store)}
LOADS: dict[str | None, Load] = {None: "normal", "staged": "staged", "unpacked": "unpacked"}

WHEN: dict[str | None, SideName | None] = {None: None, "loaded": "src", "stored": "dst"}

_NUMBERS = r"\d+(?:x\d+)*|-"
_ORDER = r"\d+(?: \d+)*|-"
_LANES = r"\d+:\d+(?: \d+:\d+)*|-"
_WIDTH = r"[1-9]\d*(?:/\d)?"
_STRIDE = r"(?:\d+:\d+ )*\d+"
_ONE = rf"\d+x\({_STRIDE}(?:, {_STRIDE})+\)(?:/\d+)?"
_LINE = re.compile(
    rf"(?:copy (?P<src>\d+)|fill) -> (?P<dst>\d+)(?: with (?P<params>\d+(?: \d+)*))?:"
    rf"(?P<digits>(?: (?:{_ONE}|\[{_ONE}(?: {_ONE})+\]))*)"
    rf", elements of (?P<element>{_WIDTH})(?: to (?P<converted>{_WIDTH})(?: when (?P<when>loaded|stored))?)?"
    r", vectors of (?P<vector>\d+)"
    rf", (?P<shuffles>{'|'.join(SHUFFLES)}) shuffles"
    rf", tile (?P<tile>{_NUMBERS}), (?P<merges>merged )?lanes (?P<source>{_LANES}) -> (?P<target>{_LANES})"
    rf", macro (?P<macro>{_NUMBERS})"
    rf", outer (?P<outer>{_ORDER}), inner (?P<inner>{_ORDER}), (?P<store>{'|'.join(STORES)}) stores"
    r"(?:, (?P<load>staged|unpacked) loads)?(?:, prefetch (?P<prefetch>\d+))?"
)
_LOOP = re.compile(r"(\d+)x\((\d+), (\d+)\) by (\d+)")
_TOGETHER = re.compile(rf"together: {_LOOP.pattern}(?:, {_LOOP.pattern})*, in bytes(, staged stores)?")
_DIGIT = re.compile(rf"(\d+)x\(({_STRIDE}), ({_STRIDE})((?:, \d+)*)\)(?:/(\d+))?")
_GROUP = re.compile(rf"{_ONE}|\[[^]]*\]")


def plan_lines(plan: Plan) -> list[str]:
    """The plan as text, a line for the threads and one per copy."""
    return [f"threads {plan.threads}", *(line for part in plan.parts for line in _part_lines(part))]


def _part_lines(part: CopyPlan | Together) -> list[str]:
    if isinstance(part, CopyPlan):
        return [_line(part)]
    loops = (f"{loop.extent}x({loop.src}, {loop.dst}) by {loop.step}" for loop in part.loops)
    head = f"together: {', '.join(loops)}, in bytes{', staged stores' if part.store == 'staged' else ''}"
    return [head, *(f"  {_line(copy)}" for copy in part.copies)]


def _copy_text(copy: StridedCopy) -> str:
    head = f"fill -> {copy.dst}" if copy.is_fill else f"copy {copy.src} -> {copy.dst}"
    params = f" with {_joined(copy.params, ' ')}" if copy.params else ""
    return f"{head}{params}:" + "".join(f" {_digit(digit)}" for digit in copy.digits)


def _digit(digit: CopyDigit) -> str:
    if len(digit.parts) > 1:
        return f"[{' '.join(map(_digit, reversed(digit.parts)))}]"
    steps = ", ".join(map(str, (*(_stride(digit.stride(side)) for side in SIDES), *digit.params)))
    return f"{digit.extent}x({steps}){'' if digit.is_whole else f'/{digit.loaded}'}"


def _stride(stride: Stride) -> str:
    """A number; or how many steps have a stride until the next one has another, the last without a number."""
    if isinstance(stride, int):
        return str(stride)
    *inner, (_, last) = stride.steps
    return " ".join((*(f"{extent}:{step}" for extent, step in inner), str(last)))


def _line(plan: CopyPlan) -> str:
    return (
        f"{_copy_text(plan.copy)}, elements of {_widths(plan)}, vectors of {plan.vector_bytes}"
        f", {plan.shuffles} shuffles"
        f", tile {_joined(plan.tile, 'x')}"
        f", {'merged ' if plan.merges else ''}lanes {_lanes(plan.source_lanes)} -> {_lanes(plan.target_lanes)}"
        f", macro {_joined(plan.macro, 'x')}"
        f", outer {_joined(plan.outer_order, ' ')}, inner {_joined(plan.inner_order, ' ')}, {plan.store} stores"
        f"{f', {plan.load} loads' if plan.load != 'normal' else ''}"
        f"{f', prefetch {plan.prefetch}' if plan.prefetch else ''}"
    )


def _widths(plan: CopyPlan) -> str:
    source, target = (f"{plan.widths.of(side)}{_share(plan.widths.per_byte(side))}" for side in SIDES)
    if not plan.converted_bytes:
        return source
    when = {None: "", "src": " when loaded", "dst": " when stored"}[plan.converted_at]
    return f"{source} to {target}{when}"


def _share(per_byte: int) -> str:
    return f"/{per_byte}" if per_byte > 1 else ""


def _joined(numbers: Sequence[int], separator: str) -> str:
    return separator.join(map(str, numbers)) or "-"


def _lanes(parts: Sequence[Part]) -> str:
    return " ".join(f"{part.digit}:{part.extent}" for part in parts) or "-"


def parse_plan(lines: Sequence[str]) -> Plan:
    """The plan of these lines. Raises LayoutcError, quoting the line, for text that is no plan."""
    head = re.fullmatch(r"threads (\d{1,4})", lines[0]) if lines else None
    if head is None or not 1 <= int(head[1]) <= MAX_THREADS:
        raise LayoutcError(f"a plan begins with 'threads N', N from 1 to {MAX_THREADS}, got {(lines or ('',))[0]!r}")
    parts: list[CopyPlan | Together] = []
    for line in lines[1:]:
        if line.startswith("together"):
            parts.append(_parse_together(line))
        elif line.startswith("  ") and parts and isinstance(last := parts[-1], Together):
            parts[-1] = replace(last, copies=(*last.copies, _parse_copy(line.strip())))
        else:
            parts.append(_parse_copy(line))
    for part in parts:
        if isinstance(part, Together):
            check_together(part)
    return Plan(tuple(parts), int(head[1]))


def _parse_together(line: str) -> Together:
    if _TOGETHER.fullmatch(line) is None or len(line) > 4000:
        raise LayoutcError(f"{line[:60]!r} shares no loops, expected 'together: NxS(SRC, DST) by STEP, ..., in bytes'")
    store = "staged" if line.endswith("staged stores") else "normal"
    numbers = (tuple(map(int, groups)) for groups in _LOOP.findall(line))
    return Together(tuple(SharedLoop(extent, step, src, dst) for extent, src, dst, step in numbers), (), store)


def _parse_copy(line: str) -> CopyPlan:
    found = _LINE.fullmatch(line)
    if found is None or len(line) > 4000:
        raise LayoutcError(f"{line[:60]!r} is no copy of a plan, expected 'copy A -> B: ...' or 'fill -> B: ...'")
    is_fill = found["src"] is None
    src, dst = int(found["dst" if is_fill else "src"]), int(found["dst"])
    groups = [_digits(text) for text in _GROUP.findall(found["digits"])]
    params = _numbers(found["params"] or "")
    copy = StridedCopy(src, dst, tuple(digit for group in groups for digit in group), is_fill, params)
    if any(len(digit.params) != len(params) for digit in copy.digits):
        raise LayoutcError(f"digits step through {len(params)} lists of parameters, as 'with' has them: {line[:60]!r}")
    for first, group in enumerate(groups):
        if len(group) > 1:
            copy = fuse(copy, range(first, first + len(group))[::-1])
    element, shared = _width(found["element"])
    converted, shared_to = _width(found["converted"] or f"0/{shared}")
    plan = CopyPlan(
        copy,
        element,
        int(found["vector"]),
        SHUFFLES[found["shuffles"]],
        _numbers(found["tile"]),
        _parts(found["source"]),
        _parts(found["target"]),
        _numbers(found["macro"]),
        _numbers(found["outer"]),
        _numbers(found["inner"]),
        STORES[found["store"]],
        int(found["prefetch"] or 0),
        LOADS[found["load"]],
        converted,
        WHEN[found["when"]],
        (shared, shared_to),
        found["merges"] is not None,
    )
    check_parts(plan)
    return plan


def _digits(text: str) -> list[CopyDigit]:
    return [
        _read_digit(int(n), int(loaded or n), src, dst, _numbers(params))
        for n, src, dst, params, loaded in _DIGIT.findall(text)
    ]


def _read_digit(extent: int, loaded: int, src: str, dst: str, params: tuple[int, ...]) -> CopyDigit:
    strides = (_read_stride(text, count) for text, count in ((src, loaded), (dst, extent)))
    return replace(axis_digit(extent, loaded, *strides), params=params)


def _read_stride(text: str, extent: int) -> Carry:
    *inner, last = text.split()
    steps = [(int(n), int(step)) for n, step in (part.split(":") for part in inner)]
    period = prod(n for n, _ in steps)
    return Carry((*steps, (-(-extent // period) if period else 0, int(last))))


def _width(text: str) -> tuple[int, int]:
    """The bytes of an element, and how many share them: `1/2`."""
    width, _, shared = text.partition("/")
    return int(width), int(shared or 1)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text))


def _parts(text: str) -> tuple[Part, ...]:
    return tuple(Part(int(g), int(n)) for g, n in re.findall(r"(\d+):(\d+)", text))


# --- what a plan must do -------------------------------------------------------------------------------------------


def check_covers(plan: Plan, copies: Sequence[StridedCopy], element_bytes: int) -> None:
    """
    Raises LayoutcError unless the plan's copies are these copies of a reorder, in their order.

    A copy may stand with wider elements, or cut into what is loaded and what is zero.
    """
    waiting: list[tuple[StridedCopy, int]] = []
    for part in plan.parts:
        loops, planned = (part.loops, part.copies) if isinstance(part, Together) else ((), (part,))
        waiting += ((restored(unfused(p.copy), p.element_bytes, loops), p.element_bytes) for p in planned)
    for copy in copies:
        taken = next((v for v in _variants(copy, element_bytes) if v == waiting[: len(v)]), None)
        if taken is None:
            raise LayoutcError(f"the plan has no copy {_copy_text(copy)!r} at its place, which the reorder needs")
        del waiting[: len(taken)]
    if waiting:
        raise LayoutcError(f"the plan has {len(waiting)} copies more than the reorder")


def _variants(copy: StridedCopy, element_bytes: int) -> Iterator[list[tuple[StridedCopy, int]]]:
    """The ways in which a copy may stand in a plan."""
    for wide, size in promotions(copy, element_bytes):
        yield [(wide, size)]
        for position, digit in enumerate(wide.digits):
            if not digit.is_whole and not digit.is_uneven:
                loaded, empty = (list(_variants(part, size)) for part in without_partial(wide, position))
                yield from ([*one, *other] for one in loaded for other in empty)
