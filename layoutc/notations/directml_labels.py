"""DirectML's labels for orders of axes: `HW`, `WHD`, `NHWC`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from layoutc.checks import as_annotated
from layoutc.errors import LayoutcError

ALPHABET = "NCDHW"
AXES_OF_RANK = {1: "W", 2: "HW", 3: "DHW", 4: "NCHW", 5: "NCDHW"}
KNOWN_LABELS = ("HW", "WH", "DHW", "WHD", "NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC")


@as_annotated
def axes_of_rank(rank: int) -> str:
    """The letters of the axes of a tensor, in the fixed order of its sizes; from 6 axes on there are none."""
    return AXES_OF_RANK.get(rank, "")


@as_annotated
def label_order(label: str, rank: int) -> tuple[int, ...]:
    """The axes that a label names, slowest first. Raises LayoutcError unless it names `rank` different ones."""
    letters = [letter for letter in ALPHABET if letter in str(label)]
    if len(str(label)) != len(letters):
        raise LayoutcError(f"label {str(label)[:20]!r} is not of different axes {' '.join(ALPHABET)}")
    if len(label) != rank:
        raise LayoutcError(f"label {label!r} names {len(label)} axes, expected {rank}, one per size")
    return tuple(letters.index(letter) for letter in label)


@as_annotated
def packed_strides(sizes: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The strides, per axis, of a packed tensor whose axes lie in this order, slowest first."""
    strides, step = [0] * len(sizes), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= sizes[axis]
    return tuple(strides)


@as_annotated
def interleaved_channel_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of DirectMLX's policy `InterleavedChannel`: NWC, NHWC, NDHWC; the second axis is the fastest."""
    rank = len(sizes)
    order = (0, *range(2, rank), 1) if rank > 1 else range(rank)
    return packed_strides(sizes, tuple(order))


def fitting_labels(sizes: Sequence[int], strides: Sequence[int]) -> Iterator[str]:
    """
    The labels along which strides do not grow, that of the axes' own order first.

    Axes of size 1, and broadcast ones, may stand anywhere.
    """
    letters = axes_of_rank(len(sizes))
    for order in permutations(range(len(letters))) if letters else ():
        steps = [strides[axis] for axis in order if sizes[axis] > 1 and strides[axis]]
        if steps == sorted(steps, reverse=True):
            yield "".join(letters[axis] for axis in order)
