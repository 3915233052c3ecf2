"""The buffers that kernels are given: what is taken, and what is refused before a byte is written."""

from __future__ import annotations

import array
import builtins
import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

import layoutc
from layoutc import dlpack
from layoutc.buffers import as_buffer, check_disjoint
from layoutc.compiler import find_compiler
from layoutc.element_type import element_type
from layoutc.errors import BufferError
from layoutc.exports import ANY, Argument, Learnt, Side, checked_call

# --- buffers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "obj",
    [
        b"12345678",
        bytearray(8),
        memoryview(b"12345678"),
        array.array("f", [1, 2]),
        np.ones((2, 2), np.int16),
        np.ones(4, np.int16).view(np.matrix),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_a_buffer_shares_the_memory(obj: Any) -> None:
    found = as_buffer("source", obj, 8, writable=False)
    assert found.shape == (8,)
    assert found.tobytes() == bytes(memoryview(obj))
    assert np.shares_memory(found, np.frombuffer(obj, np.uint8))


def test_ml_dtypes_have_no_buffer_protocol_but_memory() -> None:
    import ml_dtypes

    values = np.arange(4).astype(ml_dtypes.bfloat16)
    found = as_buffer("source", values, 8, writable=True)
    assert found.tobytes() == values.tobytes()
    assert np.shares_memory(found, values)


def test_writing_through_a_buffer() -> None:
    target = bytearray(4)
    as_buffer("destination", target, 4, writable=True)[:] = [97, 98, 99, 100]
    assert target == b"abcd"


def of(name: str, count: int) -> Any:
    """Zeros of a type of ml_dtypes."""
    import ml_dtypes

    return np.zeros(count, getattr(ml_dtypes, name))


GOOD, TARGET = np.zeros(8, np.uint8), np.zeros(16, np.uint8)
READ_ONLY = np.zeros(4, np.uint8)
READ_ONLY.flags.writeable = False
FOREIGN = np.dtype(np.int16).newbyteorder("S").str
"""numbers in the byte order that is not this machine's"""
BAD_BUFFERS: list[tuple[Any, str]] = [
    (bytearray(3), "target has 3 bytes, expected 4"),
    (bytearray(0), "target has 0 bytes, expected 4"),
    ([1, 2, 3, 4], "target is a list, expected bytes"),
    (None, "target is a NoneType, expected bytes"),
    (b"1234", "target is read-only"),
    (READ_ONLY, "target is read-only"),
    (4, r"target is an int, expected .*; layoutc\.Address"),
    (np.zeros(8, np.uint8)[::2], "target is not C-contiguous"),
    (memoryview(bytearray(8))[::2], "target is not C-contiguous"),
    (np.array([None], object), "target holds Python objects"),
    (np.zeros(2, FOREIGN), f"target is an array of {FOREIGN}, expected this machine's byte order"),
    (
        np.zeros(2, FOREIGN).data,
        f"target is a memoryview of format '{FOREIGN[0]}h', expected this machine's byte order",
    ),
    (np.ma.masked_equal(np.zeros(4, np.uint8), 3), "target is a masked array, expected one without a mask"),
]


@pytest.mark.parametrize(("obj", "message"), BAD_BUFFERS)
def test_bad_buffers(obj: Any, message: str) -> None:
    with pytest.raises(BufferError, match=message):
        as_buffer("target", obj, 4, writable=True)


def test_a_misaligned_buffer() -> None:
    view = memoryview(bytearray(12))[1:9]
    as_buffer("target", view, 8, writable=True)
    with pytest.raises(BufferError, match="expected a multiple of 4"):
        as_buffer("target", view, 8, writable=True, alignment=4)


def test_overlap_is_counted_in_bytes() -> None:
    memory = np.zeros(32, np.uint8)
    check_disjoint(memory[:8], memory[8:16])
    check_disjoint(memory[8:16], memory[:8])
    with pytest.raises(BufferError, match="overlap in 1 bytes"):
        check_disjoint(memory[:8], memory[7:])
    with pytest.raises(BufferError, match="overlap in 4 bytes"):
        check_disjoint(memory[8:12], memory)


def test_addresses() -> None:
    memory = np.arange(8, dtype=np.uint8)
    found = as_buffer("target", layoutc.Address(memory.ctypes.data, 8), 8, writable=True)
    found[0] = 77
    assert memory.tolist() == found.tolist() == [77, 1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(BufferError, match="target is read-only"):
        as_buffer("target", layoutc.Address(memory.ctypes.data, 8, writable=False), 8, writable=True)
    with pytest.raises(BufferError, match="target has 7 bytes, expected 8"):
        as_buffer("target", layoutc.Address(memory.ctypes.data, 7), 8, writable=True)
    with pytest.raises(BufferError, match="expected a multiple of 2"):
        as_buffer("target", layoutc.Address(memory.ctypes.data + 1, 4), 4, writable=True, alignment=2)
    of_numpy = layoutc.Address(np.uint64(memory.ctypes.data), np.int32(8))  # pyright: ignore[reportArgumentType]
    assert as_buffer("target", of_numpy, 8, writable=True).tolist() == memory.tolist()
    with pytest.raises(layoutc.LayoutcError, match="the end of the memory is"):
        layoutc.Address(np.int64(2**63 - 4), np.int64(8))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 8), "address is 0, expected 1 or more"),
        ((-8, 8), "address is -8, expected 1 or more"),
        ((2**63, 8), "address is 9223372036854775808"),
        ((2**63 - 4, 8), "the end of the memory is 9223372036854775812"),
        ((8, -1), "size in bytes is -1"),
        ((None, 8), "address is None, expected an integer"),
        ((8, 2.5), "size in bytes is 2.5, expected an integer"),
        ((8, 8, "no"), "writable is a str, expected a bool"),
    ],
)
def test_what_is_no_address(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(layoutc.LayoutcError, match=message):
        layoutc.Address(*arguments)


# --- tensors of other libraries --------------------------------------------------------------------------------------


class Tensor:
    """What a library without the buffer protocol has: NumPy's own DLPack, of one version."""

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0), version: int = 1, error: Any = None) -> None:
        self.array, self.device, self.version, self.error = array, device, version, error
        self.lent: list[object] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **arguments: Any) -> object:
        if self.error is not None:
            raise self.error
        if self.version == 0:
            assert not arguments or self.refuse()
            arguments = {}
        return self.array.__dlpack__(**arguments)

    def refuse(self) -> bool:
        raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")


@pytest.mark.parametrize("version", [0, 1])
def test_tensors_are_shared_and_kept(version: int) -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    before = sys.getrefcount(array)
    found = as_buffer("target", Tensor(array, version=version), 12, writable=True)
    assert sys.getrefcount(array) > before
    found[:2] = 255
    assert array.tolist() == [[-1, 1, 2], [3, 4, 5]]
    del found
    assert sys.getrefcount(array) == before


def test_shapes_of_tensors() -> None:
    memory = np.arange(24, dtype=np.uint8)
    for part in (memory[2:14], memory[:12].reshape(1, 3, 1, 4), memory[5:6], np.lib.stride_tricks.as_strided(memory)):
        assert np.shares_memory(as_buffer("source", Tensor(part), part.size, writable=False), part)
    assert as_buffer("source", Tensor(memory[:0]), 0, writable=False).size == 0
    for part in (memory[::2], memory.reshape(4, 6).T, np.broadcast_to(memory[:1], (12,))):
        with pytest.raises(BufferError, match="source is not C-contiguous"):
            as_buffer("source", Tensor(part), 12, writable=False)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(GOOD, (2, 1)), "target is on CUDA device 1, expected memory of the CPU"),
        (Tensor(GOOD, (77, 0)), "target is on type 77 device 0, expected memory of the CPU"),
        (
            Tensor(GOOD, error=RuntimeError("detach it\nsecond line")),
            r"target, a Tensor, is not .*: detach it$",
        ),
        (Tensor(GOOD, error=builtins.BufferError("no")), r"target, a Tensor, is not read through DLPack: no$"),
        (Tensor(READ_ONLY), "target is read-only"),
        (Tensor(READ_ONLY, version=0), "target, a Tensor, is not read through DLPack: .*readonly"),
        (Tensor(np.zeros(3, np.uint8)), "target has 3 bytes, expected 4"),
        (Tensor(type("X", (), {"__dlpack__": lambda *_, **__: 3})()), "target gave an int, expected a DLPack capsule"),
        (type("X", (), {"__dlpack__": None})(), "target, a X, is not read through DLPack"),
        (type("Image", (), {"__dlpack__": None})(), "target, an Image, is not read through DLPack"),
    ],
)
def test_tensors_that_are_not_lent(tensor: Any, message: str) -> None:
    with pytest.raises(BufferError, match=message):
        as_buffer("target", tensor, 4, writable=True)


def test_a_tensor_without_memory_is_refused() -> None:
    """As torch lends its fake tensors, at address 0."""

    class Fake(Tensor):
        def __dlpack__(self, **arguments: Any) -> object:
            capsule = super().__dlpack__(**arguments)
            dlpack.Versioned.from_address(dlpack.pointer(capsule, b"dltensor_versioned")).tensor.data = None
            return capsule

    with pytest.raises(BufferError, match="target is lent without memory, expected that of 4 elements"):
        as_buffer("target", Fake(np.zeros(4, np.uint8)), 4, writable=True)
    assert as_buffer("target", Fake(np.zeros(0, np.uint8)), 0, writable=True).size == 0


def test_kernels_take_them_all() -> None:
    source, destination = layoutc.desc("ab", (2, 4), "f32"), layoutc.desc("ba", (2, 4), "f32")
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    executors = ("c", "interpret", "reference") if find_compiler() else ("interpret", "reference")
    for kernel in (layoutc.compile(source, destination, executor=executor) for executor in executors):
        for one in (x, x.tobytes(), Tensor(x), layoutc.Address(x.ctypes.data, 32)):
            for other in (y, y.data, Tensor(y), layoutc.Address(y.ctypes.data, 32)):
                y[:] = -1
                kernel(one, other)
                assert y.tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
        with pytest.raises(BufferError, match="overlap in 16 bytes"):
            kernel(layoutc.Address(x.ctypes.data, 32), layoutc.Address(x.ctypes.data + 16, 32))
        with pytest.raises(BufferError, match=r"source is an int, expected .*; layoutc\.Address"):
            kernel(x.ctypes.data, y)


F64, F32, S32, U32 = (np.zeros(8 // np.dtype(name).itemsize, name) for name in ("f8", "f4", "i4", "u4"))
F16, U16, S16 = (np.zeros(4, name) for name in ("f2", "u2", "i2"))


@pytest.mark.parametrize(
    ("named", "good", "bad"),
    [
        ("f32", (F32, np.zeros(8, np.int8), np.zeros(2, "V4")), (F64, F16, S32, U32, S16)),
        ("f32", (F32,), (np.zeros(1, np.complex64), np.zeros(1, "M8[s]"), np.zeros(2, "S4"), np.zeros(1, "f4,f4"))),
        ("f32", (F32.data, array.array("f", [1, 2]), array.array("b", bytes(8))), (F64.data, array.array("i", [1, 2]))),
        ("f32", (Tensor(F32), Tensor(GOOD)), (Tensor(F64), Tensor(S32))),
        ("bf16", (of("bfloat16", 4), U16, S16, np.zeros(4, "V2")), (F16, F32, of("float8_e5m2", 8))),
        ("bf16", (U16.data,), (F16.data,)),
        ("f8_e5m2", (of("float8_e5m2", 8), GOOD), (of("float8_e4m3fn", 8), np.zeros(8, bool), U16)),
        (
            "f8_e4m3",
            (of("float8_e4m3fn", 8),),
            (of("float8_e4m3fnuz", 8), of("float8_e4m3", 8), of("float6_e2m3fn", 8)),
        ),
        ("s32", (S32,), (U32, F32)),
        ("boolean", (np.zeros(8, bool), GOOD), (U16, of("float8_e5m2", 8))),
        ("s4", (GOOD, np.zeros(8, np.int8), np.zeros(8, "V1")), (of("int4", 8), U16, F32)),
    ],
)
def test_elements_are_those_of_the_descriptor_or_bytes(named: str, good: Any, bad: Any) -> None:
    """Where an array says its type; a few say none, or stand for one that NumPy has no word for."""
    desc = layoutc.desc("a", (64 // element_type(named).bits,), named)
    executors = ("c", "reference") if find_compiler() else ("reference",)
    for kernel in (layoutc.compile(desc, desc, executor=executor) for executor in executors):
        for one in good:
            kernel(one, bytearray(8))
            kernel(bytes(8), np.empty(8, np.uint8))
        for one in bad:
            for _ in range(2):  # what was refused once is not taken later
                with pytest.raises(BufferError, match=r"source is an array of \S.*, expected "):
                    kernel(one, bytearray(8))
                with pytest.raises(BufferError, match=r"destination is an array of \S.*, expected "):
                    kernel(bytes(8), one)


def test_elements_of_another_type_are_named() -> None:
    for named, one, message in (
        ("f32", F64, "source is an array of float64, expected f32, or its bytes as uint8"),
        ("s4", of("int4", 8), "source is an array of int4, expected the packed bytes of s4, 2 in each"),
    ):
        desc = layoutc.desc("a", (64 // element_type(named).bits,), named)
        with pytest.raises(BufferError, match=message):
            layoutc.compile(desc, desc, executor="reference")(one, bytearray(8))


def test_a_view_is_of_the_buffer_s_own_elements_or_of_bytes() -> None:
    desc = layoutc.desc("ab", (2, 2), "f32")
    assert layoutc.view(desc, np.arange(4, dtype="f4").view("u1")).tolist() == [[0, 1], [2, 3]]
    for bad in (np.zeros(2), np.zeros(4, "i4"), np.zeros(4, "i4").data):
        with pytest.raises(BufferError, match=r"buffer is an array of .*, expected f32, or its bytes as uint8"):
            layoutc.view(desc, bad)


# --- calls ---------------------------------------------------------------------------------------------------------


NUMBERS = Learnt(lambda dtype: dtype.isnative and not dtype.hasobject)


class Calls:
    """What a checked call of 8 bytes into 16 does."""

    def __init__(self, alignments: tuple[int, int] = (4, 4), *more: Any) -> None:
        self.addresses: list[tuple[int, ...]] = []
        self.otherwise: list[tuple[Any, ...]] = []
        sides = Side(8, alignments[0], NUMBERS), Side(16, alignments[1], NUMBERS)
        self.run = checked_call(lambda *addresses: self.addresses.append(addresses), sides, self._otherwise, *more)

    def _otherwise(self, source: Any, destination: Any, **params: Any) -> None:
        self.otherwise.append((source, destination, *params.values()))


def test_arrays_are_given_to_the_function_as_they_are() -> None:
    import ml_dtypes

    for source in (np.zeros(2, np.float32), np.zeros((2, 2), ml_dtypes.bfloat16), np.frombuffer(b"12345678", "u1")):
        calls, destination = Calls(), np.zeros((4, 2, 1), np.int16)
        calls.run(source, destination)
        assert calls.addresses == [(source.ctypes.data, destination.ctypes.data)]
        assert not calls.otherwise


def test_bytes_and_addresses_are_given_to_the_function_as_they_are() -> None:
    calls, room = Calls((1, 1)), bytearray(16)
    at = np.frombuffer(room, "u1").ctypes.data
    for source in (b"12345678", bytearray(8), layoutc.Address(GOOD.ctypes.data, 8, writable=False)):
        for destination in (room, layoutc.Address(at, 16)):
            calls.run(source, destination)
    assert [to for _, to in calls.addresses] == 6 * [at] and calls.addresses[-1][0] == GOOD.ctypes.data
    assert not calls.otherwise
    room.append(0)  # it is not held any longer


SCALES = Argument("scales", np.dtype(np.float32), (2, 1), 8, 4)


def test_arguments_are_given_to_the_function_as_they_are() -> None:
    calls, scales, point = Calls((4, 4), (SCALES, POINT), (8, 12)), np.ones((2, 1), np.float32), np.array(3, np.int8)
    calls.run(GOOD, TARGET, point=point, scales=scales)
    to = TARGET.ctypes.data
    assert calls.addresses == [(GOOD.ctypes.data, to, scales.ctypes.data, point.ctypes.data, to + 8, to + 12)]
    assert not calls.otherwise


POINT = Argument("point", np.dtype(np.int8), (), 1, 1)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"scales": np.ones((2, 1), np.float32)},
        {"scales": np.ones((2, 1), np.float32), "points": np.array(3, np.int8)},
        {"scales": np.ones((2, 1), np.float32), "point": np.array(3, np.int8), "more": 1},
        {"scales": np.ones((2, 1), np.float32), "point": 3},
        {"scales": np.ones(2, np.float32), "point": np.array(3, np.int8)},
        {"scales": np.ones((2, 1), np.int32), "point": np.array(3, np.int8)},
        {"scales": np.ones((2, 2), np.float32)[:, :1], "point": np.array(3, np.int8)},
        {"scales": np.ma.masked_equal(np.ones((2, 1), np.float32), 2), "point": np.array(3, np.int8)},
        {"scales": np.frombuffer(bytes(9), "u1")[1:].view(np.float32).reshape(2, 1), "point": np.array(3, np.int8)},
        {"scales": TARGET[8:].view(np.float32).reshape(2, 1), "point": np.array(3, np.int8)},
    ],
)
def test_all_other_arguments_are_looked_at_again(params: dict[str, Any]) -> None:
    calls = Calls((4, 4), (SCALES, POINT))
    calls.run(GOOD, TARGET, **params)
    assert calls.addresses == []
    ((source, destination, *given),) = calls.otherwise
    assert source is GOOD and destination is TARGET
    assert all(got is value for got, value in zip(given, params.values(), strict=True))


LARGE = np.zeros(32, np.uint8)
READ_ONLY_TARGET = np.zeros(16, np.uint8)
READ_ONLY_TARGET.flags.writeable = False


@pytest.mark.parametrize(
    ("source", "destination"),
    [
        (np.zeros(9, np.uint8), TARGET),
        (GOOD, np.zeros(15, np.uint8)),
        (np.zeros(16, np.uint8)[::2], TARGET),
        (np.zeros((2, 4), np.uint8).T, TARGET),
        (GOOD, np.zeros((4, 4), np.uint8).T),
        (GOOD, READ_ONLY_TARGET),
        (np.array([None]), TARGET),
        (GOOD.view(FOREIGN), TARGET),
        (GOOD, TARGET.view(FOREIGN)),
        (np.ma.masked_equal(GOOD, 1), TARGET),
        (GOOD, np.ma.masked_equal(TARGET, 1)),
        (GOOD, np.array([None, None])),
        (np.zeros(1, [("a", object)]), TARGET),
        (LARGE[1:9], TARGET),
        (GOOD, LARGE[1:17]),
        (LARGE[8:16], LARGE[12:28]),
        (LARGE[24:32], LARGE[12:28]),
        (LARGE[16:24], LARGE[12:28]),
        (memoryview(b"12345678"), TARGET),
        (b"1234567", TARGET),
        (GOOD, bytes(16)),
        (layoutc.Address(GOOD.ctypes.data, 7), TARGET),
        (GOOD, layoutc.Address(TARGET.ctypes.data, 16, writable=False)),
        (layoutc.Address(TARGET.ctypes.data + 8, 8), TARGET),
        (GOOD, [1, 2]),
    ],
)
def test_all_other_objects_are_looked_at_again(source: Any, destination: Any) -> None:
    calls = Calls()
    # Garbage of other tests may hold them, too.
    gc.collect()
    before = sys.getrefcount(source), sys.getrefcount(destination)
    calls.run(source, destination)
    assert calls.addresses == []
    (found,) = calls.otherwise
    assert found[0] is source
    assert found[1] is destination
    del found
    calls.otherwise.clear()
    assert (sys.getrefcount(source), sys.getrefcount(destination)) == before


def test_each_side_has_an_alignment_of_its_own() -> None:
    calls = Calls((1, 4))
    calls.run(LARGE[1:9], LARGE[12:28])
    assert len(calls.addresses) == 1
    calls.run(LARGE[:8], LARGE[13:29])
    assert len(calls.otherwise) == 1


def test_neighbours_do_not_overlap() -> None:
    calls = Calls()
    calls.run(LARGE[4:12], LARGE[12:28])
    calls.run(LARGE[16:24], LARGE[:16])
    assert len(calls.addresses) == 2


def test_arrays_are_let_go_after_a_call() -> None:
    before = sys.getrefcount(GOOD), sys.getrefcount(TARGET)
    Calls().run(GOOD, TARGET)
    assert (sys.getrefcount(GOOD), sys.getrefcount(TARGET)) == before


def test_calls_inside_of_calls_and_from_threads() -> None:
    """Each has views of its own."""
    found: set[tuple[int, int]] = set()
    arrays = [(np.zeros(8, np.uint8), np.zeros(16, np.uint8)) for _ in range(8)]
    together = threading.Barrier(len(arrays))

    def wait(source: int, destination: int) -> None:
        together.wait(10)
        Calls().run(GOOD, TARGET)
        found.add((source, destination))

    call = checked_call(wait, (Side(8, 1, ANY), Side(16, 1, ANY)), lambda *_: None)
    threads = [threading.Thread(target=call, args=pair) for pair in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {(source.ctypes.data, destination.ctypes.data) for source, destination in arrays}
