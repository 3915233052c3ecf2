"""
MLIR's `memref.prefetch`, which xDSL 0.74 has not: asks for the line of an element, and changes nothing.

    memref.prefetch %dst[%i], write, locality<3>, data : memref<64xf32>

Importing this gives xDSL's dialect the op, so that its text is read wherever layoutc is.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, IntegerType, MemRefType, i32
from xdsl.dialects.memref import MemRef
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

CLOSEST, NEXT = 3, 2
"""localities of what is asked for into the first cache, and into the second one"""


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """`isWrite`: the element will be written, or read; `localityHint` from 0, not kept, to 3, in the first cache."""

    name = "memref.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality = prop_def(IntegerAttr[IntegerType], prop_name="localityHint")
    is_data = prop_def(BoolAttr, prop_name="isDataCache")

    def verify_(self) -> None:
        memref: Any = self.memref.type
        locality, rank = self.locality.value.data, len(memref.shape)
        if self.locality.type != i32 or not 0 <= locality <= CLOSEST:
            raise VerifyException(f"got locality {locality} of {self.locality.type}, expected 0 to {CLOSEST} of i32")
        if len(self.indices) != rank:
            raise VerifyException(f"got {len(self.indices)} indices, expected one for each of {rank} dimensions")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.memref)
        printer.print_string("[")
        printer.print_list(self.indices, printer.print_operand)
        way, cache = "write" if self.is_write.value.data else "read", "data" if self.is_data.value.data else "instr"
        printer.print_string(f"], {way}, locality<{self.locality.value.data}>, {cache}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        memref = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(",")
        way = _one_of(parser, "read", "write")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(",")
        cache = _one_of(parser, "data", "instr")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        places = [parser.resolve_operand(index, IndexType()) for index in indices]
        return cls(
            operands=[parser.resolve_operand(memref, type), places],
            properties=_properties(way == "write", locality, cache == "data"),
            attributes=attributes,
        )


def _one_of(parser: Parser, *words: str) -> str:
    found = (word for word in words if parser.parse_optional_keyword(word))
    return parser.expect(lambda: next(found, None), " or ".join(map(repr, words)))


def _properties(is_write: bool, locality: int, is_data: bool) -> dict[str, Attribute]:
    return {
        "isWrite": BoolAttr.from_bool(is_write),
        "localityHint": IntegerAttr(locality, i32),
        "isDataCache": BoolAttr.from_bool(is_data),
    }


TO_WRITE = _properties(True, CLOSEST, True)
"""the properties of an op that asks for a line into which something will be stored soon"""
TO_READ = _properties(False, NEXT, True)
"""the same of a line that will be loaded later, into the second cache"""

# Importing it twice, as tests do, must not name it twice.
_operations = MemRef._operations  # pyright: ignore[reportPrivateUsage]
if all(op.name != PrefetchOp.name for op in _operations):
    _operations.append(PrefetchOp)
