"""Reorders that oneDNN 3.13.2 executed, byte for byte: source bytes, and the destination as it was left."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import layoutc
from layoutc.compensation import Compensation
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.kernel_options import Executor
from layoutc.layout import Digit, Layout
from layoutc.param import Param
from layoutc.reference import padding_offsets

DATA = Path(__file__).parent / "data" / "onednn_reorders.jsonl.gz"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
KINDS = {"layout": 230, "attrs": 220, "strides": 24, "dtype": 20, "dtype blocked tail": 17, "compensation": 4}
"""how many rows there are of each kind"""

RECIPROCAL = "D9: the product with 1 / dst_scale, rounded, instead of the division; layoutc does so where it is asked"
OLD_PADDING = "D9: with a sum, block padding is computed as if it were data; layoutc writes zero"
OTHERWISE = {
    RECIPROCAL: [49, 71, 79, 103, 117, 133, 145, 164, 175, 217],
    OLD_PADDING: [30, 53, 71, 80, 204],
}
"""the rows that layoutc deliberately answers otherwise, by their numbers; all others are equal byte for byte"""


def desc(side: dict[str, Any], dims: list[int]) -> MemoryDesc:
    """The descriptor of one side: a tag, or strides per logical axis."""
    if "tag" in side:
        return layoutc.desc(f"onednn:{side['tag']}", dims, side["dt"])
    order = sorted(range(len(dims)), key=lambda axis: -side["strides"][axis])
    layout = Layout(len(dims), tuple(Digit((axis,)) for axis in order))
    strides = tuple(side["strides"][axis] for axis in order)
    return MemoryDesc(tuple(dims), element_type(side["dt"]), layout, strides)


def attributes(row: dict[str, Any]) -> dict[str, Any]:
    """The row's attributes as keywords of `compile`."""
    found: dict[str, Any] = {}
    for kind, name in (("scales", "scale"), ("zero_points", "zero_point")):
        for side, given in row["attrs"].get(kind, {}).items():
            axes = [axis for axis in range(len(row["dims"])) if given["mask"] >> axis & 1]
            found[f"{side}_{name}"] = Param(given["data"], axes)
    if "sum" in row["attrs"]:
        found["sum"] = row["attrs"]["sum"]["scale"]
    return found | compensated(row["dst"].get("extra", {}))


def compensated(extra: dict[str, Any]) -> dict[str, Any]:
    """oneDNN's flags of a descriptor; the mask is that of the output channels, axis 0."""
    if not extra:
        return {}
    per_channel = {name: (0,) for name, flag in COMPENSATIONS.items() if extra.get(flag)}
    return {"compensation": Compensation(**per_channel), "src_scale": extra.get("scale_adjust")}


COMPENSATIONS = {"s8s8": "s8s8_comp", "asymmetric": "zp_comp"}


def run(row: dict[str, Any], executor: Executor = "reference", **more: Any) -> tuple[bytes, bytes]:
    """Our destination and oneDNN's. Its buffers may be longer than the span: what lies behind stays as it was."""
    source, destination = desc(row["src"], row["dims"]), desc(row["dst"], row["dims"])
    read, expected = bytes.fromhex(row["src_hex"]), bytes.fromhex(row["dst_hex"])
    written = bytearray(before(row))
    kernel = layoutc.compile(source, destination, executor=executor, **attributes(row), **more)
    kernel(read[: kernel.source_bytes], memoryview(written)[: kernel.destination_bytes])
    return bytes(written), expected


def before(row: dict[str, Any]) -> bytes:
    """The destination that the reorder found."""
    return bytes.fromhex(row["dst_init_hex"]) or bytes([row["dst_fill"]]) * (len(row["dst_hex"]) // 2)


def explanation(row: dict[str, Any]) -> list[str]:
    """Which rules explain that the bytes differ; none where they are equal."""
    ours, theirs = run(row)
    padding = padding_bytes(row)
    rules: list[str] = []
    if with_padding_of(theirs, ours, padding) != theirs:
        rules.append(RECIPROCAL)
        ours = run(row, reciprocal=True)[0]
    if ours != theirs:
        rules.append(OLD_PADDING)
        assert "sum" in row["attrs"] and with_padding_of(theirs, ours, padding) == theirs, row
    return rules


def padding_bytes(row: dict[str, Any]) -> list[int]:
    """Where the block padding of the destination lies, byte by byte."""
    of = desc(row["dst"], row["dims"])
    width = of.element_type.bits // 8
    return [offset * width + byte for offset in padding_offsets(of).tolist() for byte in range(width)]


def with_padding_of(other: bytes, data: bytes, padding: list[int]) -> bytes:
    result = bytearray(data)
    for place in padding:
        result[place] = other[place]
    return bytes(result)


def test_rows() -> None:
    assert Counter(row["note"] for row in ROWS) == KINDS


def test_every_row_is_equal_or_explained() -> None:
    found: dict[str, list[int]] = {rule: [] for rule in OTHERWISE}
    for number, row in enumerate(ROWS):
        for rule in explanation(row):
            found[rule].append(number)
    assert found == OTHERWISE


MOVED = [row for row in ROWS if not row["attrs"] and row["src"]["dt"] == row["dst"]["dt"] and "extra" not in row["dst"]]
"""rows that move elements as they are"""


def test_interpreted_moves_are_onednns() -> None:
    assert len(MOVED) == 260
    wrong = [row for row in MOVED if (pair := run(row, "interpret"))[0] != pair[1]]
    assert not wrong, f"{len(wrong)} of {len(MOVED)} rows differ, the first is {wrong[0]}"


def test_compiled_moves_are_onednns() -> None:
    """A sample: each row is a compilation, and the executors agree on the rest."""
    for row in MOVED[::26]:
        written, expected = run(row, "c")
        assert written == expected, row
