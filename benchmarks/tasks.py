"""Tasks: a case with its element types, brought to a size in relation to the caches of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from benchmarks.cases import Case, Size
from benchmarks.machine import Machine
from benchmarks.placement import Placement
from benchmarks.values import conversion
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc

DRAM_DESTINATION = 16_000_000
"""Bytes: the least destination that is called DRAM size, however small the caches are."""


@dataclass(frozen=True)
class Task:
    """
    One reorder of one size: all that a worker needs to know. `name` is the case's.

    `element_type` is that of both sides, or `f32->s8`; `attributes` are options of `layoutc reorder`.
    """

    name: str
    size: Size
    element_type: str
    dims: tuple[int, ...]
    source: Placement
    destination: Placement
    attributes: str = ""

    @cached_property
    def source_desc(self) -> MemoryDesc:
        return self.source.desc(self.dims, self.element_type.partition("->")[0])

    @cached_property
    def destination_desc(self) -> MemoryDesc:
        return self.destination.desc(self.dims, self.element_type.rpartition("->")[2])

    @cached_property
    def conversion(self) -> Conversion:
        return conversion(self.attributes)

    @property
    def is_move(self) -> bool:
        """Whether the elements stay what they are."""
        return self.conversion.is_identity(self.source_desc.element_type, self.destination_desc.element_type)

    @property
    def moves_bytes(self) -> bool:
        """The same of elements that are whole bytes."""
        return self.is_move and self.source_desc.element_type.bits >= 8

    @property
    def destination_bytes(self) -> int:
        """What the destination's buffer has, with compensation sums."""
        return self.conversion.destination_bytes(self.destination_desc)

    @property
    def footprint(self) -> int:
        """Bytes of both buffers."""
        return self.source_desc.size_bytes + self.destination_bytes

    @property
    def moved_bytes(self) -> int:
        """
        Bytes of a copy that reads and writes as much in sum.

        Padding, compensation sums, scales and zero points count; gaps do not.
        """
        source, destination = self.source_desc, self.destination_desc
        written = source.elements + destination.padding_elements
        elements = source.element_type.size_bytes(source.elements) + destination.element_type.size_bytes(written)
        sums = self.destination_bytes - destination.size_bytes
        return (elements + sums + sum(p.size_bytes(self.dims) for p in self.conversion.arguments.values())) // 2

    def to_json(self) -> dict[str, Any]:
        given = {"attributes": self.attributes} if self.attributes else {}
        return {
            "case": self.name,
            "size": self.size,
            "type": self.element_type,
            "dims": list(self.dims),
            "from": str(self.source),
            "to": str(self.destination),
            **given,
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Task:
        source, destination = Placement.parse(row["from"]), Placement.parse(row["to"])
        attributes = row.get("attributes", "")
        return cls(row["case"], row["size"], row["type"], tuple(row["dims"]), source, destination, attributes)


def all_tasks(cases: Iterable[Case], sizes: Iterable[Size], machine: Machine) -> list[Task]:
    """Every case in every size; where two cases became the same reorder, the first stands for both."""
    found: dict[Task, Task] = {}
    for size in sizes:
        for task in (task for case in cases for task in of_size(case, size, machine)):
            found.setdefault(replace(task, name="", size="dram"), task)
    return list(found.values())


def of_size(case: Case, size: Size, machine: Machine) -> Iterator[Task]:
    """A case for all its element types, scaled to a size, if it is of that size and the machine has it."""
    if size not in case.sizes or (size == "l3" and not machine.l3):
        return
    for element_type in case.types:
        task = Task(case.name, size, element_type, case.dims, case.source, case.destination, case.attributes)
        yield grown(task, case, machine) if size == "dram" else shrunk(task, case, capacity(size, machine))


def capacity(size: Size, machine: Machine) -> int:
    """Bytes of source and destination together: well inside of L2, and of an L3 that others use too."""
    return machine.l2 * 3 // 4 if size == "l2" else max(machine.l3_share // 4, machine.l2)


def grown(task: Task, case: Case, machine: Machine) -> Task:
    """The task with its smallest scalable extent doubled until the caches do not hold it."""
    while task.destination_desc.size_bytes < DRAM_DESTINATION or task.footprint < machine.l3_share:
        axis = min(case.scaled[0], key=lambda axis: task.dims[axis])
        task = with_extent(task, axis, 2 * task.dims[axis])
    return task


def shrunk(task: Task, case: Case, bytes: int) -> Task:
    """The task with its largest scalable extent halved until it fits, or nothing is left to be halved."""
    for group in case.scaled:
        while task.footprint > bytes and any(task.dims[axis] > 1 for axis in group):
            axis = max(group, key=lambda axis: task.dims[axis])
            task = with_extent(task, axis, -(-task.dims[axis] // 2))
    return task


def with_extent(task: Task, axis: int, extent: int) -> Task:
    return replace(task, dims=(*task.dims[:axis], extent, *task.dims[axis + 1 :]))
