"""The attributes of the dialect: a type holds all that its descriptor says, and no more."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.attributes import TagAttr
from layoutc.dialects.conversion_attr import ConversionAttr
from layoutc.dialects.memory import memory_desc, memref_type
from layoutc.element_type import ELEMENT_TYPES
from layoutc.param import Param
from layoutc.pipeline import make_context
from tests.descriptors import DESCRIPTORS


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_type_gives_back_the_descriptor(name: str) -> None:
    desc = DESCRIPTORS[name]
    found = memory_desc(memref_type(desc))
    assert found == desc or (found.same_memory(desc) and found.padded_dims == desc.padded_dims)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_type_survives_its_text(name: str) -> None:
    type = memref_type(DESCRIPTORS[name])
    assert Parser(make_context(), str(type)).parse_type() == type


def test_types_are_equal_only_where_descriptors_are() -> None:
    descs = [*dict.fromkeys(DESCRIPTORS.values())]
    for one, other in product(descs, descs):
        assert (memref_type(one) == memref_type(other)) == (one == other), f"{one} and {other}"


@pytest.mark.parametrize("element", ELEMENT_TYPES, ids=str)
def test_every_element_type_has_an_mlir_type(element) -> None:
    desc = replace(DESCRIPTORS["nchw to nChw8c, destination"], element_type=element)
    assert memory_desc(memref_type(desc)) == desc
    assert f"x{element.mlir}, " in str(memref_type(desc))


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("nChw16q", r"^'nChw16q', column 7: unknown axis 'q', .*; did you mean nChw16c$"),
        ("nv12", r"^'nv12', column 1: nv12 is not an offset map: "),
    ],
)
def test_a_tag_that_no_notation_reads_cannot_be_made(tag: str, message: str) -> None:
    """A compiler that builds types in Python is told where it makes the tag, and not by the first reorder."""
    with pytest.raises(VerifyException, match=message):
        TagAttr(tag)


def by_offsets(one: MemoryDesc, other: MemoryDesc) -> bool:
    """The definition of the same memory: all elements, and all padding, at the same offsets."""
    from layoutc.reference import offsets, padding_offsets

    if (one.dims, one.element_type, one.size_bytes) != (other.dims, other.element_type, other.size_bytes):
        return False
    padding = [sorted(padding_offsets(desc).tolist()) for desc in (one, other)]
    return bool((offsets(one) == offsets(other)).all()) and padding[0] == padding[1]


def test_same_memory_is_what_the_offsets_say() -> None:
    descs = sorted(dict.fromkeys(DESCRIPTORS.values()), key=lambda desc: (desc.dims, desc.size_bytes))
    near = [(one, other) for one, other in product(descs, descs) if one.dims == other.dims]
    assert any(one != other and one.same_memory(other) for one, other in near)
    for one, other in near:
        if one.same_memory(other):
            assert by_offsets(one, other), f"{one} is not {other}"
        elif by_offsets(one, other):
            # Not recognised is allowed only where axes stay flattened.
            assert any(len(group.axes) > 1 for d in (one, other) for group in d.layout.groups), f"{one} is {other}"


@pytest.mark.parametrize(
    ("type", "value"),
    [
        *(("e8m0", 2.0**exponent) for exponent in (-127, -12, 1, 5, 127)),
        *(("f16", value) for value in (65504.0, 2.0**-24)),
        *(("bf16", value) for value in (float.fromhex("0x1.fep+127"), 1e-40)),
        *(("f32", value) for value in (float.fromhex("0x1.fffffep+127"), 2.0**-149, 12582912.0, 1e20, 0.1)),
    ],
)
def test_the_values_of_a_conversion_survive_their_text(type: str, value: float) -> None:
    """Where fewer digits would be no value of the type, or past its largest, more are written."""
    conversion = ConversionAttr(Conversion(src_scale=Param(value, dtype=type)))
    assert Parser(make_context(), str(conversion)).parse_attribute() == conversion
