"""A plan in plain words: its numbers from the plan itself, the reasons from the rules that chose it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from layoutc.conversion import NO_ATTRIBUTES, Conversion, label
from layoutc.descriptor import MemoryDesc
from layoutc.planning.choose import choose_plan
from layoutc.planning.conversions.gathered_rows import row_digits
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.conversions.running_sums import sum_number
from layoutc.planning.conversions.short_loads import has_short_loads
from layoutc.planning.conversions.spread_params import spread_params
from layoutc.planning.copies.copy_digits import SIDES, CopyDigit
from layoutc.planning.machine import Machine, Shuffles
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.plans.turns import Through, Together
from layoutc.planning.reasons import listening
from layoutc.planning.tiles.packed_tile import PackedTile, tile_program
from layoutc.planning.tiles.tile import pieces_of

SHUFFLES: dict[Shuffles, str] = {
    "single": "of any bytes, of two registers at once",
    "any": "of any bytes",
    "words": "of 2 bytes or more",
    "unpack": "by unpacking alone",
}
DETOURS = {
    "blocks": "blocks that do not divide each other",
    "bytes": "elements that share bytes",
    "rows": "rows",
}
"""what a reorder may go through a buffer for"""
BYTES_IN_A_BUFFER = "into a buffer with a byte for each element"
ENDS_ASKED_FOR = "lines in which rows begin and end are asked for before"
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def explain_plan(
    source: MemoryDesc, destination: MemoryDesc, target: Machine, threads: int, conversion: Conversion = NO_ATTRIBUTES
) -> list[str]:
    """
    Lines that say how a reorder runs on a machine, and why.

    Raises NotStridedError, with the reason, if the reorder has no plan but the plain one.
    """
    with listening() as reasons:
        plan = choose_plan(source, destination, target, threads, conversion)
    lines = [
        f"{source.size_bytes} bytes into {destination.size_bytes}, for {_machine(target)}",
        f"threads: {reasons.get('threads', 'as many as were asked for, ' + str(plan.threads))}",
        f"caches: the destination's whole lines go {reasons['caches']}",
    ]
    if any(isinstance(part, Through) for part in plan.parts):
        lines += (f"{words}: {reasons[topic]}" for topic, words in DETOURS.items() if topic in reasons)
    converts = source.element_type != destination.element_type or conversion.has_attributes
    for name, param in spread_params(source, destination, conversion).items():
        before, after = (_joined(each.groups) for each in (conversion.params[name], param))
        lines.append(f"{label(name)}: spread ahead of all copies, from groups of {before} to groups of {after}")
    seen = Reorder(source, destination, conversion).seen
    if conversion.compensation is not None:
        runs = sum_number(plan, seen, destination) is not None
        lines.append(f"sums: {'as tiles store weights' if runs else 'from the weights that were written, at the end'}")
    shared = {id(copy): part for part in plan.parts if not isinstance(part, CopyPlan) for copy in part.copies}
    for number, copy in enumerate(plan.copies, 1):
        part = shared.get(id(copy))
        turn = " in each turn" if part else ""
        work = _work(copy, _moved(part, copy, source, destination), converts)
        lines += ["", f"copy {number} of {len(plan.copies)}: {work}{turn}"]
        if part is not None:
            lines.append(f"  shared loops: {_shared(part, copy)}")
        lines += [f"  {line}" for line in _copy_lines(copy, dict(copy.why), seen if converts else None, part)]
    return lines


def _is_one_of(copy: CopyPlan, copies: Sequence[CopyPlan]) -> bool:
    return any(copy is other for other in copies)


def _moved(
    part: Together | Through | None, copy: CopyPlan, source: MemoryDesc, destination: MemoryDesc
) -> tuple[str, int]:
    """What a copy that converts nothing moves, and its bits: on the way into a buffer elements are the source's."""
    if isinstance(part, Through) and _is_one_of(copy, part.between):
        return "bytes", 8
    side = source if isinstance(part, Through) and _is_one_of(copy, part.into) else destination
    return f"of {side.element_type}", side.element_type.bits


def _shared(part: Together | Through, copy: CopyPlan) -> str:
    turns = [(-(-loop.extent // loop.step), loop.step) for loop in part.loops if loop.step < loop.extent]
    loops = " by ".join(f"{count} turns of {step}" for count, step in turns) or "one turn"
    if isinstance(part, Through):
        return f"{loops}, {_through(part, copy)}"
    ends = f"; {ENDS_ASKED_FOR}" if part.store == "staged" else ""
    return f"{loops}, with the other copies that have cache lines in common with this one{ends}"


def _through(part: Through, copy: CopyPlan) -> str:
    """Which buffers a copy goes into and out of."""
    apart, joined = (f"a buffer of {size} bytes on the stack" for size in (part.buffer_bytes, part.image_bytes))
    if _is_one_of(copy, part.into):
        return f"into {apart}"
    if not _is_one_of(copy, part.between):
        return f"out of {joined if part.between else apart}"
    ways = (f"out of {apart}" if part.into else "", f"into {joined}" if part.out_of else "")
    return f"{' and '.join(filter(None, ways))}, where each element has a byte"


def _machine(target: Machine) -> str:
    shuffles = SHUFFLES[target.shuffles]
    caches = ", ".join(map(_size, (target.l1, target.l2, target.llc)))
    lines = "" if target.aligns_lines else f", destinations at multiples of {target.alignment}"
    return f"{target.name}: registers of {target.vector} bytes, shuffles {shuffles}, caches of {caches}{lines}"


def _size(size_bytes: int) -> str:
    return next((f"{size_bytes // unit} {name}" for unit, name in UNITS if size_bytes % unit == 0), f"{size_bytes} B")


def _work(plan: CopyPlan, moved: tuple[str, int], converts: bool) -> str:
    name, bits = moved
    count = f"{plan.copy.elements} {'zero' if plan.copy.is_fill else 'element'}{'s' * (plan.copy.elements != 1)}"
    if plan.moves_rows:
        src, dst = ("a byte" if share == 1 else f"{8 // share} bits" for share in map(plan.widths.per_byte, SIDES))
        return f"{count}, from {src} to {dst} each"
    if plan.widths.converts and (plan.copy.is_fill or not converts):
        return f"{count} of {bits} bits"
    if plan.widths.converts:
        each = " to ".join(str(8 * plan.widths.of(side) // plan.widths.per_byte(side)) for side in SIDES)
        return f"{count}, converted from {each} bits"
    together = plan.widths.src * 8 // bits
    swapping = plan.copy.swapping
    how = " that stay neighbours" if swapping is None else f", which steps of digit {swapping} swap"
    joined = f", each {together} {name}{how}" if together > 1 else ""
    return f"{count} of {plan.widths.src * 8} bits{joined}"


def _copy_lines(
    plan: CopyPlan, why: dict[str, str], conversion: Conversion | None, part: Together | Through | None
) -> Iterator[str]:
    for number, digit in enumerate(plan.copy.digits):
        yield f"digit {number}: {_digit(digit, plan.copy.is_fill)}"
    yield f"tiles: {why.get('tiles') or _tiles(plan)}{'; ' + why['rows'] if 'rows' in why else ''}"
    if not plan.moves_rows:
        yield from _loop_lines(plan, why)
    if not plan.copy.is_fill:
        yield f"loads: {_loads(plan, why)}"
    if plan.moves_rows:
        if isinstance(part, Through) and part.converts_rows and conversion and _converts_rows(part, plan):
            yield "conversion: of the bytes of rows"
    elif conversion and plan.widths.converts and not plan.copy.is_fill:
        yield f"conversion: {_when(plan)}"
        yield from _params(plan, conversion)
    yield f"stores: {_stores(plan, why, part)}"
    if plan.prefetch:
        yield f"prefetch: {_ahead(plan, why)}"
    if plan.fetches:
        yield f"lines: each tile asks for those that it stores into{'' if plan.copy.is_fill else ', before it loads'}"


def _loop_lines(plan: CopyPlan, why: dict[str, str]) -> Iterator[str]:
    macro = _times(plan.macro)
    yield f"macro tiles: {macro}, {why.get('macro tiles', 'all but the slowest digit')}"
    order = f"; {why['outer loops']}" if "outer loops" in why else ""
    yield f"loops over macro tiles: {_loops(plan.outer_order, plan.macro, plan.extents)}{order}"
    yield f"loops over tiles: {_loops(plan.inner_order, plan.tile, plan.macro)}"


def _converts_rows(part: Through, copy: CopyPlan) -> bool:
    """Whether rows are converted as they are taken apart, or where none are as they are put together."""
    return _is_one_of(copy, part.into) or not part.into


def _loads(plan: CopyPlan, why: dict[str, str]) -> str:
    said = why.get("loads", "straight")
    if plan.load == "unpacked" and not plan.moves_rows and said == "straight":
        return BYTES_IN_A_BUFFER.replace("into", "out of")
    return said


def _stores(plan: CopyPlan, why: dict[str, str], part: Together | Through | None) -> str:
    if isinstance(part, Through) and (_is_one_of(plan, part.into) or (part.out_of and _is_one_of(plan, part.between))):
        return "normal, into the buffer"
    said = why.get("stores", "normal, through the caches")
    if plan.store == "packed" and not said.startswith(BYTES_IN_A_BUFFER):
        return "by whole bytes, through the caches" if plan.moves_rows else BYTES_IN_A_BUFFER
    if plan.copies_runs:
        said = said.replace("out of a buffer on the stack", "out of the source, where runs lie as they are")
    are_whole = "are whole lines, and " if plan.keeps_lines else ""
    if plan.side_by_side:
        return f"{said}; runs {are_whole}do not overlap"
    return f"{said}; {ENDS_ASKED_FOR}" if plan.store == "staged" else said


def _ahead(plan: CopyPlan, why: dict[str, str]) -> str:
    """Who asks for what comes later."""
    if plan.moves_rows:
        return f"rows ask for those of a later turn, {plan.prefetch} elements further on"
    loads = "the first load of each register asks" if has_short_loads(plan) else "each load asks"
    who = "each tile asks for its share" if plan.asks == "by tiles" else loads
    of = "that" if plan.macro_tiles_of_a_line == 1 else f"what comes {plan.macro_tiles_of_a_line} macro tiles later"
    again = f"; each line that leaves the buffer for its share of {of}" if plan.asks == "twice" else ""
    where = why.get("prefetch", "for what comes next")
    return f"{who} {where}, {plan.prefetch} elements further on{again}"


def _when(plan: CopyPlan) -> str:
    if plan.gathers_converted:
        return "as rows are gathered on the stack"
    return f"as elements are {'loaded' if plan.widths.converted_at == 'src' else 'stored'}"


def _params(plan: CopyPlan, conversion: Conversion) -> Iterator[str]:
    """Of each list of parameters, what lanes have, and along which digits there are others."""
    for number, grouping in enumerate(conversion.groupings[: len(plan.copy.params)]):
        names = " and ".join(label(name) for name, param in conversion.params.items() if param.grouping == grouping)
        along = [f"digit {g}" for g, digit in enumerate(plan.copy.digits) if digit.params[number]]
        others = f"others along {' and '.join(along)}" if along else "the same everywhere"
        yield f"{names or 'sums'}: {_lane_params(plan, number)}, {others}"


def _lane_params(plan: CopyPlan, number: int) -> str:
    if not plan.target_lanes:
        return "a value for each element"
    pieces = list(_distances(plan, number))
    if all(len(set(distances)) == 1 for distances in pieces):
        return "one value in all lanes"
    if all(tuple(distances) == tuple(range(distances[0], distances[0] + len(distances))) for distances in pieces):
        return "a vector of values"
    return "values that lanes share, spread in registers"


def _distances(plan: CopyPlan, number: int) -> Iterator[Sequence[int]]:
    """How far the values of the lanes of each vector are from the first of a tile, or of a row that is gathered."""
    if plan.gathers_converted:
        step = plan.copy.digits[row_digits(plan)[0]].params[number]
        yield range(0, 2 * step, step) if step else (0, 0)
        return
    program = tile_program(plan)
    registers = program.loads([0] * len(plan.tile)) if plan.widths.converted_at == "src" else program.stores()
    yield from (piece.params[number] for piece in pieces_of(registers))


def _digit(digit: CopyDigit, is_fill: bool) -> str:
    places = f"{digit.dst} apart" if is_fill else f"{digit.src} apart in the source, {digit.dst} in the destination"
    loaded = "" if digit.is_whole else f"; the last {digit.extent - digit.loaded} are padding, and become zero"
    if digit.is_uneven:
        return f"{digit.extent} elements, all of an axis or a period of it, as blocks of both sides do not nest{loaded}"
    if digit.carries:
        parts = " and ".join(f"{part.extent}" for part in reversed(digit.parts))
        return f"{digit.extent} elements, {parts} counted as one, as they fill registers together"
    return f"{digit.extent} elements, {places}{loaded}"


def _tiles(plan: CopyPlan) -> str:
    size, program = _times(plan.tile), tile_program(plan)
    if plan.copy.is_fill:
        return f"{size}, zeros along {_lanes(plan.target_lanes)}"
    if plan.pads_elements:
        return f"{size}, loaded one by one, stored along {_lanes(plan.target_lanes)} with the zeros beside them"
    if plan.keeps_rows:
        return f"{size}, as they are: both sides are contiguous along {_lanes(plan.source_lanes)}"
    if has_short_loads(plan):
        return (
            f"{size}, as they lie: loaded along {_lanes(plan.source_lanes)}, stored along {_lanes(plan.target_lanes)}"
        )
    return (
        f"{size}, loaded along {_lanes(plan.source_lanes)}, stored along {_lanes(plan.target_lanes)}, with "
        f"{len(program.network.steps)} shuffles in registers between"
        f"{', which merge them in pairs' if plan.merges else ''}"
        f"{', where they share bytes' if isinstance(program, PackedTile) else ''}"
    )


def _lanes(parts: Sequence[Part]) -> str:
    return " and ".join(f"{part.extent} of digit {part.digit}" for part in parts)


def _loops(order: Sequence[int], sizes: Sequence[int], extents: Sequence[int]) -> str:
    """The digits that take more than one step, slowest first."""
    loops = [f"{-(-extents[g] // sizes[g])} steps of digit {g}" for g in order if sizes[g] < extents[g]]
    return ", ".join(loops) or "none, as one holds all"


def _joined(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))


def _times(numbers: Sequence[int]) -> str:
    return _joined(numbers) + (f" = {prod(numbers)}" if len(numbers) > 1 else "")
