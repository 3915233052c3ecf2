"""Every stage is real IR: it verifies, its text parses back, and the C that follows from the text is the same."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, PassFailedException

import layoutc
from layoutc.errors import LayoutcError
from layoutc.kernel import Kernel
from layoutc.pipeline import STAGES, lower, make_context, reorder_module
from layoutc.targets.c import emit_c
from tests.descriptors import PAIRS

NAMES = [stage.name for stage in STAGES]
TAGS = """
func.func @reorder(%src: memref<2x17x5x4xf32, #layout.tag<"nchw">>, %dst: memref<2x17x5x4xf32, #layout.tag<"nChw8c">>) {
  layout.reorder %src into %dst
    : memref<2x17x5x4xf32, #layout.tag<"nchw">> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
  func.return
}
"""

SIGNED = """
func.func @f(%a: memref<40x33xsi8>, %b: memref<40x33xsi8, #layout.tag<"ba">>, %c: memref<40x33xf32>,
             %z: memref<33xsi32>) {
  layout.reorder %a into %b : memref<40x33xsi8> into memref<40x33xsi8, #layout.tag<"ba">>
  layout.reorder %a into %c with (src_zero_point = %z axes [1])
    : memref<40x33xsi8> into memref<40x33xf32>, memref<33xsi32>
  func.return
}
"""


@pytest.mark.parametrize("target", ["plain", "avx2"])
@pytest.mark.parametrize("name", PAIRS)
def test_text_of_every_stage_leads_to_the_same_c(name: str, target: str) -> None:
    kernel = Kernel(*PAIRS[name], target=target)
    for stage in NAMES:
        text = kernel.ir(stage)
        module = Parser(make_context(), text).parse_module()
        module.verify()
        assert str(module) + "\n" == text, stage
        lower(module, target=target)
        module.verify()
        assert emit_c(module) == kernel.c_source, stage


def test_stages_are_called_in_order_on_verified_modules() -> None:
    seen: list[str] = []

    def after(stage, module) -> None:
        module.verify()
        seen.append(stage.name)

    lower(reorder_module(*PAIRS["nchw to nChw8c"]), after=after)
    assert seen == NAMES


def test_an_unknown_stage_is_named() -> None:
    with pytest.raises(LayoutcError, match="unknown stage 'lower', expected one of source resolve-layouts"):
        lower(reorder_module(*PAIRS["rank 0"]), "lower")


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_after_a_pass_that_fails(enabled: bool) -> None:
    text = """
    func.func @f(%src: tensor<2x8xf32>) -> tensor<2x8xf32, #layout.map<(d0, d1) -> (d1, d0)>> {
      %0 = layout.reorder %src : tensor<2x8xf32> to tensor<2x8xf32, #layout.map<(d0, d1) -> (d1, d0)>>
      func.return %0 : tensor<2x8xf32, #layout.map<(d0, d1) -> (d1, d0)>>
    }"""
    module = Parser(make_context(), text).parse_module()
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(PassFailedException, match="bufferize"):
            lower(module)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_layoutc_opt_and_xdsl_opt_agree(tmp_path: Path) -> None:
    """The stock driver finds the dialect, the passes and the target through the entry point."""
    file = tmp_path / "tags.mlir"
    file.write_text(TAGS)
    passes = "resolve-layouts,canonicalize,plan-reorders{target=avx512 threads=2},lower-reorders"
    for target in ("mlir", "c"):
        ours, stock = (
            subprocess.run(
                [Path(sys.executable).parent / tool, str(file), "-p", passes, "-t", target],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for tool in ("layoutc-opt", "xdsl-opt")
        )
        assert ours == stock
        assert len(ours.splitlines()) > 20


@pytest.mark.parametrize("tool", ["layoutc-opt", "xdsl-opt"])
def test_each_tool_reads_loops_that_convert(tmp_path: Path, tool: str) -> None:
    """Their text has no op of the dialect `layout`, which would load what else layoutc gives xDSL."""
    source, destination = (layoutc.desc(tag, (2, 17, 5, 4), type) for tag, type in (("nchw", "f32"), ("nhwc", "s8")))
    kernel = Kernel(source, destination, target="avx512", conversion=layoutc.Conversion(src_scale=layoutc.Param(3)))
    file = tmp_path / "lowered.mlir"
    file.write_text(kernel.ir("lower-reorders"))
    command = [Path(sys.executable).parent / tool, str(file), "-t", "c"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == kernel.c_source


@pytest.mark.parametrize("target", ["avx2", "plain"])
def test_loops_that_convert_are_read_as_they_were_printed(target: str) -> None:
    """All of their constants too: NaN, which arithmetic is made to give, is printed as its bits."""
    source, destination = (layoutc.desc(tag, (2, 17, 5, 4), type) for tag, type in (("nchw", "f32"), ("nhwc", "bf16")))
    kernel = Kernel(source, destination, target=target, conversion=layoutc.Conversion(src_scale=layoutc.Param(3)))
    module = Parser(make_context(), kernel.ir("lower-reorders")).parse_module()
    assert "nan" in kernel.c_source
    assert emit_c(module) == kernel.c_source


@pytest.mark.parametrize("destination", ["s8", "u8", "s32", "s64"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_floats_that_are_printed_as_their_bits_are_read_as_these(source: str, destination: str) -> None:
    """12582912.0 has too many digits for a decimal: xDSL prints its bits, and took them for 1262485504.0."""
    src, dst = layoutc.desc("nchw", (2, 17, 5, 4), source), layoutc.desc("nChw8c", (2, 17, 5, 4), destination)
    scale, zero_point = layoutc.Param([12582912.0 + i for i in range(17)], axes=1), layoutc.Param(3)
    conversion = layoutc.Conversion(src_scale=scale, dst_zero_point=zero_point)
    kernel = Kernel(src, dst, target="avx512", conversion=conversion)
    text = kernel.ir("lower-reorders")
    assert "0x4B400000" in text
    module = Parser(make_context(), text).parse_module()
    assert str(module) + "\n" == text
    assert emit_c(module) == kernel.c_source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<0x4B400000> : vector<2xf32>", [12582912.0] * 2),
        ("dense<[0x4B400000, 2.0, 3]> : vector<3xf32>", [12582912.0, 2.0, 3.0]),
        ("dense<0x7FF0000000000000> : vector<2xf64>", [float("inf")] * 2),
        ("dense<0x3C00> : vector<2xf16>", [1.0] * 2),
        ("dense<0x38> : vector<2xf8E4M3FN>", [1.0] * 2),
        ("dense<0x10> : vector<2xi32>", [16] * 2),
    ],
)
def test_bits_of_floats_in_text(text: str, expected: list[float]) -> None:
    values = Parser(make_context(), text).parse_attribute()
    assert isinstance(values, DenseIntOrFPElementsAttr)
    assert list(values.get_values()) == expected


@pytest.mark.parametrize(("bits", "message"), [("-0x38", "have no sign"), ("0x1FFFFFFFF", "more bits than the 32 of")])
def test_what_are_no_bits_of_a_float(bits: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        Parser(make_context(), f"dense<{bits}> : vector<2xf32>").parse_attribute()


def test_tags_and_descriptors_lead_to_the_same_c() -> None:
    module = Parser(make_context(), TAGS).parse_module()
    lower(module)
    source, destination = (layoutc.desc(tag, (2, 17, 5, 4), "f32") for tag in ("nchw", "nChw8c"))
    assert emit_c(module) == Kernel(source, destination, target="plain").c_source


@pytest.mark.parametrize("target", ["plain", "avx2", "avx512"])
def test_signed_integers_lead_to_the_c_of_signless_ones(target: str) -> None:
    texts: list[str] = []
    for source in (SIGNED, SIGNED.replace("xsi", "xi")):
        module = Parser(make_context(), source).parse_module()
        lower(module, target=target)
        module.verify()
        texts.append(emit_c(module))
    assert texts[0] == texts[1]
