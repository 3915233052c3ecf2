"""`layoutc tune`: the fastest plans of given reorders on this machine, in a file that can be shipped."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from layoutc import notations, tuned
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError, UntunableError
from layoutc.kernel_options import check_plan_options
from layoutc.planning.conversions.reorder import Reorder
from layoutc.tools import options
from layoutc.tools.attributes import attribute_options, given_attributes
from layoutc.tools.files import check_writable, is_stream, locked, of_input, replaced
from layoutc.tune import ROUNDS, TRIES, Tuning, tune

Pair = tuple[MemoryDesc, MemoryDesc]

LINE = "FROM TO DIMS [TYPE[->TYPE]]"
LIST = f"A file (- is stdin) of lines {LINE}, as nchw nhwc 1,64,14,14 f32->bf16; TYPE is f32 by default."
TRIED = "Plans to try at most, the planner's choice among them."


@click.command("tune")
@click.option("--from", "source", metavar="NOTATION", help="Layout to read.")
@click.option("--to", "target", metavar="NOTATION", help="Layout to write.")
@options.dims_option
@options.dtype_option
@options.to_dtype_option
@attribute_options
@click.option("--list", "listed", type=options.file, metavar="PATH", help=LIST)
@options.planned_target_option
@options.threads_option
@click.option("--tries", type=click.IntRange(1, 1000), default=TRIES, show_default=True, help=TRIED)
@click.option("--rounds", type=click.IntRange(1, 1000), default=ROUNDS, show_default=True, help="Samples of each plan.")
@click.option("-o", "--output", required=True, type=options.file, metavar="FILE", help="File of plans.")
def command(
    source: str | None,
    target: str | None,
    dims: tuple[int, ...] | None,
    dtype: str | None,
    to_dtype: str | None,
    listed: Path | None,
    plan_for: str,
    threads: int,
    tries: int,
    rounds: int,
    output: Path,
    **attributes: Any,
) -> None:
    """
    Try plans of reorders on this machine, the planner's and those near the fastest, and keep the best in a file.

    Plans that FILE has for other reorders stay in it. `layoutc.compile(..., tuned=FILE)`, $LAYOUTC_TUNED and
    plan-reorders{tuned="FILE"} use it. Scales and zero points are given as for `layoutc compile`, here for all lines
    of --list; those that are `argument` get values around 1, or small integers.
    """
    if (source is None, target is None) != ((listed is not None,) * 2):
        raise click.UsageError("expected either --from and --to, or --list")
    if listed is not None and not (dims is dtype is to_dtype is None):
        raise click.UsageError("--dims, --dtype and --to-dtype go with --from and --to; --list has them on each line")
    check_plan_options(plan_for, threads)
    given = given_attributes(attributes)
    if plan_for == "plain":
        raise LayoutcError("the target plain has no plans to tune")
    # What cannot be read or written is said before the work.
    before = _kept(output)
    check_writable(output)
    conversion, types = Conversion(**given), (dtype, to_dtype)
    pairs = _listed(listed, conversion) if listed else [_pair(source or "", target or "", dims, *types)]
    passed_over = 0
    for src, dst in pairs:
        try:
            found = tune(src, dst, target=plan_for, threads=threads, tries=tries, rounds=rounds, **given)
        except UntunableError as error:
            if listed is None:
                raise
            click.echo(f"{Reorder(src, dst, conversion)}: {error}", err=True)
            passed_over += 1
            continue
        if is_stream(output):
            before.append(found.entry)
        else:  # kept if a later one is interrupted
            keep(output, found.entry)
        click.echo(_line(found), err=True)
    if passed_over == len(pairs):
        raise LayoutcError(f"{listed}: nothing to tune, as all of its reorders have the plain plan alone")
    if is_stream(output):
        _write(output, before)


def keep(output: Path, entry: dict[str, Any]) -> None:
    """Adds an entry to a file, in which what other processes have put meanwhile stays."""
    with locked(output.resolve().parent):
        _write(output, [*_kept(output), entry])


def _kept(output: Path) -> list[dict[str, Any]]:
    return list(tuned.read(output).values()) if output.is_file() and output.stat().st_size else []


def _write(output: Path, entries: list[dict[str, Any]]) -> None:
    with replaced(output) as file:
        file.write(tuned.text(entries).encode())


def _pair(source: str, target: str, dims: tuple[int, ...] | None, dtype: str | None, to_dtype: str | None) -> Pair:
    stated_dims, stated_type = notations.stated(source, target)
    src = notations.desc(source, dims or stated_dims, dtype or stated_type)
    return src, notations.destination(target, src, to_dtype)


def _listed(path: Path, conversion: Conversion) -> list[Pair]:
    if pairs := list(_on_lines(path, conversion)):
        return pairs
    raise LayoutcError(f"{path}: no reorders, expected {LINE} on each line")


def _on_lines(path: Path, conversion: Conversion) -> Iterator[Pair]:
    text = of_input(path).read_text(encoding="utf-8-sig", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = _words_of(line)
            if words:
                pair = _of_words(words)
                conversion.check(*pair)
                yield pair
        except (ValueError, click.BadParameter) as error:
            reason = getattr(error, "line", None) or getattr(error, "message", str(error))
            raise LayoutcError(f"{path}, line {number}: {reason}") from None


def _words_of(line: str) -> list[str]:
    """The words of a line, as in a shell."""
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise LayoutcError(f"{str(error).lower()}, expected {LINE}") from None


def _of_words(words: list[str]) -> Pair:
    if len(words) not in (3, 4):
        raise LayoutcError(f"got {len(words)} words, expected {LINE}")
    source, target, dims, *types = words
    dtype, arrow, to_dtype = (types or [""])[0].partition("->")
    if arrow and not to_dtype:
        raise LayoutcError(f"got {types[0]!r}, expected a type behind ->")
    return _pair(source, target, options.integers(dims), dtype or None, to_dtype or None)


def _line(found: Tuning) -> str:
    entry, kernel = found.entry, found.best.kernel
    best, planner = entry["microseconds"], entry["planner_microseconds"]
    tried = "1 plan" if entry["tried"] == 1 else f"{entry['tried']} plans"
    reorder = Reorder(kernel.source, kernel.destination, kernel.conversion)
    return f"{reorder}: {best} us, the planner's choice {planner} us, of {tried}"
