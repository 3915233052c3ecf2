"""Naming the memory of one descriptor: with its dims known, more names mean it than its layout alone has."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError

NAMED = ("onednn", "openvino", "ie")
"""systems that have a list of names; the others spell out strides"""


def name_of_memory(desc: MemoryDesc, system: str) -> str | None:
    """
    The first of a system's names that, for these dims, is the same memory; None if there is none.

    With one channel `nchw` is the same memory as `nhwc`, and with 16 `nChw16c` is `nhwc`.
    """
    from layoutc.notations import read

    for name in _known_names(system):
        try:
            reading = read(f"{system}:{name}")
            fits = reading.layout.rank == desc.rank
            if fits and reading.bind(desc.dims, desc.element_type).same_memory(desc):
                return name
        except LayoutcError:
            continue
    return None


def _known_names(system: str) -> Iterable[str]:
    match system:
        case "onednn":
            return import_module("layoutc.notations.onednn_tags").enum()
        case "openvino":
            return import_module("layoutc.notations.openvino_names").format_names()
        case "ie":
            return import_module("layoutc.notations.inference_engine_layouts").Layout.__members__
        case _:
            return ()
