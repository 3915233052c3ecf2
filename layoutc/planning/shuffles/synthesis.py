"""From places of index bits to the shuffles that move them: in-register transposes of any tile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from layoutc.errors import LayoutcError
from layoutc.planning.machine import Shuffles
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.shuffles.exchanges import ELSEWHERE, ENTERING, Move, VectorUnit, find_moves
from layoutc.planning.shuffles.network import Label, Network, Shuffle, check_labels, move_bits, without_unused_steps

ELEMENT_BYTES = (1, 2, 4, 8)
REGISTER_LIMIT = 64


def synthesize(
    source_lanes: Sequence[Label],
    source_registers: Sequence[Label],
    target_lanes: Sequence[Label],
    element_bytes: int,
    native_bytes: int = 64,
    shuffles: Shuffles = "any",
) -> Network:
    """
    The network that brings the bits `target_lanes` of a tile's index into the lanes, low to high.

    Register r holds the elements whose index bits `source_registers` are the bits of r, lane j those whose bits
    `source_lanes` are the bits of j, low to high. In which order the other bits number the outputs is the network's
    choice: `target_registers`.

    Each stage lets one register bit enter the lanes and one lane bit leave, so there are at least as many stages as
    target lanes that come from registers, and one if they only change their order. With `native_bytes` 64 (AVX-512)
    there are no more. For narrower machines a stage more may save instructions. With `shuffles` that `unpack`
    there are punpckl/punpckh and moves of whole 16 bytes only, as on machines that have no shuffle of single bytes
    (x86-64 before SSSE3); with those of `words` AVX-512 cannot permute single bytes of two registers (no VBMI).

    Raises LayoutcError for bits without a place, and for vectors that are wider than `native_bytes`.
    """
    check_labels(source_lanes, source_registers, target_lanes)
    unit = vector_unit(1 << len(source_lanes), element_bytes, native_bytes, shuffles)
    if len(source_registers) > REGISTER_LIMIT.bit_length() - 1:
        raise LayoutcError(f"got {1 << len(source_registers)} registers, expected at most {REGISTER_LIMIT}")
    moves = _moves(source_lanes, source_registers, target_lanes, unit)
    if moves is None:  # one register that is unpacked alone: unpack it with itself, under a bit that no lane keeps
        return _synthesize_alone(source_lanes, target_lanes, unit)
    program = _Program(source_lanes, source_registers, list(range(1 << len(source_registers))))
    for move in moves:
        program.append(move, target_lanes)
    return program.network()


def vector_unit(lanes: int, element_bytes: int, native_bytes: int, shuffles: Shuffles) -> VectorUnit:
    """The unit that the search needs. Raises LayoutcError for vectors that none has."""
    if element_bytes not in ELEMENT_BYTES:
        raise LayoutcError(f"got elements of {element_bytes} bytes, expected 1, 2, 4 or 8")
    if lanes < 1 or not is_power_of_two(lanes):
        raise LayoutcError(f"got vectors of {lanes} lanes, expected a power of two")
    if lanes * element_bytes > native_bytes:
        raise LayoutcError(f"vectors of {lanes * element_bytes} bytes exceed the machine's {native_bytes}")
    return VectorUnit(lanes, element_bytes, native_bytes, shuffles)


def _moves(
    lanes: Sequence[Label], registers: Sequence[Label], target: Sequence[Label], unit: VectorUnit
) -> tuple[Move, ...] | None:
    place = {label: position for position, label in enumerate(target)}
    others = sum(label not in place for label in (*lanes, *registers))
    return find_moves(tuple(place.get(label, ELSEWHERE) for label in lanes), others, unit)


def _synthesize_alone(lanes: Sequence[Label], target: Sequence[Label], unit: VectorUnit) -> Network:
    idle = object()
    moves = _moves(lanes, [idle], target, unit)
    assert moves is not None, "with one register bit every order of lanes can be reached"
    program = _Program(lanes, [idle], [0, 0])
    for move in moves:
        program.append(move, target)
    return without_unused_steps(Network(1, unit.lane_count, tuple(program.steps), (program.values[0],)))


class _Program:
    """The steps so far, which bit is where after them, and which value each register number has."""

    def __init__(self, lanes: Sequence[Label], registers: Sequence[Label], values: list[int]):
        self.lanes, self.registers, self.values = list(lanes), list(registers), values
        self.inputs = max(values) + 1
        self.steps: list[Shuffle] = []

    def append(self, move: Move, target: Sequence[Label]) -> None:
        """One stage: a shuffle for every register."""
        if move.entering is None:
            mask = _mask(move.sources, None, 0)
            self.values = [self._shuffle(value, None, mask) for value in self.values]
            self.lanes = [self.lanes[source] for source in move.sources]
        else:
            self._exchange(move.sources, self._entering_bit(move.entering, target))

    def _entering_bit(self, entering: int, target: Sequence[Label]) -> int:
        """The bit of the register numbers that enters: a target's, or any that is none."""
        if entering != ELSEWHERE:
            return self.registers.index(target[entering])
        return next(bit for bit, label in enumerate(self.registers) if label not in target)

    def _exchange(self, sources: tuple[int, ...], bit: int) -> None:
        (leaving,) = set(range(len(self.lanes))) - set(sources)
        masks = [_mask(sources, leaving, half) for half in (0, 1)]
        values = list(self.values)
        for low in range(len(values)):
            if not low >> bit & 1:
                high = low | 1 << bit
                pair = self.values[low], self.values[high]
                values[low], values[high] = (self._shuffle(*pair, mask) for mask in masks)
        entering, self.registers[bit] = self.registers[bit], self.lanes[leaving]
        self.lanes = [entering if source == ENTERING else self.lanes[source] for source in sources]
        self.values = values

    def _shuffle(self, first: int, second: int | None, mask: tuple[int, ...]) -> int:
        self.steps.append(Shuffle(first, second, mask))
        return self.inputs + len(self.steps) - 1

    def network(self) -> Network:
        lanes = 1 << len(self.lanes)
        return Network(self.inputs, lanes, tuple(self.steps), tuple(self.values), tuple(self.registers))


@lru_cache(maxsize=4096)
def _mask(sources: tuple[int, ...], leaving: int | None, half: int) -> tuple[int, ...]:
    """Per lane, where its element lay: the entering bit chooses the register, the leaving bit is `half`."""
    operand = len(sources)  # the bit above those of a lane number: first or second operand
    places = [operand if source == ENTERING else source for source in sources]
    fixed = 0 if leaving is None else half << leaving
    return tuple(move_bits(lane, places) | fixed for lane in range(1 << len(sources)))
