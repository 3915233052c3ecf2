"""What the copies of a reorder have in common whose elements are converted, or share bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutc.planning.conversions.param_lists import asked_list, divisor_list, widened_list
from layoutc.planning.conversions.plan_cost import COMPUTED
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.conversions.short_loads import loads_few
from layoutc.planning.copies.copy_digits import SideName
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, of_registers

SMALL_VECTOR = 16
"""bytes of registers that have parameters ready past the caches too"""
QUOTIENT_BITS = 512
"""of registers in which quotients that become integers are made of products"""


@dataclass(frozen=True, slots=True)
class Converting:
    """How each of these copies is planned: its elements, the machine, and what becomes of values."""

    widths: Widths
    target: Machine
    streams: bool
    threads: int
    adds: bool
    """whether what the destination holds counts, so that nothing is stored twice"""
    moves: bool
    """whether elements stay what they are"""
    divisor: int | None = None
    """the list of parameters by whose reciprocals, made for each, elements become integers"""
    asked: int | None = None
    """the list of those that scale integers to bf16, asked whether one is subnormal or none"""
    widened: int | None = None
    """the list of those that become f32 before they are of use"""
    copies: int = 1
    """of elements that are there"""
    is_large: bool = False
    """whether the destination has so many bytes that zeros beside what is packed are better in its tiles"""
    computed: int = COMPUTED
    """bytes of an element while it is converted; 0 if it stays what it is"""
    loads_few: bool = False
    """whether tiles load as many elements as a register has of what they become, if these are converted as they lie"""
    goes_through: bool | SideName | None = None
    """whether it is known to go through a buffer where it need not, or as rows of which side it is converted then"""

    @classmethod
    def of(cls, reorder: Reorder, target: Machine, threads: int, goes_through: bool | SideName | None) -> Converting:
        """How a reorder's copies are planned, before it is known how many threads they are worth, or where they go."""
        types = reorder.source.element_type, reorder.destination.element_type
        return cls(
            reorder.widths,
            target,
            streams=False,
            threads=threads,
            adds=bool(reorder.conversion.sum),
            moves=reorder.moves,
            divisor=divisor_list(reorder.seen, types[1]),
            asked=asked_list(reorder.seen, *types),
            widened=widened_list(reorder.seen),
            is_large=reorder.is_large,
            loads_few=loads_few(reorder, target),
            goes_through=goes_through,
        )

    @property
    def makes_quotients(self) -> bool:
        """Whether registers are those in which quotients that become integers are made of products."""
        return self.target.vector * 8 == QUOTIENT_BITS

    @property
    def kept(self) -> int | None:
        """
        The list of parameters of which registers make something that many rows may share: wide ones, of more. Past the
        caches all but small ones wait for memory anyway.
        """
        if self.streams:
            return self.widened if self.target.vector <= SMALL_VECTOR else None
        made = (self.divisor, self.asked) if self.makes_quotients else ()
        return next((found for found in (*made, self.widened) if found is not None), None)

    @property
    def by_registers(self) -> Converting:
        """
        What decides whether a copy is one or several: it follows from the registers alone, as who reads the plan has
        other caches.
        """
        return replace(self, target=of_registers(self.target.vector, self.target.shuffles), streams=False)
