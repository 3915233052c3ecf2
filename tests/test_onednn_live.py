"""oneDNN's descriptors against the real library, where the onednn-devel package is installed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import islice, product
from typing import Any

import pytest

from layoutc.errors import LayoutcError
from layoutc.notations import onednn
from layoutc.notations.onednn_desc import RUNTIME_DIM, Desc, StatusError
from layoutc.notations.onednn_tags import canonical_tags, parse
from tests import libdnnl
from tests.libdnnl import Answer, Library

if not libdnnl.is_installed():
    pytest.skip("onednn-devel is not installed", allow_module_level=True)

LIBRARY = Library()
TYPES = ("f32", "s8", "bf16", "f64", "s4", "u4", "f8_e4m3", "s64", "f4_e2m1")
NAMES = tuple(canonical_tags())
Pair = tuple[Desc, Answer]


def described(desc: Desc) -> dict[str, Any]:
    """Our descriptor in the words of the library's queries."""
    return {name: getattr(desc, name) for name in libdnnl.QUERIES.values()}


def ours(call: Callable[..., Desc], *arguments: Any) -> Desc | str:
    """What layoutc makes, or the status that it refuses with."""
    try:
        return call(*arguments)
    except StatusError as error:
        return error.status


def same(got: Desc | str, answer: Answer, *context: object) -> Pair | None:
    """Checks that both refuse alike or made the same; the pair if they made one."""
    assert (got if isinstance(got, str) else "success") == answer.status, context
    if isinstance(got, str):
        return None
    assert described(got) == answer.queries(), context
    assert got.get_size() == answer.size, context
    return got, answer


def shapes(tag: str) -> list[tuple[int, ...]]:
    """Five shapes for a tag: divisible by the blocks, not divisible, small, all ones, with a zero."""
    layout = parse(tag)
    blocks = [group.block for group in layout.groups]
    sizes = (2, 3, 5, 4, 2, 3, 1, 2, 1, 2, 1, 2)
    whole = tuple(block * (n if block < 16 else 1 + n % 2) for block, n in zip(blocks, sizes, strict=False))
    ragged = tuple(n + 1 + n % 3 if block > 1 else n for n, block in zip(whole, blocks, strict=True))
    small = tuple(2 + axis % 2 for axis in range(layout.rank))
    zero = tuple(0 if axis == layout.rank // 2 else n for axis, n in enumerate(ragged))
    return [whole, ragged, small, (1,) * layout.rank, zero]


def test_every_tag_answers_all_queries_as_the_library_does() -> None:
    right = 0
    for tag in NAMES:
        for dims in shapes(tag):
            pair = same(ours(onednn.create_with_tag, dims, "f32", tag), LIBRARY.with_tag(dims, "f32", tag), tag, dims)
            assert pair is not None
            right += 1
    assert right == 1671 * 5


def random_dims(draw: random.Random, rank: int | None = None) -> tuple[int, ...]:
    rank = rank or draw.choice((1, 2, 2, 3, 3, 4, 5))
    return tuple(draw.choice((1, 1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 32, 0)) for _ in range(rank))


def random_strides(draw: random.Random, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Dense in some order, then padded, broken or made broadcast here and there."""
    order = draw.sample(range(len(dims)), len(dims))
    strides, stride = [0] * len(dims), 1
    for axis in order:
        stride += draw.choice((0, 0, 0, 1, 2, 7, stride))
        strides[axis] = stride
        stride *= max(dims[axis], 1)
    if draw.random() < 0.4:
        strides[draw.randrange(len(dims))] = draw.choice((0, 1, 2, 3, 5, 10, 1000, -1, -6, RUNTIME_DIM))
    return tuple(strides)


def random_tag(draw: random.Random, rank: int) -> str:
    """A tag of the enum or outside of it."""
    letters = "abcdefghijkl"[:rank]
    if draw.random() < 0.5:
        return draw.choice([name for name in NAMES if parse(name).rank == rank])
    blocks = [(draw.choice((2, 3, 4, 5, 8, 16)), draw.choice(letters)) for _ in range(draw.choice((0, 1, 1, 2, 3)))]
    blocked = {letter for _, letter in blocks}
    head = draw.sample(letters, rank)
    return "".join(c.upper() if c in blocked else c for c in head) + "".join(f"{n}{c}" for n, c in blocks)


def random_pair(draw: random.Random) -> Pair | None:
    """A descriptor from both, by a tag or by strides; None where both refuse."""
    dims, data_type = random_dims(draw), draw.choice(TYPES if draw.random() < 0.5 else ("f32",))
    if draw.random() < 0.6:
        tag = random_tag(draw, len(dims))
        if tag not in LIBRARY.tags:
            # The entry for tags as text, made for oneDNN's own tests, checks no 4-bit strides and has others around 0.
            dims, data_type = tuple(dim or 1 for dim in dims), "f32"
        return same(
            ours(onednn.create_with_tag, dims, data_type, tag), LIBRARY.with_tag(dims, data_type, tag), dims, data_type, tag
        )
    strides = random_strides(draw, dims)
    return same(
        ours(onednn.create_with_strides, dims, data_type, strides),
        LIBRARY.with_strides(dims, data_type, strides),
        dims,
        data_type,
        strides,
    )


def random_view(draw: random.Random, pair: Pair, seen: Counter[str]) -> Pair | None:
    """A part, a permutation or a reshape of a descriptor from both; None where both refuse."""
    desc, answer = pair
    kind = draw.choice(("submemory", "permute_axes", "reshape"))
    if kind == "reshape":
        return reshaped(draw, pair, seen)
    arguments = random_part(draw, desc) if kind == "submemory" else (random_permutation(draw, desc.ndims),)
    got = ours(getattr(onednn, kind), desc, *arguments)
    return same(got, getattr(LIBRARY, kind)(answer, *arguments), str(desc), kind, arguments)


def random_permutation(draw: random.Random, rank: int) -> list[int]:
    """Now and then none."""
    if draw.random() < 0.1:
        return [draw.randrange(-1, rank + 1) for _ in range(rank)]
    return draw.sample(range(rank), rank)


def random_part(draw: random.Random, desc: Desc) -> tuple[list[int], list[int]]:
    offsets = [draw.choice((0, 0, block, 2 * block, 1)) for block in desc.blocks]
    dims = [draw.choice((n - o, n - o, 1, 2, 4, 16, 0, n)) for n, o in zip(desc.dims, offsets, strict=True)]
    return dims, offsets


def random_regrouping(draw: random.Random, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Other dims with as many elements, mostly: axes joined, split, and ones put in and left out."""
    found: list[int] = []
    for dim in dims:
        if found and draw.random() < 0.3:
            found[-1] *= dim
        elif dim > 1 and draw.random() < 0.3:
            factor = draw.choice([n for n in range(1, min(dim, 40) + 1) if dim % n == 0])
            found += [factor, dim // factor]
        elif dim != 1 or draw.random() < 0.5:
            found.append(dim)
        if draw.random() < 0.2:
            found.insert(draw.randrange(len(found) + 1), 1)
    return tuple(found[:12]) or (1,)


def reshaped(draw: random.Random, pair: Pair, seen: Counter[str]) -> Pair | None:
    """
    A reshape from both. Where oneDNN forgets to look at blocks, layoutc refuses or keeps every element in its place.

    oneDNN drops an axis of 1 that is a lane of a block, and joins blocked axes whose strides match by chance;
    its `inner_idxs` then name an axis that is not theirs.
    """
    desc, answer = pair
    dims = random_regrouping(draw, desc.dims)
    got, theirs = ours(onednn.reshape, desc, dims), LIBRARY.reshape(answer, dims)
    if theirs.status != "success" or (isinstance(got, Desc) and described(got) == theirs.queries()):
        return same(got, theirs, str(desc), dims)
    assert any(block > 1 for block in desc.blocks), (str(desc), dims)
    before = offsets(desc)
    if isinstance(got, Desc):
        assert offsets(got) == before
        seen["reshape with a lane of a block kept"] += 1
    else:
        assert len(before) <= 1 or library_offsets(theirs) != before, (str(desc), dims)
        seen["reshape that loses its blocks refused"] += 1
    return None


def offsets(desc: Desc) -> list[int]:
    """Those of the first elements, in row-major order."""
    return [desc.offset(*index) for index in islice(product(*map(range, desc.dims)), 200)]


def library_offsets(answer: Answer) -> list[int] | None:
    """The offsets of a descriptor of the library; None if its blocks are of axes that it does not have."""
    found = answer.queries()
    try:
        names = ("dims", "data_type", "strides", "inner_blks", "inner_idxs", "padded_dims", "offset0")
        return offsets(Desc(*(found[name] for name in names)))
    except LayoutcError:
        return None


def test_random_descriptors_and_views_are_made_and_refused_as_the_library_does() -> None:
    draw, seen = random.Random(3), Counter[str]()
    for _ in range(10_000):
        pair = random_pair(draw)
        seen["made" if pair else "refused"] += 1
        for _ in range(3):
            if pair is not None:
                pair = random_view(draw, pair, seen)
                seen["view made" if pair else "view refused"] += 1
    assert min(seen["made"], seen["view made"], seen["view refused"]) > 3_000, seen
    assert seen["refused"] > 300
    print(dict(seen))
