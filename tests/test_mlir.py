"""The fourth executor: lowered IR through mlir-opt and LLVM, where they are installed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from layoutc.kernel import Kernel
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
    text = Kernel(source, destination, "reference", target=target).ir("lower-reorders")
    text = text.replace(") {", ") attributes {llvm.emit_c_interface} {", 1)
    llvm = piped([str(TOOLS["mlir-translate"]), "--mlir-to-llvmir"], piped([str(TOOLS["mlir-opt"]), *LOWERING], text))
    library = tmp_path / "kernel.so"
    piped(
        [str(TOOLS["clang"]), "-O1", "-shared", "-fPIC", "-Wno-override-module", "-x", "ir", "-", "-o", str(library)],
        llvm,
    )
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    written = np.full(destination.size_bytes, POISON, np.uint8)
    arguments = MemRef.of(read, source.span), MemRef.of(written, destination.span)
    load(library, "_mlir_ciface_reorder", (ctypes.c_void_p, ctypes.c_void_p))(*map(ctypes.byref, arguments))
    expected = np.frombuffer(by_definition(source, destination), np.uint8)
    bits = 1 if element == "boolean" else 0xFF  # LLVM keeps the lowest bit of an i1
    np.testing.assert_array_equal(written & bits, expected & bits)
