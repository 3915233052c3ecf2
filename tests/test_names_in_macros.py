"""What macros call their variables, no value is called: it would be hidden where it is handed to one."""

from __future__ import annotations

import ctypes
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from layoutc.errors import LayoutcError
from layoutc.targets.c import emit_c
from layoutc.targets.helpers.c_lane_helpers import OPERATIONS, lane_helpers
from layoutc.targets.helpers.c_saturated import saturated_prelude
from layoutc.targets.helpers.c_word_tables import WORDS_OF, word_tables_prelude
from layoutc.targets.patterns.c_float_numbers import NUMBER_OF_F4, NUMBER_OF_F8, float_numbers_prelude
from layoutc.targets.patterns.mask_choices import CHOICES
from layoutc.targets.spelling.c_names import Names, is_identifier
from tests.c_programs import COMPILERS, compiled, compiler_named, emitted, parsed

LOCAL = re.compile(r"(?:const )?[a-z]\w* (?:\w+_t )?(\w+) (?:=[^=]|__attribute__)")
"""a variable or type that a line of a macro declares"""
RESIZED = [f"resize_i{a}x{lanes}_i{b}x{lanes}" for a, b, lanes in product((8, 16, 32), (8, 16, 32), (4, 16)) if a != b]
HELPERS = {*(f"{name}_f32x{lanes}" for name in OPERATIONS if name != "fused" for lanes in (8, 16)), *RESIZED}
HELPERS |= {f"{name}_i32x4" for name in ("select", "min", "max", *CHOICES)}
SATURATED = {f"saturated_{words}f32x8_i8x{lanes}" for words in ("", "quotient_shifted_limited_") for lanes in (16, 32)}


def locals_of(text: str) -> set[str]:
    return {name for line in text.splitlines() for name in LOCAL.findall(line) if not line.startswith("typedef")}


def test_no_name_is_one_of_a_helpers_variables() -> None:
    texts = (
        *lane_helpers(HELPERS),
        *float_numbers_prelude({NUMBER_OF_F8, NUMBER_OF_F4}),
        *saturated_prelude(SATURATED),
    )
    found = locals_of("\n".join(texts))
    assert {"yes_", "no_", "mask_", "x_", "bits_", "lanes_", "register_", "a_by_", "mixed_"} <= found
    assert {name: Names().fresh(name, "value") for name in found if Names().fresh(name, "value") in found} == {}


@pytest.mark.parametrize("name", ["less", "in_row", "widened", "beside", "bytes"])
def test_names_whose_numbers_are_macros_have_others(name: str) -> None:
    """`less_2` is a macro; that no number was free was asked for ever."""
    names = Names()
    found = [names.fresh(name, "value") for _ in range(3)]
    assert len({*found}) == 3
    assert not any(re.search(r"_\d", each) for each in found)


def test_macros_that_choose_words_are_no_functions_names() -> None:
    texts = word_tables_prelude({f"{name}_{lanes}" for name in ("word_of", "beside") for lanes in WORDS_OF})
    macros = re.findall(r"#define (\w+)", "\n".join(texts))
    assert {"word_of_32", "beside_16", "beside_16_"} <= {*macros}
    assert [name for name in macros if is_identifier(name)] == []


def run(text: str, compiler: str, folder: Path) -> list[int]:
    """The first two of eight numbers that a function writes from eight."""
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"no {compiler}")
    source, target = np.array([1, 2, 3, -4, 5, 6, 7, 8]), np.zeros(8, np.int64)
    compiled(emitted(text), path, folder)("f", (ctypes.c_void_p,) * 2)(source.ctypes.data, target.ctypes.data)
    return target[:2].tolist()


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("a", "b"), [("yes_", "no_"), ("no_", "yes_"), ("p", "yes_"), ("yes.", "no__")])
def test_values_may_be_called_as_variables_in_macros(a: str, b: str, compiler: str, tmp_path: Path) -> None:
    text = f"""func.func @f(%source : memref<8xi64>, %target : memref<8xi64>) {{
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %{a} = vector.load %source[%c0] : memref<8xi64>, vector<2xi64>
      %{b} = vector.load %source[%c2] : memref<8xi64>, vector<2xi64>
      %least = arith.minsi %{a}, %{b} : vector<2xi64>
      vector.store %least, %target[%c0] : memref<8xi64>, vector<2xi64>
      func.return
    }}"""
    assert run(text, compiler, tmp_path) == [1, -4]


def inlined(name: str, body: str) -> str:
    return f"""func.func private @{name}(%x : vector<2xi64>) -> vector<2xi64> attributes {{layout.inlined}} {{
      {body}
      func.return %y : vector<2xi64>
    }}"""


def called(name: str, argument: str) -> str:
    return f"%y = func.call @{name}(%{argument}) : (vector<2xi64>) -> vector<2xi64>"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_functions_that_are_macros_call_others(compiler: str, tmp_path: Path) -> None:
    text = f"""{inlined("twice", "%y = arith.addi %x, %x : vector<2xi64>")}
    {inlined("more", called("twice", "x"))}
    func.func @f(%source : memref<8xi64>, %target : memref<8xi64>) {{
      %c0 = arith.constant 0 : index
      %x_in = vector.load %source[%c0] : memref<8xi64>, vector<2xi64>
      {called("more", "x_in")}
      vector.store %y, %target[%c0] : memref<8xi64>, vector<2xi64>
      func.return
    }}"""
    assert run(text, compiler, tmp_path) == [2, 4]


def test_a_macro_of_itself_is_an_error() -> None:
    text = inlined("one", called("two", "x")) + inlined("two", called("one", "x"))
    public = f"func.func @f(%x : vector<2xi64>) {{\n{called('one', 'x')}\nfunc.return\n}}"
    with pytest.raises(LayoutcError, match="function 'one' is inlined into itself"):
        emit_c(parsed(text + public))
