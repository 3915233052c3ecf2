"""How long the compiler and a call take: `python -m benchmarks.compile_time` prints a table and writes JSON."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layoutc
from layoutc.pipeline import lower, make_context, reorder_module

DIMS = (2, 17, 5, 4)
RESULTS = Path(__file__).parent / "results"
REORDERS = 1000


def best_ms(measured: Callable[[], Any], repeats: int) -> float:
    """The shortest of `repeats` runs in milliseconds: other work on the machine only ever adds."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        measured()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def parse_and_bind() -> None:
    layoutc.desc("nChw8c", DIMS, "f32")


def offset_map() -> None:
    layoutc.desc("nChw8c", DIMS, "f32").offset_map()


def reorder_text() -> str:
    """The text of a module with one reorder."""
    return str(reorder_module(layoutc.desc("nchw", DIMS, "f32"), layoutc.desc("nChw8c", DIMS, "f32")))


def text_to_c(text: str) -> str:
    """Parse a module, lower it and print it as C."""
    from xdsl.parser import Parser

    from layoutc.targets.c import emit_c

    module = Parser(make_context(), text).parse_module()
    lower(module)
    return emit_c(module)


def many_reorders() -> str:
    """One module with a thousand functions, each with one reorder."""
    function = "\n".join(reorder_text().splitlines()[1:-1])
    functions = (function.replace("@reorder", f"@reorder{number}") for number in range(REORDERS))
    return "builtin.module {\n" + "\n".join(functions) + "\n}\n"


def calls(kind: str) -> Callable[[], None]:
    """
    A thousand calls of the kernel of a small reorder, of which the reorder itself is a tenth.

    On NumPy arrays, on `addresses`, or with an array of `scales` too.
    """
    import numpy as np

    scale = layoutc.Param(axes=1) if kind == "scales" else None
    sides = (layoutc.desc(layout, DIMS, "f32") for layout in ("nchw", "nChw8c"))
    kernel = layoutc.compile(*sides, executor="c", src_scale=scale)
    arrays = [np.zeros(side.span, np.float32) for side in (kernel.source, kernel.destination)]
    buffers = arrays if kind != "addresses" else [layoutc.Address(a.ctypes.data, a.nbytes) for a in arrays]
    params = {"src_scale": np.ones(DIMS[1], np.float32)} if kind == "scales" else {}

    def call(_kept: object = arrays) -> None:
        for _ in range(1000):
            kernel(*buffers, **params)

    return call


def process(*arguments: str) -> Callable[[], Any]:
    """A fresh Python with these arguments."""
    return lambda: subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def measurements() -> dict[str, float]:
    """Milliseconds of each measurement."""
    text, many = reorder_text(), many_reorders()
    describe = ("-m", "layoutc.tools.layoutc", "describe", "nChw8c", "--dims", "2,17,5,4")
    return {
        "parse and bind a layout": best_ms(parse_and_bind, 200),
        "the same and its offset map": best_ms(offset_map, 200),
        "one reorder, text to C text, warm": best_ms(lambda: text_to_c(text), 20),
        f"{REORDERS} reorders, text to C text": best_ms(lambda: text_to_c(many), 3),
        "1000 calls of a kernel of 680 f32": best_ms(calls("arrays"), 30),
        "the same on addresses": best_ms(calls("addresses"), 30),
        "the same with an array of scales": best_ms(calls("scales"), 30),
        "python -c pass": best_ms(process("-c", "pass"), 10),
        "import layoutc, cold": best_ms(process("-c", "import layoutc"), 10),
        "layoutc describe, cold": best_ms(process(*describe), 10),
    }


def main() -> None:
    found = measurements()
    for name, milliseconds in found.items():
        print(f"{name:<36} {milliseconds:10.2f} ms")
    RESULTS.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    (RESULTS / "compile_time.json").write_text(json.dumps({"machine": machine, "milliseconds": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
