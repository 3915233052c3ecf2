"""What a kernel may be asked for: its executor, its name in C, target and threads, and a plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast

from layoutc.checks import a_class, instance, integer
from layoutc.errors import LayoutcError
from layoutc.planning.machine import PLAIN, machine
from layoutc.planning.plans.plan import MAX_THREADS

Executor = Literal["c", "interpret", "reference"]
EXECUTORS: tuple[Executor, ...] = ("c", "interpret", "reference")


def check_name(name: object) -> None:
    """Raises LayoutcError unless a C function may have this name."""
    from layoutc.targets.spelling.c_names import LIBRARY, is_identifier

    instance("the name of a function", name, str)
    if name in LIBRARY:
        raise LayoutcError(f"{name!r} cannot be the name of a C function, it is one of the C library's")
    if not is_identifier(str(name)):
        raise LayoutcError(f"{str(name)[:40]!r} cannot be the name of a C function")


def check_executor(executor: object) -> None:
    """Raises LayoutcError for what is no executor."""
    if executor not in EXECUTORS:
        raise LayoutcError(f"unknown executor {executor!r}, expected one of {' '.join(EXECUTORS)}")


def plan_lines_of(plan: object) -> tuple[str, ...]:
    """The lines of a plan as a tuple. Raises LayoutcError for what is no sequence of lines."""
    if isinstance(plan, str) or not isinstance(plan, Iterable):
        raise LayoutcError(f"plan is {a_class(type(plan))}, expected its lines, as 'text.splitlines()' has them")
    lines = tuple(cast("Iterable[object]", plan))
    for line in lines:
        instance("a line of the plan", line, str)
    return cast("tuple[str, ...]", lines)


def check_plan_options(target: object, threads: object) -> int:
    """The number of threads, as a plain int. Raises LayoutcError for one, or a target, that nothing is planned for."""
    instance("target", target, str)
    if target != PLAIN:
        try:
            machine(str(target))
        except LayoutcError as error:
            raise LayoutcError(f"{error} {PLAIN}") from None
    return integer("the number of threads", threads, 1, MAX_THREADS)
