"""
Random reorders against the real oneDNN, where the onednn-devel package is installed: types, layouts, attributes.

LAYOUTC_ONEDNN_REORDERS=2000 runs so many of them, LAYOUTC_ONEDNN_SEED=10000 others; the default is a share that takes
seconds.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
import pytest

from layoutc.conversion import NO_ATTRIBUTES
from layoutc.element_type import ElementType, element_type
from layoutc.numeric.convert import Codes, convert
from layoutc.param import Param
from layoutc.reference import offsets, padding_offsets
from tests import libdnnl

if not libdnnl.is_installed():
    pytest.skip("onednn-devel is not installed", allow_module_level=True)

from tests.dnnl_cases import F32, Case, cases

COUNT = int(os.environ.get("LAYOUTC_ONEDNN_REORDERS", "300"))
SEED = int(os.environ.get("LAYOUTC_ONEDNN_SEED", "0"))

D1 = "D1: of zero points per dim only the first is used"
D2 = "D2: scales per dims that do not follow each other are mixed up"
D3 = "D3: a common f16 or bf16 source scale is read as f32"
D4 = "D4: nothing is written"
D5 = "D5: integers go through f32"
D6 = "D6: -0 becomes +0, or another NaN"
D9_RECIPROCAL = "D9: multiplied by the reciprocal of the destination scale"
D9_NAN = "D9: NaN to integer"
D9_PADDING = "D9: with a sum, block padding is computed as if it were data"
IGNORED = "elements of 4 bits are written as if there were no attributes"
GAPS = "gaps between 4-bit elements become zero"
CLAMP = "the largest s32 is clamped to 2147483520"
FLUSH = "subnormal bf16 are flushed to zero"
HUGE = "bf16 and f16 from 2^31 on become the smallest s8 or u8"
TWICE = "f8 is rounded to f16 first"
EXACT = "s32 minus its zero point is computed in integers, then rounded to f32"
STALE = "the sum of an f8 that is stored alone adds what a register holds, not the old value"
REGISTER = (0x00, 0xFF)
"""What the register of STALE was seen to hold as f8: zero, or NaN, the low byte of the limit 2147483520.0 of s32."""


def explained(case: Case) -> Counter[str]:
    """How many elements differ for which reason. Fails for an element that no reason explains."""
    reasons: Counter[str] = Counter()
    whole = reason_for_all(case)
    data = case.data(case.ours)
    wrong = data != case.data(case.theirs)
    if whole and wrong.any():
        return Counter({whole: int(wrong.sum())})
    for reason, codes in candidates(case):
        for name, fits in ((reason, codes == case.data(case.theirs)), *tolerated(case, codes)):
            found = wrong & fits
            reasons[name] += int(found.sum())
            wrong = wrong & ~fits
    assert not reasons[""], f"{case}: {reasons['']} elements are not what the rules say, but oneDNN's are"
    places = np.argwhere(wrong)
    assert not places.size, failure(case, data, places)
    return reasons + explained_outside(case)


def failure(case: Case, data: Codes, places: np.ndarray) -> str:
    first = tuple(places[0])
    got, expected = int(data[first]), int(case.data(case.theirs)[first])
    value = case.values[first]
    return f"{case}: {len(places)} elements, {first}: {got:#x}, oneDNN {expected:#x}, of {value}"


def reason_for_all(case: Case) -> str | None:
    """A defect that leaves no element as it should be."""
    scales = [case.conversion.src_scale, case.conversion.dst_scale]
    if case.implementation.startswith("jit_direct_copy") and (case.before == case.after).all():
        return D4
    src = case.conversion.src_scale
    if src is not None and prod(src.shape(case.source.desc.dims)) == 1 and src.type.bits == 16:
        return D3
    is_split = any(scale and any(b - a > 1 for a, b in pairwise(scale.axes)) for scale in scales)
    return D2 if is_split and case.implementation.startswith("jit") else None


def candidates(case: Case) -> Iterator[tuple[str, Codes]]:
    """What the tensor becomes by the rules, and by each defect and each pair of them."""
    given = case.conversion
    source, destination = case.source.desc.element_type, case.destination.desc.element_type
    attributes = {"": given}
    if destination.bits < 8 and given.has_attributes:
        attributes[IGNORED] = NO_ATTRIBUTES
    if given.dst_scale is not None:
        attributes[D9_RECIPROCAL] = replace(given, reciprocal=True)
    firsts = {name: first_of(getattr(given, name)) for name in ("src_zero_point", "dst_zero_point")}
    changed = {name: first for name, first in firsts.items() if first != getattr(given, name)}
    # Groups of a source's zero points are used where those of a destination are not.
    some = [changed, *({name: first} for name, first in changed.items())] if changed else []
    several = [(reason or D1, replace(how, **firsts)) for reason, how in attributes.items() for firsts in some]
    through: dict[str, tuple[ElementType, ...]] = {"": ()}
    if source.is_integer:
        through[D5] = (F32,)
    if destination.name.startswith("f8"):
        through[TWICE] = (F32, element_type("f16"))
    all_of = product([*attributes.items(), *several], through.items(), ways(case))
    for (one, conversion), (other, types), (third, how) in all_of:
        yield third or other or one, case.computed(conversion, *types, destination, **how)


def ways(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """How the library's implementation of a case may compute it: the arguments of `computed`."""
    given, source, destination = case.conversion, case.source.desc.element_type, case.destination.desc.element_type
    yield "", {}
    if case.implementation.startswith("jit") and given.sum == 1 and destination.name.startswith("f8"):
        yield from ((STALE, {"held": code}) for code in REGISTER)
    if case.implementation.startswith("simple") and given.src_zero_point is not None and source.name == "s32":
        yield EXACT, {"is_exact": True}


def first_of(param: Param | None) -> Param | None:
    return param if param is None or param.values is None else Param(param.values[0], dtype=param.dtype)


def tolerated(case: Case, codes: Codes) -> Iterator[tuple[str, np.ndarray]]:
    """Which elements differ from a candidate for a reason of their own."""
    type, theirs = case.destination.desc.element_type, case.data(case.theirs)
    value = case.values
    if type.is_integer:
        yield D9_NAN, np.isnan(value)
        if type.name == "s32":
            yield CLAMP, (codes == 0x7FFFFFFF) & (theirs == 0x7FFFFF80)
        is_jit = case.implementation.startswith("jit")
        if is_jit and type.name in ("s8", "u8") and case.source.desc.element_type.name in ("bf16", "f16"):
            yield HUGE, (value >= 2.0**31) & (theirs == (0x80 if type.name == "s8" else 0))
        return
    ours, others = (convert(c, type, F32).view(np.float32) for c in (codes, theirs))
    yield D6, (ours == 0) & (others == 0) | np.isnan(ours) & np.isnan(others)
    if type.name == "bf16":
        yield FLUSH, (np.abs(case.values) < 2.0**-126) & (others == 0)


def explained_outside(case: Case) -> Counter[str]:
    """The same of what is no element: block padding, gaps, the bits behind the last element."""
    of = case.destination.desc
    outside = case.ours != case.theirs
    outside[offsets(of)] = False
    reasons: Counter[str] = Counter()
    if case.conversion.sum:
        padding = padding_offsets(of)
        reasons[D9_PADDING] = int(outside[padding].sum())
        outside[padding] = False
    if of.element_type.bits < 8:
        zeroed = outside & (case.theirs == 0)
        reasons[GAPS] = int(zeroed.sum())
        outside &= ~zeroed
    assert not outside.any(), f"{case}: {outside.sum()} positions outside of the tensor differ"
    return reasons


def test_random_reorders_are_onednns_but_for_its_defects() -> None:
    seen, types, reasons = Counter[str](), set[tuple[str, str]](), Counter[str]()
    for case in cases(COUNT, SEED):
        types.add((case.source.desc.element_type.name, case.destination.desc.element_type.name))
        found = +explained(case)
        reasons.update(found.keys())
        seen["explained" if found else "equal"] += 1
        seen["with attributes" if case.conversion.has_attributes else "plain"] += 1
    print(COUNT, dict(seen), len(types), "pairs of types", dict(reasons))
    assert seen["equal"] > 0.75 * COUNT
    assert seen["with attributes"] > 0.1 * COUNT
    assert len(types) > 25
