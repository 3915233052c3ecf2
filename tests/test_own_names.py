"""Two generated files in one: their macros and static functions do not meet."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import layoutc
from tests.c_programs import COMPILERS, compiled, compiler_named, emitted

KERNELS = {
    "channels_last": ("nchw", "nhwc", "f32", "f32", {}),
    "blocked": ("nchw", "nChw16c", "f32", "f32", {}),
    "quantized": ("nhwc", "nchw", "f32", "s8", {"dst_scale": 0.1}),
    "shifted": ("nhwc", "nchw", "f32", "s8", {"dst_scale": 0.1, "dst_zero_point": 3}),
    "narrowed": ("nchw", "nhwc", "f32", "f8_e4m3", {"src_zero_point": 2}),
}
DIMS = (2, 19, 9, 7)


def kernels(target: str) -> list[layoutc.Kernel]:
    def desc(notation: str, type: str) -> layoutc.MemoryDesc:
        return layoutc.desc(notation, DIMS, type)

    return [
        layoutc.Kernel(desc(a, s), desc(b, d), name=name, target=target, conversion=layoutc.Conversion(**attributes))
        for name, (a, b, s, d, attributes) in KERNELS.items()
    ]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("target", ["avx512", "sse2", "generic"])
def test_files_may_be_included_in_one(target: str, compiler: str, tmp_path: Path) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"no {compiler}")
    for name, order in (("forwards", kernels(target)), ("backwards", kernels(target)[::-1])):
        folder = tmp_path / name
        folder.mkdir()
        function = compiled("".join(kernel.c_source for kernel in order), path, folder, "-O1")
        for kernel in order:
            source = np.random.default_rng(1).integers(-100, 100, kernel.source_bytes // 4).astype(np.float32)
            got, expected = (np.zeros(kernel.destination_bytes, np.uint8) for _ in range(2))
            function(kernel.name, (ctypes.c_void_p,) * 2)(source.ctypes.data, got.ctypes.data)
            replace(kernel, executor="reference")(source, expected)
            np.testing.assert_array_equal(got, expected)


def test_no_macro_is_left_behind() -> None:
    for kernel in kernels("avx512"):
        lines = kernel.c_source.splitlines()
        defined = {line.split()[1].split("(")[0] for line in lines if line.startswith("#define ")}
        undone = {line.split()[1] for line in lines if line.startswith("#undef ")}
        assert defined == undone


HALF = """
func.func @half(%{name}: index) -> index {{
  %c2 = arith.constant 2 : index
  %half = arith.floordivsi %{name}, %c2 : index
  func.return %half : index
}}
"""


def test_a_name_that_the_file_uses_is_left_to_it() -> None:
    assert "#define floor_div half_floor_div\n" in emitted(HALF.format(name="i"))
    function = "func.func @half_floor_div() { func.return }"
    for text in (HALF.format(name="half_floor_div"), HALF.format(name="i") + function):
        assert "#define floor_div half_floor_div_\n" in emitted(text)
