"""Shuffle networks do what they say: every small arrangement of bits, random larger ones, and interleaves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import get_args

import pytest

from layoutc.errors import LayoutcError
from layoutc.planning.machine import Shuffles, merges_registers
from layoutc.planning.shuffles.interleave import deinterleave, interleave
from layoutc.planning.shuffles.network import Network, Shuffle
from layoutc.planning.shuffles.synthesis import synthesize
from tests.networks import check, check_deinterleave, check_interleave, execute, stage_count

SHUFFLES: tuple[Shuffles, ...] = get_args(Shuffles)
VECTORS = [
    (element_bytes, vector_bytes, native_bytes, shuffles)
    for element_bytes in (1, 2, 4, 8)
    for vector_bytes in (16, 32, 64)
    for native_bytes in (16, 32, 64)
    if vector_bytes <= native_bytes
    for shuffles in SHUFFLES
]
"""all that a plan asks for; vectors narrower than 16 bytes have a test of their own"""


def lane_bits(element_bytes: int, vector_bytes: int) -> list[str]:
    return [f"lane{k}" for k in range((vector_bytes // element_bytes).bit_length() - 1)]


def missing_bits(source: list[str], target: tuple[str, ...]) -> int:
    return len(set(target) - set(source))


def is_fewest(network: Network, source: list[str], target: tuple[str, ...]) -> bool:
    """One stage per bit that enters; a lane order alone takes one."""
    return stage_count(network) == (missing_bits(source, target) or int(tuple(source) != target))


def small_arrangements() -> Iterator[tuple[int, list[str], list[str], tuple[str, ...]]]:
    """Every choice and order of target lanes, up to the names of bits: up to 16 lanes, up to 8 registers."""
    for width in range(5):
        for count in range(min(3, 7 - width) + 1):
            lanes, registers = [f"lane{k}" for k in range(width)], [f"register{k}" for k in range(count)]
            for target in permutations(lanes + registers, width):
                entering = [label for label in target if label in registers]
                if entering == registers[: len(entering)]:  # the names of the registers' bits do not matter
                    yield width, lanes, registers, target


@pytest.mark.parametrize("native_bytes", [16, 64])
@pytest.mark.parametrize("shuffles", SHUFFLES)
def test_every_small_arrangement(native_bytes: int, shuffles: Shuffles):
    for width, lanes, registers, target in small_arrangements():
        element_bytes = min(8, 16 >> width)  # vectors of 16 bytes, and one of a single lane
        network = synthesize(lanes, registers, target, element_bytes, native_bytes=native_bytes, shuffles=shuffles)
        check(network, lanes, registers, target)
        if merges_registers(native_bytes, shuffles, element_bytes):
            assert is_fewest(network, lanes, target), (lanes, registers, target)


@pytest.mark.parametrize(("element_bytes", "vector_bytes", "native_bytes", "shuffles"), VECTORS)
def test_random_tiles(element_bytes: int, vector_bytes: int, native_bytes: int, shuffles: Shuffles):
    draw = random.Random(f"{element_bytes} {vector_bytes} {native_bytes}")
    lanes = lane_bits(element_bytes, vector_bytes)
    for _ in range(4):
        registers = [f"register{k}" for k in range(draw.randint(0, 4))]
        target = tuple(draw.sample(lanes + registers, len(lanes)))
        network = synthesize(lanes, registers, target, element_bytes, native_bytes=native_bytes, shuffles=shuffles)
        check(network, lanes, registers, target)
        assert stage_count(network) >= missing_bits(lanes, target)
        if merges_registers(native_bytes, shuffles, element_bytes):
            assert is_fewest(network, lanes, target), (lanes, registers, target)


@pytest.mark.parametrize(("element_bytes", "vector_bytes", "native_bytes", "shuffles"), VECTORS)
def test_a_transpose_takes_one_stage_per_row_bit(
    element_bytes: int, vector_bytes: int, native_bytes: int, shuffles: Shuffles
):
    lanes = lane_bits(element_bytes, vector_bytes)
    rows = [f"row{k}" for k in range(min(4, len(lanes)))]
    pieces = lanes[: len(rows)] + [f"row{k}" for k in range(len(rows), len(lanes))]
    target = tuple(f"row{k}" for k in range(len(lanes)))
    network = synthesize(pieces, rows, target, element_bytes, native_bytes=native_bytes, shuffles=shuffles)
    check(network, pieces, rows, target)
    assert stage_count(network) == len(rows)
    assert len(network.steps) == len(rows) << len(rows)


def swaps_bits_within_unpacks(mask: tuple[int, ...], lanes: int, element_bytes: int) -> bool:
    """Whether two registers meet as in punpckl, punpckh or a move of 16 bytes: runs of source lanes stay together."""
    chunk = 16 // element_bytes
    if all(mask[j : j + chunk] == tuple(range(mask[j], mask[j] + chunk)) for j in range(0, lanes, chunk)):
        return True
    for run in (1 << k for k in range(chunk.bit_length() - 1)):
        for half in (0, chunk // 2):
            unpacked = [
                base + half + pair * run + k + operand * lanes
                for base in range(0, lanes, chunk)
                for pair in range(chunk // 2 // run)
                for operand in (0, 1)
                for k in range(run)
            ]
            if list(mask) == unpacked:
                return True
    return False


@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
@pytest.mark.parametrize("vector_bytes", [16, 32])
def test_unpack_only_uses_unpacks_only(element_bytes: int, vector_bytes: int):
    draw = random.Random(element_bytes)
    lanes = lane_bits(element_bytes, vector_bytes)
    for registers in ([], ["a"], ["a", "b"], ["a", "b", "c"]):
        target = draw.sample(lanes + registers, len(lanes))
        network = synthesize(lanes, registers, target, element_bytes, native_bytes=vector_bytes, shuffles="unpack")
        for step in network.steps:
            assert step.second is not None
            assert swaps_bits_within_unpacks(step.mask, network.lanes, element_bytes), step.mask


def test_bytes_without_vbmi():
    draw = random.Random("vbmi")
    lanes = lane_bits(1, 64)
    for registers in ([], ["a"], ["a", "b"], ["a", "b", "c", "d"]):
        target = draw.sample(lanes + registers, len(lanes))
        network = synthesize(lanes, registers, target, 1, shuffles="words")
        check(network, lanes, registers, target)
        for step in network.steps:
            assert stays_in_chunks(step.mask, 16) or moves_runs(step.mask, 8), step.mask
    check_interleave(interleave(3, 64, 1, shuffles="words"), 3)
    check_deinterleave(deinterleave(3, 64, 1, shuffles="words"), 3)


def stays_in_chunks(mask: tuple[int, ...], chunk: int) -> bool:
    lanes = len(mask)
    return all(index % lanes // chunk == lane // chunk for lane, index in enumerate(mask))


def moves_runs(mask: tuple[int, ...], run: int) -> bool:
    """Whether lanes move in whole runs, as vpermq and vpermt2q move 8 bytes."""
    starts = range(0, len(mask), run)
    return all(mask[j] % run == 0 and mask[j : j + run] == tuple(range(mask[j], mask[j] + run)) for j in starts)


def test_vectors_narrower_than_a_chunk():
    network = synthesize(["x", "y"], ["r"], ["r", "x"], 1, native_bytes=16)
    check(network, ["x", "y"], ["r"], ["r", "x"])
    assert network.target_registers == ("y",)
    assert execute(network, ["abcd", "ABCD"]) == [list("aAbB"), list("cCdD")]


def test_nothing_to_do_is_no_step():
    network = synthesize(["x"], ["r"], ["x"], 8)
    assert network.steps == ()
    assert network.outputs == (0, 1)
    assert stage_count(network) == 0


def test_one_register_without_lanes():
    assert execute(synthesize([], [], [], 8), [["x"]]) == [["x"]]


def test_check_refuses_every_broken_mask():
    lanes, registers, target = ["x", "y"], ["r", "s"], ["s", "r"]
    network = synthesize(lanes, registers, target, 4)
    check(network, lanes, registers, target)
    for number, step in enumerate(network.steps):
        swapped = (step.mask[1], step.mask[0], *step.mask[2:])
        steps = (*network.steps[:number], replace(step, mask=swapped), *network.steps[number + 1 :])
        with pytest.raises(AssertionError, match=r"lane \d of output \d holds element \d+, expected element \d+"):
            check(replace(network, steps=steps), lanes, registers, target)


def test_check_refuses_other_registers():
    network = synthesize(["x", "y"], ["r", "s"], ["s", "r"], 4)
    renamed = replace(network, target_registers=network.target_registers[::-1])
    with pytest.raises(AssertionError, match="holds element"):
        check(renamed, ["x", "y"], ["r", "s"], ["s", "r"])
    unknown = replace(network, target_registers=("x", "q"))
    with pytest.raises(AssertionError, match=r"the network leaves bits \('s', 'r', 'x', 'q'\), expected"):
        check(unknown, ["x", "y"], ["r", "s"], ["s", "r"])


@pytest.mark.parametrize(
    ("steps", "outputs", "message"),
    [
        ((Shuffle(0, 2, (0, 1)),), (2,), "step 0 uses value 2, expected one of the 2 values before it"),
        ((Shuffle(0, 1, (0, 1, 2)),), (2,), "the mask of step 0 has 3 lanes, expected 2"),
        ((Shuffle(0, 1, (0, 4)),), (2,), "the mask of step 0 has index 4, expected 0 to 3"),
        ((Shuffle(0, None, (0, 2)),), (2,), "the mask of step 0 has index 2, expected 0 to 1"),
        ((), (2,), "output is value 2, expected one of 2 values"),
    ],
)
def test_a_network_is_checked_when_made(steps: tuple[Shuffle, ...], outputs: tuple[int, ...], message: str):
    with pytest.raises(LayoutcError, match=message):
        Network(2, 2, steps, outputs)


def test_outputs_match_register_bits():
    with pytest.raises(LayoutcError, match="got 2 outputs, expected 4 for 2 register bits"):
        Network(2, 2, (), (0, 1), ("r", "s"))


def test_execute_wants_the_registers_of_the_network():
    with pytest.raises(AssertionError, match="got 1 registers of 3 lanes, expected 2 registers of 2 lanes"):
        execute(Network(2, 2, (), (0, 1)), ["abc"])


@pytest.mark.parametrize(
    ("lanes", "registers", "target", "element_bytes", "native_bytes", "message"),
    [
        (["x"], ["x"], ["x"], 4, 16, r"a bit has two places in \('x', 'x'\)"),
        (["x"], ["r"], ["q"], 4, 16, "target lanes name bits 'q', expected some of"),
        (["x"], ["r"], ["x", "r"], 4, 16, r"got target lanes \('x', 'r'\), expected 1 different bits"),
        (["x"], ["r"], ["x"], 3, 16, "got elements of 3 bytes, expected 1, 2, 4 or 8"),
        (["x", "y"], [], ["x", "y"], 8, 16, "vectors of 32 bytes exceed the machine's 16"),
        (["x"], list("abcdefg"), ["x"], 8, 16, "got 128 registers, expected at most 64"),
    ],
)
def test_synthesize_refuses(
    lanes: list[str], registers: list[str], target: list[str], element_bytes: int, native_bytes: int, message: str
):
    with pytest.raises(LayoutcError, match=message):
        synthesize(lanes, registers, target, element_bytes, native_bytes=native_bytes)


@pytest.mark.parametrize("channels", [3, 5, 6, 7, 9, 12, 17, 31])
@pytest.mark.parametrize(("element_bytes", "vector_bytes", "native_bytes", "shuffles"), VECTORS)
def test_interleaves(channels: int, element_bytes: int, vector_bytes: int, native_bytes: int, shuffles: Shuffles):
    lanes = vector_bytes // element_bytes
    together = interleave(channels, lanes, element_bytes, native_bytes=native_bytes, shuffles=shuffles)
    apart = deinterleave(channels, lanes, element_bytes, native_bytes=native_bytes, shuffles=shuffles)
    check_interleave(together, channels)
    check_deinterleave(apart, channels)
    if merges_registers(native_bytes, shuffles, element_bytes):
        assert len(together.steps) <= channels * min(channels - 1, lanes.bit_length() - 1)
        assert len(apart.steps) <= channels * min(channels - 1, lanes.bit_length() - 1)


def test_interleave_is_what_it_says():
    pixels = execute(interleave(3, 4, 4), ["rstu", "ghij", "bcde"])
    assert ["".join(register) for register in pixels] == ["rgbs", "hcti", "duje"]
    assert execute(deinterleave(3, 4, 4), pixels) == [list("rstu"), list("ghij"), list("bcde")]


def test_an_interleave_is_no_deinterleave():
    with pytest.raises(AssertionError, match="lane 1 of output 0 holds element 4, expected element 3"):
        check_deinterleave(interleave(3, 4, 4), 3)


def test_interleave_refuses_lanes_that_are_no_power_of_two():
    with pytest.raises(LayoutcError, match="got vectors of 6 lanes, expected a power of two"):
        interleave(3, 6, 4)


@pytest.mark.parametrize("channels", [0, 1, 2, 4, 16, 32, 33])
def test_interleave_refuses(channels: int):
    with pytest.raises(LayoutcError, match=f"got {channels} channels, expected 3 to 31, and no power of two"):
        interleave(channels, 4, 4)


@pytest.mark.parametrize(("channels", "joins", "parts"), [(3, 6, 5), (5, 10, 13), (7, 14, 17)])
def test_words_without_other_shuffles_take_few_steps(channels: int, joins: int, parts: int):
    network = interleave(channels, 4, 4, native_bytes=16, shuffles="unpack")
    assert len(network.steps) == joins
    network = deinterleave(channels, 4, 4, native_bytes=16, shuffles="unpack")
    assert len(network.steps) == parts
