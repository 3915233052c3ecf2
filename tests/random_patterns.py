"""
Random bit patterns of every type into every other, against the reference: `python -m tests.random_patterns`.

Each pair of types runs plain, transposed, into blocks, and out of blocks with tails, by plans for this machine. Prints
a line for each kernel whose bytes differ; the exit status is 1 then.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from math import isqrt
from unittest.mock import patch

import click
import numpy as np

import layoutc
from layoutc import reference
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ELEMENT_TYPES, ElementType, element_type

SHAPES = {"plain": ("ab", "ab"), "transposed": ("ab", "ba"), "blocked": ("ab", "aB16b"), "tailed": ("BA4b8a", "aB32b")}
POISON = 0xA5
BATCH = 36
"""kernels that are compiled side by side"""
NAMES = tuple(type.name for type in ELEMENT_TYPES)


@click.command()
@click.option("--count", default=1_000_000, show_default=True, help="Patterns of each type.")
@click.option("--target", default="native", show_default=True, help="What the kernels are planned and compiled for.")
@click.option("--from", "sources", default=",".join(NAMES), help="Types of the source.")
@click.option("--to", "destinations", default=",".join(NAMES), help="Types of the destination.")
@click.option("--seed", default=1, show_default=True, help="Of the patterns.")
def main(count: int, target: str, sources: str, destinations: str, seed: int) -> None:
    """Compare with the reference, bit for bit."""
    types = [[element_type(name) for name in names.split(",")] for names in (sources, destinations)]
    wrong = total = 0
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, LAYOUTC_CACHE_DIR=folder):
        for source in types[0]:
            for kernels in batches(kernels_of(source, types[1], count, target)):
                total += len(kernels)
                wrong += sum(not is_right(kernel, seed) for kernel in layoutc.compile_all(kernels))
            print(f"{source}: {total} kernels, {wrong} wrong", flush=True)
    sys.exit(wrong > 0)


def kernels_of(source: ElementType, types: list[ElementType], count: int, target: str) -> Iterator[layoutc.Kernel]:
    """A kernel for each destination type and shape; the extents, of at least `count` in product, leave tails."""
    rows = isqrt(count) | 1
    dims = (rows, -(-count // rows) | 1)
    for type, (source_tag, destination_tag) in itertools.product(types, SHAPES.values()):
        destination = layoutc.desc(destination_tag, dims, type)
        yield layoutc.Kernel(layoutc.desc(source_tag, dims, source), destination, "c", target=target)


def batches(kernels: Iterator[layoutc.Kernel]) -> Iterator[list[layoutc.Kernel]]:
    while batch := list(itertools.islice(kernels, BATCH)):
        yield batch


def is_right(kernel: layoutc.Kernel, seed: int) -> bool:
    """Whether the kernel writes what the definition says; a line about the first byte that it does not."""
    read = patterns(kernel.source, seed)
    expected, got = (np.full(kernel.destination_bytes, POISON, np.uint8) for _ in range(2))
    reference.reorder(kernel.source, kernel.destination, read, expected)
    kernel(read, got)
    if np.array_equal(got, expected):
        return True
    first = int((got != expected).argmax())
    print(f"WRONG {kernel.source} into {kernel.destination}: byte {first} is {got[first]}, expected {expected[first]}")
    return False


def patterns(desc: MemoryDesc, seed: int) -> np.ndarray:
    """Random bits in every byte of a buffer; a boolean is 0 or 1."""
    top = 2 if desc.element_type.name == "boolean" else 256
    return np.random.default_rng(seed).integers(0, top, desc.size_bytes, np.uint8)


if __name__ == "__main__":
    main()
