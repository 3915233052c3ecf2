"""The fourth executor: lowered IR through mlir-opt and LLVM, where they are installed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from layoutc.conversion import Conversion
from layoutc.element_type import element_type
from layoutc.kernel import Kernel
from layoutc.param import Param
from layoutc.runtime import load
from tests.test_executors import POISON, by_definition, typed


def tool(name: str) -> str | None:
    """A tool of LLVM by its versioned or plain name."""
    return shutil.which(f"{name}-22") or shutil.which(name)


TOOLS = {name: tool(name) for name in ("mlir-opt", "mlir-translate", "clang")}
pytestmark = pytest.mark.skipif(None in TOOLS.values(), reason=f"needs {', '.join(TOOLS)}")

LOWERING = (
    "--lower-affine",
    "--convert-scf-to-cf",
    "--expand-strided-metadata",
    "--convert-vector-to-llvm",
    "--convert-math-to-llvm",
    "--convert-arith-to-llvm",
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
)

CASES = (
    ("rank 0 with offsets", "f32"),
    ("rank 12 blocked", "f32"),
    ("nchw to nChw8c", "f32"),
    ("nchw to nChw8c", "f64"),
    ("nchw to nChw8c", "bf16"),
    ("nchw to nChw8c", "s8"),
    ("nchw to nChw8c", "u8"),
    ("nchw to nChw8c", "f8_e5m2"),
    ("nchw to nChw8c", "boolean"),
    ("tails on three axes", "f32"),
    ("OIhw4i16o4i", "s8"),
    ("swizzle", "f16"),
    ("6 to 16", "f32"),
    ("interleaved strides", "f32"),
    ("borders of two blocked axes", "f32"),
    ("flattened axes and a block", "s32"),
    ("border, pitch and offset", "u16"),
)


class MemRef(ctypes.Structure):
    """MLIR's descriptor of a memref of rank 1."""

    _fields_ = (
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("stride", ctypes.c_int64),
    )

    @classmethod
    def of(cls, array: np.ndarray, elements: int) -> MemRef:
        return cls(array.ctypes.data, array.ctypes.data, 0, elements, 1)


def piped(command: list[str], text: str) -> str:
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command[0]}: {result.stderr}"
    return result.stdout


@pytest.mark.parametrize("target", ["plain", "avx2"])
@pytest.mark.parametrize(("name", "element"), CASES)
def test_llvm_agrees_with_reference(name: str, element: str, target: str, tmp_path: Path) -> None:
    source, destination = typed(name, element)
    kernel = Kernel(source, destination, "reference", target=target)
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    written = np.full(destination.size_bytes, POISON, np.uint8)
    run_by_llvm(kernel, read, written, tmp_path)
    expected = np.frombuffer(by_definition(source, destination), np.uint8)
    bits = 1 if element == "boolean" else 0xFF  # LLVM keeps the lowest bit of an i1
    np.testing.assert_array_equal(written & bits, expected & bits)


def run_by_llvm(kernel: Kernel, read: np.ndarray, written: np.ndarray, folder: Path) -> None:
    """The lowered IR of a kernel through mlir-opt and clang, and run."""
    text = kernel.ir("lower-reorders").replace(") {", ") attributes {llvm.emit_c_interface} {", 1)
    llvm = piped([str(TOOLS["mlir-translate"]), "--mlir-to-llvmir"], piped([str(TOOLS["mlir-opt"]), *LOWERING], text))
    library = folder / "kernel.so"
    piped(
        [str(TOOLS["clang"]), "-O1", "-shared", "-fPIC", "-Wno-override-module", "-x", "ir", "-", "-o", str(library)],
        llvm,
    )
    sides = (kernel.source, read), (kernel.destination, written)
    arguments = [MemRef.of(a, d.size_bytes if d.element_type.bits < 8 else d.span) for d, a in sides]
    load(library, "_mlir_ciface_reorder", (ctypes.c_void_p, ctypes.c_void_p))(*map(ctypes.byref, arguments))


CONVERSIONS = (
    ("f32", "s8"),
    ("f64", "bf16"),
    ("bf16", "f32"),
    ("f32", "f8_e4m3"),
    ("f8_e5m2", "u8"),
    ("s64", "u32"),
    ("u8", "f4_e2m1"),
    ("s4", "f32"),
    ("f32", "e8m0"),
    ("boolean", "f64"),
)


@pytest.mark.parametrize(("element", "to_element"), CONVERSIONS)
def test_llvm_converts_as_the_reference_does(element: str, to_element: str, tmp_path: Path) -> None:
    """With a constant list of scales, and tails on two axes."""
    source, destination = typed("tails on two axes", element)
    destination = replace(destination, element_type=element_type(to_element))
    attributes = (
        Conversion() if element == "boolean" else Conversion(src_scale=Param([0.1 * n for n in range(1, 6)], 0))
    )
    kernel = Kernel(source, destination, "reference", target="plain", conversion=attributes)
    read = np.random.default_rng(0).integers(0, 2 if element == "boolean" else 256, source.size_bytes, np.uint8)
    written, expected = (np.full(destination.size_bytes, POISON, np.uint8) for _ in range(2))
    run_by_llvm(kernel, read, written, tmp_path)
    kernel(read, expected)
    np.testing.assert_array_equal(written, expected)
