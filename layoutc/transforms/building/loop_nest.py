"""Building scf loop nests: named counters over constant ranges, and offsets as one affine.apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, func, scf, vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    UnrealizedConversionCastOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypedAttribute
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from layoutc.descriptor import MemoryDesc
from layoutc.transforms.building.creation import created, inserted, put
from layoutc.walk import parents

INDEX = IndexType()
UI8 = IntegerType(8, Signedness.UNSIGNED)

Number: TypeAlias = tuple[int | str, int | str, int | None]
"""a constant of arithmetic: its value, its bits or the name of its type, and in how many lanes it is"""


@dataclass(frozen=True)
class Loop:
    """A counter that runs over a range."""

    name: str
    values: range


@dataclass(frozen=True)
class Buffer:
    """A flat buffer and the descriptor of what lies in it."""

    memory: SSAValue
    desc: MemoryDesc


@lru_cache(maxsize=4096)
def _index(value: int) -> IntegerAttr[IndexType]:
    return IntegerAttr.from_index_int_value(value)


@dataclass
class NestBuilder:
    """Puts loop nests before an operation. Constants are made once, ahead of all nests."""

    before: Operation
    constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    elements: dict[Attribute, SSAValue] = field(default_factory=dict[Attribute, SSAValue])
    numbers: dict[Number, SSAValue] = field(default_factory=dict[Number, SSAValue])
    views: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _ahead: Operation | None = field(init=False)
    """the op that the next constant of `element` stands behind"""

    def __post_init__(self) -> None:
        self._ahead = self.before.prev_op

    def constant(self, value: int) -> SSAValue:
        """An index constant, ahead of all nests: it may be asked for inside of one."""
        if (known := self.constants.get(value)) is None:
            op = created(arith.ConstantOp, (), INDEX, {"value": _index(value)}, f"c{value}")
            (known,) = self.insert_ahead(op).results
            self.constants[value] = known
        return known

    def element(self, value: TypedAttribute) -> SSAValue:
        """A constant of any other type, ahead of all nests: it may be asked for inside of one."""
        if value not in self.elements:
            made = created(arith.ConstantOp, (), value.get_type(), {"value": value})
            self.elements[value] = self.insert_ahead(made).results[0]
        return self.elements[value]

    def spread(self, value: TypedAttribute, type: VectorType[Any]) -> SSAValue:
        """A constant in all lanes of a vector, ahead of all nests."""
        return self.insert_ahead(created(vector.BroadcastOp, (self.element(value),), type)).results[0]

    def bytes_of(self, memory: SSAValue) -> SSAValue:
        """A memref of elements of a byte as one of ui8, ahead of all nests."""
        if memory not in self.views:
            type = cast("MemRefType[Any]", memory.type)
            view = MemRefType(UI8, type.shape, memory_space=type.memory_space)
            made = self.insert_ahead(UnrealizedConversionCastOp.cast_one(memory, view)[0])
            made.results[0].name_hint = f"{memory.name_hint or 'memory'}_bytes"
            self.views[memory] = made.results[0]
        return self.views[memory]

    def insert_ahead(self, op: Operation) -> Operation:
        """An operation ahead of all nests."""
        block = self.before.parent
        assert block is not None and not op.regions
        put(op, block, block.first_op if self._ahead is None else self._ahead.next_op)
        self._ahead = op
        return op

    def insert(self, op: Operation) -> Operation:
        """An operation ahead of the nest."""
        block = self.before.parent
        assert block is not None
        block.insert_op_before(op, self.before)
        return op

    @property
    def function(self) -> func.FuncOp:
        """The function that all of this is built in."""
        found = next((op for op in parents(self.before) if isinstance(op, func.FuncOp)), None)
        if found is None:
            raise PassFailedException(f"{self.before.name} is in no function")
        return found

    def nest(self, loops: Sequence[Loop], body: Callable[[Builder, tuple[SSAValue, ...]], Operation]) -> Operation:
        """
        Loops, outermost first, around `body`, which inserts through the builder and gets the counters.

        Returns the outermost operation: the first loop, or what `body` returns if there is none.
        """
        bounds = [[self.constant(value) for value in (loop.values.start, loop.values.stop, 1)] for loop in loops]
        builder, made = Builder(InsertPoint.before(self.before)), list[OpenLoop]()
        for loop, bound in zip(loops, bounds, strict=True):
            made.append(open_loop(builder, bound, loop.name))
            builder = made[-1].builder
        inner = body(builder, tuple(loop.counter for loop in made))
        return made[0].op if made else inner


class OpenLoop(NamedTuple):
    """A loop, where its body is built, and its counter."""

    op: Operation
    builder: Builder
    counter: SSAValue


def open_loop(builder: Builder, bounds: Sequence[SSAValue], name: str) -> OpenLoop:
    """A loop from the first of three bounds up to the second, in steps of the third."""
    block = Block([scf.YieldOp.create()], arg_types=[INDEX])
    block.args[0].name_hint = name
    op = builder.insert(scf.ForOp.create(operands=bounds, regions=(Region(block),)))
    return OpenLoop(op, Builder(InsertPoint.at_start(block)), block.args[0])


def first_inserted(builder: Builder) -> Callable[[], Operation]:
    """A function that says which is the first of the operations that are inserted from now on."""
    block, behind = builder.insertion_point.block, builder.insertion_point.insert_before
    before = block.last_op if behind is None else behind.prev_op

    def first() -> Operation:
        found = block.first_op if before is None else before.next_op
        assert found is not None
        return found

    return first


def apply(builder: Builder, expr: AffineExpr, counters: Sequence[SSAValue], name: str) -> SSAValue:
    """The value of an affine expression of the counters."""
    if isinstance(expr, AffineDimExpr):
        return counters[expr.position]
    map = AffineMapAttr(AffineMap(len(counters), 0, (expr,)))
    op = created(affine.ApplyOp, counters, INDEX, {"map": map})
    op.results[0].name_hint = name
    return inserted(builder, op)
