"""
oneDNN: its format tags (`nChw16c`, `OIhw4i16o4i`, and any blocked tag outside of its enum, `aBcd5b`), its memory
descriptors with the operations on them, and what its users ask of both: names, un-blocking, words.

The tags are in `onednn_tags`, `Desc` in `onednn_desc`, its making in `onednn_create`, its operations in
`onednn_views`, names in `onednn_names`, words in `onednn_words`; all of it is offered here, loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from layoutc.checks import as_annotated
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.notations.onednn_tags import ALPHABET, enum_names, format, parse
from layoutc.notations.reading import Reading

if TYPE_CHECKING:
    from layoutc.notations.onednn_create import create_with_strides, create_with_tag
    from layoutc.notations.onednn_desc import RUNTIME_DIM, Desc, StatusError
    from layoutc.notations.onednn_memory import from_memory_desc, memory_desc
    from layoutc.notations.onednn_names import names, tag, unblocked
    from layoutc.notations.onednn_views import permute_axes, reshape, submemory
    from layoutc.notations.onednn_words import explain_tag

NAME = "onednn"

_HOMES = {
    "onednn_create": ("create_with_strides", "create_with_tag"),
    "onednn_desc": ("RUNTIME_DIM", "Desc", "StatusError"),
    "onednn_memory": ("from_memory_desc", "memory_desc"),
    "onednn_names": ("names", "tag", "unblocked"),
    "onednn_views": ("permute_axes", "reshape", "submemory"),
    "onednn_words": ("explain_tag",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ALPHABET",
    "NAME",
    "RUNTIME_DIM",
    "Desc",
    "StatusError",
    "create_with_strides",
    "create_with_tag",
    "enum_names",
    "explain_tag",
    "format",
    "format_desc",
    "from_memory_desc",
    "get_size",
    "inner_blks",
    "inner_idxs",
    "memory_desc",
    "names",
    "parse",
    "permute_axes",
    "read",
    "reshape",
    "strides",
    "submemory",
    "tag",
    "unblocked",
]


@as_annotated
def read(text: str) -> Reading:
    """The layout of a tag. Raises NotationError, with the column, for a text that is none."""
    return Reading(parse(text))


@as_annotated
def format_desc(desc: MemoryDesc) -> str:
    """The canonical tag of a dense descriptor; LayoutcError for strides, offset or border, which no tag has."""
    if not desc.is_dense or desc.low or desc.high:
        raise LayoutcError(f"a oneDNN tag has no strides, offset or border, got {desc}")
    return format(desc.layout)


@as_annotated
def strides(desc: MemoryDesc) -> tuple[int, ...]:
    """The stride of each axis between its outermost blocks, in logical order, as `dnnl_query_strides`."""
    return _desc_of(desc).strides


@as_annotated
def inner_blks(desc: MemoryDesc) -> tuple[int, ...]:
    """Block sizes, outermost first, as `dnnl_query_inner_blks`."""
    return _desc_of(desc).inner_blks


@as_annotated
def inner_idxs(desc: MemoryDesc) -> tuple[int, ...]:
    """The axis of each block, as `dnnl_query_inner_idxs`."""
    return _desc_of(desc).inner_idxs


@as_annotated
def get_size(desc: MemoryDesc) -> int:
    """Bytes by `dnnl_memory_desc_get_size`, which is not the span: see `Desc.get_size`."""
    return _desc_of(desc).get_size()


def _desc_of(desc: MemoryDesc) -> Desc:
    from layoutc.notations.onednn_memory import from_memory_desc

    return from_memory_desc(desc)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"layoutc.notations.{_HOME_OF[name]}"), name)
