"""`layoutc compile`: the IR, the C, the header or the shared object of one reorder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import layoutc
from layoutc import notations
from layoutc.kernel import Kernel
from layoutc.pipeline import STAGES
from layoutc.tools import options
from layoutc.tools.attributes import attribute_options, given_attributes
from layoutc.tools.files import replaced
from layoutc.tools.header import header

EMIT = "What is written: text, or with so a shared object, which needs -o."
STAGE = "The IR after this stage, with --emit ir. Default: after the last one."


@click.command("compile")
@options.from_to_options
@options.dims_option
@options.dtype_option
@options.to_dtype_option
@attribute_options
@click.option("--emit", type=click.Choice(("ir", "c", "header", "so")), default="c", show_default=True, help=EMIT)
@click.option("--stage", type=click.Choice([stage.name for stage in STAGES]), help=STAGE)
@click.option("--explain", is_flag=True, help="Say in plain words how it runs, and why, and emit nothing.")
@click.option("--name", default="reorder", show_default=True, metavar="FUNCTION", help="Name of the C function.")
@options.target_option
@options.threads_option
@options.alignment_option
@options.tuned_option
@click.option("-o", "--output", type=options.file, metavar="FILE", help="Default and -: stdout.")
def command(
    source: str,
    target: str,
    dims: tuple[int, ...] | None,
    dtype: str | None,
    to_dtype: str | None,
    emit: str,
    stage: str | None,
    explain: bool,
    name: str,
    plan_for: str,
    threads: int,
    alignment: int,
    tuned: Path | None,
    output: Path | None,
    **attributes: Any,
) -> None:
    """
    Print the reorder between two layouts as IR or C, print its C prototype, or build a shared object.

    Scales and zero points are given as for `layoutc reorder`; `argument`, `argument@axis=1` or
    `argument@axis=1@dtype=f16` instead of values makes one an argument of the function.
    """
    if stage is not None and emit != "ir":
        raise click.UsageError("--stage needs --emit ir")
    if explain:
        if click.get_current_context().get_parameter_source("emit") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--explain takes the place of --emit")
        emit = "explanation"
    if emit == "so" and output is None:
        raise click.UsageError("--emit so needs -o FILE")
    stated_dims, stated_type = notations.stated(source, target)
    src = notations.desc(source, dims or stated_dims, dtype or stated_type)
    dst = notations.destination(target, src, to_dtype)
    given = given_attributes(attributes)
    # The reference executor stands for none here: text needs no compiler.
    kernel = layoutc.compile(
        src,
        dst,
        executor="reference",
        name=name,
        target=plan_for,
        threads=threads,
        alignment=alignment,
        tuned=tuned,
        **given,
    )
    _write(output, _emitted(kernel, emit, stage or STAGES[-1].name))


def _emitted(kernel: Kernel, emit: str, stage: str) -> bytes:
    if emit == "so":
        return kernel.shared_object().read_bytes()
    if emit == "ir":
        return _text(kernel.ir(stage))
    if emit == "explanation":
        return _text(kernel.explain())
    return _text(header(kernel) if emit == "header" else kernel.c_source)


def _text(text: str) -> bytes:
    return (text.rstrip("\n") + "\n").encode()


def _write(output: Path | None, data: bytes) -> None:
    if output is None:
        sys.stdout.write(data.decode())
        return
    with replaced(output) as file:
        file.write(data)
