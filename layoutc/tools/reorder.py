"""`layoutc reorder`: the tensor of one .npy file, in another layout, into another .npy file."""

from __future__ import annotations

from pathlib import Path

import click

from layoutc import arrays
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.kernel import EXECUTORS, Executor
from layoutc.tools import options
from layoutc.tools.npy_files import read_npy, write_npy


@click.command("reorder")
@click.argument("in_npy", type=click.Path(path_type=Path))
@click.argument("out_npy", type=click.Path(path_type=Path))
@options.from_to_options
@options.dims_option
@options.dtype_option
@click.option("--to-dtype", metavar="TYPE", help="Element type to write; conversions are not supported yet.")
@click.option("--executor", type=click.Choice(EXECUTORS), help="What runs it. Default: c, else reference.")
def command(
    in_npy: Path,
    out_npy: Path,
    source: str,
    target: str,
    dims: tuple[int, ...] | None,
    dtype: str | None,
    to_dtype: str | None,
    executor: Executor | None,
) -> None:
    """
    Copy the tensor in IN_NPY into another layout and write it to OUT_NPY.

    The array in IN_NPY is the buffer of layout --from: an nhwc file has shape N,H,W,C. Its shape gives the dims; for a
    blocked layout whose last block is not full, or for a flat array, name them with --dims. --dtype says what the
    elements are where NumPy has no word for it: bf16 is stored as uint16. OUT_NPY has the physical shape of layout
    --to, and an existing one is replaced only when all went well.
    """
    array = read_npy(in_npy)
    stored = arrays.stored_type(array, dtype)
    if to_dtype is not None and element_type(to_dtype) != stored:
        raise LayoutcError(f"conversions are not supported yet: got {element_type(to_dtype)}, the source is {stored}")
    write_npy(out_npy, arrays.reorder(array, source, target, dims, element_type=stored, executor=executor))
