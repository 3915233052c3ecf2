"""The command `layoutc`: its sub-commands, and what every error becomes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from layoutc.errors import LayoutcError, NoDimsError, NotationError
from layoutc.tools.files import (
    CLOSED_PIPE,
    drop_stdout,
    ending_as_interrupt,
    open_stdout,
    os_message,
    status_of_interrupt,
)

COMMANDS = {
    "describe": "Print everything about one memory descriptor.",
    "translate": "Print a layout's name in other systems.",
    "explain": "Say whether two layouts are the same memory, and where not.",
    "reorder": "Copy the tensor of a .npy file into another layout.",
    "compile": "Print the IR, the C or the header of a reorder, or build it.",
    "tune": "Try several plans of a reorder on this machine, and keep the fastest.",
}

BAD_USAGE = click.UsageError.exit_code


@contextmanager
def _closed_pipe() -> Generator[None]:
    """Where nobody reads the output, click would end the process with a status of its own."""
    try:
        yield
    except BrokenPipeError:
        raise click.exceptions.Exit(CLOSED_PIPE) from None


class LazyGroup(click.Group):
    """A group whose sub-commands are imported when they are asked for: `layoutc describe` needs no NumPy."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"layoutc.tools.{cmd_name}").command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _closed_pipe():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _closed_pipe():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="layoutc", message="%(prog)s %(version)s")
def cli() -> None:
    """
    A compiler for tensor memory layouts.

    A NOTATION is a layout in any system's words: nChw8c (oneDNN), b_fs_yx_fsv16 (OpenVINO), NCHW (Inference
    Engine), affine_map<(d0, d1) -> (d1, d0)> (MLIR). Where two systems use one word for two layouts, name the system:
    openvino:bfyx.

    Exit status: 0 done; 1 bad input, where one line on stderr says what is wrong with a value or a file; 2 bad
    usage: what is unknown, missing, or does not go together; 130 interrupted, 141 where nobody reads the output.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `layoutc` with these arguments (default: the process's) and return its exit status."""
    open_stdout()
    with warnings.catch_warnings(), ending_as_interrupt():
        warnings.showwarning = _show_warning
        return _status(arguments)


def _status(arguments: Sequence[str] | None) -> int:
    try:
        status = cli.main(arguments, prog_name="layoutc", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.UsageError as error:
        return _refused(error)
    except BrokenPipeError:
        drop_stdout()
        return CLOSED_PIPE
    except (click.Abort, KeyboardInterrupt) as error:
        return _fail("interrupted", status_of_interrupt(error))
    except MemoryError:
        return _fail("not enough memory for these dims")
    except OSError as error:
        drop_stdout()
        return _fail(os_message(error))
    except NotationError as error:
        return _fail(_notation_message(error))
    except NoDimsError as error:
        return _fail(f"{error}; --dims names them", BAD_USAGE)
    except LayoutcError as error:
        return _fail(str(error))


def _refused(error: click.UsageError) -> int:
    """Bad usage, with a pointer to the help; a value that an option cannot have is bad input, whoever notices it."""
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        place = error.param.get_error_hint(error.ctx).replace("'", "") + ": " if error.param else ""
        return _fail(f"{place}{error.message.rstrip('.')}")
    error.show()
    return error.exit_code


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"layoutc: warning: {message}", err=True)


def _fail(message: str, status: int = 1) -> int:
    # A file name or an argument may hold bytes that are no text.
    printable = message.encode(errors="backslashreplace").decode()
    click.echo(f"layoutc: error: {printable}", err=True)
    return status


def _notation_message(error: NotationError) -> str:
    """The reason on one line, and below it the text with a caret."""
    text, caret = str(error).split("\n", 1)
    return f"{error.message}\n  {text}\n  {caret[: caret.index('^') + 1]}"


if __name__ == "__main__":
    sys.exit(main())
