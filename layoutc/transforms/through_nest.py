"""A reorder through a buffer as IR: loops, and in each turn the copies into the buffer and those out of it."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import memref
from xdsl.ir import Operation

from layoutc.planning.plan import LINE
from layoutc.planning.turns import Through
from layoutc.transforms.copy_memory import Memory
from layoutc.transforms.copy_nest import tiled_copy
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.tile_loops import Steps, TileLoops
from layoutc.transforms.tiled_nest import Around


def build_through(nest: NestBuilder, through: Through, memory: Memory, threads: int) -> list[Operation]:
    """Returns the outermost of the loops, and the outermost operation of each copy."""
    into, out_of = _halves(through, memory)
    buffer = memref.AllocaOp.get(into.element, LINE, [through.buffer_bytes // into.element_bytes])
    buffer.results[0].name_hint = "apart"
    into, out_of = replace(into, target=buffer.results[0]), replace(out_of, source=buffer.results[0])
    halves = ((into, through.into), (out_of, through.out_of))
    copies = [tiled_copy(nest, plan, side, 1) for side, plans in halves for plan in plans]
    pieces = [Steps.of(g, loop.step, loop.extent) for g, loop in enumerate(through.loops)]
    moving = [piece for piece in pieces if piece.size < piece.extent]
    loops = TileLoops(nest)
    if threads > 1 and moving:
        terms = loops.parallel(moving, threads)
        loops.builder.insert(buffer)
    else:
        loops.builder.insert(buffer)
        terms = loops.serial(moving)
    apart = [0] * len(through.loops)
    src = [loop.src // memory.loaded_bytes for loop in through.loops]
    dst = [loop.dst // memory.element_bytes for loop in through.loops]
    params = [loop.params for loop in through.loops]
    made: list[Operation] = []
    for number, copy in enumerate(copies):
        is_into = number < len(through.into)
        copy.put_inside(Around(loops, terms, src if is_into else apart, apart if is_into else dst, params))
        made.append(copy.build())
    return [loops.outermost or buffer, *made]


def _halves(through: Through, memory: Memory) -> tuple[Memory, Memory]:
    """The memory of what goes into the buffer, and of what leaves it: one of the two converts, if anything does."""
    if memory.converted_from is None or any(copy.converted_bytes for copy in through.into):
        return memory, memory.as_gathered
    return memory.as_loaded, memory
