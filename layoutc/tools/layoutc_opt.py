"""`layoutc-opt`: the compiler driver, xDSL's opt tool with layoutc's dialect, passes and target."""

from __future__ import annotations

import re
import sys
from codecs import BOM_UTF8
from collections.abc import Sequence
from io import BufferedReader, BytesIO, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import IO, cast

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.utils.exceptions import ArgSpecParseError, ParseError
from xdsl.utils.mlir_lexer import MLIRLexer
from xdsl.xdsl_opt_main import xDSLOptMain

from layoutc.dialects.ops import ReorderOp
from layoutc.dialects.places import moved_down
from layoutc.errors import LayoutcError
from layoutc.tools.files import (
    CLOSED_PIPE,
    drop_stdout,
    ending_as_interrupt,
    open_stdout,
    os_message,
    replaced,
    status_of_interrupt,
)
from layoutc.transforms.resolve_layouts import check_layouts
from layoutc.universe import LAYOUTC_UNIVERSE
from layoutc.walk import of_kind, ops_of

# That of xDSL 0.74 takes time exponential in the length of a string that is not closed; this one never goes back.
MLIRLexer._unescaped_characters_regex = re.compile(  # pyright: ignore[reportPrivateUsage]
    r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
)

NO_OP = re.compile(rb"(?:\s|//[^\n]*+)*+")
"""blanks and comments"""


class LayoutcOptMain(xDSLOptMain):
    """xDSL's driver; layoutc's own parts are there also where the package is not installed."""

    output: IO[str] | None = None
    version_format = "layoutc-opt built from xdsl version {xdsl_version}"

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        for name, factory in LAYOUTC_UNIVERSE.all_dialects.items():
            if name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name, factory in LAYOUTC_UNIVERSE.all_passes.items():
            self.available_passes.setdefault(name, factory)

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets = {**LAYOUTC_UNIVERSE.all_targets, **self.available_targets}

    def run(self) -> None:
        """What `-o` names is replaced when all went well; it may be the input, too."""
        if "" in (self.args.input_file, self.args.output_file):
            raise LayoutcError("'' names no file")
        if self.args.output_file is None:
            super().run()
            return
        with replaced(Path(self.args.output_file)) as file:
            self.output = TextIOWrapper(file, encoding="utf-8")
            super().run()

    def prepare_output(self) -> IO[str]:
        return sys.stdout if self.output is None else self.output

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file == "-":
            self.args.input_file = None  # xDSL's word for stdin
        if self.args.input_file is None and cast("IO[str] | None", sys.stdin) is None:
            raise LayoutcError("stdin is closed, expected a module or a file")
        stream, extension = super().get_input_stream()
        reader = cast(BufferedReader, stream) if hasattr(stream, "peek") else BufferedReader(cast(RawIOBase, stream))
        if reader.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
            reader.read(len(BOM_UTF8))
        return reader, extension

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        text = chunk.read()
        if NO_OP.fullmatch(text):
            raise LayoutcError(f"{self.get_input_name()}: no op in it, expected a module or a function")
        chunk = BytesIO(text)
        module = super().parse_chunk(chunk, file_extension, start_offset)
        if module is not None and not self.args.disable_verify:
            check_layouts(ops_of(module))
        if module is not None and start_offset:
            for op in of_kind(ops_of(module), ReorderOp):
                if isinstance(op.location, FileLineColLoc):
                    op.location = moved_down(op.location, start_offset)
        return module


def one_line(error: BaseException) -> str:
    """What went wrong, without the module that xDSL prints around it."""
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError):
        return os_message(error)
    if isinstance(error, UnicodeDecodeError):
        return f"the input is not utf-8 text: byte {error.start + 1} is {error.object[error.start]:#04x}"
    lines = [line for line in str(error).splitlines() if line.strip()]
    if not lines or isinstance(error, AssertionError | KeyError):
        lines.insert(0, f"{type(error).__name__} {lines[0] if lines else ''}")
    return lines[0].strip()


def main(args: Sequence[str] | None = None) -> None:
    """
    Runs the driver. Exit status as of `layoutc`: 1 for bad input with the reason on stderr, 2 for bad usage, which xDSL
    takes a target for that it has not.
    """
    open_stdout()
    try:
        with ending_as_interrupt():
            try:
                LayoutcOptMain("layoutc compiler driver", args).run()
            finally:  # --help and --version exit
                sys.stdout.flush()
    except (ParseError, ArgSpecParseError) as error:
        sys.exit(f"layoutc-opt: error: {error}")
    except BrokenPipeError:
        drop_stdout()
        sys.exit(CLOSED_PIPE)
    except KeyboardInterrupt as error:
        print("layoutc-opt: error: interrupted", file=sys.stderr)
        sys.exit(status_of_interrupt(error))
    except Exception as error:
        # xDSL's parser and rewriters raise what they like: NotImplementedError, RecursionError, ...
        drop_stdout()
        sys.exit(f"layoutc-opt: error: {one_line(error)}")


if __name__ == "__main__":
    main()
