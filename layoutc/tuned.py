"""
Files of tuned plans: which plan was the fastest for a reorder, on a target, with a number of threads.

    {"layoutc tuned plans": 1, "plans": [{"source": "memref<...>", "destination": "memref<...>",
     "conversion": "#layout.conversion<dst_scale = ? axes [1]>", "target": "native", "threads": 1,
     "plan": ["threads 1", "copy 0 -> 0: ..."], "machine": {"processor": "...", ...}, ...}]}

A reorder without attributes has the conversion "", and may have none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.conversion_attr import ConversionAttr
from layoutc.errors import LayoutcError
from layoutc.notations.memref import format_desc

VERSION_KEY, VERSION = "layoutc tuned plans", 1


class Key(NamedTuple):
    """What a plan is found by: both sides as memref types, the conversion as MLIR's attribute, target, threads."""

    source: str
    destination: str
    conversion: str
    target: str
    threads: int


def key_of(source: MemoryDesc, destination: MemoryDesc, conversion: Conversion, target: str, threads: int) -> Key:
    """The key of a reorder; without attributes its conversion is the empty text."""
    text = "" if conversion == NO_ATTRIBUTES else str(ConversionAttr(conversion))
    return Key(format_desc(source), format_desc(destination), text, target, threads)


def find(
    file: Path, source: MemoryDesc, destination: MemoryDesc, conversion: Conversion, target: str, threads: int
) -> tuple[str, ...] | None:
    """The lines of the plan that the file has for a reorder. Raises LayoutcError for a file that is none."""
    entries, sides = read(file), (format_desc(source), format_desc(destination))
    if not any(key[:2] == sides for key in entries):
        return None  # the text of a conversion has all values of its constants
    entry = entries.get(key_of(source, destination, conversion, target, threads))
    return None if entry is None else tuple(entry["plan"])


def read(file: Path) -> Mapping[Key, dict[str, Any]]:
    """The entries of a file by their keys. Raises LayoutcError, with the reason, for a file that is none."""
    try:
        status = file.stat()
        return _read(file, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError as error:
        raise LayoutcError(f"tuned plans {file}: {(error.strerror or str(error)).lower()}") from None


@lru_cache(maxsize=16)
def _read(file: Path, *_: int) -> Mapping[Key, dict[str, Any]]:
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise LayoutcError(f"tuned plans {file}: not a JSON file") from None
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get(VERSION_KEY) != VERSION:
        raise LayoutcError(f"tuned plans {file}: expected an object with {VERSION_KEY!r}: {VERSION}")
    plans = cast("dict[str, Any]", data).get("plans")
    if not isinstance(plans, list) or not all(map(_is_entry, cast("list[Any]", plans))):
        raise LayoutcError(
            f"tuned plans {file}: expected 'plans' with source, destination, target, threads and the lines of a plan"
        )
    return {_key(entry): entry for entry in cast("list[dict[str, Any]]", plans)}


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    found = cast("dict[str, Any]", entry)
    texts = [found.get("source"), found.get("destination"), found.get("conversion", ""), found.get("target")]
    lines = found.get("plan")
    if not isinstance(lines, list) or type(found.get("threads")) is not int:
        return False
    return all(isinstance(text, str) for text in (*texts, *cast("list[Any]", lines)))


def _key(entry: Mapping[str, Any]) -> Key:
    return Key(**{field: entry.get(field, "") for field in Key._fields})


def text(entries: Iterable[Mapping[str, Any]]) -> str:
    """A file of these entries; of two with one key the last one stands."""
    kept = {_key(entry): entry for entry in entries}
    return json.dumps({VERSION_KEY: VERSION, "plans": list(kept.values())}, indent=1) + "\n"
