"""
The kernels of the benchmarks' cases, small enough to be run by every executor, or as they are to be compiled.

`python -m tests.bench_kernels` compiles all of them for all targets with warnings as errors, and says how large the
machine code is: a compiler that takes shuffles apart writes many times as much for each of them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path

import click

from benchmarks.cases import Case, named_cases, selected
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import PLAIN, TARGETS
from tests.kernel_batches import WARNINGS, c_text
from tests.random_reorders import NO_CACHE, PlannedKernel

MOST_ELEMENTS = 4000
MACHINE = {
    "avx512": ("-march=x86-64-v4",),
    "avx2": ("-march=x86-64-v3",),
    "sse2": ("-march=x86-64",),
    "neon": (),
}
"""how the compilers of a target's processors are called"""
COMPILERS = {
    "gcc": {**dict.fromkeys(TARGETS, ("gcc", "-fopenmp")), "neon": ("aarch64-linux-gnu-gcc", "-fopenmp")},
    "clang": {
        **dict.fromkeys(TARGETS, ("clang-22",)),
        "neon": ("clang-22", "--target=aarch64-linux-gnu", "-isystem", "/usr/aarch64-linux-gnu/include"),
    },
}
LOOP_BYTES = 600
"""about what the loops around the tiles of a copy take"""
MANY = 24
"""operations of a kernel that is mostly these"""
OPERATION = re.compile(r"__builtin_shufflevector|\b(?:load|store|stream)_[fiu]\d+x\d+\(")


def kernel(number: int, source: MemoryDesc, destination: MemoryDesc, target: str, *, streams: bool) -> PlannedKernel:
    """With the planner's choice, or the one for a machine without caches; textbook loops where it has none."""
    machine = replace(TARGETS[target], llc=NO_CACHE) if streams else TARGETS[target]
    try:
        plan = choose_plan(source, destination, machine, threads=2)
    except NotStridedError:
        return PlannedKernel(number, source, destination, PLAIN, None)
    return PlannedKernel(number, source, destination, target, plan)


def reduced(case: Case) -> list[PlannedKernel]:
    """
    A case with a few thousand elements, for each of its types: blocks, tails and odd extents stay what they are.

    Each is for another target, and half of them have the plan of a large tensor.
    """
    kernels: list[PlannedKernel] = []
    first = sum(map(ord, case.name))
    for number, element_type in enumerate(case.types):
        source, destination = (
            placement.desc(reduced_dims(case), element_type) for placement in (case.source, case.destination)
        )
        at = first + number
        target = ("avx512", "avx2", "sse2", "neon")[at % 4]
        kernels.append(kernel(number, source, destination, target, streams=at // 4 % 2 == 0))
    return kernels


def reduced_dims(case: Case) -> tuple[int, ...]:
    """The scalable extents halved until the tensor is small; each keeps two values while that suffices."""
    dims = list(case.dims)
    for least in (2, 1):
        for group in case.scaled:
            while prod(dims) > MOST_ELEMENTS and any(dims[axis] > least for axis in group):
                axis = max(group, key=lambda axis: dims[axis])
                dims[axis] = -(-dims[axis] // 2)
    return tuple(dims)


def whole(cases: Iterable[Case], target: str) -> list[PlannedKernel]:
    """The cases as they are, for all their types."""
    pairs = ((c.source.desc(c.dims, t), c.destination.desc(c.dims, t)) for c in cases for t in c.types)
    return [kernel(number, *pair, target, streams=False) for number, pair in enumerate(pairs)]


# --- what compilers make of them -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiled:
    """A kernel's machine code: bytes, and vector operations of the C that it was made of."""

    kernel: PlannedKernel
    compiler: str
    text_bytes: int
    operations: int

    @property
    def bytes_per_operation(self) -> float:
        """Without the loops around them; far above 20 where shuffles were taken apart."""
        copies = 0 if self.kernel.plan is None else len(self.kernel.plan.copies)
        return max(0, self.text_bytes - LOOP_BYTES * copies) / max(self.operations, 1)


def compiled(kernels: Sequence[PlannedKernel], compiler: str) -> list[Compiled]:
    """Kernels of one target in one file. Raises RuntimeError with all that the compiler says."""
    kernels = [replace(kernel, number=number) for number, kernel in enumerate(kernels)]
    target = kernels[0].target
    text = c_text(kernels)
    command = [*COMPILERS[compiler][target], *MACHINE.get(target, ()), *WARNINGS, "-O2", "-fno-unroll-loops", "-c"]
    with tempfile.TemporaryDirectory() as folder:
        code, made = Path(folder) / "kernels.c", Path(folder) / "kernels.o"
        code.write_text(text)
        done = subprocess.run([*command, "-o", made, code], capture_output=True, text=True)
        if done.returncode or done.stderr:
            raise RuntimeError(f"{compiler} for {target}: {done.stderr}")
        sizes = symbol_sizes(made)
    operations = operations_of(text)
    return [
        Compiled(kernel, compiler, sum(sizes[name] for name in sizes if re.match(rf"{own}\b", name)), operations[own])
        for kernel in kernels
        for own in [f"kernel_{kernel.number}"]
    ]


def symbol_sizes(made: Path) -> dict[str, int]:
    """Bytes of each function; what OpenMP runs in threads is `kernel_3._omp_fn.0`."""
    listed = subprocess.run(["nm", "-S", made], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in listed.splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tT"}


def operations_of(text: str) -> dict[str, int]:
    """The vector operations in the body of each function."""
    bodies = re.split(r"^void (\w+)\(.*\) \{$", text, flags=re.MULTILINE)[1:]
    return {name: len(OPERATION.findall(body)) for name, body in zip(bodies[::2], bodies[1::2], strict=True)}


def in_batches(kernels: Sequence[PlannedKernel], size: int = 20) -> Iterator[list[PlannedKernel]]:
    """Kernels of one target that are planned, so many at a time."""
    some = [kernel for kernel in kernels if kernel.plan is not None]
    for first in range(0, len(some), size):
        yield some[first : first + size]


@click.command()
@click.option("--cases", "pattern", default="*", help="Only cases with this shell pattern in their name.")
@click.option("--targets", default=",".join(MACHINE), show_default=True)
@click.option("--compilers", default=",".join(COMPILERS), show_default=True)
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1))
def main(pattern: str, targets: str, compilers: str, jobs: int) -> None:
    """Compile every kernel of the benchmarks with warnings as errors, and show the largest."""
    try:
        cases = selected(named_cases(), pattern)
    except LayoutcError as error:
        sys.exit(f"error: {error}")
    failed = False
    for compiler in compilers.split(","):
        for target in targets.split(","):
            start = time.monotonic()
            with ThreadPoolExecutor(jobs) as pool:
                try:
                    made = list(pool.map(partial(compiled, compiler=compiler), in_batches(whole(cases, target))))
                except RuntimeError as error:
                    failed = True
                    print(error)
                    continue
            show([one for batch in made for one in batch], f"{compiler} {target} {time.monotonic() - start:.0f} s")
    sys.exit(failed)


def show(made: list[Compiled], head: str) -> None:
    """A summary, and the kernels with the most code for each vector operation."""
    sizes = sorted(one.text_bytes for one in made)
    print(f"{head}: {len(made)} kernels, no warning; bytes of code: median {sizes[len(sizes) // 2]}, most {sizes[-1]}")
    worst = sorted((one for one in made if one.operations >= MANY), key=lambda one: -one.bytes_per_operation)[:4]
    for one in worst:
        print(f"  {one.bytes_per_operation:.0f} bytes for each of {one.operations} operations: {one.kernel}")
    largest = max(made, key=lambda one: one.text_bytes)
    print(f"  {largest.text_bytes} bytes: {largest.kernel}")


if __name__ == "__main__":
    main()
