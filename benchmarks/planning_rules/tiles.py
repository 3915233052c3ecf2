"""Rules of copies and of their tiles: what is cut, moved as one, and held in registers."""

from __future__ import annotations

from benchmarks.planning_changes import as_it_is, of_each, times, to
from benchmarks.planning_rules.rule import CACHES, IN_DRAM, IN_L3, NEVER, Rule

TILE_RULES = (
    Rule(
        "FINE",
        "a digit whose last value is cut is in every copy where its steps lie less than 64 elements apart",
        {"never": {"FINE": to(0)}, "a quarter": {"FINE": times(0.25)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "MOST_COPIES",
        "axes whose segments on both sides come to more than 32 copies are cut by steps",
        {"half": {"MOST_COPIES": times(0.5)}, "twice": {"MOST_COPIES": times(2)}},
        (IN_DRAM,),
    ),
    Rule(
        "MOST_SEGMENTS",
        "blocks that do not divide each other go through a buffer where they are more than 16 copies otherwise",
        {
            "never": {"MOST_SEGMENTS": to(NEVER)},
            "half": {"MOST_SEGMENTS": times(0.5)},
            "twice": {"MOST_SEGMENTS": times(2)},
        },
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "MOST_TURN_BYTES",
        "turns through a buffer whose steps share lines of the source move up to 512 KiB",
        {"as others": {"MOST_TURN_BYTES": times(0.125)}, "half": {"MOST_TURN_BYTES": times(0.5)}},
        (IN_DRAM,),
    ),
    Rule(
        "TURN_AHEAD",
        "copies into a buffer ask for what the next turn takes, unless that fills a quarter of the second cache",
        {"never": {"TURN_AHEAD": to(0.0)}, "half": {"TURN_AHEAD": times(0.5)}, "twice": {"TURN_AHEAD": times(2)}},
        (IN_DRAM,),
    ),
    Rule(
        "JOIN_GAIN",
        "boxes have all of short axes where that takes less than 0.8 of the instructions of their segments",
        {"never": {"JOIN_GAIN": to(0.0)}, "always": {"JOIN_GAIN": to(1.0)}, "0.6": {"JOIN_GAIN": to(0.6)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "promoted",
        "elements that stay neighbours are moved as wider ones",
        {"not": {"promoted": to(as_it_is)}},
        CACHES,
    ),
    Rule(
        "PIECE_BYTES",
        "lanes of the source are cut down to 16 bytes, then those of the destination",
        {"half": {"PIECE_BYTES": times(0.5)}, "twice": {"PIECE_BYTES": times(2)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "TILE_REGISTERS",
        "a tile has up to 16 registers",
        {"half": {"TILE_REGISTERS": times(0.5)}, "twice": {"TILE_REGISTERS": times(2)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "MAX_CHANNELS",
        "channels that are no power of two are taken apart in registers",
        {
            "not": {"MAX_CHANNELS": of_each(to(0))},
            "half": {"MAX_CHANNELS": of_each(times(0.5))},
        },
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "NARROW_CHANNELS",
        "fewer of 1 and 2 bytes are, where what takes any lanes of two registers is several instructions",
        {
            "as many": {"NARROW_CHANNELS": of_each(to(31))},
            "half": {"NARROW_CHANNELS": of_each(times(0.5))},
        },
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "FUSE_GAIN",
        "digits count as one where that fills lanes 1.25 times as well",
        {"never": {"FUSE_GAIN": to(float("inf"))}, "always": {"FUSE_GAIN": to(1.0)}, "1.6": {"FUSE_GAIN": to(1.6)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "WELL_FILLED",
        "no more digits are joined once lanes are filled to 0.97",
        {name: {"WELL_FILLED": to(float(name))} for name in ("0.6", "0.85", "0.9", "1")},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "CARRIED",
        "where digits count as one, the place of a load costs as much as one and a half shuffles",
        {"nothing": {"CARRIED": to(0.0)}, "twice": {"CARRIED": times(2)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "ROW_REGISTERS",
        "rows that are copied as they are, and zeros, have tiles of up to 8 registers",
        {"one": {"ROW_REGISTERS": to(1)}, "half": {"ROW_REGISTERS": times(0.5)}, "twice": {"ROW_REGISTERS": times(2)}},
        CACHES,
    ),
    Rule(
        "BOX_GAIN",
        "boxes are merged where that takes less than 0.8 of the instructions of lanes of powers of two",
        {"never": {"BOX_GAIN": to(0.0)}, "always": {"BOX_GAIN": to(1.0)}, "0.6": {"BOX_GAIN": to(0.6)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "BOX_GAIN_APART",
        "of bytes, where that takes any of two registers by several instructions, less than 0.93 of digits apart",
        {"as others": {"BOX_GAIN_APART": to(0.8)}, "always": {"BOX_GAIN_APART": to(1.0)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "BOX_GAIN_FUSED",
        "and less than 0.77 of digits that count as one",
        {"as others": {"BOX_GAIN_FUSED": to(0.8)}, "0.7": {"BOX_GAIN_FUSED": to(0.7)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "NARROWER of avx2",
        "by AVX2 boxes have registers of 16 bytes where that takes less than 0.85 of the instructions",
        {
            "if no others merge": {"NARROWER": to(0.0)},
            "always": {"NARROWER": to(NEVER)},
            "1": {"NARROWER": to(1.0)},
        },
        (*CACHES, IN_DRAM),
        target="avx2",
    ),
    Rule(
        "STEPS_OVER_GAPS",
        "a load takes what lies over gaps, where more than two steps of a digit fit it",
        {"never": {"STEPS_OVER_GAPS": to(NEVER)}, "of one": {"STEPS_OVER_GAPS": to(1)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "BOX_REGISTERS",
        "a box has up to 16 registers",
        {"half": {"BOX_REGISTERS": times(0.5)}, "twice": {"BOX_REGISTERS": times(2)}},
        (*CACHES, IN_DRAM),
    ),
)
