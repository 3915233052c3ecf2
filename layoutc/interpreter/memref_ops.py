"""What ops do with memrefs, and which buffer a memref is a view of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation, SSAValue

from layoutc.interpreter.memory import Buffer, MemRef

LOADS = (memref.LoadOp, vector.LoadOp, vector.MaskedLoadOp)
STORES = (memref.StoreOp, vector.StoreOp, vector.MaskedStoreOp)
CASTS = (memref.ReinterpretCastOp, UnrealizedConversionCastOp)

AccessOp = memref.LoadOp | memref.StoreOp | vector.LoadOp | vector.StoreOp | vector.MaskedLoadOp | vector.MaskedStoreOp


def accessed(op: AccessOp) -> tuple[SSAValue, Sequence[SSAValue]]:
    """The memref that a load or store reaches into, and its indices there."""
    base = op.memref if isinstance(op, memref.LoadOp | memref.StoreOp) else op.base
    return base, op.indices


def stored_memref(op: Operation) -> SSAValue | None:
    """The memref that an op writes to."""
    match op:
        case memref.StoreOp():
            return op.memref
        case vector.StoreOp() | vector.MaskedStoreOp():
            return op.base
        case memref.CopyOp():
            return op.destination
        case _:
            return None


def root(value: SSAValue) -> SSAValue:
    """The value that brought the buffer of a memref: an argument, or the result of an allocation."""
    while isinstance(owner := value.owner, CASTS) and owner.operands:
        value = owner.operands[0]
    return value


def is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether a value is defined in a region of an op."""
    return value.owner is not op and op.is_ancestor(value.owner)


def buffer_of(value: object) -> Buffer:
    """The buffer of a memref's value."""
    assert isinstance(value, MemRef)
    return value.buffer
