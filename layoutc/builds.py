"""Many kernels at once: C compilers run side by side."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

from layoutc.checks import instance, integer
from layoutc.errors import LayoutcError
from layoutc.kernel import Kernel
from layoutc.planning.machine import processors


def compile_all(kernels: Iterable[Kernel], *, workers: int | None = None) -> tuple[Kernel, ...]:
    """
    The kernels, ready to run, after compiling those that the cache lacks by `workers` C compilers at a time.

    `workers` are as many as this process may use processors, if not given. Texts are made one after another
    meanwhile; a text that several kernels share is compiled once. Raises CompilerError for the first in order that
    cannot be built; those before it stay in the cache.
    """
    if not isinstance(cast(object, kernels), Iterable):
        raise LayoutcError(f"kernels are a {type(kernels).__name__}, expected a sequence of Kernel")
    made = tuple(kernels)
    for kernel in made:
        instance("kernel", kernel, Kernel, "layoutc.Kernel(source, destination) makes one")
    pool = ThreadPoolExecutor(integer("workers", processors() if workers is None else workers, 1), "layoutc")
    try:
        builds: dict[tuple[str, str], Future[Any]] = {}
        for kernel in made:
            if kernel.executor == "c" and (kernel.c_source, kernel.target) not in builds:
                builds[kernel.c_source, kernel.target] = pool.submit(kernel.shared_object)
        for build in builds.values():
            build.result()
    finally:
        pool.shutdown(cancel_futures=True)
    return tuple(kernel.prepare() for kernel in made)
