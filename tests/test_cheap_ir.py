"""What layoutc does itself, as xDSL takes longer: walking IR, making ops, and plans that need not be read again."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from xdsl.builder import Builder
from xdsl.dialects import arith, func, math, vector
from xdsl.dialects.builtin import ArrayAttr, StringAttr, f32, f64, i8, i32
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

import layoutc
from layoutc.dialects.memory import memref_type
from layoutc.dialects.ops import ReorderOp
from layoutc.pipeline import STAGES, lower, make_context, reorder_module
from layoutc.transforms import plan_reorders
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import INDEX, NestBuilder
from layoutc.transforms.lower_reorders import LowerReordersPass
from layoutc.walk import of_kind, ops_of
from tests.descriptors import PAIRS

SIDES = layoutc.desc("nchw", (2, 17, 5, 4), "f32"), layoutc.desc("nChw8c", (2, 17, 5, 4), "f32")


def test_ops_of_are_those_of_a_walk_in_its_order() -> None:
    module = reorder_module(*SIDES)
    lower(module, target="avx2")
    assert ops_of(module) == list(module.walk())
    assert len(of_kind(ops_of(module), vector.LoadOp)) == sum(isinstance(op, vector.LoadOp) for op in module.walk())


def test_ops_that_are_made_directly_are_those_that_xdsl_makes() -> None:
    block = Block(arg_types=[INDEX, INDEX])
    made, usual = vector_ops.sum_of(block.args[0], block.args[1]), arith.AddiOp(block.args[0], block.args[1])
    block.add_ops([made, usual])
    made.verify()
    assert [use.operation for use in block.args[0].uses] == [usual, made]
    assert facts(made) == facts(usual)


@pytest.mark.parametrize("count", [None, 16])
def test_arithmetic_is_made_as_xdsl_makes_it(count: int | None) -> None:
    lanes, block = in_a_function(count)
    floats: Any
    floats, integers = (lanes.type(element) for element in (f32, i32))
    for type in (floats, integers):
        block.insert_arg(type, len(block.args))
    number, whole = block.args
    pairs = [
        (lanes.compare("ogt", number, number), arith.CmpfOp(number, number, "ogt")),
        (lanes.compare("slt", whole, whole), arith.CmpiOp(whole, whole, "slt")),
        (lanes.add(whole, whole), arith.AddiOp(whole, whole)),
        (lanes.mul(number, number), arith.MulfOp(number, number)),
        (lanes.round_even(number), math.RoundEvenOp(number, arith.FastMathFlagsAttr("none"))),
        (lanes.to_float(whole, f32, True), arith.SIToFPOp(whole, floats)),
        (lanes.bitcast(number, i32), arith.BitcastOp(number, integers)),
    ]
    for made, usual in pairs:
        assert isinstance(made.owner, Operation)
        made.owner.verify()
        assert facts(made.owner) == facts(usual)


def test_a_constant_is_made_once_for_its_bits() -> None:
    lanes, _ = in_a_function(16)
    assert lanes.constant(1.0, f32) is lanes.constant(1, f32)
    assert lanes.constant(-1, i8) is lanes.constant(255, i8)
    different = [(0.0, f32), (-0.0, f32), (0.0, f64), (0, i32), (0, i8), (nan, f32), (inf, f32)]
    made = {lanes.constant(*constant) for constant in different}
    made.add(replace(lanes, count=8).constant(0.0, f32))
    assert len(made) == len(different) + 1


def test_names_are_those_of_xdsl() -> None:
    lanes, _ = in_a_function(None)
    one = lanes.constant(1, i32)
    assert [lanes.add(one, one, name).name_hint for name in ("scaled", "scaled_2", None, "scaled")] == [
        *("scaled", "scaled", None, "scaled")
    ]
    with pytest.raises(ValueError, match="1st"):
        lanes.add(one, one, "1st")


def in_a_function(count: int | None) -> tuple[Lanes, Block]:
    """Lanes at the end of an empty function, and its block."""
    end = func.ReturnOp()
    block = Block([end])
    func.FuncOp("f", ((), ()), Region(block))
    return Lanes(Builder(InsertPoint.before(end)), NestBuilder(end), count), block


def facts(op: Operation) -> tuple[Any, ...]:
    """All that xDSL sets of an op."""
    types = [value.type for value in op.results]
    return *op.operands, *types, op.properties, op.attributes, op.regions, *op.successors, op.location


def test_a_module_that_was_planned_here_verifies_when_lowered() -> None:
    module = reorder_module(*SIDES)
    lower(module, target="avx512", is_ours=True)
    module.verify()


@pytest.mark.parametrize("name", PAIRS)
def test_stages_that_are_left_out_have_nothing_to_do(name: str) -> None:
    module = reorder_module(*PAIRS[name])
    before = str(module)
    assert [stage.name for stage in STAGES if stage.leaves_ours] == ["resolve-layouts", "canonicalize"]
    lower(module, "canonicalize")
    assert str(module) == before


def test_a_plan_that_was_chosen_here_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = reorder_module(*SIDES)
    lower(module, "plan-reorders", target="avx2")
    copied = module.clone()
    monkeypatch.setattr(plan_reorders, "read_plan_of", pytest.fail)
    LowerReordersPass().apply(make_context(), module)
    monkeypatch.undo()
    LowerReordersPass().apply(make_context(), copied)
    assert str(module) == str(copied)


def test_a_plan_that_is_edited_is_read() -> None:
    module = reorder_module(*SIDES)
    lower(module, "plan-reorders", target="avx2")
    (reorder,) = of_kind(ops_of(module), ReorderOp)
    assert reorder.plan is not None
    reorder.plan = ArrayAttr([*reorder.plan.data[:-1], StringAttr("copy")])
    with pytest.raises(Exception, match="plan of"):
        LowerReordersPass().apply(make_context(), module)


def test_a_plan_whose_reorder_has_become_another_is_read() -> None:
    module = reorder_module(*SIDES)
    lower(module, "plan-reorders", target="avx2")
    (reorder,) = of_kind(ops_of(module), ReorderOp)
    assert reorder.destination is not None
    Rewriter.replace_value_with_new_type(reorder.destination, memref_type(layoutc.desc("nhwc", (2, 17, 5, 4), "f32")))
    with pytest.raises(Exception, match="for this reorder"):
        LowerReordersPass().apply(make_context(), module)
