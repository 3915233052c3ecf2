"""`layoutc reorder`: the tensor of one .npy file, in another layout, into another .npy file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy.typing as npt

from layoutc import arrays
from layoutc.errors import BufferError, LayoutcError
from layoutc.kernel_options import EXECUTORS, Executor
from layoutc.param import Param
from layoutc.tools import options
from layoutc.tools.attributes import attribute_options, given_attributes
from layoutc.tools.npy_files import read_npy, write_npy


@click.command("reorder")
@click.argument("in_npy", type=options.file)
@click.argument("out_npy", type=options.file)
@options.from_to_options
@options.dims_option
@options.dtype_option
@options.to_dtype_option
@attribute_options
@options.threads_option
@click.option("--executor", type=click.Choice(EXECUTORS), help="What runs it. Default: c, else reference.")
def command(
    in_npy: Path,
    out_npy: Path,
    source: str,
    target: str,
    dims: tuple[int, ...] | None,
    dtype: str | None,
    to_dtype: str | None,
    threads: int,
    executor: Executor | None,
    **attributes: Any,
) -> None:
    """
    Copy the tensor in IN_NPY into another layout and write it to OUT_NPY.

    The array in IN_NPY is the buffer of layout --from: an nhwc file has shape N,H,W,C. Its shape gives the dims; for a
    blocked layout whose last block is not full, or for a flat array, name them with --dims. --dtype says what the
    elements are where NumPy has no word for it: bf16 is stored as uint16, or as the void that NumPy saves; types
    below a byte have one element per byte. OUT_NPY has the physical shape of layout --to, and an existing one is
    replaced only when all went well.

    Values are converted to --to-dtype as (src_scale * (x - src_zero_point) + sum * old) / dst_scale +
    dst_zero_point, rounded half to even and saturated. VALUES are a number, 0.1,0.2@axis=1 for a value per index of
    axis 1, or a file scales.npy@axis=0,1@groups=1,32@dtype=f16 for groups of 32 along axis 1. With --sum, old is
    what OUT_NPY holds.
    """
    given = given_attributes(attributes)
    for name, value in given.items():
        if isinstance(value, Param) and not value.is_constant:
            raise LayoutcError(f"--{name.replace('_', '-')}: 'argument' is for `layoutc compile`, expected values here")
    array = read_npy(in_npy)
    try:
        stored = arrays.stored_type(array, dtype)
    except LayoutcError as error:
        hint = "; --dtype names it" if array.dtype.kind == "V" else ""
        hint = hint if dtype is None else "; --to-dtype is what to convert it to"
        raise LayoutcError(f"{in_npy}: {error}{hint}") from None
    out = _old(out_npy) if given.get("sum") else None
    try:
        result = arrays.reorder(
            array,
            source,
            target,
            dims,
            dtype=stored,
            to_dtype=to_dtype,
            out=out,
            executor=executor,
            threads=threads,
            **given,
        )
    except BufferError as error:
        path, reason = (out_npy, error.message[4:]) if error.message.startswith("out ") else (in_npy, error.message)
        raise LayoutcError(f"{path}: {reason}") from None
    write_npy(out_npy, result)


def _old(out_npy: Path) -> npt.NDArray[Any]:
    """What the output holds. Raises LayoutcError where there is none."""
    try:
        return read_npy(out_npy).copy()
    except FileNotFoundError:
        raise LayoutcError(f"{out_npy}: no such file or directory, --sum adds to what it holds") from None
