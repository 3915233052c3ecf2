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
NAMES_OF_RANK = {rank: [name for name in NAMES if parse(name).rank == rank] for rank in range(1, 13)}
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
        return draw.choice(NAMES_OF_RANK[rank])
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
            ours(onednn.create_with_tag, dims, data_type, tag),
            LIBRARY.with_tag(dims, data_type, tag),
            dims,
            data_type,
            tag,
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
    dims = [draw.choice((max(n - o, 0), n - o, 1, 2, 4, 16, 0, n)) for n, o in zip(desc.dims, offsets, strict=True)]
    if desc.is_runtime:
        dims = [1] * desc.ndims
    return dims, offsets


def random_regrouping(draw: random.Random, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Other dims with as many elements, mostly: axes joined, split, and ones put in and left out."""
    if RUNTIME_DIM in dims:
        return dims
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
        wrong = library_offsets(theirs) != before
        seen["reshape that moves elements there refused" if wrong else "reshape that is right by chance refused"] += 1
    return None


def offsets(desc: Desc) -> list[int]:
    """Those of the first and of the last elements, in row-major order."""
    first = islice(product(*map(range, desc.dims)), 2000)
    last = islice(product(*(range(n - 1, -1, -1) for n in desc.dims)), 2000)
    return [desc.offset(*index) for index in (*first, *last)]


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
    assert seen["reshape that is right by chance refused"] <= seen["reshape that moves elements there refused"]
    print(dict(seen))


def test_equality_is_the_librarys() -> None:
    draw, seen = random.Random(5), Counter[bool]()
    while sum(seen.values()) < 20_000:
        dims = tuple(draw.choice((1, 1, 2, 3)) for _ in range(draw.choice((1, 2, 3))))
        pairs = [pair for _ in range(6) if (pair := pair_of_dims(draw, dims))]
        for (one, left), (other, right) in product(pairs, pairs):
            assert (one == other) == LIBRARY.equal(left, right), (str(one), str(other))
            assert one != other or hash(one) == hash(other)
            seen[one == other] += 1
    assert min(seen.values()) > 1000, seen


def pair_of_dims(draw: random.Random, dims: tuple[int, ...]) -> Pair | None:
    if draw.random() < 0.5:
        tag = random_tag(draw, len(dims))
        return same(ours(onednn.create_with_tag, dims, "f32", tag), LIBRARY.with_tag(dims, "f32", tag), dims, tag)
    strides = random_strides(draw, dims)
    made = ours(onednn.create_with_strides, dims, "f32", strides)
    return same(made, LIBRARY.with_strides(dims, "f32", strides), dims, strides)


def test_runtime_dims_are_carried_and_refused_as_the_library_does() -> None:
    draw, seen = random.Random(7), Counter[str]()
    for _ in range(3_000):
        dims = tuple(draw.choice((RUNTIME_DIM, 1, 2, 8, 16, 17)) for _ in range(draw.choice((1, 2, 3, 4))))
        tag = draw.choice(NAMES_OF_RANK[len(dims)])
        pair = same(ours(onednn.create_with_tag, dims, "f32", tag), LIBRARY.with_tag(dims, "f32", tag), dims, tag)
        assert pair is not None
        if RUNTIME_DIM in dims:
            seen["runtime"] += 1
            assert random_view(draw, pair, seen) is None
    assert seen["runtime"] > 1000


def test_every_name_of_a_descriptor_makes_a_descriptor_of_the_same_memory() -> None:
    draw, several = random.Random(11), 0
    for _ in range(200):
        dims = tuple(dim or 1 for dim in random_dims(draw))
        tag = draw.choice(NAMES_OF_RANK[len(dims)])
        desc = onednn.create_with_tag(dims, "f32", tag)
        names = onednn.names(desc)
        assert tag in names and onednn.tag(desc) == canonical_tags()[names[0]]
        for name in names:
            assert library_offsets(LIBRARY.with_tag(dims, "f32", name)) == offsets(desc), (dims, tag, name)
        unnamed = [name for name in draw.choices(NAMES_OF_RANK[len(dims)], k=20) if name not in names]
        for name in unnamed:
            assert not LIBRARY.equal(LIBRARY.with_tag(dims, "f32", name), LIBRARY.with_tag(dims, "f32", tag))
        several += len({canonical_tags()[name] for name in names}) > 1
    assert several > 10


@pytest.mark.parametrize("data_type", ["f64", "f32", "bf16", "s8", "u4"])
def test_sizes_past_64_bits_are_refused_as_the_library_does(data_type: str) -> None:
    draw = random.Random(13)
    for _ in range(500):
        dims = tuple(2 ** draw.randrange(0, 40) - draw.choice((0, 0, 1)) or 1 for _ in range(draw.choice((1, 2, 3))))
        strides = None if draw.random() < 0.5 else random_strides(draw, dims)
        if strides is None or max(map(abs, strides)) < 2**63:
            got = ours(onednn.create_with_strides, dims, data_type, strides)
            same(got, LIBRARY.with_strides(dims, data_type, strides), dims, strides)
