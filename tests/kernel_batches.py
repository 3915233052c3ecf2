"""
Batches of kernels against the reference: one C file, one data file, and a driver that watches over the memory.

The driver is plain C, so that a batch also runs with sanitizers, and under an emulator for another processor.
"""

from __future__ import annotations

import os
import re
import signal
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen, TimeoutExpired

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from layoutc import reference
from layoutc.dialects.ops import ReorderOp
from layoutc.pipeline import lower, reorder_module
from layoutc.planning.plan_text import plan_lines
from layoutc.targets.c import emit_c
from tests.random_conversions import arguments_of, random_codes
from tests.random_reorders import PlannedKernel

DRIVER = Path(__file__).with_name("kernel_driver.c")
POISON = 0xA5
"""what the driver, too, fills memory with"""
WARNINGS = ("-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off")
TIMEOUT_S = 600


@dataclass(frozen=True)
class Toolchain:
    """A C compiler with its arguments, the program that runs what it makes (none: the machine), and its variables."""

    compiler: tuple[str, ...]
    runner: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def compile(self, sources: Sequence[Path], program: Path) -> None:
        """Compiles and links. Raises RuntimeError with what the compiler said, TimeoutExpired if it takes too long."""
        done = ended([*self.compiler, *WARNINGS, "-o", program, *sources])
        if done.returncode or done.stderr:
            raise RuntimeError(done.stderr)

    def run(self, program: Path, data: Path, first: int) -> tuple[list[str], str]:
        """The lines that the driver printed from kernel `first` on, and the first complaint of a sanitizer."""
        done = ended([*self.runner, program, data, str(first)], dict(self.environment))
        complaint = next((line for line in done.stderr.splitlines() if "error" in line.lower()), done.stderr[:200])
        return done.stdout.splitlines(), complaint or f"status {done.returncode}"


def ended(command: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    """What a program said, and its status; who no longer waits for it leaves nothing that it started."""
    environment = {**os.environ, **(variables or {})}
    with Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=environment, start_new_session=True) as process:
        try:
            said = process.communicate(timeout=TIMEOUT_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return CompletedProcess(command, process.returncode, *said)


def failures(kernels: Sequence[PlannedKernel], tools: Toolchain) -> list[tuple[PlannedKernel, str]]:
    """The kernels of one target that did wrong, and what each did first."""
    with tempfile.TemporaryDirectory() as folder:
        program, code, data = (Path(folder) / name for name in ("kernels", "kernels.c", "kernels.bin"))
        found, kernels = refused(kernels)
        if not kernels:
            return found
        code.write_text(c_text(kernels))
        data.write_bytes(struct.pack("q", len(kernels)) + b"".join(map(exchanged, kernels)))
        try:
            tools.compile((DRIVER, code), program)
        except TimeoutExpired as error:
            if len(kernels) == 1:
                return [*found, (kernels[0], f"compiled for more than {error.timeout:g} s")]
            half = len(kernels) // 2
            return [*found, *failures(kernels[:half], tools), *failures(kernels[half:], tools)]
        except RuntimeError as error:
            named = re.search(r"\bkernel_(\d+)\b", str(error))
            culprit = kernels[int(named[1]) if named else 0]
            others = [kernel for kernel in kernels if kernel is not culprit]
            return [*found, (culprit, str(error)), *(failures(others, tools) if others else [])]
        first: dict[int, str] = {}
        for number, text in complaints(tools, program, data, len(kernels)):
            first.setdefault(number, text)
        return found + [(kernels[number], text) for number, text in first.items()]


def complaints(tools: Toolchain, program: Path, data: Path, count: int) -> Iterator[tuple[int, str]]:
    """What the driver, a guard page or a sanitizer says, with the number of the kernel in the batch."""
    first = 0
    while first < count:
        lines, error = tools.run(program, data, first)
        *lines, last = lines or [""]
        for line in lines:
            number, _, text = line.partition(" ")
            if text != "begins":
                yield int(number), text
        if last == "done":
            return
        number, _, text = last.partition(" ")
        first = int(number) if number else first
        yield first, text if text and text != "begins" else error
        first += 1


# --- code and data -------------------------------------------------------------------------------------------------


def refused(kernels: Sequence[PlannedKernel]) -> tuple[list[tuple[PlannedKernel, str]], list[PlannedKernel]]:
    """The kernels that no C came of, and why; and the others."""
    try:
        c_text(kernels)
    except Exception:
        pass
    else:
        return [], list(kernels)
    found: list[tuple[PlannedKernel, str]] = []
    for kernel in kernels:
        try:
            c_text([kernel])
        except Exception as error:
            found.append((kernel, f"{type(error).__name__}: {error}"))
    lost = [kernel for kernel, _ in found]
    return found, [kernel for kernel in kernels if kernel not in lost]


def c_text(kernels: Sequence[PlannedKernel]) -> str:
    """A file with `kernel_0`, `kernel_1`, ... of one target, and `call` that calls one by its number."""
    module = ModuleOp([])
    for number, kernel in enumerate(kernels):
        for op in list(planned(kernel, f"kernel_{number}").ops):
            op.detach()
            module.body.block.add_op(op)
    lower(module)  # what has no plan by now has none on any machine
    cases = "".join(f"    case {n}: kernel_{n}({_arguments(k)}); break;\n" for n, k in enumerate(kernels))
    head = "void call(int64_t number, const void *source, void *destination, const void *const *arguments)"
    code = f"#include <stdint.h>\n{emit_c(module)}"
    return f"{code}\n{head};\n{head} {{\n  (void)arguments;\n  switch (number) {{\n{cases}  }}\n}}\n"


def _arguments(kernel: PlannedKernel) -> str:
    """What a kernel is called with: its parameters, and sums that lie behind the data of the destination."""
    texts = ["source", "destination", *(f"arguments[{n}]" for n in range(len(kernel.conversion.arguments)))]
    if (compensation := kernel.conversion.compensation) is not None:
        places = compensation.offsets_bytes(kernel.destination)[: len(compensation.parts)]
        texts += [f"(void *)((unsigned char *)destination + {place})" for place in places]
    return ", ".join(texts)


def planned(kernel: PlannedKernel, name: str) -> ModuleOp:
    """The module of a kernel, with its plan as text."""
    module = reorder_module(kernel.source, kernel.destination, name, kernel.conversion)
    if kernel.plan is not None:
        for op in module.walk():
            if isinstance(op, ReorderOp):
                op.plan = ArrayAttr(map(StringAttr, plan_lines(kernel.plan)))
    return module


def exchanged(kernel: PlannedKernel) -> bytes:
    """What the driver knows of a kernel: sizes, the bytes it reads, and what the reference makes of them."""
    source, destination, conversion = kernel.source, kernel.destination, kernel.conversion
    read, arguments = random_codes(str(kernel.number), source), arguments_of(conversion, source.dims)
    expected = np.full(conversion.destination_bytes(destination), POISON, np.uint8)
    reference.reorder(source, destination, read, expected, conversion, arguments)
    given = [np.ascontiguousarray(values).view(np.uint8).reshape(-1) for values in arguments.values()]
    buffers = (read, expected, *given)
    sizes = (read.size, expected.size, len(given), *(values.size for values in given))
    return struct.pack(f"{len(sizes)}q", *sizes) + b"".join(buffer.tobytes() for buffer in buffers)
