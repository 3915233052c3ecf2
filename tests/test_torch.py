"""torch tensors as buffers, where torch is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import layoutc

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

TYPES = {
    "float64": "f64",
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "float8_e4m3fn": "f8_e4m3",
    "float8_e5m2": "f8_e5m2",
    "float8_e8m0fnu": "e8m0",
    "int32": "s32",
    "int8": "s8",
    "uint8": "u8",
    "bool": "boolean",
}


@pytest.mark.parametrize("name", TYPES)
def test_tensors_are_reordered_where_they_lie(name: str) -> None:
    type = getattr(torch, name)
    values = torch.arange(2 * 17 * 3 * 2) % 2
    source = values.to(torch.uint8).repeat_interleave(type.itemsize).view(type).reshape(2, 17, 3, 2)
    nhwc = source.to(memory_format=torch.channels_last)
    src, dst = layoutc.from_dlpack(source), layoutc.from_dlpack(nhwc)
    assert src == layoutc.desc("nchw", source.shape, TYPES[name]) == layoutc.desc("nchw", source.shape, type)
    assert dst.same_memory(layoutc.desc("nhwc", (2, 17, 3, 2), TYPES[name]))
    destination = torch.zeros(2 * 3 * 2 * 17, dtype=type)
    layoutc.compile(src, dst)(source, destination)
    got, expected = (
        tensor.contiguous().view(torch.uint8).numpy() for tensor in (destination, nhwc.permute(0, 2, 3, 1))
    )
    np.testing.assert_array_equal(got, expected.reshape(-1))


def test_tensors_of_the_processor_are_asked_for_their_memory_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = layoutc.compile(*(layoutc.desc(name, (2, 3), "bf16") for name in ("ab", "ba")))
    source, destination = torch.arange(6).to(torch.bfloat16), torch.zeros(2, 3, dtype=torch.bfloat16)
    for name in ("__dlpack__", "__dlpack_device__"):
        monkeypatch.delattr(torch.Tensor, name)
    kernel(source, destination)
    assert destination.flatten().tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_channels_last_is_strides(name: str) -> None:
    nchw = torch.arange(120).reshape(2, 3, 4, 5).to(getattr(torch, name))
    channels_last = nchw.to(memory_format=torch.channels_last)
    of_nchw, of_nhwc = layoutc.desc("nchw", (2, 3, 4, 5), TYPES[name]), layoutc.from_dlpack(channels_last)
    result, back = torch.zeros_like(nchw), torch.zeros_like(channels_last)
    layoutc.compile(of_nhwc, of_nchw)(channels_last, result)
    layoutc.compile(of_nchw, of_nhwc)(result, back)
    assert torch.equal(result, nchw) and torch.equal(back, nchw)
    with pytest.raises(layoutc.BufferError, match=r"source is not C-contiguous: got memory of .*, expected of "):
        layoutc.compile(of_nchw, of_nhwc)(channels_last, back)


def test_tensors_that_are_refused() -> None:
    desc = layoutc.desc("ab", (2, 2), "f32")
    kernel = layoutc.compile(desc, desc)
    good = torch.zeros(4)
    for tensor, message in (
        (torch.zeros(4, requires_grad=True), "requires? grad"),
        (torch.zeros(4, device="meta"), "source"),
        (torch._neg_view(torch.zeros(4)), "negated view"),
        (torch.zeros(2, dtype=torch.complex64).conj(), "conjugate"),
        (torch.zeros(4).to_sparse(), "source"),
        (torch.zeros(8)[::2], "source is not C-contiguous"),
        (torch.zeros(2, 2).T, "source is not C-contiguous"),
        (torch.zeros(5), "source has 20 bytes, expected 16"),
        (good, "overlap in 16 bytes"),
        (torch.zeros(8)[1:5].repeat(2)[:0], "source has 0 bytes"),
        (torch.zeros(2, dtype=torch.float64), "source is an array of float64, expected f32, or its bytes as uint8"),
        (torch.zeros(8, dtype=torch.bfloat16), "source is an array of bfloat16, expected f32"),
        (torch.zeros(4, dtype=torch.int32), "source is an array of int32, expected f32"),
    ):
        with pytest.raises(layoutc.BufferError, match=message):
            kernel(tensor, good)
