"""
Any rearrangement of elements in registers, where one instruction takes any lanes of two registers.

Registers are merged in pairs, and the results again, as in a merge sort: what goes to one output stays together, so
that each output finds its elements in two registers at the end. Inside of a register it lies side by side, and can
become wider lanes; or it lies where it was in one of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from layoutc.errors import LayoutcError
from layoutc.planning.machine import Shuffles
from layoutc.planning.shuffles.network import Network, Shuffle
from layoutc.planning.shuffles.staying import can_stay, cheaper

Elements = tuple[int, ...]
"""what the lanes of a register hold, from the lowest up"""
ZERO = -1
"""an element that is zero, of which any will do"""
ANY = -2
"""what a lane of an output holds that does not matter"""
Places = dict[int, list[tuple[int, int]]]
"""by output: pairs of a lane there and the lane that its element is in now"""


@dataclass(frozen=True, slots=True)
class Held:
    """A value, and where in it what outputs wait for is."""

    number: int
    places: Places


@lru_cache(maxsize=256)
def merge(
    held: tuple[Elements, ...], wanted: tuple[Elements, ...], lanes: int, by: Shuffles = "any", part: int = 0
) -> Network:
    """
    The network that leaves a register for each of `wanted`, of elements that the registers `held` have.

    Lanes that are not mentioned may hold anything. Where zeros are wanted that no register has at hand, the network
    has one input more, a register of zeros. An element that a register has twice stays in its `part` of so many lanes,
    if there are parts and it can. Raises LayoutcError for elements that no register has.
    """
    if part:
        return _Merge(held, wanted, lanes, part=part).network()
    side_by_side = _Merge(held, wanted, lanes).network()
    return cheaper(side_by_side, staying(held, wanted, lanes), by) if can_stay(lanes, by) else side_by_side


@lru_cache(maxsize=256)
def staying(held: tuple[Elements, ...], wanted: tuple[Elements, ...], lanes: int) -> Network:
    """The same, where the elements of one of two registers stay in their lanes for as long as they can."""
    return _Merge(held, wanted, lanes, stays=True).network()


class _Merge:
    """The steps so far, and the outputs that are made."""

    def __init__(
        self,
        held: tuple[Elements, ...],
        wanted: tuple[Elements, ...],
        lanes: int,
        *,
        stays: bool = False,
        part: int = 0,
    ):
        self.lanes, self.stays = lanes, stays
        self.steps: list[Shuffle] = []
        self.outputs: dict[int, int] = {}
        self.zeros = {
            number: {lane for lane, e in enumerate(row) if e == ZERO} for number, row in enumerate(held) if ZERO in row
        }
        """by value: the lanes that are zero"""
        self.wanted_zeros = [[lane for lane, e in enumerate(row) if e == ZERO] for row in wanted]
        self.counts = [sum(e not in (ZERO, ANY) for e in row) for row in wanted]
        """elements of each output that registers have"""
        self.inputs = _found(held, wanted, part or lanes)
        self.zero = len(held)
        """the input of zeros, if there is one"""
        self.input_count = len(held) + any(self.wanted_zeros)
        self.zeros[self.zero] = set(range(lanes))

    def network(self) -> Network:
        self.outputs = {output: self.zero for output, count in enumerate(self.counts) if not count}
        self._merged(self.inputs)
        outputs = tuple(self.outputs[number] for number in range(len(self.counts)))
        return Network(self.input_count, self.lanes, tuple(self.steps), outputs)

    def _merged(self, inputs: Sequence[Held]) -> list[Held]:
        """What is left of these once the outputs that need no others are made."""
        if len(inputs) == 1:
            return self._finished(list(inputs))
        half = 1 << (len(inputs) - 1).bit_length() - 1
        return self._finished([*self._merged(inputs[:half]), *self._merged(inputs[half:])])

    def _finished(self, values: list[Held]) -> list[Held]:
        by_output: dict[int, list[Held]] = {}
        for value in values:
            for output in value.places:
                by_output.setdefault(output, []).append(value)
        left: dict[int, list[Held]] = {}
        for output, sources in sorted(by_output.items()):
            if sum(len(source.places[output]) for source in sources) == self.counts[output]:
                self.outputs[output] = self._gathered(output, sources)
            else:
                left[output] = sources
        if len(values) == 1 and left:
            return [Held(values[0].number, {output: values[0].places[output] for output in left})]
        return self._packed(left)

    def _gathered(self, output: int, sources: Sequence[Held]) -> int:
        """The output from all its registers, one after the other; its zeros come along where they can."""
        first, *rest = sources
        value, moved, zeros = first.number, dict(first.places[output]), self.wanted_zeros[output]
        for source in rest:
            moved |= {lane: self.lanes + at for lane, at in source.places[output]}
            value = self._step(value, source.number, moved | self._zero_lanes(zeros, value, source.number))
            moved = {lane: lane for lane in moved}
        if set(zeros) <= self.zeros.get(value, set()) and all(lane == at for lane, at in moved.items()):
            return value
        if self.zeros.get(value) or not zeros:
            return self._step(value, None, moved | self._zero_lanes(zeros, value, None))
        return self._step(value, self.zero, moved | {lane: self.lanes + lane for lane in zeros})

    def _zero_lanes(self, wanted: Sequence[int], first: int, second: int | None) -> dict[int, int]:
        """Where the zeros of an output come from, if one of two values has any; in place if they are there."""
        here = self.zeros.get(first, set())
        other = self.zeros.get(second, set()) if second is not None else set[int]()
        anywhere = min(here, default=self.lanes + min(other) if other else None)
        return {} if anywhere is None else {lane: lane if lane in here else anywhere for lane in wanted}

    def _step(self, first: int, second: int | None, moved: dict[int, int]) -> int:
        mask = tuple(moved.get(lane, lane) for lane in range(self.lanes))
        self.steps.append(Shuffle(first, second, mask))
        number = self.input_count + len(self.steps) - 1
        here, other = (self.zeros.get(value, ()) if value is not None else () for value in (first, second))
        if here or other:
            zeros = {*here, *(self.lanes + lane for lane in other)}
            self.zeros[number] = {lane for lane, source in enumerate(mask) if source in zeros}
        return number

    def _packed(self, left: dict[int, list[Held]]) -> list[Held]:
        """Fewer registers, each out of two, with what outputs wait for side by side."""
        bins: list[_Bin] = []
        for output, sources in left.items():
            for part in [sources] if len(sources) <= 2 else [[source] for source in sources]:
                count = sum(len(source.places[output]) for source in part)
                if not bins or not bins[-1].takes(part, count, self.lanes):
                    bins.append(_Bin())
                bins[-1].add(output, part, count)
        return [self._bin_value(b) for b in bins]

    def _bin_value(self, packed: _Bin) -> Held:
        if len(packed.sources) == 1:
            (number,) = packed.sources
            return Held(number, packed.places(number))
        places, moved = self._lanes_beside(packed) if self.stays else self._lanes_in_order(packed)
        first, second = packed.sources
        return Held(self._step(first, second, moved), places)

    def _lanes_in_order(self, packed: _Bin) -> tuple[Places, dict[int, int]]:
        """Where what is packed comes to lie, and the lanes that it is taken from: one output after the other."""
        places: Places = {}
        moved: dict[int, int] = {}
        first, _ = packed.sources
        for output, sources in packed.parts:
            for source in sources:
                base = 0 if source.number == first else self.lanes
                for lane, at in source.places[output]:
                    places.setdefault(output, []).append((lane, len(moved)))
                    moved[len(moved)] = base + at
        return places, moved

    def _lanes_beside(self, packed: _Bin) -> tuple[Places, dict[int, int]]:
        """The same, where elements of the first register stay, and those of the second one go between them."""
        first, second = packed.sources
        places, coming = packed.places(first), packed.places(second)
        kept = {at for found in places.values() for _, at in found}
        free = (lane for lane in range(self.lanes) if lane not in kept)
        moved: dict[int, int] = {}
        for output, found in coming.items():
            for lane, at in found:
                places.setdefault(output, []).append((lane, to := next(free)))
                moved[to] = self.lanes + at
        return places, moved


def _found(held: tuple[Elements, ...], wanted: tuple[Elements, ...], part: int) -> list[Held]:
    """Where in each register the elements of outputs are, in the same part of it if they are there."""
    place = {e: (number, lane) for number, row in reversed([*enumerate(held)]) for lane, e in enumerate(row)}
    found: list[Places] = [{} for _ in held]
    for output, elements in enumerate(wanted):
        for lane, element in enumerate(elements):
            if element in (ZERO, ANY):
                continue
            if element not in place:
                raise LayoutcError(f"output {output} wants element {element}, which no register has")
            number, at = place[element]
            if at // part != lane // part:
                first = lane // part * part
                at = first + row.index(element) if element in (row := held[number][first : first + part]) else at
            found[number].setdefault(output, []).append((lane, at))
    return [Held(number, places) for number, places in enumerate(found)]


class _Bin:
    """What is packed into one register."""

    def __init__(self) -> None:
        self.sources: dict[int, None] = {}
        self.parts: list[tuple[int, list[Held]]] = []
        self.count = 0

    def takes(self, sources: Sequence[Held], count: int, lanes: int) -> bool:
        """Whether this fits: two sources, so many lanes."""
        return self.count + count <= lanes and len({*self.sources, *(source.number for source in sources)}) <= 2

    def add(self, output: int, sources: list[Held], count: int) -> None:
        self.sources |= dict.fromkeys(source.number for source in sources)
        self.parts.append((output, sources))
        self.count += count

    def places(self, number: int) -> Places:
        """What is packed of a value; several may have its number, each with what some outputs wait for."""
        found: Places = {}
        for output, sources in self.parts:
            for source in sources:
                if source.number == number:
                    found.setdefault(output, []).extend(source.places[output])
        return found
