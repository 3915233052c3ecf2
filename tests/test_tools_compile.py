"""`layoutc compile`: IR of each stage, C, header and shared object."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc.pipeline import STAGES
from layoutc.tools.layoutc import main

Capture = pytest.CaptureFixture[str]

ARGUMENTS = ("compile", "--from", "nchw", "--to", "nChw8c", "--dims", "2,17,5,4")
COMPILERS = [compiler for compiler in ("gcc", "clang", "clang-22") if shutil.which(compiler)]


def printed(capsys: Capture, *arguments: str) -> str:
    assert main([*ARGUMENTS, *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES])
def test_the_ir_of_each_stage_parses_back(capsys: Capture, stage: str) -> None:
    from xdsl.parser import Parser

    from layoutc.pipeline import make_context

    text = printed(capsys, "--emit", "ir", "--stage", stage)
    Parser(make_context(), text).parse_module().verify()
    assert ("layout.reorder" in text) == (stage != STAGES[-1].name)


def test_the_last_stage_is_the_default(capsys: Capture) -> None:
    assert printed(capsys, "--emit", "ir") == printed(capsys, "--emit", "ir", "--stage", STAGES[-1].name)


@pytest.mark.parametrize("command", ["compile", "tune"])
def test_dims_and_element_type_are_those_that_either_text_gives(command: str, capsys: Capture, tmp_path: Path) -> None:
    texts = ["nhwc", "memref<1x2x3x4xbf16>"]
    tuned = ["-o", str(tmp_path / "plans.json"), "--tries", "1", "--rounds", "1"]
    more = {"compile": ["--target", "plain"], "tune": tuned}[command]
    for one, other in (texts, reversed(texts)):
        assert main([command, "--from", one, "--to", other, *more]) == 0
        said = capsys.readouterr()
        assert "1x2x3x4xbf16, (n, c, h, w) -> (n, h, w, c)" in said.out + said.err, command
        assert "f32" not in said.out + said.err


@pytest.mark.parametrize(
    ("source", "destination", "target"),
    [
        ("memref<f32>", "memref<f64>", "plain"),
        ("memref<f32>", "memref<f64>", "avx2"),
        ('memref<1x2x3x4xf32, #layout.tag<"nhwc">>', "memref<1x2x3x4xf32>", "avx512"),
    ],
)
def test_functions_without_loops_say_what_they_do(source: str, destination: str, target: str, capsys: Capture) -> None:
    assert main(["compile", "--from", source, "--to", destination, "--target", target]) == 0
    _, _, body = capsys.readouterr().out.partition("restrict dst) {\n")
    lines = body.splitlines()
    assert lines[0].startswith("  // from ") and lines[1].startswith("  // to   ") and "for (" not in body


def test_c_is_printed_and_written_alike(capsys: Capture, tmp_path: Path) -> None:
    text = printed(capsys, "--name", "to_blocked")
    assert printed(capsys, "--name", "to_blocked", "-o", str(tmp_path / "k.c")) == ""
    assert (tmp_path / "k.c").read_text() == text
    assert "void to_blocked(" in text


@pytest.mark.parametrize("compiler", COMPILERS)
def test_c_and_header_compile_together_without_warnings(capsys: Capture, tmp_path: Path, compiler: str) -> None:
    (tmp_path / "k.h").write_text(printed(capsys, "--emit", "header"))
    (tmp_path / "k.c").write_text('#include "k.h"\n#include "k.h"\n' + printed(capsys))
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-c", "k.c", "-o", "k.o"]
    done = subprocess.run([compiler, *flags], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_header_is_for_c_plus_plus_too(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "k.h").write_text(printed(capsys, "--emit", "header"))
    (tmp_path / "use.cpp").write_text('#include "k.h"\nstatic_assert(REORDER_SRC_BYTES == 2720, "");\n')
    done = subprocess.run(["g++", "-Wall", "-Werror", "-c", "use.cpp"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_header_says_the_bytes_and_the_prototype(capsys: Capture) -> None:
    text = printed(capsys, "--emit", "header", "--name", "pack")
    assert "#define PACK_SRC_BYTES 2720\n" in text
    assert "#define PACK_DST_BYTES 3840\n" in text
    assert "void pack(const float *src, float *dst);\n" in text


def test_both_headers_have_the_same_macros(capsys: Capture) -> None:
    from xdsl.parser import Parser

    from layoutc.pipeline import make_context
    from layoutc.targets.c_header import emit_header

    module = Parser(make_context(), printed(capsys, "--emit", "ir", "--name", "pack")).parse_module()
    one, other = printed(capsys, "--emit", "header", "--name", "pack"), emit_header(module)
    macros = [[line for line in text.splitlines() if line.startswith("#define PACK_")] for text in (one, other)]
    assert macros[0] == macros[1] and len(macros[0]) == 3


def test_the_header_says_the_bytes_of_arguments_and_of_compensation(capsys: Capture) -> None:
    scales = ("--to-dtype", "s8", "--dst-scale", "argument@axis=1@dtype=f16", "--compensation", "s8s8=0/asymmetric=0,1")
    text = printed(capsys, "--emit", "header", *scales)
    assert "dst scale argument of axes [1] f16, compensation s8s8 of axes [0], asymmetric of axes [0, 1]\n" in text
    assert "#define REORDER_DST_SCALE_BYTES 34\n" in text
    assert " * The sums, s8s8 and asymmetric, lie in the destination at these offsets. */\n" in text
    starts = [int(line.split()[-1]) for line in text.splitlines() if "_OFFSET_BYTES" in line]
    assert starts == [960, 968]


@pytest.mark.skipif(not COMPILERS, reason="needs a C compiler")
def test_the_shared_object_runs(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "k.so"
    printed(capsys, "--emit", "so", "--name", "pack", "-o", str(path))
    source = np.arange(1, 681, dtype=np.float32)
    result = np.full(960, np.nan, np.float32)
    ctypes.CDLL(str(path)).pack(ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(result.ctypes.data))
    assert result[480 + 2 * 160] == source[340 + 16 * 20]
    assert np.count_nonzero(result) == 680


def test_an_explanation_takes_the_place_of_text(capsys: Capture) -> None:
    kernel = layoutc.Kernel(layoutc.desc("nchw", (2, 17, 5, 4)), layoutc.desc("nChw8c", (2, 17, 5, 4)), threads=2)
    assert printed(capsys, "--threads", "2", "--explain") == kernel.explain()
    assert main([*ARGUMENTS, "--explain", "--emit", "c"]) == 2
    assert "--explain takes the place of --emit" in capsys.readouterr().err
