"""Zeros that are joined with what a tile loads."""

from __future__ import annotations

import layoutc
from layoutc.planning.tiles.tile import Piece, Register
from layoutc.transforms.planned.tile_constants import lanes_of_zeros

PIECE = Piece(0)


def test_zeros_are_those_of_pieces_and_of_what_is_joined_of_such_alone() -> None:
    assert lanes_of_zeros([[Register((PIECE, PIECE))]], 8) == []
    assert lanes_of_zeros([[Register((PIECE, None))]], 8) == [4]
    assert lanes_of_zeros([[Register((PIECE, None, None, None))], [Register((None,))]], 16) == [4, 8, 16]
    assert lanes_of_zeros([[Register((None,) * 4)]], 64) == [16, 32, 64]


def test_zeros_are_made_once() -> None:
    sides = layoutc.desc("abc", (75, 2, 64), "f32"), layoutc.desc("Abc64a", (75, 2, 64), "s8")
    text = layoutc.Kernel(*sides, target="avx512").c_source
    assert "zero = shuffle" not in text
    assert "(i8x16){0}" in text
