"""Network: a straight-line program of vector shuffles on registers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from layoutc.errors import LayoutcError

Label = Hashable
"""one bit of a tile's element index; any value that tells it from the others, such as (digit, bit)"""


@dataclass(frozen=True)
class Shuffle:
    """
    One step: lane j of the result is element `mask[j]` of the lanes of `first` followed by those of `second`.

    Operands are numbers of values: the inputs of the network first, then the results of its steps in order.
    """

    first: int
    second: int | None
    mask: tuple[int, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.first,) if self.second is None else (self.first, self.second)


@dataclass(frozen=True)
class Network:
    """
    A program on `inputs` registers of `lanes` lanes each; `outputs` are the numbers of the values that it leaves.

    Where registers are numbered by bits, `outputs[r]` is the register whose number r has bit k equal to the index
    bit `target_registers[k]`.

    Raises LayoutcError for a step that uses a value before it exists, or a mask that does not fit.
    """

    inputs: int
    lanes: int
    steps: tuple[Shuffle, ...]
    outputs: tuple[int, ...]
    target_registers: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        for number, step in enumerate(self.steps):
            self._check_step(number, step)
        values = self.inputs + len(self.steps)
        for output in self.outputs:
            if not 0 <= output < values:
                raise LayoutcError(f"output is value {output}, expected one of {values} values")
        if self.target_registers and len(self.outputs) != 1 << len(self.target_registers):
            bits = len(self.target_registers)
            raise LayoutcError(f"got {len(self.outputs)} outputs, expected {1 << bits} for {bits} register bits")

    def _check_step(self, number: int, step: Shuffle) -> None:
        values = self.inputs + number
        operands = step.operands
        for operand in operands:
            if not 0 <= operand < values:
                raise LayoutcError(f"step {number} uses value {operand}, expected one of the {values} values before it")
        if len(step.mask) != self.lanes:
            raise LayoutcError(f"the mask of step {number} has {len(step.mask)} lanes, expected {self.lanes}")
        last = len(operands) * self.lanes - 1
        if min(step.mask) < 0 or max(step.mask) > last:
            index = next(index for index in step.mask if not 0 <= index <= last)
            raise LayoutcError(f"the mask of step {number} has index {index}, expected 0 to {last}")


class NetworkBuilder:
    """A network in the making; the same step taken twice is one."""

    def __init__(self, inputs: int, lanes: int):
        self.inputs, self.lanes = inputs, lanes
        self.numbers: dict[Shuffle, int] = {}

    def step(self, first: int, second: int | None, mask: Sequence[int]) -> int:
        """The number of the value that a shuffle gives."""
        return self.numbers.setdefault(Shuffle(first, second, tuple(mask)), self.inputs + len(self.numbers))

    def network(self, outputs: Sequence[int]) -> Network:
        return Network(self.inputs, self.lanes, tuple(self.numbers), tuple(outputs))


def check_labels(
    source_lanes: Sequence[Label], source_registers: Sequence[Label], target_lanes: Sequence[Label]
) -> None:
    """Raise LayoutcError unless each source bit has one place and the target lanes are some of them."""
    source = (*source_lanes, *source_registers)
    if len(set(source)) != len(source):
        raise LayoutcError(f"a bit has two places in {_names(source)}")
    if len(target_lanes) != len(source_lanes) or len(set(target_lanes)) != len(target_lanes):
        raise LayoutcError(f"got target lanes {_names(target_lanes)}, expected {len(source_lanes)} different bits")
    unknown = sorted(repr(label) for label in set(target_lanes) - set(source))
    if unknown:
        raise LayoutcError(f"target lanes name bits {', '.join(unknown)}, expected some of {_names(source)}")


def move_bits(index: int, places: Sequence[int]) -> int:
    """The number whose bit `places[k]` is bit k of `index`."""
    return sum((index >> bit & 1) << place for bit, place in enumerate(places))


def without_unused_steps(network: Network) -> Network:
    """The same network, without steps that no output depends on."""
    used = set(network.outputs)
    for number, step in reversed(list(enumerate(network.steps, network.inputs))):
        if number in used:
            used.update(step.operands)
    kept = [number for number, _ in enumerate(network.steps, network.inputs) if number in used]
    renumbered = {number: number for number in range(network.inputs)}
    renumbered.update((number, network.inputs + position) for position, number in enumerate(kept))
    steps = tuple(_renumber(network.steps[number - network.inputs], renumbered) for number in kept)
    return replace(network, steps=steps, outputs=tuple(renumbered[output] for output in network.outputs))


def _renumber(step: Shuffle, numbers: dict[int, int]) -> Shuffle:
    return replace(step, first=numbers[step.first], second=None if step.second is None else numbers[step.second])


def _names(labels: Sequence[Label]) -> str:
    return "(" + ", ".join(repr(label) for label in labels) + ")"
