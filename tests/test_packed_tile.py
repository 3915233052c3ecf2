"""Tiles that put elements together to bytes before they are shuffled: what they hold, and how little they shuffle."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.packed_tile import PackedTile, packs_rows, tile_program
from layoutc.planning.tiles.tile import Register, TileProgram
from tests.descriptors import layout
from tests.networks import execute

TRANSPOSES = [
    ("s8", "s4", "ab", "ba", (256, 512)),
    ("u8", "u2", "ab", "ba", (256, 512)),
    ("u8", "f4_e2m1", "abc", "acb", (3, 128, 64)),
    ("s8", "u4", "ab", "BA16a", (64, 128)),
    ("s32", "u2", "bdca", "cDba4d", (192, 64, 231, 32)),
]


def plan_of(source: str, destination: str, from_: str, to: str, dims: Sequence[int]) -> CopyPlan:
    sides = (source, from_), (destination, to)
    src, dst = (MemoryDesc(tuple(dims), element_type(type), layout(tag)) for type, tag in sides)
    (copy,) = choose_plan(src, dst, TARGETS["avx512"], 1, Conversion()).copies
    return copy.gathered


def elements(register: Register, lanes: int) -> list[int]:
    """The places of the elements of a register, whose pieces have so many lanes each."""
    return [piece.offset + lane for piece in register.pieces if piece is not None for lane in range(lanes)]


@pytest.mark.parametrize("case", TRANSPOSES, ids=lambda case: " ".join(map(str, case)))
def test_each_byte_has_the_elements_of_its_place(case: tuple[str, str, str, str, tuple[int, ...]]) -> None:
    plan = plan_of(*case)
    program = tile_program(plan)
    assert isinstance(program, PackedTile)
    share = program.together
    loaded = [elements(register, program.load_piece) for register in program.loads([0] * len(plan.tile))]
    assert {len(register) for register in loaded} == {program.lanes}
    rows = [loaded[first : first + share] for first in range(0, len(loaded), share)]
    packed = [list(zip(*row, strict=True)) for row in rows]
    stored = execute(program.network, packed)
    steps = [(digit, size) for digit, size in zip(plan.copy.digits, plan.tile, strict=True)]
    places = {0: 0}
    for digit, size in steps:
        places = {dst + n * digit.dst: src + n * digit.src for n in range(size) for dst, src in places.items()}
    for register, held in zip(program.stores(), stored, strict=True):
        assert register.pieces
        for number, piece in enumerate(register.pieces):
            assert piece is not None
            found = held[number * program.store_piece : (number + 1) * program.store_piece]
            expected = range(piece.offset, piece.offset + program.store_piece * share)
            assert [element for byte in found for element in byte] == [places[place] for place in expected]


@pytest.mark.parametrize("case", TRANSPOSES, ids=lambda case: " ".join(map(str, case)))
def test_fewer_registers_are_shuffled(case: tuple[str, str, str, str, tuple[int, ...]]) -> None:
    plan = plan_of(*case)
    assert len(tile_program(plan).network.steps) < len(TileProgram(plan).network.steps)


def test_rows_along_both_sides_share_no_bytes() -> None:
    """What is stored as it is loaded comes from one row."""
    assert not packs_rows(plan_of("s8", "s4", "ab", "ab", (64, 256)))


def test_wide_elements_become_codes_where_they_are_stored() -> None:
    plan = plan_of("s8", "s4", "ab", "ba", (256, 512))
    assert packs_rows(plan)
    assert not packs_rows(plan_of("s4", "s8", "ab", "ba", (256, 512)))
