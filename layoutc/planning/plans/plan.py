"""Plan: the decisions about one reorder, as data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from layoutc.once import once
from layoutc.planning.copies.copy_digits import SIDES, SideName, StridedCopy
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Shuffles
from layoutc.planning.plans.fits import check_fits, is_power_of_two
from layoutc.planning.plans.macro_buffers import MAX_STAGE_BYTES, MacroBuffer, macro_buffer
from layoutc.planning.plans.macro_runs import MacroRuns
from layoutc.planning.plans.turns import Through, Together

MAX_THREADS = 1024
ELEMENT_TILE = 16
"""elements of a tile without lanes that are converted at once, at most"""
CONVERTED_LANE = 4
"""bytes of a register for each lane that is converted at once"""

Load = Literal["normal", "staged", "unpacked"]
"""
Tiles are loaded straight, or out of a buffer that a macro tile is gathered in: `staged`, where its rows do not evict
each other, or are converted on the way, so that tiles move what they have become; `unpacked`, where elements that share
bytes have one each, as rows may begin inside of one.
"""

Store = Literal["normal", "nontemporal", "aligned", "staged", "packed"]
"""
Tiles are stored into the caches, past them, or to a buffer that a macro tile is put together in. Its runs of contiguous
elements leave that by whole lines, into the caches (`aligned`) or past them (`staged`); or, if elements that share
bytes have one each there, by whole bytes.
"""

Asks = Literal["", "by tiles", "twice"]
"""
Each load asks for what lies ahead, each tile for a share of what is gathered, or of lines that it and the next ones
take parts of; or each load, and again each line that leaves the buffer of the destination, for a share.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """`extent` low values of the digit at position `digit`: a power of two, or all of a few channels."""

    digit: int
    extent: int


@dataclass(frozen=True)
class CopyPlan(MacroRuns):
    """
    How one strided copy runs: tiles fill macro tiles, and these the copy.

    The last tile of a digit that its extent is no multiple of starts earlier, so that it writes some elements again;
    the last macro tile has fewer tiles, but in a buffer, where it starts earlier too. Of one whose rows are gathered,
    what the one before has moved is not gathered again.
    """

    copy: StridedCopy
    widths: Widths
    vector_bytes: int
    shuffles: Shuffles
    """of registers, and what moves lanes in them"""
    tile: tuple[int, ...]
    """steps of each digit that are moved through registers at once"""
    source_lanes: tuple[Part, ...]
    target_lanes: tuple[Part, ...]
    """
    of its loads and of its stores, the first part in the lowest lanes; without any, elements go one by one, or those of
    a tile are converted at once, or rows are taken apart in an image that copies share, or put together out of one
    """
    macro: tuple[int, ...]
    """steps of each digit in a macro tile"""
    outer_order: tuple[int, ...]
    inner_order: tuple[int, ...]
    """of the loops over macro tiles, and over the tiles of one: positions of digits, slowest first"""
    merges: bool = False
    """whether registers are merged in pairs: lanes may then be any number of elements, and several registers"""
    load: Load = "normal"
    store: Store = "normal"
    side_by_side: bool = False
    """whether macro tiles that leave a buffer do not overlap, as their runs are whole lines"""
    fetches: bool = False
    """whether a tile asks for the lines that it will store into, before it loads"""
    prefetch: int = 0
    """elements that lie so far ahead in the source are asked for; 0: none"""
    asks: Asks = ""
    """who asks for them"""
    why: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """topics, and in words why it was decided so; of the same topic the last ones count"""

    def __post_init__(self) -> None:
        check_fits(self)

    def because(self, topic: str, words: str, **changes: Any) -> CopyPlan:
        """The plan with these changes, and why it has them."""
        return replace(self, **changes, why=(*self.why, (topic, words)))

    @property
    def gathers_converted(self) -> bool:
        """Whether elements are converted on their way into the buffer that tiles are loaded from."""
        return self.load == "staged" and self.widths.converts

    @property
    def gathered(self) -> CopyPlan:
        """The plan as its tiles see it: what they load is in registers as it was gathered, converted or not."""
        if not self.gathers_converted:
            return self
        widths = Widths(self.widths.dst, self.widths.dst, dst_per_byte=self.widths.dst_per_byte)
        return replace(self, widths=widths, load="normal")

    @property
    def keeps_rows(self) -> bool:
        """Whether registers are stored as they were loaded; what goes element by element has none."""
        return self.source_lanes == self.target_lanes

    def lanes(self, side: SideName) -> tuple[Part, ...]:
        """The lanes of loads, or of stores."""
        return self.source_lanes if side == "src" else self.target_lanes

    @once
    def lane_digits(self) -> frozenset[int]:
        """The digits of the lanes of loads and of stores."""
        return frozenset(part.digit for part in (*self.source_lanes, *self.target_lanes))

    @property
    def is_plain(self) -> bool:
        """Whether lanes are powers of two on both sides, so that any half of them is a tile too."""
        return not (self.merges or self.odd_lanes)

    @once
    def odd_lanes(self) -> list[Part]:
        """The lanes that are no power of two."""
        return [part for part in (*self.source_lanes, *self.target_lanes) if not is_power_of_two(part.extent)]

    @property
    def has_channels(self) -> bool:
        """Whether lanes of a side are all of a few channels, which registers are put together of, or taken apart to."""
        return not (self.merges or self.is_plain or self.keeps_rows)

    @property
    def transposes(self) -> bool:
        """Whether registers are loaded along other digits than they are stored along."""
        loaded, stored = ({part.digit for part in self.lanes(side)} for side in SIDES)
        return bool(loaded) and loaded != stored

    @property
    def pads_elements(self) -> bool:
        """Whether elements are loaded one by one, and stored with the zeros beside them."""
        alone = bool(self.target_lanes) and not (self.source_lanes or self.copy.is_fill or self.widths.converts)
        return alone and not all(self.copy.digits[part.digit].is_whole for part in self.target_lanes)

    @property
    def moves_rows(self) -> bool:
        """Whether rows of memory are taken apart in an image of bytes, or put together out of one, and that is all."""
        return not self.target_lanes and (self.load == "unpacked" or self.store == "packed")

    def is_buffered(self, side: SideName) -> bool:
        """Whether macro tiles of a side lie in a buffer."""
        return self.load != "normal" if side == "src" else self.store not in ("normal", "nontemporal")

    def has_byte_buffer(self, side: SideName) -> bool:
        """Whether they do so for their elements, which share bytes of memory, to have one each."""
        return self.load == "unpacked" if side == "src" else self.store == "packed"

    @once
    def load_buffer(self) -> MacroBuffer:
        """The buffer that a macro tile of the source is gathered in, if it is."""
        return macro_buffer(self, "src")

    @once
    def store_buffer(self) -> MacroBuffer:
        """The buffer that a macro tile of the destination is put together in, if it is."""
        return macro_buffer(self, "dst")

    def buffer(self, side: SideName) -> MacroBuffer:
        """The one of these two of a side."""
        return self.load_buffer if side == "src" else self.store_buffer

    def buffer_bytes(self, side: SideName) -> int:
        """Bytes of the buffer that a macro tile of a side goes through, if it does."""
        return self.buffer(side).bytes if self.is_buffered(side) else 0

    @property
    def has_buffers(self) -> bool:
        """Whether macro tiles lie in a buffer on some side."""
        return any(map(self.is_buffered, SIDES))

    @property
    def fits_stack(self) -> bool:
        """Whether no buffer of a macro tile is larger than one may be."""
        return max(map(self.buffer_bytes, SIDES)) <= MAX_STAGE_BYTES


PlanPart = CopyPlan | Together | Through


@dataclass(frozen=True)
class Plan:
    """What a reorder does, in the order in which it runs, and the threads that share it."""

    parts: tuple[PlanPart, ...]
    threads: int = 1

    @property
    def copies(self) -> tuple[CopyPlan, ...]:
        """All copies, also those that run together with others."""
        return tuple(copy for part in self.parts for copy in ((part,) if isinstance(part, CopyPlan) else part.copies))
