"""
The Inference Engine's own answers, call by call: releases 2021.4.2, 2022.3.2 and 2023.3.0 of the real library.

A row of `ie_cases.jsonl` is release, call, answer; one of `ie_cases_random.jsonl.gz` release, calls on one descriptor
after the other, answers. An answer that is a text is an error, or a layout.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from layoutc.notations import inference_engine as ie
from layoutc.notations.inference_engine import BlockingDesc, InferenceEngineError, TensorDesc

DATA = Path(__file__).parent / "data"
ROWS = [json.loads(line) for line in (DATA / "ie_cases.jsonl").read_text().splitlines()]
RUNS = [json.loads(line) for line in gzip.decompress((DATA / "ie_cases_random.jsonl.gz").read_bytes()).splitlines()]


def blocking_of(parts: list[Any], release: str) -> BlockingDesc:
    return BlockingDesc(*parts, release=release)


def either(what: str | list[Any], release: str) -> str | BlockingDesc:
    return what if isinstance(what, str) else blocking_of(what, release)


def tensor_of(dims: list[int], what: str | list[Any], release: str, precision: str = "FP32") -> TensorDesc:
    return TensorDesc(precision, dims, either(what, release), release=release)


def change(desc: TensorDesc, call: str, arguments: list[Any]) -> TensorDesc:
    """The descriptor that a call on another makes."""
    if call == "roi":
        return ie.make_roi_desc(desc, ie.ROI(*arguments[0]), use_orig_mem_desc=arguments[1])
    if call == "part":
        keep = arguments[2] if len(arguments) > 2 else True
        return ie.make_roi_desc(desc, arguments[0], arguments[1], use_orig_mem_desc=keep)
    if call == "reshape":
        return desc.reshape(arguments[0], either(arguments[1], desc.release))
    return getattr(desc, call)(*arguments)


def of_blocking(desc: BlockingDesc) -> list[Any]:
    lists = desc.blocked_dims, desc.order, desc.strides, desc.offset_padding_to_data
    shape, order, strides, starts = map(list, lists)
    return [shape, order, strides, desc.offset_padding, starts]


def of_tensor(desc: TensorDesc) -> list[Any]:
    return [desc.layout.name, list(desc.dims), of_blocking(desc.blocking)]


def answer(release: str, call: str, arguments: list[Any]) -> Any:
    """What layoutc answers to one call on fresh descriptors."""
    if call == "layout_by_dims":
        return ie.layout_by_dims(arguments[0], release).name
    if call in ("blocking", "strides"):
        made = blocking_of(arguments, release)
        return "ok" if call == "strides" else of_blocking(made)
    precision = arguments[2] if call == "sizes" else "FP32"
    desc = tensor_of(arguments[0], arguments[1], release, precision)
    if call == "sizes":
        return [desc.size, desc.byte_size]
    if call == "offset":
        return desc.offset(arguments[2])
    return of_tensor(desc if call == "tensor" else change(desc, call, arguments[2:]))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1][0]}")
def test_the_library_answers_so(row: list[Any]) -> None:
    release, (call, *arguments), expected = row
    if isinstance(expected, str) and expected.upper() != expected and expected != "ok":
        with pytest.raises(InferenceEngineError) as caught:
            answer(release, call, arguments)
        assert (str(caught.value), caught.value.kind) == (expected, "GENERAL_ERROR")
        return
    got = answer(release, call, arguments)
    if call == "part":  # these rows leave the layout out
        got[0] = None
    assert got == expected


def answers(release: str, calls: list[Any]) -> list[Any]:
    """What layoutc answers to calls in a row, up to the first error."""
    found: list[Any] = []
    desc = TensorDesc("FP32", (), "SCALAR", release=release)
    for call, *arguments in calls:
        try:
            if call == "layout_by_dims":
                found.append(ie.layout_by_dims(arguments[0], release).name)
            elif call == "blocking":
                found.append(of_blocking(blocking_of(arguments[0], release)))
            elif call == "offset":
                found.append(desc.offset(arguments[0]))
            else:
                made = (
                    tensor_of(arguments[0], arguments[1], release)
                    if call == "tensor"
                    else change(desc, call, arguments)
                )
                found.append(of_tensor(made))
                desc = made
        except InferenceEngineError as error:
            return [*found, str(error)]
    return found


@pytest.mark.parametrize("release", ["2021.4.2", "2022.3.2", "2023.3.0"])
def test_random_calls_answer_as_the_library_did(release: str) -> None:
    runs = [(calls, expected) for of, calls, expected in RUNS if of == release]
    assert len(runs) == 150
    for calls, expected in runs:
        assert answers(release, calls) == expected, calls


def test_the_rows_are_all_there() -> None:
    assert len({json.dumps(call) for _, call, _ in ROWS}) == 67
    assert sum(len(calls) for _, calls, _ in RUNS) == 739
