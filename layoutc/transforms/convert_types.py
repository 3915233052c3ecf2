"""Converting the types of values and of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects import func, vector
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from layoutc.dialects.memory import is_shaped

SHAPELESS = (vector.LoadOp, vector.MaskedLoadOp, vector.ShuffleOp, vector.StoreOp, vector.MaskedStoreOp)
"""ops by the hundred whose results, and own attributes, are neither memrefs nor tensors"""


def defined_values(op: Operation) -> Sequence[SSAValue]:
    """The results of an op, and the arguments of its blocks; what it uses, another one defines."""
    if not op.regions:
        return op.results
    return [*op.results, *(value for region in op.regions for block in region.blocks for value in block.args)]


def with_shapes(ops: Iterable[Operation]) -> list[Operation]:
    """
    Those of some ops that may hold a memref or a tensor, in which layouts are: in a result, in an attribute, or in the
    argument of a block.
    """
    return [op for op in ops if op.regions or _holds_shape(op)]


def _holds_shape(op: Operation) -> bool:
    """Whether a type of an op's results, or one of its attributes, is a memref or a tensor."""
    if op.__class__ in SHAPELESS and not op.attributes:
        return False
    # Asked of every op of a module, of which nearly none does: loops, as `any` makes a generator each time.
    for value in op.results:
        if is_shaped(value.type):
            return True
    for attributes in (op.properties, op.attributes):
        for attribute in attributes.values():
            if is_shaped(attribute):
                return True
    return False


def convert_types(ops: Iterable[Operation], convert: Callable[[Attribute], Attribute]) -> None:
    """
    Replaces each type of a result, block argument or function by what `convert` makes of it: itself, to keep it.

    xDSL's TypeConversionPattern also looks into every attribute, which takes most of the time of a large module.
    """
    known: dict[int, tuple[Attribute, Attribute]] = {}
    for op in ops:
        for value in defined_values(op):
            # By identity: values share the objects of a few types, whose hash is that of all their parts.
            old = value.type
            if (pair := known.get(id(old))) is None:
                pair = known[id(old)] = old, convert(old)
            if (new := pair[1]) is not old:
                Rewriter.replace_value_with_new_type(value, new)
        if isinstance(op, func.FuncOp):
            inputs, outputs = op.function_type.inputs, op.function_type.outputs
            op.function_type = FunctionType.from_lists([*map(convert, inputs)], [*map(convert, outputs)])
