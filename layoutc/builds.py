"""Making kernels that are ready to run: one, or many with their C compilers side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from layoutc.checks import a_class, instance, integer
from layoutc.conversion import Attributes, conversion_of
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.planning.machine import ALIGNMENT, PLAIN, processors

if TYPE_CHECKING:
    from concurrent.futures import Future

TUNED = "LAYOUTC_TUNED"
"""names a file of tuned plans"""


def compile(
    source: MemoryDesc,
    destination: MemoryDesc,
    *,
    executor: Executor | None = None,
    name: str = "reorder",
    target: str = "native",
    threads: int = 1,
    alignment: int = ALIGNMENT,
    tuned: str | Path | None = None,
    **attributes: Unpack[Attributes],
) -> Kernel:
    """
    A kernel that reorders from one descriptor to another; the C executor is built here, not in the first call.

    Without `executor` it is C, or the reference where no compiler is found (which a line on stderr says once).
    `target`, `threads` and `alignment` are as in `Kernel`, `attributes` the fields of `Conversion`: scales, zero
    points, `sum`. A plan that the file `tuned` has for the reorder (default: $LAYOUTC_TUNED; `layoutc tune` writes such
    files) comes before the planner's choice.
    Raises LayoutcError for descriptors that do not fit each other and for a name that C cannot have, CompilerError
    if the compiler fails.
    """
    conversion = conversion_of(compile, attributes)
    kernel = Kernel(
        source, destination, executor or default_executor(), name, target, threads, conversion, alignment=alignment
    )
    return with_tuned_plan(kernel, tuned).prepare()


def compile_all(kernels: Iterable[Kernel], *, workers: int | None = None) -> tuple[Kernel, ...]:
    """
    The kernels, ready to run, after compiling those that the cache lacks by `workers` C compilers at a time.

    `workers` are as many as this process may use processors, if not given. Texts are made one after another
    meanwhile; a text that several kernels share is compiled once. Raises CompilerError for the first in order that
    cannot be built; those before it stay in the cache.
    """
    from concurrent.futures import ThreadPoolExecutor

    from layoutc.processes import Group

    if not isinstance(cast(object, kernels), Iterable):
        raise LayoutcError(f"kernels are {a_class(type(kernels))}, expected a sequence of Kernel")
    made = tuple(kernels)
    for kernel in made:
        instance("kernel", kernel, Kernel, "layoutc.Kernel(source, destination) makes one")
    count, compilers = integer("workers", processors() if workers is None else workers, 1), Group()
    pool = ThreadPoolExecutor(count, "layoutc", compilers.enter)
    try:
        builds: dict[tuple[str, str], Future[Any]] = {}
        for kernel in made:
            if kernel.executor == "c" and (kernel.c_source, kernel.target) not in builds:
                builds[kernel.c_source, kernel.target] = pool.submit(kernel.shared_object)
        for build in builds.values():
            build.result()
    except BaseException:
        # Not only errors: whoever interrupts must not wait for a compiler that hangs.
        pool.shutdown(wait=False, cancel_futures=True)
        compilers.end()
        raise
    finally:
        pool.shutdown()
    return tuple(kernel.prepare() for kernel in made)


def with_tuned_plan(kernel: Kernel, tuned: str | Path | None) -> Kernel:
    """The kernel with the plan that a file of tuned plans (default: $LAYOUTC_TUNED) has for it, if it has one."""
    if not isinstance(cast(object, tuned), str | os.PathLike | None):
        raise LayoutcError(f"tuned is {a_class(type(tuned))}, expected the path of a file")
    file = tuned or os.environ.get(TUNED)
    if not file or kernel.target == PLAIN:
        return kernel
    from layoutc.planning.conversions.reorder import Reorder
    from layoutc.transforms.plan_reorders import tuned_plan

    reorder = Reorder(kernel.source, kernel.destination, kernel.conversion)
    plan = tuned_plan(Path(file), reorder, kernel.target, kernel.threads)
    return replace(kernel, plan=plan) if plan else kernel


@cache
def default_executor() -> Executor:
    """`c` where a C compiler is found, else `reference`, said once."""
    from layoutc.runtime import find_compiler

    if find_compiler() is not None:
        return "c"
    print("layoutc: no C compiler found, the reference executor serves", file=sys.stderr)
    return "reference"
