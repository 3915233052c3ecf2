"""`layout.reorder`: copy a tensor from one memory layout to another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, MemRefType, StringAttr, TensorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

import layoutc.dialects.arith_on_vectors  # what reorders are lowered to has arithmetic on vectors
import layoutc.dialects.dense_floats  # text is read that has floats as their bits
import layoutc.dialects.global_text  # noqa: F401  and constants of memrefs
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.attributes import end_of_text
from layoutc.dialects.conversion_attr import ConversionAttr, parse_conversion, print_conversion, words_with_memory
from layoutc.dialects.memory import ShapedType, is_shaped, memory_desc
from layoutc.dialects.places import place_of
from layoutc.dialects.plan_lines import check_plan_lines, parse_plan_lines
from layoutc.dialects.reorder_faults import find_argument_fault, find_fault


class ReorderEffects(MemoryEffect):
    """The memref form reads its source and writes its destination; the value form has no effects."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        if not isinstance(op, ReorderOp) or op.destination is None:
            return set()
        params = len(op.conversion.arguments)
        read = [op.source, *op.arguments[:params], *([op.destination] if op.conversion.sum else [])]
        written = [op.destination, *op.arguments[params:]]
        return {EffectInstance(MemoryEffectKind.READ, value) for value in read} | {
            EffectInstance(MemoryEffectKind.WRITE, value) for value in written
        }


@irdl_op_definition
class ReorderOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """
    Copies every logical element of the source to its place in the destination, and zeroes the
    destination's block padding. Gaps and borders are not written, and nothing depends on what they hold.

    ```mlir
    layout.reorder %src into %dst : memref<2x17x5x4xf32> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
    %r = layout.reorder %t : tensor<2x17x5x4xf32> to tensor<2x17x5x4xf32, #layout.tag<"nChw8c">>
    ```

    Where the element types differ values are converted, and `with` says what else is done to them
    (`layoutc.conversion`):

    ```mlir
    layout.reorder %src into %dst with (dst_scale = %scales axes [0], dst_zero_point = 3)
      : memref<64x32xf32> into memref<64x32xi8>, memref<64xf32>
    ```

    The sums of a compensation have memrefs of their own, behind those of the parameters.

    `axes` names the logical axes, for the loops that it is lowered to; `plan` says how it runs, a line per copy
    (see `plan-reorders`). The memrefs must not overlap.
    """

    name = "layout.reorder"

    source = operand_def(MemRefType | TensorType)
    destination = opt_operand_def(MemRefType)
    arguments = var_operand_def(MemRefType)
    """the values of the parameters that are given at run time, in their order, then the sums of a compensation"""
    result = opt_result_def(TensorType)
    axes = opt_prop_def(ArrayAttr[StringAttr])
    plan = opt_prop_def(ArrayAttr[StringAttr])
    attributes_ = opt_prop_def(ConversionAttr, prop_name="conversion")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(ReorderEffects())

    _SPELLING: ClassVar = "expected memref `into` memref, or tensor `to` tensor"

    def __init__(
        self,
        source: SSAValue | Operation,
        destination: SSAValue | Operation | None = None,
        result_type: Attribute | None = None,
        axes: Sequence[str] = (),
        plan: Sequence[str] = (),
        conversion: Conversion = NO_ATTRIBUTES,
        arguments: Sequence[SSAValue] = (),
    ):
        super().__init__(
            operands=[source, destination, arguments],
            result_types=[result_type],
            properties={
                **{
                    name: ArrayAttr(map(StringAttr, texts)) if texts else None
                    for name, texts in (("axes", axes), ("plan", plan))
                },
                "conversion": None if conversion == NO_ATTRIBUTES else ConversionAttr(conversion),
            },
        )

    @property
    def conversion(self) -> Conversion:
        """What is done to the values."""
        return NO_ATTRIBUTES if self.attributes_ is None else self.attributes_.data

    @property
    def moves_bits(self) -> bool:
        """Whether elements are copied as they are, and nothing else is done."""
        return self.conversion.is_identity(self.source_desc.element_type, self.target_desc.element_type)

    @property
    def target_type(self) -> ShapedType:
        """The type that is written: the destination's in the memref form, the result's in the value form."""
        target = self.destination or self.result
        assert target is not None and is_shaped(target.type)
        return target.type

    @property
    def source_desc(self) -> MemoryDesc:
        """The memory descriptor of the source."""
        assert is_shaped(self.source.type)
        return memory_desc(self.source.type)

    @property
    def target_desc(self) -> MemoryDesc:
        """The memory descriptor of what is written."""
        return memory_desc(self.target_type)

    @property
    def axis_names(self) -> tuple[str, ...]:
        """A name for each logical axis."""
        if self.axes is not None:
            return tuple(name.data for name in self.axes)
        return tuple(f"d{axis}" for axis in range(self.target_type.get_num_dims()))

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from layoutc.transforms.canonicalization import BypassMiddle, DropDeadReorder, DropIdentity

        return (DropIdentity(), BypassMiddle(), DropDeadReorder())

    def verify_(self) -> None:
        if (self.destination is None) == (self.result is None):
            raise VerifyException(f"layout.reorder needs one of a destination and a result, {self._SPELLING}")
        if isinstance(self.source.type, MemRefType) != (self.result is None):
            raise VerifyException(f"layout.reorder mixes memrefs and tensors, {self._SPELLING}")
        if self.source is self.destination:
            raise VerifyException("layout.reorder from a memref into itself: source and destination must not overlap")
        rank = self.target_type.get_num_dims()
        if self.axes is not None and len(self.axes) != rank:
            raise VerifyException(f"got {len(self.axes)} axis names, expected {rank}")
        fault = find_fault(self.source.type, self.target_type, self.conversion)
        if fault is None:
            fault = find_argument_fault(self.conversion, self.target_desc, [value.type for value in self.arguments])
        if fault is not None:
            raise VerifyException(fault[1])
        if self.destination is None and (self.conversion.sum or self.arguments):
            raise VerifyException("layout.reorder on tensors takes neither sum nor arguments: they are memory")
        if self.destination in self.arguments:
            raise VerifyException("layout.reorder with its destination as an argument: they must not overlap")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        first = start = parser.pos
        source = parser.parse_unresolved_operand("expected the source of the reorder")
        memory_form = parser.parse_optional_keyword("into") is not None
        behind = parser.pos
        if not memory_form and parser.parse_optional_keyword("to") is not None:
            parser.raise_error(f"got 'to' before the types, {cls._SPELLING}", behind, end_of_text(parser, behind))
        destination = parser.parse_unresolved_operand("expected the destination") if memory_form else None
        parser.parse_optional_characters("")
        start_of_with = parser.pos
        conversion, arguments, order = _parse_with(parser)
        end_of_with = end_of_text(parser, start_of_with)
        axes, plan = _parse_texts(parser, "axes"), parse_plan_lines(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types: list[tuple[int, Attribute, int]] = [_parse_type(parser)]
        parser.parse_keyword("into" if memory_form else "to")
        types.append(_parse_type(parser))
        while parser.parse_optional_punctuation(",") is not None:
            types.append(_parse_type(parser))
        (_, source_type, _), (_, target_type, _), *rest = types
        if len(rest) != len(arguments):
            start, _, end = types[min(2 + len(arguments), len(types) - 1)]
            parser.raise_error(f"got {len(rest)} types of arguments, expected {len(arguments)}", start, end)
        if len(order) == len(rest):
            types[2:] = rest = [rest[place] for place in order]
            arguments = [arguments[place] for place in order]
        fault = find_fault(source_type, target_type, conversion)
        if fault is None and is_shaped(target_type):
            fault = find_argument_fault(conversion, memory_desc(target_type), [type for _, type, _ in rest])
        if fault is not None:
            if conversion != NO_ATTRIBUTES and fault[0] < 2 and find_fault(source_type, target_type) is None:
                parser.raise_error(fault[1], start_of_with, end_of_with)
            start, _, end = types[min(fault[0], len(types) - 1)]
            parser.raise_error(fault[1], start, end)
        op = cls(
            parser.resolve_operand(source, source_type),
            parser.resolve_operand(destination, target_type) if destination else None,
            None if destination else target_type,
            axes,
            [text for _, text, _ in plan],
            conversion,
            [parser.resolve_operand(a, t) for a, (_, t, _) in zip(arguments, rest, strict=True)],
        )
        op.attributes |= attributes
        op.location = place_of(parser, first)
        try:
            op.verify_()
        except VerifyException as error:
            parser.raise_error(str(error), start, end_of_text(parser, start))
        if plan:
            check_plan_lines(parser, op, plan)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        if self.destination is not None:
            printer.print_string(" into ")
            printer.print_operand(self.destination)
        self._print_with(printer)
        for name, texts in (("axes", self.axes), ("plan", self.plan)):
            if texts is not None:
                printer.print_string(f" {name} ")
                printer.print_attribute(texts)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to " if self.destination is None else " into ")
        printer.print_attribute(self.target_type)
        for argument in self.arguments:
            printer.print_string(", ")
            printer.print_attribute(argument.type)

    def _print_with(self, printer: Printer) -> None:
        if self.conversion == NO_ATTRIBUTES:
            return
        printer.print_string(" with ")
        params = len(self.conversion.arguments)
        with printer.in_parens():
            print_conversion(
                printer, self.conversion, [partial(printer.print_operand, a) for a in self.arguments[:params]]
            )
        if self.arguments[params:]:
            printer.print_string(" sums ")
            with printer.in_parens():
                printer.print_list(self.arguments[params:], printer.print_operand)


def _parse_with(parser: Parser) -> tuple[Conversion, list[UnresolvedOperand], list[int]]:
    """
    `with (dst_scale = %scales axes [0]) sums (%sums)`: the conversion, its operands, and which of them is which.

    Operands stand as the text has them; the third says where those stand that the op has first, second and so on.
    """
    operands: list[UnresolvedOperand] = []
    if parser.parse_optional_keyword("with") is None:
        return NO_ATTRIBUTES, operands, []

    def argument() -> None:
        operands.append(parser.parse_unresolved_operand("expected a number, a list of numbers, or a memref"))

    start = parser.pos
    with parser.in_parens():
        conversion, words = parse_conversion(parser, argument, start)
    if parser.parse_optional_keyword("sums") is not None:
        operands += parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    return conversion, operands, [words.index(word) for word in words_with_memory(conversion)]


def _parse_texts(parser: Parser, keyword: str) -> list[str]:
    if parser.parse_optional_keyword(keyword) is None:
        return []
    return list(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal))


def _parse_type(parser: Parser) -> tuple[int, Attribute, int]:
    """A type, with where it starts and ends."""
    parser.parse_optional_characters("")
    start = parser.pos
    type = parser.parse_type()
    return start, type, end_of_text(parser, start)
