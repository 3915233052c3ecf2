"""What the spelling of one op may look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.ir import Operation

from layoutc.targets.spelling.c_shuffles import Shuffles
from layoutc.targets.words.bounds import Bounds
from layoutc.targets.words.c_expressions import Expression, call


class Site(NamedTuple):
    """An op, the texts of its operands, and the intervals of the values so far."""

    op: Operation
    operands: Sequence[Expression]
    bounds: Bounds
    helpers: set[str]
    """the helpers that the file needs, so far"""
    shuffles: Shuffles
    zero: str = ""
    """a variable that holds zero, which the compiler does not know, if the function needs one"""

    def helper(self, name: str, *arguments: Expression) -> Expression:
        """A call of a helper, which the file gets for it."""
        self.helpers.add(name)
        return call(name, *arguments)


Spelling = Callable[[Site], Expression]
"""the expression of the one result of an op without side effects"""
