"""
Registers that are put together from memory, four pieces of 16 bytes at a time, before they are merged.

Rows that fill no register are loaded by parts of one, and their first merges only bring them together. Pieces that are
joined in pairs as they come from memory take half as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, cycle, groupby, islice

from layoutc.planning.machine import Shuffles
from layoutc.planning.shuffles.merging import Elements, merge
from layoutc.planning.shuffles.staying import is_narrow, shuffles
from layoutc.planning.tiles.tile import Piece, Register

PIECES = 4, 8
"""of 16 bytes, or of 8 where rows are shorter, in a register of 64"""
MOST_LOADED = 3
"""of these pieces in a row: longer ones fill registers by themselves"""
LEAST_SHUFFLES = 3.5
"""for each store, of what merges pieces: fewer take no longer than memory does, and more loads do"""
LEAST_SPARED = 0.7
"""shuffles for each load more, where any is a single one: with 0.6 or less tiles took 1.0 to 1.3 of the time"""

Loaded = tuple[Register, Elements]
"""a register as loaded, and the elements of its lanes"""


def gathered(rows: Sequence[Loaded], wanted: tuple[Elements, ...], lanes: int, by: Shuffles) -> Sequence[Loaded]:
    """The registers of rows, or those of pieces of them where shuffles take longest."""
    lengths = [_length(row) for row in rows]
    pieces = next((count for count in PIECES if lanes // count <= min(lengths)), 0)
    if not is_narrow(lanes) or not pieces or max(lengths) > MOST_LOADED * lanes // PIECES[0]:
        return rows
    size = lanes // pieces
    found = _of_pieces(
        [piece for row, length in zip(rows, lengths, strict=True) for piece in _pieces(row, length, size)], pieces
    )
    return found if _gains(rows, found, wanted, lanes, by) else rows


def _gains(
    rows: Sequence[Loaded], found: Sequence[Loaded], wanted: tuple[Elements, ...], lanes: int, by: Shuffles
) -> bool:
    """Whether registers of pieces take less than those of rows."""
    after = _shuffles(found, wanted, lanes, by)
    if by != "single":
        return after >= LEAST_SHUFFLES * len(wanted)
    spared = _shuffles(rows, wanted, lanes, by) - after
    return spared > 0 and spared >= LEAST_SPARED * (_loads(found) - _loads(rows))


def _shuffles(held: Sequence[Loaded], wanted: tuple[Elements, ...], lanes: int, by: Shuffles) -> int:
    return shuffles(merge(tuple(elements for _, elements in held), wanted, lanes, by), by)


def _loads(held: Sequence[Loaded]) -> int:
    return sum(len(set(register.pieces)) for register, _ in held)


def _length(row: Loaded) -> int:
    """The elements of a row, 0 if there are gaps between them."""
    (piece,) = row[0].pieces
    assert piece is not None
    if not piece.mask:
        return len(row[1])
    return 0 if piece.mask & (piece.mask + 1) else piece.mask.bit_length()


def _pieces(row: Loaded, length: int, size: int) -> Iterator[tuple[int, Piece, Elements]]:
    """A row by pieces, the last of which begins earlier, and where they begin."""
    (whole,), elements = row[0].pieces, row[1]
    assert whole is not None
    for first in range(0, length, size):
        start = min(first, length - size)
        yield start, Piece(whole.offset + start), elements[start : start + size]


def _of_pieces(pieces: list[tuple[int, Piece, Elements]], count: int) -> list[Loaded]:
    """Registers of pieces that lie equally far from the beginning of their rows."""
    found: list[Loaded] = []
    pieces.sort(key=lambda piece: piece[0])
    for _, group in groupby(pieces, key=lambda piece: piece[0]):
        together = list(group)
        for first in range(0, len(together), count):
            # Where there are too few, they fill the register again.
            part = [*islice(cycle(together[first : first + count]), count)]
            register = Register(tuple(piece for _, piece, _ in part))
            found.append((register, tuple(chain(*(elements for *_, elements in part)))))
    return found
