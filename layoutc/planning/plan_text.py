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

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from layoutc.errors import LayoutcError, PlanError
from layoutc.planning.copies.copy_digits import SIDES, SideName, fuse
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Shuffles
from layoutc.planning.plan_checks import LONE_ROWS, check_parts, check_through, check_together
from layoutc.planning.plans.copy_text import copy_text, joined, parse_strided
from layoutc.planning.plans.plan import MAX_THREADS, Asks, CopyPlan, Load, Part, Plan, PlanPart, Store
from layoutc.planning.plans.plan_line import NOTHING, PlanLine
from layoutc.planning.plans.turns import SharedLoop, Through, Together

SHUFFLES: dict[str, Shuffles] = {name: name for name in get_args(Shuffles)}
STORES: dict[str, Store] = {name: name for name in get_args(Store)}
ASKS: tuple[Asks, ...] = ("by tiles", "twice")
LOADS: dict[str, Load] = {", staged loads": "staged", ", unpacked loads": "unpacked"}
SIDE_BY_SIDE = ", side by side"
PREFETCH, FETCHED = ", prefetch", ", fetched lines"
TAIL = (SIDE_BY_SIDE,), (*LOADS,), (PREFETCH,), tuple(f" {word}" for word in ASKS), (FETCHED,)
"""what may follow the stores of a copy, in this order"""
WHEN: dict[str, SideName] = {"loaded": "src", "stored": "dst"}
INDENT = "  "
THROUGH = "through a buffer: "
"""before the loops of copies into a buffer and out of it"""
INTO, BETWEEN, OUT_OF = "into it, ", "between, ", "out of it, "
"""before copies of one that goes through a buffer"""


def plan_lines(plan: Plan) -> list[str]:
    """The plan as text, a line for the threads and one per copy."""
    return [f"threads {plan.threads}", *(line for part in plan.parts for line in _part_lines(part))]


def _part_lines(part: PlanPart) -> list[str]:
    if isinstance(part, CopyPlan):
        return [_line(part)]
    loops = loops_text(part.loops)
    if isinstance(part, Through):
        halves = ((INTO, part.into), (BETWEEN, part.between), (OUT_OF, part.out_of))
        copies = (f"{INDENT}{word}{_line(copy)}" for word, half in halves for copy in half)
        return [f"{THROUGH}{loops}", *copies]
    head = f"together: {loops}{', staged stores' if part.store == 'staged' else ''}"
    return [head, *(f"{INDENT}{_line(copy)}" for copy in part.copies)]


def loops_text(loops: Sequence[SharedLoop]) -> str:
    """Loops around several copies."""
    steps = (", ".join(map(str, (loop.src, loop.dst, *loop.params))) for loop in loops)
    texts = (f"{loop.extent}x({step}) by {loop.step}" for loop, step in zip(loops, steps, strict=True))
    return f"{', '.join(texts) or NOTHING}, in bytes"


def _line(plan: CopyPlan) -> str:
    at = None if plan.load == "staged" else plan.widths.at
    when = {None: "", "src": " when loaded", "dst": " when stored"}[at]
    return (
        f"{copy_text(plan.copy)}, elements of {widths_text(plan)}{when}, vectors of {plan.vector_bytes}"
        f", {plan.shuffles} shuffles"
        f", tile {joined(plan.tile, 'x')}"
        f", {'merged ' if plan.merges else ''}lanes {_lanes(plan.source_lanes)} -> {_lanes(plan.target_lanes)}"
        f", macro {joined(plan.macro, 'x')}"
        f", outer {joined(plan.outer_order, ' ')}, inner {joined(plan.inner_order, ' ')}, {plan.store} stores"
        f"{SIDE_BY_SIDE if plan.side_by_side else ''}"
        f"{f', {plan.load} loads' if plan.load != 'normal' else ''}"
        f"{f', prefetch {plan.prefetch}' if plan.prefetch else ''}{f' {plan.asks}' if plan.asks else ''}"
        f"{FETCHED if plan.fetches else ''}"
    )


def widths_text(plan: CopyPlan) -> str:
    """The bytes of its elements on both sides: `4`, `4 to 1/2`."""
    source, target = (f"{plan.widths.of(side)}{_share(plan.widths.per_byte(side))}" for side in SIDES)
    return f"{source} to {target}" if plan.widths.converts else source


def _share(per_byte: int) -> str:
    return f"/{per_byte}" if per_byte > 1 else ""


def _lanes(parts: Sequence[Part]) -> str:
    return " ".join(f"{part.digit}:{part.extent}" for part in parts) or "-"


def parse_plan(lines: Sequence[str]) -> Plan:
    """The plan of these lines. Raises PlanError, with the place, for text that is no plan."""
    threads = _parse_threads(PlanLine(lines[0] if lines else "", 1))
    parts: list[PlanPart] = []
    heads: list[PlanLine] = []
    for number, text in enumerate(lines[1:], 2):
        line = PlanLine(text, number)
        try:
            if parts and not isinstance(last := parts[-1], CopyPlan) and line.take(INDENT):
                parts[-1] = _with_copy(last, line)
            else:
                parts.append(_parse_part(line))
                heads.append(line)
        except PlanError:
            raise
        except LayoutcError as error:
            line.refuse(str(error))
    for head, part in zip(heads, parts, strict=True):
        _check_copies(head, part)
    return Plan(tuple(parts), threads)


def _parse_threads(line: PlanLine) -> int:
    line.expect("threads ")
    start = line.position
    threads = line.number(f"a number of threads from 1 to {MAX_THREADS}")
    if not 1 <= threads <= MAX_THREADS:
        line.position = start
        line.fail(f"a number of threads from 1 to {MAX_THREADS}")
    line.expect_end("")
    return threads


def _check_copies(head: PlanLine, part: PlanPart) -> None:
    """Refuses loops without copies, and copies in them that do not fit each other."""
    if isinstance(part, CopyPlan):
        if part.moves_rows:
            head.refuse(LONE_ROWS)
        return
    if not part.copies:
        head.refuse(f"no copy runs in these loops: expected lines below that begin with {len(INDENT)} blanks")
    try:
        check_together(part) if isinstance(part, Together) else check_through(part)
    except LayoutcError as error:
        head.refuse(str(error))


def _parse_part(line: PlanLine) -> PlanPart:
    if line.take(THROUGH):
        loops = _parse_loops(line)
        line.expect_end("")
        return Through(loops, (), ())
    if not line.sees("together"):
        return _parse_copy(line)
    line.expect("together: ")
    loops = _parse_loops(line)
    store = "staged" if line.take(", staged stores") else "normal"
    line.expect_end("', staged stores' or ")
    return Together(loops, (), store)


def _with_copy(part: Together | Through, line: PlanLine) -> Together | Through:
    """The part with one copy more."""
    if isinstance(part, Together):
        return replace(part, copies=(*part.copies, _parse_copy(line)))
    if line.take(OUT_OF):
        return replace(part, out_of=(*part.out_of, _parse_copy(line)))
    if part.out_of:
        line.fail(f"'{OUT_OF}'")
    if line.take(BETWEEN):
        return replace(part, between=(*part.between, _parse_copy(line)))
    if part.between:
        line.fail(f"'{BETWEEN}' or '{OUT_OF}'")
    line.expect(INTO)
    return replace(part, into=(*part.into, _parse_copy(line)))


def _parse_loops(line: PlanLine) -> tuple[SharedLoop, ...]:
    loops: list[SharedLoop] = []
    if not line.take(NOTHING):
        loops.append(_parse_loop(line))
    while not line.take(", in bytes"):
        line.expect(", ")
        loops.append(_parse_loop(line))
    return tuple(loops)


def _parse_loop(line: PlanLine) -> SharedLoop:
    extent = line.number("a loop as 512x(100352, 53312) by 2, or 'in bytes'")
    line.expect("x(")
    src = line.number("bytes between steps in the source")
    line.expect(", ")
    dst = line.number("bytes between steps in the destination")
    params: list[int] = []
    while line.take(", "):
        params.append(line.number("how many parameters further on a step is"))
    line.expect(") by ")
    return SharedLoop(extent, line.number("steps that each copy takes at a time"), src, dst, tuple(params))


def _parse_copy(line: PlanLine) -> CopyPlan:
    copy, groups = parse_strided(line)
    line.expect(", elements of ")
    element = _parse_width(line)
    converted = _parse_width(line) if line.take(" to ") else None
    when = line.one_of(WHEN) if converted and line.take(" when ") else None
    line.expect(", vectors of ")
    vector = line.number("the bytes of a register")
    line.expect(", ")
    shuffles = line.one_of(SHUFFLES, " shuffles")
    line.expect(", tile ")
    tile = line.numbers("steps of each digit, as 1x16x8", "x")
    merges = line.take(", merged lanes ")
    if not merges:
        line.expect(", lanes ")
    source = _parse_lanes(line)
    line.expect(" -> ")
    target = _parse_lanes(line)
    line.expect(", macro ")
    macro = line.numbers("steps of each digit, as 1x16x8", "x")
    line.expect(", outer ")
    outer = line.numbers("numbers of digits, as 0 1 2", " ")
    line.expect(", inner ")
    inner = line.numbers("numbers of digits, as 0 1 2", " ")
    line.expect(", ")
    store = line.one_of(STORES, " stores")
    side_by_side, load, prefetch, asks, fetches = _parse_tail(line)
    for first, count in enumerate(groups):
        if count > 1:
            copy = fuse(copy, range(first, first + count)[::-1])
    (src, src_share), (dst, dst_share) = element, converted or element
    at = when or ("src" if converted and load == "staged" else None)
    widths = Widths(src, dst, src_share, dst_share, converted is not None, at)
    how = tile, source, target, macro, outer, inner, merges, load, store
    plan = CopyPlan(copy, widths, vector, shuffles, *how, side_by_side, fetches, prefetch, asks)
    check_parts(plan)
    return plan


def _parse_tail(line: PlanLine) -> tuple[bool, Load, int, Asks, bool]:
    """What may follow the stores, in this order: side by side, loads, how far ahead is asked for, fetched lines."""
    side_by_side = line.take(SIDE_BY_SIDE)
    load: Load | None = next((LOADS[words] for words in LOADS if line.take(words)), None)
    is_ahead = line.take(PREFETCH)
    if is_ahead and not line.take(" "):
        line.fail("a blank and elements ahead")
    if is_ahead and line.sees("0"):
        line.fail("one element ahead or more")
    prefetch = line.number("elements ahead") if is_ahead else 0
    asks: Asks | None = next((word for word in ASKS if prefetch and line.take(f" {word}")), None)
    fetches = line.take(FETCHED)
    there = side_by_side, load, is_ahead, asks, fetches
    behind = max((place + 1 for place, word in enumerate(there) if word), default=0)
    left = [word for place, words in enumerate(TAIL) if place >= behind for word in words]
    left = [word for word in left if prefetch or word[1:] not in ASKS]
    line.expect_end("".join(f"{word!r}, " for word in left[:-1]) + "".join(f"{word!r} or " for word in left[-1:]))
    return side_by_side, load or "normal", prefetch, asks or "", fetches


def _parse_width(line: PlanLine) -> tuple[int, int]:
    """The bytes of an element, and how many share them: `1/2`."""
    if line.sees("0"):
        line.fail("the bytes of an element, from 1")
    width = line.number("the bytes of an element")
    return width, line.number("elements that share a byte") if line.take("/") else 1


def _parse_lanes(line: PlanLine) -> tuple[Part, ...]:
    if line.take(NOTHING):
        return ()
    found: list[Part] = []
    while not found or (line.sees(" ") and not line.sees(" -> ")):
        line.take(" " if found else "")
        digit = line.number("lanes as 1:8, or '-'" if not found else "lanes as 1:8")
        line.expect(":")
        found.append(Part(digit, line.number("how many steps of the digit are lanes")))
    return tuple(found)
