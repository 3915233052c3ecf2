"""What shuffle networks do: run on registers of anything, and checked lane by lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from layoutc.planning.shuffles.network import Label, Network, check_labels, move_bits

T = TypeVar("T")


def execute(network: Network, registers: Sequence[Sequence[T]]) -> list[list[T]]:
    """The registers that the network leaves, in the order of `network.outputs`."""
    if len(registers) != network.inputs or any(len(register) != network.lanes for register in registers):
        lengths = sorted({len(register) for register in registers})
        expected = f"{network.inputs} registers of {network.lanes} lanes"
        lanes = " or ".join(map(str, lengths)) or "no"
        raise AssertionError(f"got {len(registers)} registers of {lanes} lanes, expected {expected}")
    values = [list(register) for register in registers]
    for step in network.steps:
        lanes = [lane for operand in step.operands for lane in values[operand]]
        values.append([lanes[index] for index in step.mask])
    return [values[output] for output in network.outputs]


def check(
    network: Network, source_lanes: Sequence[Label], source_registers: Sequence[Label], target_lanes: Sequence[Label]
) -> None:
    """Raise AssertionError unless the network takes a tile from the source places of its bits to the target places."""
    source = (*source_lanes, *source_registers)
    target = (*target_lanes, *network.target_registers)
    check_labels(source_lanes, source_registers, target_lanes)
    if len(target) != len(source) or set(target) != set(source):
        raise AssertionError(f"the network leaves bits {target}, expected {source}")
    place = {label: position for position, label in enumerate(source)}
    elements = [move_bits(index, [place[label] for label in target]) for index in range(1 << len(target))]
    check_elements(network, elements)


def check_elements(network: Network, elements: Sequence[int]) -> None:
    """
    Raise AssertionError unless the outputs hold these elements, lane by lane and register by register.

    Input r holds elements r * lanes to (r + 1) * lanes - 1.
    """
    lanes = network.lanes
    inputs = [list(range(first, first + lanes)) for first in range(0, network.inputs * lanes, lanes)]
    got = [element for register in execute(network, inputs) for element in register]
    if len(got) != len(elements):
        raise AssertionError(f"the network leaves {len(got)} elements, expected {len(elements)}")
    for index, (held, expected) in enumerate(zip(got, elements, strict=True)):
        if held != expected:
            place = f"lane {index % lanes} of output {index // lanes}"
            raise AssertionError(f"{place} holds element {held}, expected element {expected}")


def check_interleave(network: Network, channels: int) -> None:
    """Element f of the outputs is lane f // C of channel f % C."""
    count = channels * network.lanes
    check_elements(network, [f % channels * network.lanes + f // channels for f in range(count)])


def check_deinterleave(network: Network, channels: int) -> None:
    """Lane x of channel c is element x * C + c of the inputs."""
    check_elements(network, [x * channels + c for c in range(channels) for x in range(network.lanes)])


def stage_count(network: Network) -> int:
    """The longest chain of steps between an input and an output."""
    depths = [0] * network.inputs
    for step in network.steps:
        depths.append(1 + max(depths[operand] for operand in step.operands))
    return max((depths[output] for output in network.outputs), default=0)
