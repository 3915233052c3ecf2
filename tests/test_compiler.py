"""Which flags the compiler is given: for the processor that is meant, and for parallel loops."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

import pytest

from layoutc.compiler import LONG_SOURCE, OPENMP, TARGETS, Compiler, find_compiler
from layoutc.errors import CompilerError
from layoutc.runtime import build, load

SOURCE = "int answer(void) { return 42; }\n"
PARALLEL = """
int omp_get_num_threads(void);
int answer(void) {
  int threads = 0;
  #pragma omp parallel num_threads(3)
  {
    #pragma omp single
    threads = omp_get_num_threads();
  }
  return threads;
}
"""

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler is here")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYOUTC_CACHE_DIR", str(tmp_path / "cache"))


def picky(folder: Path, *refused: str, target: str = "native") -> Compiler:
    """A compiler that writes down its flags, and fails if one of these is among them."""
    real = find_compiler()
    assert real is not None
    cases = "".join(f'  {flag}) echo "error: unknown {flag}" >&2; exit 1;;\n' for flag in refused)
    loop = f'for flag in "$@"; do case "$flag" in\n{cases}  esac; done\n' if refused else ""
    path = folder / "picky"
    path.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{loop}exec {real.command[0]} "$@"\n')
    path.chmod(0o755)
    return Compiler((str(path),), target=target)


def calls(folder: Path) -> list[list[str]]:
    return [line.split() for line in (folder / "calls").read_text().splitlines()]


def answer(path: Path) -> int:
    return load(path, "answer", [], ctypes.c_int)()


@needs_compiler
def test_native_code_is_the_default(tmp_path: Path) -> None:
    compiler = picky(tmp_path)
    assert answer(build(SOURCE, compiler)) == 42
    assert {"-O2", "-ffp-contract=off", "-march=native"} <= set(calls(tmp_path)[-1])
    assert OPENMP not in calls(tmp_path)[-1]


@needs_compiler
def test_long_texts_are_optimized_less(tmp_path: Path) -> None:
    """gcc takes minutes for them otherwise."""
    assert answer(build(SOURCE + " " * LONG_SOURCE, picky(tmp_path))) == 42
    assert "-O1" in calls(tmp_path)[-1] and "-O2" not in calls(tmp_path)[-1]


@needs_compiler
@pytest.mark.parametrize("target", sorted(TARGETS.keys() - {"native"}))
def test_a_target_is_given_as_it_is(target: str, tmp_path: Path) -> None:
    """Without asking the compiler first."""
    with suppress(CompilerError):  # of a compiler for another kind of processor
        build(SOURCE, picky(tmp_path, target=target))
    (call,) = calls(tmp_path)
    assert [flag for flag in call if flag.startswith("-march=")] == list(TARGETS[target])


@needs_compiler
def test_a_target_that_the_compiler_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="unknown -march=x86-64-v4"):
        build(SOURCE, picky(tmp_path, "-march=x86-64-v4", target="avx512"))


@needs_compiler
def test_flags_that_are_only_wishes_are_left_out(tmp_path: Path) -> None:
    """Each by itself, and what was found is remembered for the process."""
    compiler = picky(tmp_path, "-march=native")
    assert answer(build(SOURCE, compiler)) == 42
    before = len(calls(tmp_path))
    assert answer(build(SOURCE.replace("42", "43"), compiler)) == 43
    assert len(calls(tmp_path)) == before + 1
    assert "-march=native" not in calls(tmp_path)[-1]
    build(PARALLEL.replace("omp_get_num_threads()", "1"), compiler)
    assert "-march=native" not in calls(tmp_path)[-1]
    assert (OPENMP in calls(tmp_path)[-1]) == compiler.accepts((OPENMP,))


@needs_compiler
def test_parallel_loops_without_openmp(tmp_path: Path) -> None:
    source = PARALLEL.replace("= omp_get_num_threads()", "+= 14").replace("#pragma omp single", "")
    compiler = picky(tmp_path, OPENMP)
    assert answer(build(source, compiler)) == 14
    assert OPENMP not in calls(tmp_path)[-1]
    assert "-march=native" in calls(tmp_path)[-1]


@needs_compiler
def test_parallel_loops_have_threads() -> None:
    compiler = find_compiler()
    assert compiler is not None
    if not compiler.accepts((OPENMP,)):
        pytest.skip("no OpenMP")
    assert answer(build(PARALLEL)) == 3


@needs_compiler
def test_each_target_has_its_own_entry_in_the_cache() -> None:
    keys = {found.key for target in TARGETS if (found := find_compiler(target))}
    assert len(keys) == len(TARGETS)
    assert build(SOURCE, find_compiler("generic")) != build(SOURCE)


def test_native_code_is_not_taken_to_another_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache may lie on a disk that machines share."""
    (tmp_path / "cc").write_text("")
    native, generic = (Compiler((str(tmp_path / "cc"),), target=target) for target in ("native", "generic"))
    before = native.key, generic.key
    monkeypatch.setattr("layoutc.compiler._processor", lambda: "another one")
    assert native.key != before[0]
    assert generic.key == before[1]


def test_an_unknown_target() -> None:
    message = r"^unknown target 'avx1024', expected one of native avx512 avx2 sse2 generic$"
    with pytest.raises(CompilerError, match=message):
        Compiler(("cc",), target="avx1024")
