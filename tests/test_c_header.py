"""The target `c-header`: one header for all functions of a module."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from xdsl.parser import Parser

from layoutc.pipeline import make_context
from layoutc.targets.c_header import emit_header
from layoutc.targets.errors import EmissionError

BODY = "{ func.return }"


def header(*functions: str) -> str:
    return emit_header(Parser(make_context(), "\n".join(functions)).parse_module())


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_header_is_for_c_plus_plus_too(tmp_path: Path) -> None:
    text = header(f"func.func @pack(%src: memref<4xi8>, %n: i1) {BODY}", f"func.func @nothing() {BODY}")
    (tmp_path / "k.h").write_text(text)
    (tmp_path / "use.cpp").write_text(
        '#include "k.h"\n#include "k.h"\n'
        'void use(int8_t *p) { static_assert(PACK_SRC_BYTES == 4, ""); pack(p, true); }\n'
    )
    done = subprocess.run(["g++", "-Wall", "-Werror", "-c", "use.cpp"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_equal_names_of_sizes_are_numbered() -> None:
    text = header(f"func.func @a(%b_c: memref<1xi8>) {BODY}", f"func.func @a_b(%c: memref<2xi8>) {BODY}")
    assert "#define A_B_C_BYTES 1\n#define A_B_C_BYTES_2 2\n" in text


def test_sizes_that_nobody_knows_are_left_out() -> None:
    text = header(f"func.func @some(%rows: memref<?x4xf32>, %fixed: memref<2xf32>) {BODY}")
    assert "ROWS" not in text and "#define SOME_FIXED_BYTES 8\n" in text
    assert "BYTES" not in header(f"func.func @nothing(%i: index) {BODY}")
    assert "BYTES" not in header(f"func.func @apart(%m: memref<4xf32, strided<[?], offset: ?>>) {BODY}")


def test_sizes_go_up_to_the_last_element_in_memory() -> None:
    text = header(f"func.func @turn(%back: memref<4x2xf32, strided<[-2, 1], offset: 6>>) {BODY}")
    assert "#define TURN_BACK_BYTES 32\n" in text


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (f"func.func private @own() {BODY}", "the module has no function that other files may call"),
        (f"func.func @vectors(%v: vector<3xf32>) {BODY}", "function 'vectors': no C spelling for type vector<3xf32>"),
        (f"func.func @int() {BODY}", "function name 'int' cannot be a name in C"),
        (
            f'func.func @blocked(%m: memref<3xf32, #layout.tag<"A4a">>) {BODY}',
            "function 'blocked': .* has a layout that C cannot index, which the pass lower-reorders makes flat",
        ),
    ],
)
def test_what_has_no_header(function: str, message: str) -> None:
    with pytest.raises(EmissionError, match=message):
        header(function)
