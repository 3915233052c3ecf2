"""
Vectors whose lanes are set one after the other, as C says it: one list, or one vector that changes.

    %a = vector.insert %x, %zeros[0] : f32 into vector<4xf32>
    %b = vector.insert %y, %a[1] : f32 into vector<4xf32>

Of a variable for each step gcc makes a copy, through memory where the vector is larger than a register. It also puts a
list of integers together in general registers, and stores the parts of a vector that it then waits for; one of floats
with the same bits goes into vector registers at once, but by way of x87, which changes those of a signalling NaN:

    #define lanes_i32x4(l0, l1, l2, l3) \\
      __extension__ ({ \\
        typedef union { int32_t from; float to; } lane_; \\
        typedef float floats_ __attribute__((vector_size(16))); \\
        (i32x4)(floats_){((lane_){l0}).to, ((lane_){l1}).to, ((lane_){l2}).to, ((lane_){l3}).to}; \\
      })
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects import vector
from xdsl.ir import Operation, SSAValue

from layoutc.targets.words.c_text import broken, either, listed
from layoutc.targets.words.c_vector_types import KINDS, VectorType, macro
from layoutc.targets.words.vectors import splat, uncast

LANES = "lanes"
"""the first part of the names of such macros"""
X87 = "defined(__i386__) && !defined(__SSE2__)"
"""the condition of processors whose floats go through x87"""


class LaneList(NamedTuple):
    """The values of lanes, and the vector that has all others; None where these are zero."""

    lanes: Mapping[int, SSAValue]
    others: SSAValue | None

    @property
    def operands(self) -> Sequence[SSAValue]:
        """What the text is made from."""
        return [*self.lanes.values(), *([] if self.others is None else [self.others])]


def lane_list(op: Operation) -> LaneList | None:
    """The lanes that an op sets with those that it finds set, if it is the last of these."""
    if not isinstance(op, vector.InsertOp) or _goes_on(op) or not _is_static(op):
        return None
    last, lanes = op, dict[int, SSAValue]()
    while True:
        lanes.setdefault(last.static_position.get_values()[0], last.source)
        before = last.dest.owner
        if not isinstance(before, vector.InsertOp) or not _is_static(before) or not _goes_on(before):
            break
        last = before
    others = None if splat(uncast(last.dest)) == 0 else last.dest
    return LaneList(dict(reversed(lanes.items())), others)


def _goes_on(op: vector.InsertOp) -> bool:
    """Whether a vector is there for the sake of another one alone, in which one lane more is set."""
    user = op.result.get_user_of_unique_use()
    return (
        isinstance(user, vector.InsertOp) and user.dest is op.result and user.parent is op.parent and _is_static(user)
    )


def _is_static(op: vector.InsertOp) -> bool:
    return len(op.static_position.get_values()) == 1 and not op.dynamic_position


def is_listed_as_floats(type: VectorType) -> bool:
    """Whether lanes of a type are listed by its macro: integers, as wide as C has floats."""
    return type.kind != "f" and type.bits in KINDS["f"]


def lanes_text(type: VectorType) -> str:
    """The macro for a list of lanes that have the bits of floats."""
    names = [f"l{number}" for number in range(type.lanes)]
    floats = VectorType("f", type.bits, type.lanes)
    plain = macro(f"{LANES}_{type}", listed(names), broken(f"({type}){{{listed(f'({name})' for name in names)}}}"))
    as_floats = macro(
        f"{LANES}_{type}",
        listed(names),
        f"typedef union {{ {type.lane} from; {floats.lane} to; }} lane_",
        f"typedef {floats.lane} floats_ __attribute__((vector_size({type.bytes})))",
        broken(f"({type})(floats_){{{listed(f'((lane_){{{name}}}).to' for name in names)}}}"),
    )
    return either(X87, plain, as_floats)
