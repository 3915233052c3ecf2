"""
The ops of `arith` that xDSL 0.74 takes on scalars alone, taken on vectors too, as MLIR's are.

Importing this widens xDSL's definitions in place: a class of our own by the same name would be another op to every
pass and table that knows xDSL's. What was right before stays right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloatConstr, FixedBitwidthType, IntegerType, VectorType, container_of
from xdsl.ir import Attribute, Operation
from xdsl.irdl import AttrConstraint, EqAttrConstraint, IRDLOperation, RangeOf, base
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

INTEGERS = container_of(base(IntegerType))
FLOATS = container_of(AnyFloatConstr)
CONDITIONS = container_of(EqAttrConstraint(IntegerType(1)))


def _widen(op: type[IRDLOperation], **constraints: AttrConstraint[Any]) -> None:
    definition = op.get_irdl_definition()
    for name, found in (*definition.operands, *definition.results):
        if name in constraints:
            found.constr = RangeOf(constraints[name]).of_length(1)


def _verify_width(grows: bool) -> Callable[[Operation], None]:
    def verify(op: Operation) -> None:
        source, target = op.operands[0].type, op.results[0].type
        if _shape(source) != _shape(target):
            raise VerifyException(f"{op.name} from {source} to {target}, expected the same number of lanes")
        before, after = (_width(type) for type in (source, target))
        if not (before < after if grows else after < before):
            raise VerifyException(f"{op.name} from {source} to {target}, expected {'more' if grows else 'fewer'} bits")

    return verify


def _width(type: Attribute) -> int:
    return cast(FixedBitwidthType, _element(type)).bitwidth


def _element(type: Attribute) -> Attribute:
    return cast("VectorType[Any]", type).element_type if isinstance(type, VectorType) else type


def _shape(type: Attribute) -> tuple[int, ...]:
    return cast("VectorType[Any]", type).get_shape() if isinstance(type, VectorType) else ()


def _parse_select(parser: Parser) -> arith.SelectOp:
    """MLIR's text: the type of the condition stands before the other one where it is a vector."""
    operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    first = parser.parse_type()
    condition, choice = IntegerType(1), first
    if parser.parse_optional_punctuation(",") is not None:
        condition, choice = first, parser.parse_type()
    if len(operands) != 3:
        parser.raise_error(f"got {len(operands)} operands, expected a condition and two values")
    types = (condition, choice, choice)
    op = arith.SelectOp(*(parser.resolve_operand(o, t) for o, t in zip(operands, types, strict=True)))
    op.attributes |= attributes
    return op


def _print_select(op: arith.SelectOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_operand)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    if isinstance(op.cond.type, VectorType):
        printer.print_attribute(op.cond.type)
        printer.print_string(", ")
    printer.print_attribute(op.result.type)


def _compare_lanes(op: type[arith.CmpiOp] | type[arith.CmpfOp]) -> None:
    """The result of a comparison of vectors is a vector of i1."""
    _widen(op, result=CONDITIONS)
    scalar = op.__init__

    def initialize(self: Any, *args: Any, **options: Any) -> None:
        scalar(self, *args, **options)
        if shape := _shape(self.operands[0].type):
            Rewriter.replace_value_with_new_type(self.results[0], VectorType(IntegerType(1), shape))

    op.__init__ = initialize


for _resize in (arith.TruncIOp, arith.ExtSIOp, arith.ExtUIOp):
    _widen(_resize, input=INTEGERS, result=INTEGERS)
    _resize.verify_ = _verify_width(_resize is not arith.TruncIOp)
for _to_integer in (arith.FPToSIOp, arith.FPToUIOp):
    _widen(_to_integer, input=FLOATS, result=INTEGERS)
for _to_float in (arith.SIToFPOp, arith.UIToFPOp):
    _widen(_to_float, input=INTEGERS, result=FLOATS)
_compare_lanes(arith.CmpiOp)
_compare_lanes(arith.CmpfOp)
_widen(arith.SelectOp, cond=CONDITIONS)
arith.SelectOp.parse = _parse_select  # pyright: ignore[reportAttributeAccessIssue]
arith.SelectOp.print = _print_select
