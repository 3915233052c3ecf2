"""
The conditions in the planner's functions as rules, whose other values are the functions without one of them.

A rule that comes later may gain what a condition gained before, which then costs time and text. Of many that are
tried some seem to gain by chance: what is found is looked at again by another seed.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

from benchmarks.planning_changes import MODULES, Change, to
from benchmarks.planning_rules.rule import IN_DRAM, IN_L2, IN_L3, Rule
from layoutc.errors import LayoutcError

PLANNER = "layoutc.planning."


def condition_rules(file: str) -> list[Rule]:
    """
    A rule for each function of a file of the planner that has conditions, as `moves.staged_stores`.

    Functions that remember what they gave are left out. Raises LayoutcError for a file that the planner does not have.
    """
    for module in MODULES:
        if module.__name__ == PLANNER + file:
            return [*_rules(module)]
    known = ", ".join(sorted(module.__name__.removeprefix(PLANNER) for module in MODULES))
    raise LayoutcError(f"the planner has no file {file!r}, expected one of {known}")


def condition_rule(name: str) -> Rule | None:
    """That of a function, as `moves.staged_stores._with_runs`; None if there is none of that name."""
    file = name.rpartition(".")[0]
    found = condition_rules(file) if any(module.__name__ == PLANNER + file for module in MODULES) else []
    return next((rule for rule in found if rule.name == name), None)


def _rules(module: ModuleType) -> Iterator[Rule]:
    assert module.__file__ is not None
    for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            continue
        others = {words: _changes(module, node.name, other) for words, other in _without_one(node)}
        if others:
            name = f"{module.__name__.removeprefix(PLANNER)}.{node.name}"
            yield Rule(name, "the function without one of its conditions", others, (IN_L2, IN_L3, IN_DRAM))


def _without_one(function: ast.FunctionDef) -> Iterator[tuple[str, ast.FunctionDef]]:
    """In words, and the function: without an operand, by one branch of an expression alone, or never into an `if`."""
    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp):
            operands = node.values
            for operand in operands:
                node.values = [other for other in operands if other is not operand]
                yield _words("without", operand), copy.deepcopy(function)
            node.values = operands
        elif isinstance(node, ast.IfExp | ast.If) and not _binds(test := node.test):
            for value in (True, False) if isinstance(node, ast.IfExp) else (False,):
                node.test = ast.Constant(value)
                yield _words("always" if value else "never", test), copy.deepcopy(function)
            node.test = test


def _binds(test: ast.expr) -> bool:
    """Whether it gives a name to a value, which what follows asks for."""
    return any(isinstance(node, ast.NamedExpr) for node in ast.walk(test))


def _words(which: str, condition: ast.expr) -> str:
    """Names of peers end in what stands behind a colon, which these have none of."""
    return f"{which} {ast.unparse(condition).replace(': ', ' ')}, line {condition.lineno}"


class _SingleOperands(ast.NodeTransformer):
    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        return node if len(node.values) > 1 else node.values[0]


def _changes(module: ModuleType, name: str, other: ast.FunctionDef) -> dict[str, Change]:
    """The function in every file of the planner that knows it."""
    tree = ast.fix_missing_locations(ast.Module([_SingleOperands().visit(other)], []))
    code = compile(tree, str(module.__file__), "exec", annotations.compiler_flag, dont_inherit=True)
    made = dict(vars(module))
    exec(code, made)
    found: FunctionType = made[name]
    changed = FunctionType(found.__code__, vars(module), name, found.__defaults__)
    changed.__kwdefaults__ = found.__kwdefaults__
    chosen = getattr(module, name)
    knowing = (each.__name__.removeprefix(PLANNER) for each in MODULES if vars(each).get(name) is chosen)
    return {f"{file}.{name}": to(changed) for file in knowing}
