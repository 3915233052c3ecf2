"""`layoutc-opt`: the compiler driver, xDSL's opt tool with layoutc's dialect, passes and target."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from layoutc.errors import LayoutcError
from layoutc.universe import LAYOUTC_UNIVERSE


class LayoutcOptMain(xDSLOptMain):
    """xDSL's driver; layoutc's own parts are there also where the package is not installed."""

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


def one_line(error: BaseException) -> str:
    """What went wrong, without the module that xDSL prints around it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip() if lines else type(error).__name__


def main(args: Sequence[str] | None = None) -> None:
    """Runs the driver. Exit status 0, 1 for bad input with the reason on stderr, 2 for bad usage."""
    try:
        LayoutcOptMain("layoutc compiler driver", args).run()
    except ParseError as error:
        sys.exit(f"layoutc-opt: error: {error}")
    except (DiagnosticException, LayoutcError, ArgSpecParseError, ValueError, OSError) as error:
        sys.exit(f"layoutc-opt: error: {one_line(error)}")
