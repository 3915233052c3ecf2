"""How C spells the ops of `vector` on memory: loads and stores of all lanes, of some, past the caches, and prefetch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import BoolAttr, DenseIntOrFPElementsAttr, IntegerAttr, MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from layoutc.discardable import PREFETCH
from layoutc.targets.errors import no_spelling
from layoutc.targets.functions.effects import root
from layoutc.targets.helpers.c_vector_helpers import LOADED_ONCE_BYTES, STREAMED
from layoutc.targets.patterns.loads_within import place_within
from layoutc.targets.spelling.c_lane_types import typed
from layoutc.targets.spelling.c_memory import address_at
from layoutc.targets.words.bounds import Interval
from layoutc.targets.words.c_expressions import (
    Expression,
    call,
    integer,
)
from layoutc.targets.words.c_types import (
    INDEX,
    element_count,
    lane_count,
    strides_and_offset,
    vector_bytes,
    vector_name,
    width,
)
from layoutc.targets.words.multiples import Divisors
from layoutc.walk import of_kind

if TYPE_CHECKING:
    from layoutc.targets.functions.c_function import FunctionPrinter


PLAIN_STORES = (32, 16, 8, 4, 2, 1)
"""bytes that processors store by one instruction, the most first; a vector has at most 64"""
MOST_PIECES = 2
"""plain stores in place of one under a mask, in a large argument; in others one"""
LARGE = 8 << 20
"""bytes of an argument whose lines are taken to be in no cache"""

YES = BoolAttr.from_bool(True)
Load = vector.LoadOp | vector.MaskedLoadOp
Store = vector.StoreOp | vector.MaskedStoreOp


def _print_load(printer: FunctionPrinter, op: vector.LoadOp) -> None:
    """A load is an expression that reads; the prefetch that it carries stands above it, or alone if nobody uses it."""
    (base, *indices), (result,) = op.operands, op.results
    address = _address(printer, op, base, indices)
    if op.attributes:
        _print_prefetch(printer, op, address)
    if id(result) not in printer.mentioned:
        return
    load = "load_once" if _is_read_again(base, result) else "load"
    loaded = call(f"{load}_{vector_name(typed(result))}", address)
    printer.define(op, Expression(loaded.text, reads=True))


def _is_read_again(base: SSAValue, lanes: SSAValue) -> bool:
    """
    Whether a compiler may load a wide register of lanes at each of several uses, from a cache.

    What comes from memory is waited for, in whatever order the compiler finds best.
    """
    is_wide = vector_bytes(typed(lanes)) == LOADED_ONCE_BYTES
    return is_wide and lanes.has_more_than_one_use() and not _is_large_argument(root(base))


def _print_store(printer: FunctionPrinter, op: vector.StoreOp) -> None:
    stored, base, *indices = op.operands
    value, address = printer.take(stored), _address(printer, op, base, indices)
    printer.settle_reads()
    type = vector_name(typed(stored))
    if streams(op):
        printer.long_line(f"stream_{type}({address.text}, {value.text}, {_aligned(printer, op, address)});")
    else:
        printer.long_line(f"store_{type}({address.text}, {value.text});")


def _aligned(printer: FunctionPrinter, op: vector.StoreOp, address: Expression) -> str:
    """
    Whether the address of a non-temporal store is aligned to its vector, as C asks that at run time.

    Where the offset is known to be a multiple of the vector, the buffer's start says so once for all stores.
    """
    buffer = printer.aligned_buffers.get(root(op.operands[1]))
    if buffer is not None and _is_aligned_within(op, printer.divisors):
        return buffer
    return printer.helper("is_aligned", address, integer(vector_bytes(typed(op.vector)), INDEX)).text


def _is_aligned_within(op: vector.StoreOp, divisors: Divisors) -> bool:
    """Whether the offset is known to be a multiple of the vector's lanes."""
    stored, base, *indices = op.operands
    strides, offset = strides_and_offset(cast("MemRefType[Any]", base.type))
    multiples = (divisors[index] * stride for index, stride in zip(indices, strides, strict=True))
    return gcd(offset, *multiples) % lane_count(typed(stored)) == 0


def _print_masked_load(printer: FunctionPrinter, op: vector.MaskedLoadOp) -> None:
    """Lanes that a mask has on come from memory, the others from a vector."""
    (base, *indices, mask, others), (result,) = op.operands, op.results
    address, (which, lanes) = _address(printer, op, base, indices), _lanes_on(printer, op, mask)
    _print_prefetch(printer, op, address)
    type = vector_name(typed(result))
    if place_within(op) is not None:
        loaded = call(f"load_within_{type}", address, lanes)
        printer.define(op, Expression(loaded.text, reads=True))
        return
    printer.settle_reads()
    name = printer.declare(result, printer.take(others).text, qualifier="")
    printer.line(f"load_{which}_{type}(&{name}, {address.text}, {lanes.text});")


def _print_masked_store(printer: FunctionPrinter, op: vector.MaskedStoreOp) -> None:
    base, *indices, mask, stored = op.operands
    value, address = printer.take(stored), _address(printer, op, base, indices)
    which, lanes = _lanes_on(printer, op, mask)
    printer.settle_reads()
    type = vector_name(typed(stored))
    if not value.is_name:
        # Its address is taken.
        name = printer.names.fresh(None, "stored")
        printer.line(f"const {type} {name} = {value.text};")
        value = Expression(name)
    pieces = _pieces(op, lanes.literal) if which == "first" else []
    for begin, size in pieces:
        to = begin * 8 // width(typed(stored).element_type)
        lane = f"(const char *)&{value.text} + {begin}" if begin else f"&{value.text}"
        printer.long_line(f"memcpy({address.text}{f' + {to}' * (to > 0)}, {lane}, {size});")
    if not pieces:
        printer.line(f"store_{which}_{type}({address.text}, &{value.text}, {lanes.text});")


def _pieces(op: vector.MaskedStoreOp, lanes: int | None) -> list[tuple[int, int]]:
    """
    The first byte and the bytes of each plain store that a few first lanes are, or nothing if these are too many.

    A masked store moves a whole register, where a plain one moves a part; and it waits for a line that is in no cache,
    where plain ones go on.
    """
    if lanes is None:
        return []
    bytes_on = lanes * width(typed(op.value_to_store).element_type) // 8
    sizes = [size for size in PLAIN_STORES if bytes_on & size]
    begins = [sum(sizes[:number]) for number in range(len(sizes))]
    most = MOST_PIECES if _is_large_argument(root(op.base)) else 1
    return list(zip(begins, sizes, strict=True)) if sum(sizes) == bytes_on and len(sizes) <= most else []


def _is_large_argument(buffer: SSAValue) -> bool:
    if not isinstance(buffer, BlockArgument):
        return False
    type = cast("MemRefType[Any]", buffer.type)
    return type.has_static_shape() and element_count(type) * width(type.element_type) // 8 >= LARGE


def _print_mask(printer: FunctionPrinter, op: vector.CreateMaskOp) -> None:
    """A mask is the number of its first lanes that are on, in C."""
    if len(op.mask_dim_sizes) != 1:
        raise no_spelling(op, f"of {len(op.mask_dim_sizes)} axes, expected one")
    size, lanes = op.mask_dim_sizes[0], lane_count(typed(op.mask_vector))
    count = printer.take(size)
    if printer.bounds[size] not in Interval(0, lanes):
        count = printer.helper("max_signed", count, integer(0, INDEX))
        count = printer.helper("min_signed", count, integer(lanes, INDEX))
    if count.literal is None and not count.is_name:
        name = printer.names.fresh(op.mask_vector.name_hint, "count")
        printer.line(f"const int64_t {name} = {count.text};")
        count = Expression(name)
    printer.values[op.mask_vector] = count


def _lanes_on(
    printer: FunctionPrinter, op: vector.MaskedLoadOp | vector.MaskedStoreOp, mask: SSAValue
) -> tuple[str, Expression]:
    """The number of lanes that the mask of an op has on, if these are the `first` ones; or `some`, as bits."""
    if isinstance(mask.owner, vector.CreateMaskOp):
        return "first", printer.take(mask)
    if not isinstance(mask.owner, arith.ConstantOp):
        raise no_spelling(op, "under this mask, expected a constant or vector.create_mask")
    lanes = mask.owner.value
    assert isinstance(lanes, DenseIntOrFPElementsAttr)
    values = [bool(lane) for lane in lanes.get_values()]
    if all(values[: sum(values)]):
        return "first", integer(sum(values), INDEX)
    return "some", Expression(f"{sum(on << lane for lane, on in enumerate(values)):#x}u{'ll' * (len(values) > 32)}")


def _address(printer: FunctionPrinter, op: Load | Store, base: SSAValue, indices: Iterable[SSAValue]) -> Expression:
    """Where the lanes are, which must lie one after another."""
    type = cast("MemRefType[Any]", base.type)
    strides, _ = strides_and_offset(type)
    if strides[-1:] != (1,):
        raise no_spelling(op, f"of {type}, expected an innermost axis of stride 1")
    return address_at(type, printer.take(base), [printer.take(index) for index in indices])


def aligned_buffers(arguments: Sequence[SSAValue], ops: Iterable[Operation], divisors: Divisors) -> dict[SSAValue, int]:
    """The arguments whose start says whether what is streamed to them is aligned; the bytes that it asks for."""
    found: dict[SSAValue, int] = {}
    for op in of_kind(ops, vector.StoreOp):
        if streams(op) and _is_aligned_within(op, divisors):
            buffer = root(op.operands[1])
            if buffer in arguments:
                found[buffer] = max(found.get(buffer, 0), vector_bytes(typed(op.operands[0])))
    return found


def _print_prefetch(printer: FunctionPrinter, op: Load, address: Expression) -> None:
    distance = op.attributes.get(PREFETCH)
    if isinstance(distance, IntegerAttr):
        ahead_bytes = distance.value.data * max(8, width(typed(op.results[0]).element_type)) // 8
        printer.line(f"{printer.helper('prefetch', address, integer(ahead_bytes, INDEX)).text};")


def streams(op: Operation) -> bool:
    """Whether an op is a non-temporal store of a vector that processors have such stores for."""
    if op.__class__ is not vector.StoreOp or op.properties.get("nontemporal") != YES:
        return False
    return vector_bytes(typed(op.operands[0])) in STREAMED


VECTOR_MEMORY_STATEMENTS: dict[type[Operation], Callable[[FunctionPrinter, Any], None]] = {
    vector.LoadOp: _print_load,
    vector.StoreOp: _print_store,
    vector.MaskedLoadOp: _print_masked_load,
    vector.MaskedStoreOp: _print_masked_store,
    vector.CreateMaskOp: _print_mask,
}
"""how each op on vectors in memory is printed"""
