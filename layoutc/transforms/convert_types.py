"""Converting the types of values and of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter


def defined_values(op: Operation) -> Sequence[SSAValue]:
    """The results of an op, and the arguments of its blocks; what it uses, another one defines."""
    if not op.regions:
        return op.results
    return [*op.results, *(value for region in op.regions for block in region.blocks for value in block.args)]


def convert_types(ops: Iterable[Operation], convert: Callable[[Attribute], Attribute]) -> None:
    """
    Replaces each type of a result, block argument or function by what `convert` makes of it: itself, to keep it.

    xDSL's TypeConversionPattern also looks into every attribute, which takes most of the time of a large module.
    """
    for op in ops:
        for value in defined_values(op):
            if (new := convert(old := value.type)) is not old:
                Rewriter.replace_value_with_new_type(value, new)
        if isinstance(op, func.FuncOp):
            inputs, outputs = op.function_type.inputs, op.function_type.outputs
            op.function_type = FunctionType.from_lists([*map(convert, inputs)], [*map(convert, outputs)])
