"""
Lanes of two vectors chosen by how two others compare: a comparison into a mask register, and a choice by that.

    %less = arith.cmpf olt, %a, %b : vector<16xf32>
    %value = arith.select %less, %yes, %no : vector<16xi1>, vector<16xf32>

gcc finds both in operations on bits, unless what is chosen is a constant: then it compares twice, and puts together
what either comparison leaves. Where that is zeros, or all bits, it does find one instruction.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import VectorType as Lanes
from xdsl.ir import Operation

from layoutc.targets.words.c_text import by_gcc, either
from layoutc.targets.words.c_types import lane_count, width
from layoutc.targets.words.c_vector_types import LETTERS, VectorType, macro, typedef
from layoutc.targets.words.vectors import splat
from layoutc.walk import operands

CHOOSING_BITS = 512
"""of registers that have such masks"""
RELATIONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
FLOAT_PREDICATES = {"eq": 0, "ne": 4, "lt": 17, "le": 18, "gt": 30, "ge": 29}
INTEGER_PREDICATES = {"eq": 0, "ne": 4, "lt": 1, "le": 2, "gt": 6, "ge": 5}
"""as processors number relations: floats do not trap, and NaN is unequal alone"""
CHOICES = tuple(f"select_by_{kind}_{relation}" for kind in "fiu" for relation in RELATIONS.values())


def gains_by_choice(op: Operation) -> bool:
    """Whether what a selection of a whole register chooses is a constant."""
    type = cast("Lanes[Any]", op.results[0].type)
    bits = width(type.element_type)
    if bits * lane_count(type) != CHOOSING_BITS:
        return False
    found = [number for value in operands(op)[1:] if (number := splat(value)) is not None]
    return bool(found) and not {0.0, -1.0, float((1 << bits) - 1)} & {*found}


def choice_by(kind: str, relation: str) -> str:
    """The macro that chooses as two vectors of a kind compare, but for the type of what it chooses from."""
    return f"select_by_{kind}_{RELATIONS[relation]}"


def choice(name: str, type: VectorType) -> str:
    """Such a macro, for vectors of a type."""
    *_, kind, relation = name.split("_")
    sign = next(sign for sign, named in RELATIONS.items() if named == relation)
    chosen = f"(({type.mask})yes_ & mask_) | (({type.mask})no_ & ~mask_)"
    portable = macro(
        f"{name}_{type}",
        "a, b, yes, no",
        f"const {type.mask} mask_ = ({type.mask})((a) {sign} (b))",
        f"const {type} yes_ = (yes)",
        f"const {type} no_ = (no)",
        f"({type})({chosen})",
    )
    parts = typedef("parts_", type.bits, type.bytes)
    given = f"(parts_)(no), (parts_)(yes), {_mask(kind, relation, type)}"
    blend = f"__builtin_ia32_blendm{LETTERS[type.bits]}_512_mask({given})"
    native = macro(f"{name}_{type}", "a, b, yes, no", parts, f"({type}){blend}")
    feature = "AVX512F" if type.bits >= 32 else "AVX512BW"
    return either(by_gcc(feature), native, portable)


def _mask(kind: str, relation: str, type: VectorType) -> str:
    """The comparison into a mask register."""
    if kind == "f":
        called = f"__builtin_ia32_cmpp{'s' if type.bits == 32 else 'd'}512_mask"
        return f"{called}(a, b, {FLOAT_PREDICATES[relation]}, -1, 4)"
    called = f"__builtin_ia32_{'u' if kind == 'u' else ''}cmp{LETTERS[type.bits]}512_mask"
    return f"{called}((parts_)(a), (parts_)(b), {INTEGER_PREDICATES[relation]}, -1)"
