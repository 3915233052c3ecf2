"""How C spells the chains of ops that `patterns/found.py` finds: by macros, from what goes into the first of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import f32

from layoutc.targets.helpers.c_bf16_helper import spell_narrowed
from layoutc.targets.helpers.c_packed import spell_product
from layoutc.targets.helpers.c_saturated import spell_saturated
from layoutc.targets.patterns.bf16_ops import Narrowed
from layoutc.targets.patterns.c_float_numbers import NUMBER_OF_F8, FloatCodes
from layoutc.targets.patterns.found import Pattern
from layoutc.targets.patterns.macro_call import MacroCall
from layoutc.targets.patterns.narrow_parts import NarrowParts
from layoutc.targets.patterns.saturated import Saturated
from layoutc.targets.patterns.whole_ops import Whole
from layoutc.targets.patterns.wide_parts import WidePart
from layoutc.targets.spelling.c_context import Site
from layoutc.targets.spelling.c_lane_types import as_result, lanes_of, read_as, resized_lanes, result_name
from layoutc.targets.words.c_expressions import Expression, call, floating, integer
from layoutc.targets.words.c_expressions import cast as spell_cast
from layoutc.targets.words.c_types import INDEX
from layoutc.targets.words.c_vector_types import VectorType
from layoutc.targets.words.vectors import F32_LANES, F32_REGISTER

CODES, WIDE_CODES = VectorType("u", 8, F32_LANES), VectorType("u", 32, F32_LANES)


def spell_pattern(site: Site, found: Pattern) -> Expression:
    """The text of the last op of a chain, from the texts of the pattern's operands."""
    return _SPELLINGS[type(found)](site, found)


def _macro_call(site: Site, found: MacroCall) -> Expression:
    called = call(found.helper, *site.operands)
    return spell_cast(result_name(site), called) if found.type is None else as_result(called, found.type, site)


def _saturated(site: Site, found: Saturated) -> Expression:
    return spell_cast(result_name(site), spell_saturated(found, site.operands))


def _narrowed(site: Site, found: Narrowed) -> Expression:
    return as_result(spell_narrowed(found, site.operands), VectorType("u", 16, lanes_of(site)), site)


def _narrow_parts(site: Site, found: NarrowParts) -> Expression:
    registers = (read_as(found.wide.kind, *each) for each in zip(site.operands, found.registers, strict=True))
    return spell_cast(result_name(site), call(found.helper, *registers))


def _whole(site: Site, found: Whole) -> Expression:
    limits = floating(found.low, f32), floating(found.high, f32)
    if (factors := found.factors) is None:
        return call(found.helper, *site.operands, *limits)
    number = spell_product(F32_REGISTER, site.operands, factors)
    return spell_cast(str(F32_REGISTER), call(f"low_bits_{F32_REGISTER}", number, *limits))


def _wide_part(site: Site, found: WidePart) -> Expression:
    register = read_as(found.kind, site.operands[0], found.register)
    return as_result(call(found.helper, register, integer(found.number, INDEX)), found.result, site)


def _float_codes(site: Site, found: FloatCodes) -> Expression:
    """The macro for the numbers of codes, which widens them itself, or takes them widened."""
    (held,) = site.operands
    if found.number is None:
        return call(found.helper, resized_lanes(read_as("u", held, found.held), CODES, WIDE_CODES))
    number = integer(found.number, INDEX)
    if found.helper == NUMBER_OF_F8:
        return call(found.helper, held, number)
    return call(found.helper, call("low_part_u8x64_u32x16", read_as("u", held, found.held), number))


_SPELLINGS: dict[type[Any], Callable[[Site, Any], Expression]] = {
    MacroCall: _macro_call,
    Saturated: _saturated,
    Narrowed: _narrowed,
    NarrowParts: _narrow_parts,
    Whole: _whole,
    WidePart: _wide_part,
    FloatCodes: _float_codes,
}
"""of each pattern; lists of lanes are statements"""
