"""
The planner's rules, each with other values that it might have: what benchmarks.rules measures.

They stand in the order in which a plan is made. A value is changed under its name, in every module of the planner that
knows it; so other plans are found, and what is decided in the text of C alone cannot be measured here. Conversions ask
for values again when loops are made of their plans: of these rules the texts are made with other values.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

import layoutc
from benchmarks.planning_changes import Change, changed
from benchmarks.planning_rules.cached import CACHED_RULES
from benchmarks.planning_rules.caches import CACHE_RULES
from benchmarks.planning_rules.conditions import condition_rule
from benchmarks.planning_rules.conversions import CONVERSION_RULES
from benchmarks.planning_rules.rule import Rule
from benchmarks.planning_rules.streamed import STREAMED_RULES
from benchmarks.planning_rules.tiles import TILE_RULES
from benchmarks.planning_rules.together import TOGETHER_RULES
from benchmarks.tasks import Task
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import machine
from layoutc.planning.plan_text import plan_lines

RULES = (*CACHE_RULES, *TILE_RULES, *CACHED_RULES, *STREAMED_RULES, *TOGETHER_RULES, *CONVERSION_RULES)


def rule(name: str) -> Rule:
    """The rule of that name, or of a function's conditions. Raises LayoutcError, naming the known ones, for others."""
    for found in RULES:
        if found.name == name:
            return found
    if (of_function := condition_rule(name)) is not None:
        return of_function
    raise LayoutcError(f"unknown rule {name!r}, expected one of {', '.join(found.name for found in RULES)}")


def plan_of(task: Task, target: str, threads: int, changes: Mapping[str, Change] | None = None) -> tuple[str, ...]:
    """The lines of the plan of a task, with changes of the planner; none without a plan, or where changes make none."""
    with changed(changes) if changes else nullcontext():
        try:
            plan = choose_plan(task.source_desc, task.destination_desc, machine(target), threads, task.conversion)
        except NotStridedError:
            return ()
        except Exception:
            if not changes:
                raise
            return ()  # A function without one of its conditions may do anything.
    return tuple(plan_lines(plan))


def text_of(task: Task, target: str, threads: int, changes: Mapping[str, Change] | None = None) -> str:
    """The C text of a task, with changes of the planner that last until it is there; none where they do not lower."""
    with changed(changes) if changes else nullcontext():
        kernel = layoutc.Kernel(
            task.source_desc, task.destination_desc, "c", conversion=task.conversion, target=target, threads=threads
        )
        try:
            return kernel.c_source
        except LayoutcError:
            return ""


def made_of(
    found: Rule, task: Task, target: str, threads: int, changes: Mapping[str, Change] | None = None
) -> tuple[str, ...]:
    """What another value of a rule may change: the lines of the plan, or of the text."""
    if found.converts:
        return tuple(text_of(task, target, threads, changes).splitlines())
    return plan_of(task, target, threads, changes)
