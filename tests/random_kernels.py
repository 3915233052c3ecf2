"""
Random kernels against the reference, between guard pages: `python -m tests.random_kernels --count 10000`.

Prints a line for each kernel that is wrong, with the command that runs it alone; the exit status is 1 then.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import click

from tests.kernel_batches import Toolchain, failures
from tests.random_reorders import ALL_TARGETS, PlannedKernel, random_kernel

BATCH = 40
"""kernels in a C file"""
PROCESSORS = ("x86", "aarch64")
FLAGS = {
    "avx512": ("-march=x86-64-v4",),
    "avx512vbmi": ("-march=x86-64-v4", "-mavx512vbmi"),
    "znver4": ("-march=x86-64-v4", "-mavx512vbmi", "-D__znver4__"),
    "avx2": ("-march=x86-64-v3",),
    "sse2": ("-march=x86-64",),
    "neon": ("-march=x86-64-v2",),
}
"""how an x86 compiler takes the C of a target; that of neon is portable, and wants shuffles of bytes"""
AVX512 = {"avx512f", "avx512bw", "avx512vl", "avx512dq"}
NEEDS = {"avx512": AVX512, "avx2": {"avx2"}} | dict.fromkeys(("avx512vbmi", "znver4"), AVX512 | {"avx512vbmi"})
"""flags of the processor"""
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
SANITIZER_OPTIONS = (
    ("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0"),
    ("UBSAN_OPTIONS", "print_stacktrace=0"),
)
STEPS = "Plans that tuning tries: one of the planner's, and up to so many steps to neighbours further."
CROSS, EMULATOR = "aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")


def toolchain(target: str, compiler: str = "gcc", sanitize: bool = False) -> Toolchain:
    """How the kernels of a target are compiled and run; a compiler for aarch64 runs them under an emulator."""
    is_cross = "aarch64" in compiler
    flags = ("-O1" if sanitize else "-O2", *(() if is_cross else FLAGS.get(target, ())))
    parallel = () if "clang" in compiler else ("-fopenmp",)
    return Toolchain(
        (*compiler.split(), *flags, *parallel, *(SANITIZERS if sanitize else ())),
        EMULATOR if is_cross else (),
        SANITIZER_OPTIONS if sanitize else (),
    )


def runnable(targets: Iterable[str], compiler: str) -> tuple[str, ...]:
    """Those of the targets that kernels can be compiled and run for here."""
    if "aarch64" in compiler:
        return tuple(target for target in targets if target in ("neon", "generic", "plain"))
    flags = processor_flags()
    return tuple(target for target in targets if NEEDS.get(target, set()) <= flags)


def processor_flags() -> set[str]:
    """What this processor can do, as Linux says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return next((set(line.split(":")[1].split()) for line in lines if line.startswith("flags")), set())


def batches(kernels: Iterable[PlannedKernel]) -> Iterator[list[PlannedKernel]]:
    """Kernels of one target, so many at a time."""
    waiting: dict[str, list[PlannedKernel]] = {}
    for kernel in kernels:
        batch = waiting.setdefault(kernel.target, [])
        batch.append(kernel)
        if len(batch) == BATCH:
            yield waiting.pop(kernel.target)
    yield from waiting.values()


def run_batch(
    batch: list[tuple[int, int]], targets: tuple[str, ...], steps: int, compiler: str, sanitize: bool
) -> list[tuple[int, str]]:
    """What went wrong with the kernels of these seeds and numbers, which have one target."""
    kernels = [random_kernel(seed, number, targets, steps) for seed, number in batch]
    tools = toolchain(kernels[0].target, compiler, sanitize)
    return [(kernel.number, f"{text}\n  {kernel}") for kernel, text in failures(kernels, tools)]


def wrong_ones(
    seed: int,
    numbers: Iterable[int],
    targets: tuple[str, ...],
    *,
    steps: int = 0,
    compiler: str = "gcc",
    sanitize: bool = False,
    jobs: int = 1,
) -> Iterator[str]:
    """A text for each kernel that is wrong, as soon as it is known, which ends with the command that runs it alone."""
    kernels = (random_kernel(seed, number, targets) for number in numbers)  # its target does not depend on steps
    asked = [[(seed, kernel.number) for kernel in batch] for batch in batches(kernels)]
    run = partial(run_batch, targets=targets, steps=steps, compiler=compiler, sanitize=sanitize)
    drawn = f"--seed {seed} --targets {','.join(targets)}{f' --steps {steps}' * (steps > 0)}"
    options = f"{drawn} --compiler '{compiler}'{' --sanitize' * sanitize}"
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(run, asked):
            for number, text in found:
                yield f"{text}\n  python -m tests.random_kernels {options} --first {number} --count 1"


@click.command()
@click.option("--count", default=200, show_default=True, type=click.IntRange(1), help="How many kernels.")
@click.option("--seed", default=1, show_default=True, help="What they are drawn from.")
@click.option("--first", default=0, show_default=True, type=click.IntRange(0), help="The number of the first one.")
@click.option("--targets", default=",".join(ALL_TARGETS), show_default=True, help="What they are planned for.")
@click.option("--steps", default=0, show_default=True, type=click.IntRange(0), help=STEPS)
@click.option("--compiler", default="gcc", show_default=True, help="With arguments; one for aarch64 runs in qemu.")
@click.option("--sanitize", is_flag=True, help="With -fsanitize=address,undefined.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="How many run at once.")
def main(count: int, seed: int, first: int, targets: str, steps: int, compiler: str, sanitize: bool, jobs: int) -> None:
    """Run random kernels between guard pages and compare them with the reference."""
    asked = tuple(targets.split(","))
    if unknown := sorted(set(asked) - set(ALL_TARGETS)):
        raise click.BadParameter(f"{unknown[0]!r} is not one of {' '.join(ALL_TARGETS)}", param_hint="--targets")
    if shutil.which(compiler.split()[0]) is None:
        raise click.BadParameter(f"{compiler!r} is not installed", param_hint="--compiler")
    start, numbers = time.monotonic(), range(first, first + count)
    usable = runnable(asked, compiler)
    # A kernel keeps its number and its target, whatever the machine cannot run.
    drawn = {number: random_kernel(seed, number, asked).target for number in numbers}
    left_out = Counter(target for target in drawn.values() if target not in usable)
    for target, kernels in sorted(left_out.items()):
        print(f"{kernels} kernels of target {target} left out: this machine does not run them")
    run = [number for number in numbers if drawn[number] in usable]
    wrong = 0
    for text in wrong_ones(seed, run, asked, steps=steps, compiler=compiler, sanitize=sanitize, jobs=jobs):
        wrong += 1
        print(f"kernel {text}", flush=True)
    per_target = ", ".join(f"{n} {target}" for target, n in sorted(Counter(drawn[number] for number in run).items()))
    print(f"{len(run)} kernels ({per_target}), {wrong} wrong, {time.monotonic() - start:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
