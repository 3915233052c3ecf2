"""A reorder through buffers as IR: loops, and in each turn the copies into a buffer, between two, and out of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref
from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute, Operation

from layoutc.planning.machine import LINE
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import Through
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.planned.buffered_copy import tiled_copy
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.image_rows import ImageRows
from layoutc.transforms.planned.tiled_nest import Around, TiledCopy
from layoutc.transforms.values.tile_loops import Steps, TileLoops

ROOM = 2 * LINE
"""bytes behind an image, which the last vector of rows a little apart may fill with nothing"""


@dataclass(frozen=True)
class _Part:
    """Some copies of a turn, the memory or buffers on both sides, and whether the loops move along in these."""

    plans: tuple[CopyPlan, ...]
    memory: Memory
    src_moves: bool
    dst_moves: bool


def build_through(nest: NestBuilder, through: Through, memory: Memory, threads: int) -> list[Operation]:
    """Returns the outermost of the loops, and the outermost operation of each copy."""
    buffers, parts = _images(through, memory) if through.between else _halves(through, memory)
    copies = [(part, _copy(nest, through, part, number)) for part in parts for number in range(len(part.plans))]
    pieces = [Steps.of(g, loop.step, loop.extent) for g, loop in enumerate(through.loops)]
    moving = [piece for piece in pieces if piece.size < piece.extent]
    loops = TileLoops(nest)
    terms = loops.parallel(moving, threads) if threads > 1 and moving else []
    for buffer in buffers:
        loops.builder.insert(buffer)
    terms = terms or loops.serial(moving)
    apart = [0] * len(through.loops)
    src = [loop.src // memory.source_bytes for loop in through.loops]
    dst = [loop.dst // memory.element_bytes for loop in through.loops]
    params = [loop.params for loop in through.loops]
    made: list[Operation] = []
    for part, copy in copies:
        steps = src if part.src_moves else apart, dst if part.dst_moves else apart
        copy.put_inside(Around(loops, terms, *steps, params))
        made.append(copy.build())
    return [loops.outermost or buffers[0], *made]


def _copy(nest: NestBuilder, through: Through, part: _Part, number: int) -> TiledCopy:
    """One copy, prepared."""
    plan = part.plans[number]
    if not plan.moves_rows:
        return tiled_copy(nest, plan, part.memory, 1)
    return ImageRows(nest, plan, part.memory, spans=through.takes_spans(number), is_first=number == 0)


def _halves(through: Through, memory: Memory) -> tuple[Sequence[memref.AllocaOp], Sequence[_Part]]:
    """What goes into the buffer, and what leaves it: one of the two converts, if anything does."""
    into, out_of = memory, memory.as_gathered
    if memory.conversion is not None and not any(copy.widths.converts for copy in through.into):
        into, out_of = memory.as_loaded, memory
    buffer = vector_ops.buffer(into.element, through.buffer_bytes // into.element_bytes)
    apart = buffer.results[0]
    apart.name_hint = "apart"
    into, out_of = replace(into, target=apart), replace(out_of, source=apart)
    return [buffer], [_Part(through.into, into, True, False), _Part(through.out_of, out_of, False, True)]


def _images(through: Through, memory: Memory) -> tuple[Sequence[memref.AllocaOp], Sequence[_Part]]:
    """What goes into the image of the source, from there to that of the destination, and out of it."""
    buffers: list[memref.AllocaOp] = []
    parts: list[_Part] = []
    if not all(copy.moves_rows for copy in (*through.into, *through.out_of)):
        return _converted_apart(through, memory)
    row = Memory(memory.source, memory.target, i8, 1, None)
    # Rows convert, on one way, where copies between images move elements as they are.
    conversion = memory.conversion if through.converts_rows else None
    between = memory if conversion is None else memory.as_gathered
    if through.into:
        buffers.append(_image(i8 if conversion is None else memory.element, through.buffer_bytes, "apart"))
        image = buffers[-1].results[0]
        parts.append(_Part(through.into, replace(row, target=image, conversion=conversion), True, False))
        between, conversion = replace(between, source=image), None
    elif conversion is not None:
        between = memory.as_loaded
    if through.out_of:
        buffers.append(_image(between.element, through.image_bytes, "joined"))
        image = buffers[-1].results[0]
        row = replace(row, source=image, conversion=conversion)
        between = replace(between, target=image)
    parts.append(_Part(through.between, between, not through.into, not through.out_of))
    if through.out_of:
        parts.append(_Part(through.out_of, row, False, True))
    return buffers, parts


def _converted_apart(through: Through, memory: Memory) -> tuple[Sequence[memref.AllocaOp], Sequence[_Part]]:
    """What goes into the image of the source, or is converted into a buffer; and likewise out of one."""
    is_early = not through.into[0].moves_rows
    moved = memory.as_gathered if is_early else memory.as_loaded
    into, out_of = (memory, moved) if is_early else (moved, memory)
    buffers = [
        _image(moved.element, through.buffer_bytes, "apart"),
        _image(moved.element, through.image_bytes, "joined"),
    ]
    apart, joined = (each.results[0] for each in buffers)
    return buffers, [
        _Part(through.into, replace(into, target=apart), True, False),
        _Part(through.between, replace(moved, source=apart, target=joined), False, False),
        _Part(through.out_of, replace(out_of, source=joined), False, True),
    ]


def _image(element: Attribute, bytes: int, name: str) -> memref.AllocaOp:
    """A buffer in which each element has a byte, with room behind for the last vector."""
    buffer = vector_ops.buffer(element, bytes + ROOM)
    buffer.results[0].name_hint = name
    return buffer
