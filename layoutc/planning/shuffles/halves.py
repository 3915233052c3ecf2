"""
Steps of a network that take any lanes, where registers have halves of 16 bytes that shuffles of bytes do not cross.

Counted as compilers spell them: bytes of a register are chosen in each half, by pshufb; those that come from the other
half are, too, and the halves exchanged then; or puts together what comes from either half, and from two registers.
Words are chosen from all of a register, and blended.
"""

from __future__ import annotations

from layoutc.planning.shuffles.network import Network, Shuffle

HALF, WORD = 16, 4
"""bytes of half a register, and of lanes that are chosen from all of it"""
CROSSING = 2
"""instructions for bytes of the other half"""


def instructions_by_halves(network: Network, element: int) -> float:
    """Those of all steps, of lanes of so many bytes."""
    return float(sum(_instructions(step, element) for step in network.steps))


def _instructions(step: Shuffle, element: int) -> int:
    lanes = len(step.mask)
    half = HALF // element
    found: dict[int, set[bool]] = {}
    moved: set[int] = set()
    for lane, source in enumerate(step.mask):
        register, at = divmod(source, lanes)
        found.setdefault(register, set()).add(at // half != lane // half)
        if at != lane:
            moved.add(register)
    if element >= WORD:
        return len(moved) + len(found) - 1
    parts = [1 if register in moved else 0 for register in found for crosses in found[register]]
    crossing = sum(CROSSING - 1 for register in found if True in found[register])
    return sum(parts) + crossing + sum(map(len, found.values())) - 1
