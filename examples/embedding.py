"""
Somebody else's compiler with layoutc as one stage of its pipeline.

`tiny` is a small compiler with one op, an affine map and a ReLU over a whole tensor, and one pass that lowers it to
loops. It wants to compute on blocked channels, so its functions reorder on the way in and out. The layouts are
layoutc's business: `tiny` loads and stores by logical index, and `lower-reorders` puts the offset maps in.

Run it: `python examples/embedding.py`. It prints the C file, runs it, and compares it with NumPy.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, arith, func, memref, scf
from xdsl.dialects.builtin import Builtin, Float32Type, FloatAttr, IndexType, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Block, Dialect, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.transforms.canonicalize import CanonicalizePass

from layoutc.dialects.layout import Layout
from layoutc.dialects.memory import is_memref
from layoutc.runtime import build, load
from layoutc.targets.c import emit_c
from layoutc.transforms.lower_reorders import LowerReordersPass
from layoutc.transforms.resolve_layouts import ResolveLayoutsPass

SOURCE = """
func.func @model(%x: memref<2x17x5x4xf32>, %y: memref<2x17x5x4xf32, #layout.tag<"nhwc">>) {
  %in = memref.alloc() : memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
  %out = memref.alloc() : memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
  layout.reorder %x into %in : memref<2x17x5x4xf32> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
  "tiny.affine_relu"(%in, %out) <{scale = 2.000000e+00 : f32, shift = -1.500000e+00 : f32}>
    : (memref<2x17x5x4xf32, #layout.tag<"nChw8c">>, memref<2x17x5x4xf32, #layout.tag<"nChw8c">>) -> ()
  layout.reorder %out into %y
    : memref<2x17x5x4xf32, #layout.tag<"nChw8c">> into memref<2x17x5x4xf32, #layout.tag<"nhwc">>
  memref.dealloc %in : memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
  memref.dealloc %out : memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
  func.return
}
"""


@irdl_op_definition
class AffineReluOp(IRDLOperation):
    """`output[i] = max(scale * input[i] + shift, 0)` for every logical index, in whatever layouts."""

    name = "tiny.affine_relu"

    input = operand_def(MemRefType)
    output = operand_def(MemRefType)
    scale = prop_def(FloatAttr)
    shift = prop_def(FloatAttr)


Tiny = Dialect("tiny", [AffineReluOp], [])


class LowerAffineRelu(RewritePattern):
    """The op as a loop nest over the logical index."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AffineReluOp, rewriter: PatternRewriter) -> None:
        assert is_memref(op.input.type)
        builder = Builder(InsertPoint.before(op))
        zero, one = (builder.insert(arith.ConstantOp(IntegerAttr(v, IndexType()))).result for v in (0, 1))
        scale, shift, nothing = (
            builder.insert(arith.ConstantOp(value)).result
            for value in (op.scale, op.shift, FloatAttr(0.0, Float32Type()))
        )
        extents = [
            builder.insert(arith.ConstantOp(IntegerAttr(n, IndexType()))).result for n in op.input.type.get_shape()
        ]
        index: list[SSAValue] = []
        for extent, name in zip(extents, "nchw", strict=True):
            block = Block([scf.YieldOp()], arg_types=[IndexType()])
            block.args[0].name_hint = name
            index.append(block.args[0])
            builder.insert(scf.ForOp(zero, extent, one, [], Region(block)))
            builder = Builder(InsertPoint.at_start(block))
        value = builder.insert(memref.LoadOp.get(op.input, index)).res
        scaled = builder.insert(arith.MulfOp(value, scale)).result
        shifted = builder.insert(arith.AddfOp(scaled, shift)).result
        result = builder.insert(arith.MaximumfOp(shifted, nothing)).result
        for made, name in ((value, "x"), (scaled, "scaled"), (shifted, "shifted"), (result, "relu")):
            made.name_hint = name
        builder.insert(memref.StoreOp.get(result, op.output, index))
        rewriter.erase(op)


class LowerTinyPass(ModulePass):
    """Lowers tiny's own op; the layouts are left to layoutc."""

    name = "lower-tiny"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(LowerAffineRelu()).rewrite_module(op)


PIPELINE = PassPipeline(
    (
        LowerTinyPass(),
        # layoutc's stage
        ResolveLayoutsPass(),
        CanonicalizePass(),
        LowerReordersPass(),
    ),
    lambda previous, module, following: module.verify(),
)


def compile_to_c(source: str) -> str:
    """The C file for a module of tiny."""
    context = Context()
    for dialect in (Builtin, func.Func, arith.Arith, affine.Affine, memref.MemRef, scf.Scf, Layout, Tiny):
        context.load_dialect(dialect)
    module = Parser(context, source).parse_module()
    PIPELINE.apply(context, module)
    return emit_c(module)


def run(c_source: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Builds the file, calls `model` on an nchw array, and returns the nhwc result."""
    n, c, h, w = x.shape
    y = np.empty((n, h, w, c), np.float32)
    load(build(c_source), "model", (ctypes.c_void_p, ctypes.c_void_p))(x.ctypes.data, y.ctypes.data)
    return y


def main() -> None:
    """Compiles, prints, runs and compares."""
    c_source = compile_to_c(SOURCE)
    print(c_source)
    x = np.linspace(-1.0, 2.0, 2 * 17 * 5 * 4, dtype=np.float32).reshape(2, 17, 5, 4)
    expected = np.maximum(x * np.float32(2.0) + np.float32(-1.5), 0).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(run(c_source, x), expected)
    print("/* the result agrees with NumPy */")


if __name__ == "__main__":
    main()
