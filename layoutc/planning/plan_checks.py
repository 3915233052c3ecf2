"""What a plan that was edited by hand must still be: its lanes lie in memory as registers hold them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from layoutc.errors import LayoutcError
from layoutc.planning.box_checks import check_merged
from layoutc.planning.conversions.even_copies import is_even
from layoutc.planning.conversions.gathered_rows import gathers_bytes, taken_apart
from layoutc.planning.conversions.shared_bytes import first_inside_a_byte
from layoutc.planning.copies.copy_digits import SIDES, Carry, SideName
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.macro_buffers import MAX_STAGE_BYTES
from layoutc.planning.plans.plan import CONVERTED_LANE, ELEMENT_TILE, CopyPlan, Part, Plan
from layoutc.planning.plans.turns import Through, Together
from layoutc.planning.shuffles.synthesis import ELEMENT_BYTES, REGISTER_LIMIT
from layoutc.planning.tiles.lanes import lane_count
from layoutc.planning.tiles.lines_in_turn import lines_in_turn
from layoutc.planning.tiles.merged_tile import stores_twice
from layoutc.planning.together.unions import unions

VECTOR_BYTES = (16, 32, 64)
STEP_BYTES = 8
"""of an entry in the table of a digit that carries"""
MAX_PREFETCH = 1 << 40
"""elements: farther than any memory"""
UNSTAGED = "what shares bytes is not staged"
NO_LANES = "a copy without lanes has normal stores and normal loads"
LONE_ROWS = "rows without lanes go into an image or out of one, expected `through` above them"
ONE_SIDE = "got lanes of loads or of stores alone, expected both or neither"


def check_parts(plan: CopyPlan) -> None:
    """Raises LayoutcError, with got and expected, unless the parts of the plan fit each other."""
    for part in (*plan.source_lanes, *plan.target_lanes):
        if not (part.digit < len(plan.tile) and 2 <= part.extent <= plan.tile[part.digit]):
            raise LayoutcError(f"lanes {part.digit}:{part.extent} are not in a tile of {_text(plan.tile)}")
    _check_numbers(plan)
    _check_swapped(plan)
    if plan.moves_rows:
        _check_rows(plan)
        return
    if plan.gathers_converted:
        _check_gathered(plan)
        check_parts(plan.gathered)
        return
    _check_chain(plan, "src", plan.source_lanes)
    _check_chain(plan, "dst", plan.target_lanes)
    if plan.merges:
        check_merged(plan)
    elif any(not is_power_of_two(part.extent) for part in (*plan.source_lanes, *plan.target_lanes)):
        _check_channels(plan)
    else:
        _check_powers_of_two(plan)
    _check_buffers(plan)
    if (side := first_inside_a_byte(plan)) is not None:
        raise LayoutcError(f"lanes of the {'source' if side == 'src' else 'destination'} begin or end inside of a byte")


def _check_swapped(plan: CopyPlan) -> None:
    """A digit whose steps swap the elements of bytes: a tile has them all."""
    found = [(digit, steps) for digit, steps in zip(plan.copy.digits, plan.tile, strict=True) if digit.swaps]
    if not found:
        return
    is_moved = not (plan.widths.converts or plan.widths.are_packed or plan.pads_elements)
    (digit, steps), *more = found
    is_moved = is_moved and (plan.merges or (plan.is_plain and not digit.swaps_rows))
    is_whole = digit.extent == steps and digit.swaps in (2, 4) and digit.is_whole and not digit.carries
    if more or not is_moved or not is_whole:
        raise LayoutcError("steps that swap the 2 or 4 elements of their bytes are moved in tiles that have them all")
    if plan.merges and plan.copy.swapping in {part.digit for part in plan.lanes(digit.swaps_at)}:
        raise LayoutcError("steps that swap elements are loaded, or stored, each by itself where lanes are merged")


def _check_gathered(plan: CopyPlan) -> None:
    """What is converted into a buffer, row by row."""
    if not plan.target_lanes:
        raise LayoutcError(NO_LANES)
    _check_buffers(plan)
    if not gathers_bytes(plan):
        _check_buffers(taken_apart(plan))


def _check_rows(plan: CopyPlan) -> None:
    """Rows of bytes that are taken apart, or put together: they lie in an image as they do in memory."""
    side: SideName = "src" if plan.load == "unpacked" else "dst"
    other: SideName = "dst" if side == "src" else "src"
    kinds = plan.load, plan.store
    digits, widths = plan.copy.digits, plan.widths
    is_plain = kinds in (("unpacked", "normal"), ("normal", "packed")) and not plan.source_lanes and not plan.merges
    shares = widths.per_byte(side) > 1 == widths.per_byte(other) and widths.converts and widths.dst == 1
    keeps = all(digits[g].of(other) == digits[g].of(side) for g in plan.memory_run_digits(side))
    is_whole = plan.macro == plan.extents and prod(plan.tile) == 1 and not any(d.carries for d in digits)
    if not (is_plain and shares and keeps and is_whole and not plan.copy.is_fill and all(d.is_whole for d in digits)):
        raise LayoutcError(
            f"{plan.load if side == 'src' else plan.store} rows without lanes are of elements that share bytes, each "
            "of which has a byte on the other side, in the same order there, in one macro tile of single elements"
        )


def check_together(part: Together) -> None:
    """Raises LayoutcError, with got and expected, unless copies that share buffers fill them."""
    if any(copy.moves_rows for copy in part.copies):
        raise LayoutcError(LONE_ROWS)
    if part.store == "staged":
        if any(copy.widths.dst_per_byte > 1 for copy in part.copies):
            raise LayoutcError(UNSTAGED)
        made = unions(part)
        if not made:
            raise LayoutcError("staged stores of copies that run together: none writes to a buffer")
        for union in made:
            _check_buffers(union.plan)


def check_through(part: Through) -> None:
    """Raises LayoutcError, with got and expected, unless the copies fit the buffer between them."""
    if odd := [copy.store for copy in part.into if copy.store != "normal"]:
        raise LayoutcError(f"copies into a buffer have normal stores, got {odd[0]}")
    if (size := max(part.buffer_bytes, part.image_bytes)) > MAX_STAGE_BYTES:
        raise LayoutcError(f"copies go through a buffer of {size} bytes, expected at most {MAX_STAGE_BYTES}")
    rows = [{copy.moves_rows for copy in half} for half in (part.into, part.out_of)]
    if not part.between and any(True in half for half in rows):
        raise LayoutcError("rows go into an image or out of one, expected copies between images")
    if part.between and any(False in half for half in rows) and rows not in ([{False}, {True}], [{True}, {False}]):
        raise LayoutcError("copies between images need rows that go into them or out of them")
    if part.out_of and (odd := [copy.store for copy in part.between if copy.store != "normal"]):
        raise LayoutcError(f"copies from one image to another have normal stores, got {odd[0]}")
    if any(copy.moves_rows for copy in part.between):
        raise LayoutcError("rows go into an image or out of one, got them between images")


def check_adds(plan: Plan) -> None:
    """Raises LayoutcError unless no element is stored twice, as where a sum adds to what the destination holds."""
    if any(isinstance(part, Together) for part in plan.parts):
        raise LayoutcError("copies that add to what the destination holds have no shared loops")
    adding = [copy for copy in plan.copies if not copy.copy.is_fill]
    if not all(is_even(copy) and copy.widths.converted_at == "dst" for copy in adding):
        raise LayoutcError("a sum is made when stored, in macro tiles that divide the copy and are whole tiles")
    if any(copy.merges and stores_twice(copy) for copy in adding):
        raise LayoutcError("merged lanes that add to what the destination holds have rows of whole registers there")
    if staged := next((copy.store for copy in adding if copy.stages_stores), None):
        raise LayoutcError(f"copies that add to what the destination holds have no {staged} stores")


def _check_numbers(plan: CopyPlan) -> None:
    digits = zip(plan.copy.digits, plan.tile, strict=True)
    if any(digit.is_uneven and extent > 1 for digit, extent in digits) and not plan.merges:
        raise LayoutcError("a digit that carries in its own way on each side needs merged lanes")
    widths = plan.widths.src, plan.widths.dst
    element = next((width for width in widths if width not in ELEMENT_BYTES), plan.widths.src)
    if element not in ELEMENT_BYTES or plan.vector_bytes not in VECTOR_BYTES:
        raise LayoutcError(
            f"got elements of {element} and vectors of {plan.vector_bytes} bytes, expected elements of 1, "
            "2, 4 or 8 and vectors of 16, 32 or 64"
        )
    shares = [(plan.widths.of(side), plan.widths.per_byte(side)) for side in SIDES]
    if any(shared != 1 and (width != 1 or shared not in (2, 4)) for width, shared in shares):
        raise LayoutcError("elements that share bytes are 1/2 or 1/4 of one")
    if plan.copy.is_fill and plan.widths.at is not None:
        raise LayoutcError("a fill converts nothing, neither when loaded nor when stored")
    is_late = plan.widths.converts and plan.widths.converted_at == "dst" and not plan.merges
    if is_late and not plan.copy.is_whole:
        raise LayoutcError("what is converted when stored is loaded whole: the zeros beside it would be converted too")
    if plan.fetches and (plan.store != "normal" or not (plan.source_lanes or plan.target_lanes)):
        raise LayoutcError("lines are fetched for lanes that are stored into them, by normal stores")
    if plan.side_by_side and not plan.stages_stores:
        raise LayoutcError("macro tiles are side by side where these leave a buffer by whole lines, else always")
    _check_ahead(plan)


def _check_ahead(plan: CopyPlan) -> None:
    """What is asked for before it is needed, and who asks."""
    gathers = plan.load == "staged" and not plan.widths.converts
    if plan.asks == "by tiles" and not (plan.prefetch and (gathers or (plan.load == "normal" and lines_in_turn(plan)))):
        raise LayoutcError(
            "tiles ask for what lies ahead of rows that are gathered, and moved as they are, or of lines that as many "
            "tiles take parts of as divide the rows of a tile"
        )
    is_straight = plan.load == "normal" and plan.source_run_digits and not (plan.widths.converts or plan.copy.is_fill)
    if plan.asks == "twice" and not (is_straight and plan.stages_stores and plan.prefetch):
        raise LayoutcError("lines that leave a buffer ask again where runs are loaded straight, and moved as they are")
    if plan.prefetch > MAX_PREFETCH:
        raise LayoutcError(f"got prefetch {plan.prefetch}, expected at most 2^40")


def _check_chain(plan: CopyPlan, side: SideName, parts: Sequence[Part]) -> None:
    """Lanes must follow one another in memory: all of each digit, until the last."""
    stride = 1
    for number, part in enumerate(parts):
        digit = plan.copy.digits[part.digit]
        apart = digit.stride(side)
        if isinstance(apart, Carry) and not plan.merges:
            raise LayoutcError(f"lanes {part.digit}:{part.extent} are of digits that carry, expected one stride")
        if plan.merges and isinstance(apart, int):
            stride = max(stride, apart)  # they go on over gaps
        if not digit.steps(side, stride):
            apart = apart if isinstance(apart, int) else [step for _, step in apart.steps]
            raise LayoutcError(f"lanes {part.digit}:{part.extent} are {apart} elements apart, expected {stride}")
        if number + 1 < len(parts) and part.extent != digit.extent:
            raise LayoutcError(f"lanes {part.digit}:{part.extent} do not end the lanes, expected all {digit.extent}")
        if side == "src" and not digit.is_whole and not plan.merges:
            raise LayoutcError(f"lanes {part.digit}:{part.extent} are of a digit that is loaded in part")
        stride *= digit.steps(side, stride)


def _check_powers_of_two(plan: CopyPlan) -> None:
    """A tile that goes through a network of index bits; or, without lanes, element by element."""
    if not plan.target_lanes:
        _check_elements(plan)
        return
    if any(not is_power_of_two(extent) for extent in plan.tile):
        raise LayoutcError(f"got tile {_text(plan.tile)}, expected powers of two")
    most = plan.vector_bytes // plan.widths.moved
    if not 1 <= lane_count(plan.source_lanes) <= most or not 1 <= lane_count(plan.target_lanes) <= most:
        raise LayoutcError(f"a vector of {plan.vector_bytes} bytes has {most} lanes, got more")
    if plan.copy.is_fill and plan.source_lanes:
        raise LayoutcError("a fill loads nothing, got lanes of its loads")
    if not plan.copy.is_fill and not plan.source_lanes and not plan.pads_elements:
        raise LayoutcError(ONE_SIDE)
    if prod(plan.tile) > most * REGISTER_LIMIT:
        raise LayoutcError(f"tile {_text(plan.tile)} does not fit {REGISTER_LIMIT} registers of {most} lanes")


def _check_elements(plan: CopyPlan) -> None:
    """A tile without lanes: one element, or several that are converted at once."""
    if plan.source_lanes:
        raise LayoutcError(ONE_SIDE)
    if plan.store != "normal" or plan.load != "normal":
        raise LayoutcError(NO_LANES)
    swapped = next((digit.extent for digit in plan.copy.digits if digit.swaps), 1)
    most = ELEMENT_TILE if plan.widths.converts and not plan.copy.is_fill else swapped
    if prod(plan.tile) > most:
        raise LayoutcError(f"got tile {_text(plan.tile)} without lanes, expected at most {most} in all")
    for extent, digit in zip(plan.tile, plan.copy.digits, strict=True):
        if digit.carries and extent > 1:
            raise LayoutcError("a tile without lanes has one step of a digit that carries")


def _check_channels(plan: CopyPlan) -> None:
    """A few channels side by side, and a register of each."""
    together, apart = sorted((plan.source_lanes, plan.target_lanes), key=len, reverse=True)
    is_apart = len(apart) == 1 and len(together) == 2 and apart[0].digit == together[1].digit
    if len(together) != 2 or not (apart == together or is_apart) or together[-1].extent % apart[-1].extent:
        raise LayoutcError(
            "lanes that are no power of two are all of a few channels: C:c P:p on one side, the same or parts of P:p "
            "on the other"
        )
    channel, pixels = together
    expected = tuple(
        channel.extent if g == channel.digit else pixels.extent if g == pixels.digit else 1
        for g in range(len(plan.tile))
    )
    register = max(pixels.extent * plan.widths.moved, *(_held_bytes(plan, side) for side in SIDES))
    filled = max(register, pixels.extent * CONVERTED_LANE if plan.widths.converts else 0)
    if plan.tile != expected:
        raise LayoutcError(
            f"got tile {_text(plan.tile)} for {channel.extent} channels of {pixels.extent}, expected {_text(expected)}"
        )
    if not is_power_of_two(pixels.extent) or filled < 16 or register > plan.vector_bytes:
        raise LayoutcError(
            f"got {channel.extent} channels of {pixels.extent}, in registers of {filled} bytes, expected a power of "
            f"two that fills 16 to {plan.vector_bytes} bytes"
        )
    if channel.extent > REGISTER_LIMIT or not plan.copy.digits[channel.digit].is_whole:
        raise LayoutcError(f"got {channel.extent} channels, expected at most {REGISTER_LIMIT}, all of them loaded")


def _held_bytes(plan: CopyPlan, side: SideName) -> int:
    """Bytes of the registers that the pixels of one channel fill on a side."""
    pixels = plan.lanes(side)[-1]
    return pixels.extent * plan.widths.held(side)


def _check_buffers(plan: CopyPlan) -> None:
    stages: tuple[tuple[SideName, str, str], ...] = (("src", "loads", plan.load), ("dst", "stores", plan.store))
    for side, name, kind in stages:
        if (size := plan.buffer_bytes(side)) > MAX_STAGE_BYTES:
            raise LayoutcError(f"{kind} {name} need a buffer of {size} bytes, expected at most {MAX_STAGE_BYTES}")
        if plan.has_byte_buffer(side) and (plan.widths.per_byte(side) == 1 or not plan.target_lanes):
            raise LayoutcError(f"{kind} {name} are of lanes of elements that share bytes")
    if plan.stages_stores and plan.widths.dst_per_byte > 1:
        raise LayoutcError(UNSTAGED)
    for position, digit in enumerate(plan.copy.digits):
        steps = max((carry.period for _, carry in digit.carries), default=0) + plan.tile[position]
        if steps * STEP_BYTES > MAX_STAGE_BYTES:
            raise LayoutcError(f"a digit that carries after {steps} steps needs too large a table")
    if plan.load != "normal" and (plan.copy.is_fill or not plan.source_run_digits):
        raise LayoutcError(f"{plan.load} loads need contiguous elements in the source")


def _text(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))
