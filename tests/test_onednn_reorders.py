"""Reorders that oneDNN 3.13.2 executed, byte for byte: source bytes, and the destination as it was left."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import layoutc
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.kernel import Executor
from layoutc.layout import Digit, Layout

DATA = Path(__file__).parent / "data" / "onednn_reorders.jsonl.gz"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
PLAIN = [row for row in ROWS if not row["attrs"] and row["src"]["dt"] == row["dst"]["dt"]]
"""rows that move elements as they are; conversions and attributes are another test's"""

NOT_ANSWERED = {
    "extra": "a compensation buffer behind the weights: oneDNN appends sums, which no layout describes",
}
"""why a row is left out, by the key that marks it"""


def desc(side: dict[str, Any], dims: list[int]) -> MemoryDesc:
    """The descriptor of one side: a tag, or strides per logical axis."""
    if "tag" in side:
        return layoutc.desc(f"onednn:{side['tag']}", dims, side["dt"])
    order = sorted(range(len(dims)), key=lambda axis: -side["strides"][axis])
    layout = Layout(len(dims), tuple(Digit((axis,)) for axis in order))
    strides = tuple(side["strides"][axis] for axis in order)
    return MemoryDesc(tuple(dims), element_type(side["dt"]), layout, strides)


def run(row: dict[str, Any], executor: Executor) -> tuple[bytes, bytes]:
    """Our destination and oneDNN's. Its buffers may be longer than the span: what lies behind stays as it was."""
    source, destination = desc(row["src"], row["dims"]), desc(row["dst"], row["dims"])
    read = bytes.fromhex(row["src_hex"])
    expected = bytes.fromhex(row["dst_hex"])
    written = bytearray(bytes.fromhex(row["dst_init_hex"]) or bytes([row["dst_fill"]]) * len(expected))
    layoutc.compile(source, destination, executor=executor)(
        read[: source.size_bytes], memoryview(written)[: destination.size_bytes]
    )
    return bytes(written), expected


def answered() -> list[dict[str, Any]]:
    return [row for row in PLAIN if not any(key in row["dst"] for key in NOT_ANSWERED)]


def test_rows() -> None:
    assert (len(ROWS), len(PLAIN), len(answered())) == (515, 264, 260)


@pytest.mark.parametrize("executor", ["reference", "interpret"])
def test_bytes_are_onednns(executor: Executor) -> None:
    wrong = [row for row in answered() if (pair := run(row, executor))[0] != pair[1]]
    assert not wrong, f"{len(wrong)} of {len(answered())} rows differ, the first is {wrong[0]}"


def test_c_bytes_are_onednns() -> None:
    """A sample: each row is a compilation, and the executors agree on the rest."""
    for row in answered()[::26]:
        written, expected = run(row, "c")
        assert written == expected, row
