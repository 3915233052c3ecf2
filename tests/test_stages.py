"""Every stage is real IR: it verifies, its text parses back, and the C that follows from the text is the same."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

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


@pytest.mark.parametrize("target", ["avx2", "plain"])
def test_loops_that_convert_are_read_as_they_were_printed(target: str) -> None:
    """All of their constants too: NaN, which arithmetic is made to give, is printed as its bits."""
    source, destination = (layoutc.desc(tag, (2, 17, 5, 4), type) for tag, type in (("nchw", "f32"), ("nhwc", "bf16")))
    kernel = Kernel(source, destination, target=target, conversion=layoutc.Conversion(src_scale=layoutc.Param(3)))
    module = Parser(make_context(), kernel.ir("lower-reorders")).parse_module()
    assert "nan" in kernel.c_source
    assert emit_c(module) == kernel.c_source


def test_tags_and_descriptors_lead_to_the_same_c() -> None:
    module = Parser(make_context(), TAGS).parse_module()
    lower(module)
    source, destination = (layoutc.desc(tag, (2, 17, 5, 4), "f32") for tag in ("nchw", "nChw8c"))
    assert emit_c(module) == Kernel(source, destination, target="plain").c_source
