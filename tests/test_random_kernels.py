"""A share of the random kernels, between guard pages, with sanitizers and for aarch64, and what they once found."""

from __future__ import annotations

import shutil
import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.planning.choose import choose_plan
from layoutc.planning.plans.plan import Plan
from tests.descriptors import desc
from tests.kernel_batches import DRIVER, Toolchain, complaints, failures
from tests.random_kernels import CROSS, EMULATOR, SANITIZERS, runnable, toolchain, wrong_ones
from tests.random_reorders import ALL_TARGETS, MACHINES, NO_CACHE, PlannedKernel, random_kernel

GCC, CLANG = "gcc", "clang-22"
COPY = "for (int64_t k = 0; k < 8; k++) { to[k] = from[k]; }"
WRONG = {
    "": (COPY, []),
    "a wrong byte": (COPY + "to[3]++;", ["destination is wrong at byte 3"]),
    "an unwritten byte": (COPY.replace("8", "7"), ["destination is wrong at byte 7"]),
    "a write behind": (COPY + "to[8] = 0;", ["destination is wrong at byte 8", "signal 11"]),
    "a write ahead": (COPY + "to[-1] = 0;", ["signal 11"]),
    "a read behind": (COPY + "to[0] += from[8] & 0;", ["signal 11"]),
    "a read ahead": (COPY + "to[0] += from[-1] & 0;", ["signal 11"]),
    "a write to the source": (COPY + "((volatile unsigned char *)from)[2] ^= 1;", ["source is wrong at byte 2"]),
}
"""what a kernel of 8 bytes does, and what the driver says of it first, in each of its runs"""


def is_installed(compiler: str) -> bool:
    return shutil.which(compiler) is not None


needs_gcc = pytest.mark.skipif(not is_installed(GCC), reason=f"no {GCC}")
needs_cross = pytest.mark.skipif(
    not (is_installed(CROSS) and is_installed(EMULATOR[0])), reason=f"no {CROSS} or no {EMULATOR[0]}"
)


@cache
def has_sanitizers() -> bool:
    """Whether gcc finds the libraries of its sanitizers."""
    import subprocess

    if not is_installed(GCC):
        return False
    command = [GCC, *SANITIZERS, "-x", "c", "-o", "/dev/null", "-"]
    return subprocess.run(command, input="int main(void) { return 0; }", text=True, capture_output=True).returncode == 0


def check(
    numbers: Sequence[int], targets: tuple[str, ...], compiler: str = GCC, *, sanitize: bool = False, steps: int = 0
) -> None:
    """Random kernels of seed 0; those that the processor cannot run are left out."""
    usable = runnable(targets, compiler)
    run = [number for number in numbers if random_kernel(0, number, targets).target in usable]
    assert len(run) > len(numbers) // 3
    assert list(wrong_ones(0, run, targets, steps=steps, compiler=compiler, sanitize=sanitize, jobs=2)) == []


@needs_gcc
def test_random_kernels_are_the_reference() -> None:
    check(range(160), ALL_TARGETS)


@pytest.mark.skipif(not is_installed(CLANG), reason=f"no {CLANG}")
def test_random_kernels_by_clang() -> None:
    check(range(300, 360), ALL_TARGETS, CLANG)


def test_random_kernels_under_sanitizers() -> None:
    if not has_sanitizers():
        pytest.skip("gcc has no libraries of its sanitizers")
    check(range(400, 460), ALL_TARGETS, sanitize=True)


@needs_gcc
def test_floats_become_the_least_integer_without_a_signed_overflow() -> None:
    """Of f64 to s64 by AVX2, which has no instruction for it."""
    if not has_sanitizers():
        pytest.skip("gcc has no libraries of its sanitizers")
    kernel = random_kernel(46200, 11, ALL_TARGETS)
    types = [str(side.element_type) for side in (kernel.source, kernel.destination)]
    assert (kernel.target, types) == ("avx2", ["f64", "s64"])
    if kernel.target not in runnable(ALL_TARGETS, GCC):
        pytest.skip("this machine has no AVX2")
    assert list(wrong_ones(46200, [11], ALL_TARGETS, sanitize=True)) == []


@needs_gcc
def test_plans_that_tuning_tries_are_the_reference() -> None:
    check(range(600, 680), tuple(MACHINES), steps=3)


@needs_cross
def test_random_kernels_on_aarch64() -> None:
    check(range(500, 600), ("neon", "neon", "generic", "plain"), CROSS)


@needs_gcc
@pytest.mark.parametrize("name", WRONG)
def test_the_driver_sees(name: str, tmp_path: Path) -> None:
    """A driver that sees nothing would pass all kernels."""
    body, expected = WRONG[name]
    code, data, program = (tmp_path / part for part in ("code.c", "data", "program"))
    code.write_text(
        "#include <stdint.h>\n"
        "void call(int64_t number, const void *source, void *destination, const void *const *arguments);\n"
        "void call(int64_t number, const void *source, void *destination, const void *const *arguments) {\n"
        "  (void)number;\n  (void)arguments;\n"
        "  const volatile unsigned char *from = source;\n  volatile unsigned char *to = destination;\n"
        f"  {body}\n}}\n"
    )
    data.write_bytes(struct.pack("qqqq", 1, 8, 8, 0) + 2 * bytes(range(1, 9)))
    tools = toolchain("plain")
    tools.compile((DRIVER, code), program)
    said = [text for _, text in complaints(tools, program, data, 1)]
    assert len(said) >= len(expected) and bool(said) == bool(expected)
    for text, start in zip(said, expected, strict=False):
        assert text.startswith(start)


def test_a_compiler_that_hangs_is_named_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it has started: of gcc that is the compiler proper. Of several kernels the one that it hangs on."""
    monkeypatch.setattr("tests.kernel_batches.TIMEOUT_S", 1.0)
    started, hangs = tmp_path / "started", tmp_path / "hangs"
    hangs.write_text(
        'for source; do :; done\nif grep -q "from 7xf32" "$source"; then\n'
        f"  sleep 600 &\n  echo $! >> {started}\n  wait\nfi\necho an error about kernel_0 >&2\n"
    )
    pairs = [(desc("a", (count,)), desc("a", (count,))) for count in (5, 6, 7)]
    kernels = [PlannedKernel(number, *pair, "plain", None) for number, pair in enumerate(pairs)]
    found = {kernel.number: text for kernel, text in failures(kernels, Toolchain(("sh", str(hangs))))}
    assert found == {0: "an error about kernel_0\n", 1: "an error about kernel_0\n", 2: "compiled for more than 1 s"}
    processes = started.read_text().split()
    assert len(processes) > 1
    for status in (Path("/proc", process, "stat") for process in processes):
        ends = time.monotonic() + 10
        while (runs := status.exists() and status.read_text().split()[2] != "Z") and time.monotonic() < ends:
            time.sleep(0.01)  # A process that was killed may not have been told yet.
        assert not runs


# --- what random kernels found -------------------------------------------------------------------------------------


def typed(of: MemoryDesc, type: str) -> MemoryDesc:
    return replace(of, element_type=element_type(type))


FOUND = {
    # Channels that are not there were gathered too.
    "staged loads of a tail": ("s8", desc("abcd", (1, 17, 64, 64)), desc("aBcd16b", (1, 17, 64, 64))),
}


@needs_gcc
@pytest.mark.parametrize("name", FOUND)
def test_large_plans_of_what_was_found(name: str) -> None:
    """With the plans of tensors that no cache holds."""
    type, source, destination = FOUND[name]
    for target in runnable(MACHINES, GCC):
        pair = typed(source, type), typed(destination, type)
        plan = choose_plan(*pair, replace(MACHINES[target], llc=NO_CACHE))
        assert failures([PlannedKernel(0, *pair, target, plan)], toolchain(target)) == []


@needs_gcc
def test_staged_loads_need_no_table_of_a_digit_that_carries() -> None:
    """A table that nothing reads is a warning of the C compiler."""
    dims = (3, 5, 75)
    source, destination = (typed(of, "s8") for of in (desc("abc", dims, strides=(1, 373, 5)), desc("acb", dims)))
    # Where registers merge, a box needs no digit that carries.
    for target in runnable(("sse2", "generic"), GCC):
        (copy,) = choose_plan(source, destination, MACHINES[target]).copies
        assert any(digit.carries for digit in copy.copy.digits)
        plan = Plan((replace(copy, load="staged"),))
        assert failures([PlannedKernel(0, source, destination, target, plan)], toolchain(target)) == []


@needs_gcc
def test_lanes_that_a_half_of_a_register_has_are_stored_up_to_the_last_byte() -> None:
    """One instruction would take the half and store some of its lanes, and fault at the page behind the destination."""
    dims = (3, 20, 398)
    source, destination = (typed(of, "s64") for of in (desc("acb", dims), desc("abc", dims, strides=(1, 1988, 5))))
    for target in runnable(("avx512", "znver4"), GCC):
        plan = choose_plan(source, destination, MACHINES[target])
        assert plan.copies[0].merges
        assert failures([PlannedKernel(0, source, destination, target, plan)], toolchain(target)) == []
