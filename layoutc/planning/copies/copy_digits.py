"""A strided copy and its digits: merged, cut where they are loaded in part, counted as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod
from typing import Any, Literal

SideName = Literal["src", "dst"]
SIDES: tuple[SideName, ...] = ("src", "dst")
OTHER_SIDE: dict[SideName, SideName] = {"src": "dst", "dst": "src"}
"""the other side"""


@dataclass(frozen=True, slots=True)
class Carry:
    """The stride of several digits that are counted as one: steps of each and their strides, the fastest first."""

    steps: tuple[tuple[int, int], ...]

    def at(self, value: Any) -> Any:
        """The offset of a value, a number or an affine expression."""
        *inner, (_, last) = self.steps
        total: Any = 0
        for extent, stride in inner:
            total += value % extent * stride
            value = value // extent
        return total + value * last

    def places(self, count: int) -> list[int]:
        """The offsets of the first `count` values, of one at least."""
        found = [0]
        for extent, stride in self.steps[:-1]:
            found = [at + step * stride for step in range(min(extent, -(-count // len(found)))) for at in found]
        *_, (_, last) = self.steps
        return [at + step * last for step in range(-(-count // len(found))) for at in found][:count]

    @property
    def period(self) -> int:
        """Steps after which the slowest digit takes one: from there on the others repeat."""
        return prod(extent for extent, _ in self.steps[:-1])

    def scaled(self, factor: int) -> Carry:
        return Carry(tuple((extent, stride * factor) for extent, stride in self.steps))

    def shared(self, share: int) -> Carry:
        """In units of so many elements, which all strides are multiples of."""
        return Carry(tuple((extent, stride // share) for extent, stride in self.steps))


Stride = int | Carry


@dataclass(frozen=True, slots=True)
class CopyDigit:
    """
    `extent` steps of `src` and `dst` elements; only the first `loaded` are in the source, the rest is zero.

    In the values of parameters, which the copy lists (`StridedCopy.params`), a step is so many of `params` each.

    A digit that is several in one (`fused`) has one stride on one side; on the other, `src` or `dst` is that of its
    fastest one, and `carries` has all. So it is with one that is a whole axis (`is_uneven`), where each side may carry
    at blocks of its own.

    A digit that `swaps` moves what lies in its bytes, so many in each, elements or several that stay neighbours. On the
    side `swaps_at` each of its steps has one of each of as many rows: what is at place `v` of step `j` there comes, or
    came, in the other side's order as number `v * extent + j`: the rows one after the other. Of as many steps as
    places, step and place are swapped, and either side may be that one: it is the source.
    """

    extent: int
    src: int
    dst: int
    loaded: int
    carries: tuple[tuple[SideName, Carry], ...] = ()
    params: tuple[int, ...] = ()
    swaps: int = 0
    swaps_at: SideName = "src"

    @property
    def swaps_rows(self) -> bool:
        """Whether it swaps in other bytes than as many as have places."""
        return self.swaps not in (0, self.extent)

    @property
    def is_whole(self) -> bool:
        """Whether all of it is in the source."""
        return self.loaded == self.extent

    def of(self, side: SideName) -> int:
        """Elements from one step to the next on a side; of several digits in one, of the fastest."""
        return self.src if side == "src" else self.dst

    def stride(self, side: SideName) -> Stride:
        """Elements from one step to the next on a side."""
        return dict(self.carries).get(side, self.of(side)) if self.carries else self.of(side)

    def offset(self, side: SideName, value: int) -> int:
        """Elements up to the step `value` on a side."""
        stride = self.stride(side)
        return stride * value if isinstance(stride, int) else stride.at(value)

    def places(self, side: SideName, count: int) -> Sequence[int]:
        """Elements up to each of the first steps on a side."""
        stride = self.stride(side)
        if isinstance(stride, int):
            return range(0, count * stride, stride) if stride else [0] * count
        return stride.places(count)

    def steps(self, side: SideName, apart: int) -> int:
        """How many steps are so many elements apart on a side, in the source of those loaded; 0 if none are."""
        if self.carries:
            steps = next((extent for extent, step in self.all_steps(side) if step == apart), 0)
        else:
            steps = self.extent if self.of(side) == apart else 0
        return min(steps, self.loaded) if side == "src" else steps

    def all_steps(self, side: SideName) -> tuple[tuple[int, int], ...]:
        """How many steps have which stride on a side, the fastest first."""
        stride = self.stride(side)
        return stride.steps if isinstance(stride, Carry) else ((self.extent, stride),)

    @property
    def is_uneven(self) -> bool:
        """Whether it is a whole axis, or a period of one, whose blocks on both sides are not parts of one another."""
        nests = {tuple(extent for extent, _ in carry.steps) for _, carry in self.carries}
        return bool(nests) and (len(nests) > 1 or not self.is_whole or any(prod(n) != self.extent for n in nests))

    @property
    def parts(self) -> tuple[CopyDigit, ...]:
        """The digits that it was made of, the fastest first; itself for any other, and where they are no digits."""
        if not self.carries or self.is_uneven:
            return (self,)
        found: list[CopyDigit] = []
        below = 1
        for number, (extent, _) in enumerate(self.carries[0][1].steps):
            carries = dict(self.carries)
            src, dst = (carries[side].steps[number][1] if side in carries else self.of(side) * below for side in SIDES)
            found.append(CopyDigit(extent, src, dst, extent, (), tuple(step * below for step in self.params)))
            below *= extent
        return tuple(found)


def axis_digit(extent: int, loaded: int, *strides: Carry) -> CopyDigit:
    """A digit with these strides in source and destination, of which those with one step are plain."""
    steps = [[step for step in carry.steps[:-1] if step[0] > 1] + [carry.steps[-1]] for carry in strides]
    sides = zip(SIDES, steps, strict=True)
    carries: list[tuple[SideName, Carry]] = [(side, Carry(tuple(found))) for side, found in sides if len(found) > 1]
    (_, src), (_, dst) = steps[0][0], steps[1][0]
    return CopyDigit(extent, src, dst, loaded, tuple(carries))


@dataclass(frozen=True, slots=True)
class StridedCopy:
    """
    Nested digits from element offsets on both sides. A fill loads nothing and writes zeros.

    `params` are the offsets of the first element's value in each list of parameters that is indexed.
    """

    src: int
    dst: int
    digits: tuple[CopyDigit, ...]
    is_fill: bool = False
    params: tuple[int, ...] = ()

    def of(self, side: SideName) -> int:
        """The offset of the first element on a side."""
        return self.src if side == "src" else self.dst

    @property
    def swapping(self) -> int | None:
        """The digit that swaps, if there is one."""
        return next((g for g, digit in enumerate(self.digits) if digit.swaps), None)

    @property
    def elements(self) -> int:
        """Elements that are stored."""
        return prod(digit.extent for digit in self.digits)

    @property
    def first_partial(self) -> int | None:
        """The first digit that is loaded in part, if there is one."""
        return next((g for g, digit in enumerate(self.digits) if not digit.is_whole), None)

    @property
    def is_whole(self) -> bool:
        """Whether all steps of all digits are loaded."""
        return all(digit.is_whole for digit in self.digits)

    @property
    def is_uneven(self) -> bool:
        """Whether some digit carries in its own way on each side."""
        return any(digit.is_uneven for digit in self.digits)


Sized = tuple[StridedCopy, int]
"""a copy, and the bytes of its elements"""


def merged(copy: StridedCopy) -> StridedCopy:
    """The copy with digits of extent 1 left out and contiguous ones joined, by falling destination stride."""
    if any(digit.loaded == 0 for digit in copy.digits):
        # The source does not matter: strides that follow the destination's let the most digits join.
        whole = tuple(filled for digit in copy.digits for filled in _filled(digit))
        copy = StridedCopy(copy.dst, copy.dst, whole, is_fill=True)
    digits = [d for d in copy.digits if d.extent > 1]
    digits.sort(key=falling)
    changed = True
    while changed:
        changed = False
        for i, j in product(range(len(digits)), repeat=2):
            slow, fast = digits[i], digits[j]
            if i != j and _continues(slow, fast):
                extent, loaded = fast.extent * slow.extent, fast.loaded * slow.extent
                digits[j] = replace(fast, extent=extent, loaded=loaded)
                del digits[i]
                changed = True
                break
    return replace(copy, digits=tuple(digits))


def _filled(digit: CopyDigit) -> Iterator[CopyDigit]:
    """The digits of a fill in place of one: as many as it carries, or one that ends within a block."""
    steps = digit.all_steps("dst")
    if prod(n for n, _ in steps) == digit.extent:
        yield from (CopyDigit(n, step, step, n) for n, step in steps)
    else:
        yield axis_digit(digit.extent, digit.extent, Carry(steps), Carry(steps))


def _continues(slow: CopyDigit, fast: CopyDigit) -> bool:
    """Whether the slow digit only carries the fast one on, on both sides and in all parameters."""
    contiguous = slow.src == fast.src * fast.extent and slow.dst == fast.dst * fast.extent
    contiguous = contiguous and not (slow.carries or fast.carries or slow.swaps or fast.swaps)
    return contiguous and continues_params(slow, fast) and slow.is_whole and fast.is_whole


def continues_params(slow: CopyDigit, fast: CopyDigit) -> bool:
    """Whether the parameters of a digit's steps are those of further steps of the fast one."""
    return all(step == before * fast.extent for step, before in zip(slow.params, fast.params, strict=True))


def cut_after(copy: StridedCopy, position: int, steps: int) -> tuple[StridedCopy, StridedCopy]:
    """The first steps of a digit, and the others: a fill if none of these is loaded."""
    digit = copy.digits[position]
    before, after = copy.digits[:position], copy.digits[position + 1 :]
    first = replace(digit, extent=steps, loaded=min(digit.loaded, steps))
    rest = replace(digit, extent=digit.extent - steps, loaded=digit.loaded - first.loaded)
    moved = replace(
        copy,
        src=copy.src + steps * digit.src,
        dst=copy.dst + steps * digit.dst,
        params=tuple(base + steps * step for base, step in zip(copy.params, digit.params, strict=True)),
        digits=(*before, rest, *after),
    )
    return merged(replace(copy, digits=(*before, first, *after))), merged(moved)


def without_partial(copy: StridedCopy, position: int) -> tuple[StridedCopy, StridedCopy]:
    """A copy of what a digit that is loaded in part loads, and a fill of the rest."""
    return cut_after(copy, position, copy.digits[position].loaded)


def fuse(copy: StridedCopy, positions: Sequence[int]) -> StridedCopy:
    """The copy with these whole digits counted as one; the first is the fastest."""
    parts = [copy.digits[position] for position in positions]
    carries: list[tuple[SideName, Carry]] = []
    for side in SIDES:
        strides = [(part.extent, part.of(side)) for part in parts]
        if any(fast * extent != slow for (extent, fast), (_, slow) in pairwise(strides)):
            carries.append((side, Carry(tuple(strides))))
    extent = prod(part.extent for part in parts)
    one = replace(parts[0], extent=extent, loaded=extent, carries=tuple(carries))
    rest = [None if i in positions else digit for i, digit in enumerate(copy.digits)]
    rest[min(positions)] = one
    return replace(copy, digits=tuple(digit for digit in rest if digit is not None))


def unfused(copy: StridedCopy) -> StridedCopy:
    """The copy with every digit by itself."""
    digits = [part for digit in copy.digits for part in digit.parts]
    return replace(copy, digits=tuple(sorted(digits, key=falling)))


def falling(digit: CopyDigit) -> tuple[int, int]:
    """A key that sorts digits by falling stride, the destination's first."""
    return -digit.dst, -digit.src
