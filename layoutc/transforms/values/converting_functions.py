"""
What a conversion does to the lanes of a register as a function, which tiles call for each of many registers.

    func.func private @reorder_convert(%given : vector<64xi8>, %src_scale : vector<16xf32>) -> vector<64xbf16>
        attributes {layout.inlined} { ... }

The text of a tile has one op for each register so, and not all that converts it; C compilers put it back in its place.
What makes bytes, or two bytes each, of bytes is a function wherever it is long: processors that choose these from
registers look it up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from layoutc.discardable import INLINED
from layoutc.element_type import ElementType
from layoutc.once import once
from layoutc.transforms.building.creation import created, inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.values.convert_codes import is_by_codes
from layoutc.transforms.values.element_access import Conversions, free_name
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.register_parts import WHOLE, Join, RegisterPart

LEAST_OPS, LEAST_OPS_OF = 12, {16: 8}
"""of a function, and of one whose results of so many bits are looked up; fewer are as easily read where they are"""
REGISTERS, OF_MANY, LEAST_LANES = (32, 64), 64, 16
"""bytes of the registers of processors that look bytes, and words of few codes, up; and words of many codes; and how
many lanes are worth it"""
BYTE_BITS = 8

Param = Callable[[str, int], SSAValue]
"""a parameter by its name, for the lanes from one on that are converted at once"""
Body = Callable[[Lanes, SSAValue, Param, SSAValue | None], SSAValue]
"""what is stored for lanes that were loaded, given the parameters, and what the destination holds if that counts"""


class Given(NamedTuple):
    """The vectors that a function converts, by their types, and of each of them a part."""

    types: tuple[Attribute, ...]
    lanes: int
    """of each part"""
    at_once: int
    """as many of these are converted at once"""
    part: RegisterPart = WHOLE
    join: Join | None = None
    """how they become one register, if they are its pieces"""

    @property
    def starts(self) -> range:
        """Where lanes of a part begin that are converted at once: ranges of one start are equal, whatever their end."""
        return range(0, self.lanes, self.at_once)


Key = tuple[Given, Attribute | None, tuple[int, ...]]
"""with the type of what the destination holds, if that counts, and how many values each parameter has"""


@dataclass
class ConvertingFunctions:
    """The functions that a reorder's tiles call, by what they are given; None where there is too little in one."""

    nest: NestBuilder
    conversions: Conversions
    body: Body
    vector_bytes: int
    known: dict[Key, func.FuncOp | None] = field(default_factory=dict[Key, "func.FuncOp | None"])

    def function(
        self,
        builder: Builder,
        given: Given,
        params: Sequence[PieceParams],
        old: SSAValue | None = None,
        shares_params: bool = True,
    ) -> Callable[[Sequence[SSAValue]], SSAValue] | None:
        """What a function gives for such vectors, which have these parameters; None if none is called."""
        count, starts = given.at_once, given.starts
        parts = [each.part(start, count) for each in params for start in starts]
        names = [name for name in self.conversions.conversion.params if name in self.conversions.memories]
        used = {name: [each.value(self.nest, self.conversions, name, count) for each in parts] for name in names}
        # One for all lanes, or one for each part of them.
        used = {name: values[:1] if len(set(values)) == 1 else values for name, values in used.items()}
        others = [value for values in used.values() for value in values]
        # C divides by what a function is given as by what it is given often, and scales numbers for bf16 so.
        is_beside = any(_block_of(value) is builder.insertion_point.block for value in others)
        if is_beside and not (shares_params and self.conversions.target.desc.element_type.name != "bf16"):
            return None
        key = given, None if old is None else old.type, tuple(map(len, used.values()))
        if key not in self.known:
            self.known[key] = self._made(given, old, used)
        function, held = self.known[key], () if old is None else (old,)
        return None if function is None else lambda vectors: _called(builder, function, (*vectors, *held, *others))

    def of_bytes(self, lanes: Lanes, loaded: SSAValue) -> SSAValue | None:
        """What a function gives for lanes that are a byte each and become one, or two; None if none is called."""
        if not self.bits_looked_up or lanes.count is None or lanes.count < LEAST_LANES:
            return None
        found = self.function(lanes.builder, Given((loaded.type,), lanes.count, lanes.count), ())
        return found and found([loaded])

    @once
    def bits_looked_up(self) -> int:
        """Bits of what processors look up for a byte, if that is all that a conversion is given; 0 if it is not."""
        source, target = self.conversions.source.desc.element_type, self.conversions.target.desc.element_type
        bits, is_alone = max(BYTE_BITS, target.bits), not (self.conversions.memories or self.conversions.conversion.sum)
        if not is_alone or source.bits > BYTE_BITS or self.vector_bytes not in REGISTERS:
            return 0
        is_worth = bits == BYTE_BITS or (bits == 2 * BYTE_BITS and self._is_worth_words(source, target))
        return bits if is_worth else 0

    def _is_worth_words(self, source: ElementType, target: ElementType) -> bool:
        """
        Not where a shift gives the codes, nor where two instructions make bf16 of the integers of a byte; nor of many
        codes where each 16 are looked up by themselves.
        """
        if not self.conversions.conversion.params and is_by_codes(source, target, self.vector_bytes):
            return False
        if source.bits == BYTE_BITS and self.vector_bytes < OF_MANY:
            return False
        return target.name != "bf16" or source.bits < BYTE_BITS or not source.is_integer

    def _code(self, lanes: Lanes, loaded: SSAValue) -> SSAValue:
        """What was loaded; of elements that share bytes no more is set than their bits, which is said for tables."""
        bits = self.conversions.source.desc.element_type.bits
        return lanes.and_(loaded, (1 << bits) - 1) if self.bits_looked_up and bits < BYTE_BITS else loaded

    def _made(self, given: Given, old: SSAValue | None, used: dict[str, list[SSAValue]]) -> func.FuncOp | None:
        """A function ahead of the one that the reorder is in."""
        types, starts, part, join = given.types, given.starts, given.part, given.join
        held = [] if old is None else [old]
        outside = [*held, *(value for values in used.values() for value in values)]
        inputs = [*types, *(value.type for value in outside)]
        block = Block(arg_types=inputs)
        vectors, others = block.args[: len(types)], block.args[len(types) :]
        for argument in vectors:
            argument.name_hint = "given"
        for argument, value in zip(others, outside, strict=True):
            argument.name_hint = value.name_hint
        arguments = iter(others[len(held) :])
        inside = {name: [next(arguments) for _ in values] for name, values in used.items()}

        def param(name: str, start: int, vector: int) -> SSAValue:
            return inside[name][0 if len(inside[name]) == 1 else vector * len(starts) + start // given.at_once]

        end = func.ReturnOp()
        block.add_op(end)
        builder = Builder(InsertPoint.before(end))
        before = others[0] if held else None
        loaded = [part.take(builder, argument) for argument in vectors]
        nest = NestBuilder(end)
        lanes = Lanes(builder, nest, given.lanes)
        made = [
            self.body(lanes, self._code(lanes, value), partial(param, vector=number), before)
            for number, value in enumerate(loaded)
        ]
        value = made[0] if join is None else join.all(builder, nest, made)
        if len(list(block.ops)) < LEAST_OPS_OF.get(self.bits_looked_up, LEAST_OPS):
            return None
        end.detach()
        block.add_op(func.ReturnOp(value))
        around = self.nest.function
        name = free_name(around, f"{around.sym_name.data}_convert")
        type = FunctionType.from_lists(inputs, [value.type])
        function = func.FuncOp(name, type, Region(block), StringAttr("private"))
        function.attributes[INLINED] = UnitAttr()
        Builder(InsertPoint.before(around)).insert(function)
        return function


def _called(builder: Builder, function: func.FuncOp, operands: Sequence[SSAValue]) -> SSAValue:
    """The call of a function."""
    (type,) = function.function_type.outputs.data
    callee = SymbolRefAttr(function.sym_name)
    return inserted(builder, created(func.CallOp, operands, type, {"callee": callee}, "value"))


def _block_of(value: SSAValue) -> Block | None:
    """Where a value is made."""
    owner = value.owner
    return owner.parent_block() if isinstance(owner, Operation) else owner
