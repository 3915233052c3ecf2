"""
Steps of a network that take any lanes, where registers have halves of 16 bytes that shuffles of bytes do not cross.

Counted as compilers spell them: bytes of a register are chosen in each half, by pshufb; those that come from the other
half are, too, and the halves exchanged then; or puts together what comes from either half, and from two registers.
Words are chosen from all of a register, and blended.
"""

from __future__ import annotations

from layoutc.planning.machine import LANE_BYTES, WORD
from layoutc.planning.shuffles.network import Network, Shuffle

SHUFFLED = 1.25
"""what an instruction counts that shuffles bytes: Intel's processors have one place for them"""


def instructions_by_halves(network: Network, element: int) -> float:
    """Those of all steps, of lanes of so many bytes."""
    return float(sum(_instructions(step, element) for step in network.steps))


def _instructions(step: Shuffle, element: int) -> float:
    lanes, half = len(step.mask), LANE_BYTES // element
    crosses: dict[int, set[bool]] = {}
    """by register: whether lanes that come of it come of their own half, of the other one, or of either"""
    moved: set[int] = set()
    for lane, source in enumerate(step.mask):
        register, at = divmod(source, lanes)
        crosses.setdefault(register, set()).add(at // half != lane // half)
        if at != lane:
            moved.add(register)
    joined = sum(map(len, crosses.values())) - 1
    if element >= WORD:
        return len(moved) + len(crosses) - 1
    chosen = sum(len(found) for register, found in crosses.items() if register in moved)
    exchanged = sum(True in found for found in crosses.values())
    return SHUFFLED * (chosen + exchanged + joined)
