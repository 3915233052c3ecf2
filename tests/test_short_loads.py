"""Elements that become wide numbers as they lie: loads of as many as a register has of these."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.dialects import vector

import layoutc
from layoutc.discardable import PREFETCH
from layoutc.pipeline import lower, reorder_module
from layoutc.planning.choose import choose_plan
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import Machine, machine
from layoutc.planning.plan_text import parse_plan, plan_lines

SCALED = layoutc.Conversion(src_scale=layoutc.Param())
KNOWN = layoutc.Conversion(src_scale=0.1)
PLAIN = layoutc.Conversion()
VBMI = replace(machine("avx512"), shuffles="any")
ZEN = replace(machine("avx512"), shuffles="single")


@pytest.mark.parametrize(
    ("target", "type", "to_type", "how", "lanes"),
    [
        (ZEN, "s4", "f32", SCALED, "16 -> 0:16"),
        (ZEN, "u4", "bf16", SCALED, "16 -> 0:32"),
        (ZEN, "s4", "bf16", KNOWN, "64 -> 0:32"),  # looked up
        (ZEN, "s8", "f32", SCALED, "16 -> 0:16"),
        (ZEN, "u8", "f32", SCALED, "64 -> 0:16"),  # one shuffle takes them apart
        (ZEN, "u8", "f64", PLAIN, "8 -> 0:8"),
        (ZEN, "f8_e4m3", "f32", SCALED, "64 -> 0:16"),
        (VBMI, "f8_e4m3", "f32", SCALED, "16 -> 0:16"),
        (ZEN, "f4_e2m1", "f32", SCALED, "64 -> 0:16"),
        (ZEN, "bf16", "f32", SCALED, "32 -> 0:16"),
        (ZEN, "s8", "s32", PLAIN, "64 -> 0:16"),
        (machine("avx512"), "u8", "f32", SCALED, "16 -> 0:16"),
        (machine("avx2"), "u8", "f32", SCALED, "8 -> 0:8"),
        (machine("avx2"), "bf16", "f32", SCALED, "8 -> 0:8"),
        (machine("avx2"), "s8", "s32", PLAIN, "8 -> 0:8"),
        (machine("avx2"), "s16", "s32", PLAIN, "16 -> 0:8"),
        (machine("avx2"), "s4", "f32", SCALED, "8 -> 0:8"),
        (machine("avx2"), "s4", "f64", SCALED, "32 -> 0:4"),  # 4 codes are too few
        (machine("avx2"), "u2", "f32", SCALED, "32 -> 0:8"),
        (machine("sse2"), "s8", "f32", SCALED, "16 -> 0:4"),
    ],
)
def test_types_that_have_short_loads(
    target: Machine, type: str, to_type: str, how: layoutc.Conversion, lanes: str
) -> None:
    sides = layoutc.desc("a", (1 << 16,), type), layoutc.desc("a", (1 << 16,), to_type)
    plan = choose_plan(*sides, target, 1, how, goes_through=False)
    assert f"lanes 0:{lanes}, " in plan_lines(plan)[1]
    assert parse_plan(plan_lines(plan)) == plan


def test_each_is_loaded_before_its_store_and_the_first_asks_for_all() -> None:
    """Four of 16 codes each, of the 64 that a register has as bytes."""
    sides = layoutc.desc("ab", (4096, 8192), "s4"), layoutc.desc("ab", (4096, 8192), "f32")
    conversion = layoutc.Conversion(src_scale=layoutc.Param(axes=(0,)))
    module = reorder_module(*sides, "f", conversion)
    lower(module, "lower-reorders", target="avx512")
    ops = [op for op in module.walk() if isinstance(op, vector.LoadOp | vector.StoreOp)]
    assert [isinstance(op, vector.LoadOp) for op in ops] == [True, False] * 4
    assert [PREFETCH in op.attributes for op in ops[::2]] == [True, False, False, False]


def test_what_is_said_of_them() -> None:
    sides = layoutc.desc("ab", (4096, 8192), "s4"), layoutc.desc("ab", (4096, 8192), "bf16")
    conversion = layoutc.Conversion(src_scale=layoutc.Param(axes=(0,)))
    text = "\n".join(explain_plan(*sides, machine("avx512"), 1, conversion))
    assert "as they lie: loaded along 16 of digit 1, stored along 32 of digit 1" in text
    assert "loads: straight, of 16 elements, as many as a register has of what they become" in text
    assert "prefetch: the first load of each register asks" in text
