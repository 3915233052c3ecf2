"""`layout.reorder`: copy a tensor from one memory layout to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, MemRefType, StringAttr, TensorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

import layoutc.dialects.arith_on_vectors  # noqa: F401  what reorders are lowered to has arithmetic on vectors
from layoutc.descriptor import MemoryDesc, check_reorder
from layoutc.dialects.attributes import end_of_text
from layoutc.dialects.memory import ShapedType, is_shaped, memory_desc
from layoutc.errors import LayoutcError


class ReorderEffects(MemoryEffect):
    """The memref form reads its source and writes its destination; the value form has no effects."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        if not isinstance(op, ReorderOp) or op.destination is None:
            return set()
        return {
            EffectInstance(MemoryEffectKind.READ, op.source),
            EffectInstance(MemoryEffectKind.WRITE, op.destination),
        }


@irdl_op_definition
class ReorderOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """
    Copies every logical element of the source to its place in the destination, and zeroes the
    destination's block padding. Gaps and borders are neither read nor written.

    ```mlir
    layout.reorder %src into %dst : memref<2x17x5x4xf32> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
    %r = layout.reorder %t : tensor<2x17x5x4xf32> to tensor<2x17x5x4xf32, #layout.tag<"nChw8c">>
    ```

    `axes` names the logical axes, for the loops that it is lowered to; `plan` says how it runs, a line per copy
    (see `plan-reorders`). The memrefs must not overlap.
    """

    name = "layout.reorder"

    source = operand_def(MemRefType | TensorType)
    destination = opt_operand_def(MemRefType)
    result = opt_result_def(TensorType)
    axes = opt_prop_def(ArrayAttr[StringAttr])
    plan = opt_prop_def(ArrayAttr[StringAttr])

    traits = traits_def(ReorderEffects())

    _SPELLING: ClassVar = "expected memref `into` memref, or tensor `to` tensor"

    def __init__(
        self,
        source: SSAValue | Operation,
        destination: SSAValue | Operation | None = None,
        result_type: Attribute | None = None,
        axes: Sequence[str] = (),
        plan: Sequence[str] = (),
    ):
        super().__init__(
            operands=[source, destination],
            result_types=[result_type],
            properties={
                name: ArrayAttr(map(StringAttr, texts)) if texts else None
                for name, texts in (("axes", axes), ("plan", plan))
            },
        )

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
        fault = find_fault(self.source.type, self.target_type)
        if fault is not None:
            raise VerifyException(fault[1])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        source = parser.parse_unresolved_operand("expected the source of the reorder")
        memory_form = parser.parse_optional_keyword("into") is not None
        destination = parser.parse_unresolved_operand("expected the destination") if memory_form else None
        axes, plan = _parse_texts(parser, "axes"), _parse_texts(parser, "plan")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types: list[tuple[int, Attribute, int]] = [_parse_type(parser)]
        parser.parse_keyword("into" if memory_form else "to")
        types.append(_parse_type(parser))
        fault = find_fault(types[0][1], types[1][1])
        if fault is not None:
            start, _, end = types[fault[0]]
            parser.raise_error(fault[1], start, end)
        (_, source_type, _), (_, target_type, _) = types
        op = cls(
            parser.resolve_operand(source, source_type),
            parser.resolve_operand(destination, target_type) if destination else None,
            None if destination else target_type,
            axes,
            plan,
        )
        op.attributes |= attributes
        try:
            op.verify_()
        except VerifyException as error:
            parser.raise_error(str(error), start, end_of_text(parser, start))
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        if self.destination is not None:
            printer.print_string(" into ")
            printer.print_operand(self.destination)
        for name, texts in (("axes", self.axes), ("plan", self.plan)):
            if texts is not None:
                printer.print_string(f" {name} ")
                printer.print_attribute(texts)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to " if self.destination is None else " into ")
        printer.print_attribute(self.target_type)


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


def find_fault(source: Attribute, target: Attribute) -> tuple[int, str] | None:
    """What is wrong with reordering one type into another: (0 for the source or 1 for the target, the reason)."""
    descs: list[MemoryDesc] = []
    for position, type in enumerate((source, target)):
        if not is_shaped(type):
            return position, f"got {type}, expected a memref or a tensor"
        try:
            descs.append(memory_desc(type))
        except LayoutcError as error:
            return position, getattr(error, "message", str(error))
    try:
        check_reorder(*descs)
    except LayoutcError as error:
        return 1, str(error)
    return None
