"""
What a conversion does to the lanes of a register as a function, which tiles call for each of many registers.

    func.func private @reorder_convert(%given : vector<64xi8>, %src_scale : vector<16xf32>) -> vector<64xbf16>
        attributes {layout.inlined} { ... }

The text of a tile has one op for each register so, and not all that converts it; C compilers put it back in its place.
What makes bytes of bytes is a function wherever it is long: processors that choose bytes from registers look it up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from layoutc.transforms.building.creation import created, inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.values.element_access import Conversions, free_name
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.register_parts import WHOLE, Join, RegisterPart

INLINED = "layout.inlined"
"""discardable attribute of a function: it stands for its text, and what it gives is stored as it is"""
LEAST_OPS = 12
"""of a function; fewer are as easily read where they are"""
REGISTER, LEAST_LANES = 64, 16
"""bytes of the registers that processors have which look bytes up, and how many of them are worth it"""

Param = Callable[[str, int], SSAValue]
"""a parameter by its name, for the lanes from one on that are converted at once"""
Body = Callable[[NestBuilder, Builder, SSAValue, int | None, Param, SSAValue | None], SSAValue]
"""what is stored for the lanes of a register, given the parameters, and what the destination holds if that counts"""
Key = tuple[RegisterPart, range, tuple[Attribute, ...], Attribute | None, tuple[int, ...], Join | None]
"""
the part of a register and its lanes, the types of what is given and of what the destination holds, how many values each
parameter has, and how pieces are joined
"""


@dataclass
class ConvertingFunctions:
    """The functions that a reorder's tiles call, by what they are given; None where there is too little in one."""

    nest: NestBuilder
    conversions: Conversions
    body: Body
    vector_bytes: int
    known: dict[Key, func.FuncOp | None] = field(default_factory=dict[Key, "func.FuncOp | None"])

    def converted(
        self,
        builder: Builder,
        register: SSAValue,
        part: RegisterPart,
        starts: range,
        params: PieceParams,
        old: SSAValue | None,
        shares_params: bool,
    ) -> SSAValue | None:
        """
        What a function gives for a part of a register; None if none is called.

        The step of `starts` is how many lanes are converted at once.
        """
        found = self._found(builder, [register.type], part, starts, [params], old, shares_params)
        if found is None:
            return None
        function, given = found
        return _called(builder, function, (register, *([] if old is None else [old]), *given))

    def joining(
        self,
        builder: Builder,
        piece: Attribute,
        starts: range,
        params: Sequence[PieceParams],
        shares_params: bool,
        join: Join,
    ) -> Callable[[Sequence[SSAValue]], SSAValue] | None:
        """What gives a register for its pieces, which a function converts and joins; None if none is called."""
        found = self._found(builder, [piece] * len(params), WHOLE, starts, params, None, shares_params, join)
        if found is None:
            return None
        function, given = found
        return lambda pieces: _called(builder, function, (*pieces, *given))

    def _found(
        self,
        builder: Builder,
        types: Sequence[Attribute],
        part: RegisterPart,
        starts: range,
        params: Sequence[PieceParams],
        old: SSAValue | None,
        shares_params: bool,
        join: Join | None = None,
    ) -> tuple[func.FuncOp, list[SSAValue]] | None:
        """A function for vectors of these types, and the parameters that it is given; None if none is called."""
        parts = [each.part(start, starts.step) for each in params for start in starts]
        names = [name for name in self.conversions.conversion.params if name in self.conversions.memories]
        used = {name: [each.value(self.nest, self.conversions, name, starts.step) for each in parts] for name in names}
        # One for all lanes, or one for each part of them.
        used = {name: values[:1] if len(set(values)) == 1 else values for name, values in used.items()}
        given = [value for values in used.values() for value in values]
        # C divides by what a function is given as by what it is given often, and scales numbers for bf16 so.
        is_beside = any(_block_of(value) is builder.insertion_point.block for value in given)
        if is_beside and not (shares_params and self.conversions.target.desc.element_type.name != "bf16"):
            return None
        counts = tuple(map(len, used.values()))
        key = part, starts, tuple(types), None if old is None else old.type, counts, join
        if key not in self.known:
            self.known[key] = self._made(types, part, starts, old, used, join)
        function = self.known[key]
        return None if function is None else (function, given)

    def of_bytes(self, builder: Builder, loaded: SSAValue, count: int | None) -> SSAValue | None:
        """What a function gives for lanes that are a byte each and become one; None if none is called."""
        if not self.are_of_bytes or count is None or count < LEAST_LANES:
            return None
        key = WHOLE, range(0, count, count), (loaded.type,), None, (), None
        if key not in self.known:
            self.known[key] = self._made([loaded.type], WHOLE, key[1], None, {}, None)
        function = self.known[key]
        return None if function is None else _called(builder, function, (loaded,))

    @cached_property
    def are_of_bytes(self) -> bool:
        """Whether all that a conversion is given is a byte, of which it makes another, on processors that look up."""
        sides = self.conversions.source.desc.element_type, self.conversions.target.desc.element_type
        is_alone = not (self.conversions.memories or self.conversions.conversion.sum)
        return self.vector_bytes == REGISTER and is_alone and all(type.bits <= 8 for type in sides)

    def _code(self, lanes: Lanes, loaded: SSAValue) -> SSAValue:
        """What was loaded; of elements that share bytes no more is set than their bits, which is said for tables."""
        bits = self.conversions.source.desc.element_type.bits
        return lanes.and_(loaded, (1 << bits) - 1) if self.are_of_bytes and bits < 8 else loaded

    def _made(
        self,
        types: Sequence[Attribute],
        part: RegisterPart,
        starts: range,
        old: SSAValue | None,
        used: dict[str, list[SSAValue]],
        join: Join | None,
    ) -> func.FuncOp | None:
        """A function ahead of the one that the reorder is in; parts of the lanes of each vector begin at these."""
        outside = [*([] if old is None else [old]), *(value for values in used.values() for value in values)]
        inputs = [*types, *(value.type for value in outside)]
        block = Block(arg_types=inputs)
        given, others = block.args[: len(types)], block.args[len(types) :]
        for argument in given:
            argument.name_hint = "given"
        for argument, value in zip(others, outside, strict=True):
            argument.name_hint = value.name_hint
        arguments = iter(others if old is None else others[1:])
        inside = {name: [next(arguments) for _ in values] for name, values in used.items()}

        def param(name: str, start: int, vector: int) -> SSAValue:
            return inside[name][0 if len(inside[name]) == 1 else vector * len(starts) + start // starts.step]

        end = func.ReturnOp()
        block.add_op(end)
        builder = Builder(InsertPoint.before(end))
        before = None if old is None else others[0]
        loaded = [part.take(builder, argument) for argument in given]
        nest = NestBuilder(end)
        made: list[SSAValue] = []
        for number, value in enumerate(loaded):
            code = self._code(Lanes(builder, nest, starts.stop), value)
            made.append(self.body(nest, builder, code, starts.stop, partial(param, vector=number), before))
        value = made[0] if join is None else join.all(builder, nest, made)
        if len(list(block.ops)) < LEAST_OPS:
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
