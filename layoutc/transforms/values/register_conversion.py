"""
What converts the lanes of registers in a planned reorder: in place, or by functions that are called for many of them.

Lanes hold a byte of a boolean, and one of each element that shares a byte of memory. As many are converted at once as
registers have of the widest number on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.builder import Builder
from xdsl.ir import Attribute, SSAValue

from layoutc.dialects.memory import mlir_element_type
from layoutc.element_type import ElementType, element_type
from layoutc.once import once
from layoutc.planning.machine import Shuffles
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.joined_lanes import all_joined
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import Buffer, NestBuilder
from layoutc.transforms.values.convert_integers import as_number, has_table
from layoutc.transforms.values.converting_functions import ConvertingFunctions, Given, Param
from layoutc.transforms.values.element_access import BYTE, Conversions, from_register, to_register
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.register_parts import Calls, Join, RegisterPart

LEAST_REGISTER = 16
"""bytes of a register: codes that do not fill one are widened before they have a sign, if they become f32"""


@dataclass(frozen=True)
class RegisterConversion:
    """The conversion of a planned reorder, in registers of so many bytes."""

    nest: NestBuilder
    conversions: Conversions
    vector_bytes: int
    shuffles: Shuffles

    @property
    def adds(self) -> bool:
        """Whether what the destination holds counts."""
        return bool(self.conversions.conversion.sum)

    @once
    def source(self) -> ElementType:
        """What lanes hold of an element that is loaded."""
        return in_lanes(self.conversions.source.desc.element_type)

    @once
    def source_element(self) -> Attribute:
        """The type of such lanes."""
        return mlir_element_type(self.source)

    @once
    def functions(self) -> ConvertingFunctions:
        """Those that are called."""
        return ConvertingFunctions(self.nest, self.conversions, self._stored, self.vector_bytes)

    def convert(self, lanes: Lanes, loaded: SSAValue, params: PieceParams, old: SSAValue | None) -> SSAValue:
        """What is stored for a value that was loaded, or for the lanes of a vector."""
        if (found := self.functions.of_bytes(lanes, loaded)) is not None:
            return found
        at_once = self._at_once(lanes.count)

        def param(name: str, start: int) -> SSAValue:
            return params.part(start, at_once).value(self.nest, self.conversions, name, at_once)

        return self._stored(lanes, loaded, param, old)

    def call(
        self,
        lanes: Lanes,
        register: SSAValue,
        part: RegisterPart,
        params: PieceParams,
        old: SSAValue | None,
        calls: Calls,
    ) -> SSAValue:
        """What is stored for the lanes of a part of a register, by a function if calls are made."""
        given = Given((register.type,), *self._counts(lanes), part)
        called = self._function(lanes.builder, given, [params], old, calls)
        return called([register]) if called else self.convert(lanes, part.take(lanes.builder, register), params, old)

    def joining(
        self, lanes: Lanes, params: Sequence[PieceParams], join: Join, calls: Calls
    ) -> Callable[[Sequence[SSAValue]], SSAValue] | None:
        """What gives a register for its pieces, if a function that is called converts and joins them."""
        given = Given((lanes.type(self.source_element),) * len(params), *self._counts(lanes), join=join)
        return self._function(lanes.builder, given, params, None, calls)

    def _function(
        self, builder: Builder, given: Given, params: Sequence[PieceParams], old: SSAValue | None, calls: Calls
    ) -> Callable[[Sequence[SSAValue]], SSAValue] | None:
        """What such a function gives, if one is called."""
        if not calls.are_made or self.functions.bits_looked_up:
            return None
        return self.functions.function(builder, given, params, old, calls.share_params)

    def _counts(self, lanes: Lanes) -> tuple[int, int]:
        """How many lanes there are, and how many of them are converted at once."""
        assert lanes.count is not None
        return lanes.count, self._at_once(lanes.count) or lanes.count

    def _at_once(self, count: int | None) -> int | None:
        """How many lanes are converted at once: compilers take vectors apart that are wider than the registers."""
        return None if count is None else min(count, max(1, self.vector_bytes // self.conversions.widest_bytes))

    def _stored(self, lanes: Lanes, loaded: SSAValue, param: Param, old: SSAValue | None) -> SSAValue:
        """What is stored for lanes."""
        conversions, count, at_once = self.conversions, lanes.count, self._at_once(lanes.count)
        target = in_lanes(conversions.target.desc.element_type)
        value = to_register(lanes, loaded, self.source)
        before = None if old is None else to_register(lanes, old, target)
        is_looked_up = has_table(conversions.source.desc.element_type, at_once)
        if not conversions.goes_by_f32 or not (is_looked_up or _together(lanes, value) < LEAST_REGISTER):
            conversions, value = _with_sign(lanes, conversions, value)
        found: list[SSAValue] = []
        for start in range(0, count or 1, at_once or 1):
            here = replace(lanes, count=at_once)
            old_part = None if before is None else lanes.part(before, start, at_once)
            part = lanes.part(value, start, at_once)
            found.append(_converted(here, conversions, lambda name, at=start: param(name, at), part, old_part))
        return from_register(lanes, all_joined(lanes.builder, lanes.nest, found, self.shuffles, "joined"), target)


def _together(lanes: Lanes, value: SSAValue) -> int:
    """Lanes that were loaded together."""
    return 0 if lanes.count is None else vector_ops.lanes_together(value)


def _with_sign(lanes: Lanes, conversions: Conversions, value: SSAValue) -> tuple[Conversions, SSAValue]:
    """All lanes at once of integers that share bytes with the sign that their codes lack: integers of 8 bits."""
    source = conversions.source
    type = source.desc.element_type
    if lanes.count is None or type.bits >= 8 or not type.is_integer or type.integer_range[0] == 0:
        return conversions, value
    return replace(conversions, source=in_bytes(lanes.nest, source)), as_number(lanes, value, type)


def _converted(
    lanes: Lanes, conversions: Conversions, param: Callable[[str], SSAValue], value: SSAValue, old: SSAValue | None
) -> SSAValue:
    """A value of the target from one of the source; booleans are bytes on both sides."""
    source, target = (buffer.desc.element_type for buffer in (conversions.source, conversions.target))
    value = _as_truth(lanes, value, source)
    before = None if old is None else _as_truth(lanes, old, target)
    result = conversions.converted_with(lanes, value, param, before)
    return lanes.widen(result, 8, is_signed=False, name="value") if target.name == "boolean" else result


def _as_truth(lanes: Lanes, value: SSAValue, element: ElementType) -> SSAValue:
    return lanes.compare("ne", value, 0, "is_true") if element.name == "boolean" else value


def in_bytes(nest: NestBuilder, buffer: Buffer) -> Buffer:
    """A buffer as vectors take it: MLIR packs vectors of i1 to bits, and has none of s4 in memory."""
    if buffer.desc.element_type.bits < 8:
        return replace(buffer, desc=replace(buffer.desc, element_type=element_type("s8")))
    if buffer.desc.element_type.name != "boolean":
        return buffer
    return Buffer(nest.bytes_of(buffer.memory), replace(buffer.desc, element_type=BYTE))


def in_lanes(element: ElementType) -> ElementType:
    """What lanes hold of an element: a byte of a boolean, and of those that share bytes."""
    if element.name == "boolean":
        return BYTE
    return element if element.bits >= 8 else element_type("s8")
