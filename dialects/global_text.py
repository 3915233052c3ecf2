"""
MLIR's text of `memref.global`, which xDSL 0.74 has not; it is printed in the generic form, which MLIR reads too.

    memref.global "private" constant @weights : memref<2x2xf32> = dense<[[1.0, 2.0], [3.0, 4.0]]>

Importing this makes xDSL's parser read it.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StringAttr, TensorType, UnitAttr
from xdsl.parser import Parser


def _parse(parser: Parser) -> memref.GlobalOp:
    visibility = parser.parse_optional_str_literal() or "public"
    is_constant = parser.parse_optional_keyword("constant") is not None
    name = parser.parse_symbol_name()
    parser.parse_punctuation(":")
    at = parser.pos
    type = parser.parse_type()
    if not isinstance(type, MemRefType) or DYNAMIC_INDEX in type.get_shape():
        parser.raise_error(f"got {type}, expected a memref of a static shape", at, parser.pos)
    # An external one, without values, has no op in xDSL.
    parser.parse_punctuation("=")
    values = UnitAttr()
    if parser.parse_optional_keyword("uninitialized") is None:
        parser.parse_keyword("dense")
        values = parser.parse_dense_int_or_fp_elements_attr(TensorType(type.element_type, type.shape))
    op = memref.GlobalOp.get(name, type, values, StringAttr(visibility), UnitAttr() if is_constant else None)
    attributes = dict(parser.parse_optional_attr_dict())
    if (alignment := attributes.pop("alignment", None)) is not None:
        op.properties["alignment"] = alignment
    op.attributes |= attributes
    return op


memref.GlobalOp.parse = _parse  # pyright: ignore[reportAttributeAccessIssue]
