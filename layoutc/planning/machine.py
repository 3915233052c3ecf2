"""What the planner knows of a machine: a handful of sizes, detected or given."""

from __future__ import annotations

import operator
import os
import platform
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, SupportsIndex

from layoutc.errors import LayoutcError

PLAIN = "plain"
"""the target that nothing is planned for: textbook loops"""

ALIGNMENT, MAX_ALIGNMENT = 64, 4096
"""bytes: what a destination's address is taken to be a multiple of, and at most"""

LINE, PAGE = 64, 4 << 10
"""bytes of a cache line, which a non-temporal store should fill, and of a page"""

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
CPUINFO = Path("/proc/cpuinfo")
AMD = "AuthenticAMD"
"""
The vendor whose processors were seen to store into lines of the second cache as fast as these come, as Zen 5 does, and
take any bytes of two registers by one shuffle, which on Intel's are three instructions.
"""

FETCHING_FAMILIES = ("25",)
"""
Of its processors those that were seen to fetch long rows faster by themselves, Zen 4 and the Zen 3 before it; of Zen 5
that is not known.
"""
HALVING_FAMILIES = ("25",)
"""those whose data paths have half a line: Zen 4; those of Zen 5 have a whole one"""

SHARED_LLC = 64 << 20
"""bytes of a last cache, however large, that one process may expect to have of it"""
FAR_LLC = 96 << 20
"""bytes of the largest last cache that a few cores share; a larger one is a server's, far from each of its cores"""
STREAMED_PART = 4
"""one thread writes past the caches what fills that part of the last one, a quarter"""

Shuffles = Literal["single", "any", "words", "unpack"]
"""
what a register's lanes can be moved by: anything, also of two registers by a single shuffle; anything; anything of 2
bytes or more; or unpacking alone
"""
MERGED_VECTOR, MERGED_HALF = 64, 32
"""
bytes: AVX-512 has masks for single lanes, and takes any lanes of two registers; also of half the width, which those
that do so by a single shuffle are planned with, and others without the masks
"""

LANE_BYTES = 16
"""x86 has shuffles within 16 bytes for every vector width, and few across"""
MASKED_BYTES = 8
"""of elements that all processors with masks merge"""
WORD = 4
"""bytes of elements whose lanes are chosen from all of a register, and which all processors merge"""


@dataclass(frozen=True)
class Machine:
    """
    Sizes in bytes. `vector` is the widest register whose shuffles the C compiler does not take apart, `alignment`
    what every destination's address is a multiple of. A last cache that is far is little faster than memory. A
    processor that waits for lines holds up its stores behind one whose line is not in the first cache; one that fetches
    rows is held up by what is asked for ahead of long ones; one that halves registers moves those of a line in two; one
    that halves boxes may merge elements in narrower registers where that is not one instruction in its widest.
    """

    name: str
    vector: int
    shuffles: Shuffles = "any"
    l1: int = 32 << 10
    l2: int = 1 << 20
    llc: int = 32 << 20
    llc_is_far: bool = False
    waits_for_lines: bool = True
    fetches_rows: bool = False
    halves_registers: bool = False
    halves_boxes: bool = False
    alignment: int = ALIGNMENT

    @property
    def streams_whole_lines(self) -> bool:
        """Whether one store fills a cache line, so that a non-temporal store needs no neighbour."""
        return self.vector == LINE

    @property
    def streamed(self) -> int:
        """Bytes of a destination from which on one thread writes past the caches."""
        return self.llc // STREAMED_PART

    @property
    def streamed_early(self) -> int:
        """The same of rows that would evict each other from the caches: a last one that is far is as slow as memory."""
        return self.l2 if self.llc_is_far else self.streamed

    @property
    def aligns_lines(self) -> bool:
        """Whether every destination starts at a cache line."""
        return self.alignment % LINE == 0


TARGETS = {
    "avx512": Machine("avx512", 64, "words", halves_boxes=True),
    "avx2": Machine("avx2", 32, halves_boxes=True),
    "sse2": Machine("sse2", 16, "unpack"),
    "neon": Machine("neon", 16),
    "generic": Machine("generic", 16, "unpack"),
}


def machine(target: str = "native", alignment: int = ALIGNMENT) -> Machine:
    """
    The machine of a target's name; `native` is this one, with its caches. Destinations have this alignment, in bytes.

    Raises LayoutcError for other names, and for an alignment that is no power of two up to a page.
    """
    if target != "native" and target not in TARGETS:
        raise LayoutcError(f"unknown target {target!r}, expected one of native {' '.join(TARGETS)}")
    check_alignment(alignment)
    return replace(native() if target == "native" else TARGETS[target], alignment=alignment)


def of_registers(vector: int, shuffles: Shuffles) -> Machine:
    """A machine with registers of so many bytes, and the same caches for all."""
    return replace(TARGETS["generic"], vector=vector, shuffles=shuffles)


def merges_registers(vector: int, shuffles: Shuffles, element: int) -> bool:
    """Whether any lanes of two registers are one instruction, for elements of so many bytes."""
    if vector == MERGED_HALF:
        return shuffles == "single"
    return vector == MERGED_VECTOR and (shuffles in ("single", "any") or (shuffles == "words" and element > 1))


def has_masks(vector: int, shuffles: Shuffles) -> bool:
    """Whether registers of so many bytes are loaded and stored in part, any of their lanes."""
    return merges_registers(vector, shuffles, MASKED_BYTES)


def has_boxes(vector: int, shuffles: Shuffles, element: int) -> bool:
    """Whether a few instructions take any lanes of two registers, for elements of so many bytes; of words all do."""
    if vector == MERGED_VECTOR or shuffles == "single":
        return merges_registers(vector, shuffles, element)
    return shuffles == "any" or element >= WORD


def boxing(target: Machine, element: int) -> tuple[Machine, ...]:
    """
    The machine with registers that may merge elements of so many bytes, the widest first; none where none do.

    Narrower ones are worth a look where a shuffle of bytes is several instructions, of which they take fewer.
    """
    widths = [target.vector]
    while target.halves_boxes and widths[-1] > LANE_BYTES:
        widths.append(widths[-1] // 2)
    narrower = (replace(target, vector=width, shuffles="any") for width in widths[1:])
    found = [each for each in (target, *narrower) if has_boxes(each.vector, each.shuffles, element)]
    is_one = found and (element >= WORD or merges_registers(found[0].vector, found[0].shuffles, element))
    return tuple(found[:1] if is_one else found)


def check_alignment(alignment: object) -> int:
    """The bytes that addresses are multiples of, as a plain int. Raises LayoutcError for what cannot be that."""
    powers = {1 << bit for bit in range(MAX_ALIGNMENT.bit_length())}
    number = 0 if isinstance(alignment, bool) or not isinstance(alignment, SupportsIndex) else operator.index(alignment)
    if number not in powers:
        raise LayoutcError(f"got an alignment of {alignment!r} bytes, expected a power of two up to {MAX_ALIGNMENT}")
    return number


@cache
def native() -> Machine:
    """This machine."""
    found = TARGETS[_instruction_set()]
    is_amd = _cpu_facts().get("vendor_id") == AMD
    family = _cpu_facts().get("cpu family") if is_amd else None
    if "avx512vbmi" in _cpu_flags():
        found = replace(found, shuffles="single" if is_amd else "any")
    found = replace(found, name="native", **{level: size for level, size in _cache_sizes().items() if size})
    found = replace(found, llc=min(found.llc, SHARED_LLC), llc_is_far=found.llc > FAR_LLC)
    seen = {"fetches_rows": family in FETCHING_FAMILIES, "halves_registers": family in HALVING_FAMILIES}
    return replace(found, waits_for_lines=not is_amd, **seen)


def _instruction_set() -> str:
    if platform.machine() in ("aarch64", "arm64"):
        return "neon"
    if platform.machine() not in ("x86_64", "AMD64"):
        return "generic"
    flags = _cpu_flags()
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= flags:
        return "avx512"
    return "avx2" if "avx2" in flags else "sse2"


def _cpu_flags() -> frozenset[str]:
    return frozenset(_cpu_facts().get("flags", "").split())


def _cpu_facts() -> dict[str, str]:
    """What Linux says of the first processor; nothing elsewhere."""
    try:
        first = CPUINFO.read_text().split("\n\n")[0]
    except OSError:
        return {}
    named = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in named}


def _cache_sizes() -> dict[str, int]:
    """The data caches that one core sees, by our names."""
    found: dict[int, int] = {}
    for index in CACHES.glob("index*"):
        try:
            kind, level = (index / "type").read_text().strip(), int((index / "level").read_text())
            size = (index / "size").read_text().strip()
        except (OSError, ValueError):
            continue
        if kind != "Instruction" and size.endswith("K") and size[:-1].isdigit():
            found[level] = int(size[:-1]) << 10
    largest = found.get(max(found, default=0), 0)
    return {"l1": found.get(1, 0), "l2": found.get(2, 0), "llc": largest}


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
