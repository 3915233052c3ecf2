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
    buffer = memref.AllocaOp.get(memory.element, LINE, [through.buffer_bytes // memory.element_bytes])
    buffer.results[0].name_hint = "apart"
    into = replace(memory, target=buffer.results[0])
    out_of = replace(memory, source=buffer.results[0])
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
    src, dst = ([getattr(loop, side) // memory.element_bytes for loop in through.loops] for side in ("src", "dst"))
    made: list[Operation] = []
    for number, copy in enumerate(copies):
        is_into = number < len(through.into)
        copy.put_inside(Around(loops, terms, src if is_into else apart, apart if is_into else dst))
        made.append(copy.build())
    return [loops.outermost or buffer, *made]
