"""The parts of registers that a tile converts, how they become registers, and whether it calls a function for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import vector
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from layoutc.discardable import INSERTED
from layoutc.planning.machine import Shuffles
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.tile import Register, pieces_of
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.joined_lanes import all_in_pairs, joined
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.building.vector_ops import vector_type

CALLED_FROM = 8
"""parts of registers that a tile converts, from which on it calls a function for each"""
CALLS_OF_EACH = 4
"""calls of the function for each part of a register, at least"""


@dataclass(frozen=True)
class RegisterPart:
    """Which part of a register is converted, by its number, and what takes it out."""

    number: int
    take: Callable[[Builder, SSAValue], SSAValue] = field(compare=False)


WHOLE = RegisterPart(0, lambda _, register: register)


def part_of_register(number: int, lanes: int, of: int, element: Attribute, converted: Attribute) -> RegisterPart:
    """So many lanes out of more of `element`, as those that are converted."""

    def take(builder: Builder, register: SSAValue) -> SSAValue:
        if lanes < of:
            register = vector_ops.part(builder, register, range(number * lanes, (number + 1) * lanes), element)
        type = vector_type(converted, lanes)
        return register if register.type == type else inserted(builder, vector_ops.bitcast(register, type))

    return RegisterPart(number, take)


@dataclass(frozen=True)
class Join:
    """How pieces of memory become a register of so many lanes of one type."""

    lanes: int
    element: Attribute
    shuffles: Shuffles

    def all(self, builder: Builder, nest: NestBuilder, pieces: Sequence[SSAValue]) -> SSAValue:
        """The register that pieces are, which may have lanes of another type of as many bits."""
        type = vector_type(self.element, self.lanes // len(pieces))
        parts = [
            piece if piece.type == type else inserted(builder, vector_ops.bitcast(piece, type)) for piece in pieces
        ]
        return all_in_pairs(parts, lambda low, high: self.two(builder, nest, low, high))

    def two(self, builder: Builder, nest: NestBuilder, low: SSAValue, high: SSAValue) -> SSAValue:
        both = joined(builder, nest, low, high, self.shuffles, "r")
        if isinstance(both.owner, vector.ShuffleOp):
            both.owner.attributes[INSERTED] = UnitAttr()
        return both


@dataclass(frozen=True)
class Calls:
    """Whether a tile calls a function for each part that it converts, and whether several have the same parameters."""

    are_made: bool
    share_params: bool

    @classmethod
    def of(cls, plan: CopyPlan, loads: Sequence[Sequence[Register]], stores: Sequence[Register]) -> Calls:
        """They are where parts are many, and not joined between their conversion and the store."""
        is_loaded = plan.widths.converted_at == "src"
        registers = [register for tile in loads for register in tile] if is_loaded else stores
        pieces = pieces_of(registers)
        is_apart = is_loaded or plan.store != "nontemporal" or plan.widths.dst_per_byte == 1
        is_many = plan.widths.converts and len(pieces) >= CALLED_FROM and len(registers) >= CALLS_OF_EACH
        return cls(is_many and is_apart, is_many and 2 * len({piece.params for piece in pieces}) <= len(pieces))
