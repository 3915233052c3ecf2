"""
Shuffles in which lanes stay, and what networks of bytes and pairs of bytes take.

Any lanes of two registers are three instructions on Intel's processors, of which two shuffle, if lanes are narrower
than 4 bytes. Where those of the first register stay, the second one is shuffled by itself, and covers the others. On
AMD's any lanes are a single shuffle, and that gains nothing.
"""

from __future__ import annotations

from layoutc.planning.machine import Shuffles
from layoutc.planning.shuffles.network import Network, Shuffle

REGISTER, WORD = 64, 4
"""bytes of the registers that have such shuffles, and of the lanes from which on any two are one instruction"""
ANY_LANES = 2
"""instructions that shuffle, in one that takes any lanes of two registers"""
GAIN = 0.75
"""of the instructions that shuffle: with 0.8 of them networks took 0.97 to 1.25 of the time"""


def is_narrow(lanes: int) -> bool:
    """Whether a register of so many lanes has some that are narrower than a word."""
    return lanes * WORD > REGISTER


def can_stay(lanes: int, by: Shuffles) -> bool:
    """Whether lanes that stay, of so many in a register, may spare instructions."""
    return by != "single" and is_narrow(lanes)


def cheaper(network: Network, staying: Network, by: Shuffles) -> Network:
    """
    The second network if it has fewer steps, or as many and far fewer instructions that shuffle; else the first.

    A step whose lanes stay has an instruction beside the shuffle, and two constants. Where all others are single
    shuffles even fewer such steps take longer.
    """
    fewer = len(staying.steps) < len(network.steps)
    gains = len(staying.steps) == len(network.steps) and shuffles(staying, by) <= GAIN * shuffles(network, by)
    return staying if fewer or gains else network


def shuffles(network: Network, by: Shuffles) -> int:
    """Instructions that shuffle, of a network of narrow lanes."""
    if by == "single":
        return len(network.steps)
    return sum(ANY_LANES if _takes_any(step, network.lanes) else 1 for step in network.steps)


def _takes_any(step: Shuffle, lanes: int) -> bool:
    """Whether lanes of both registers move, and not as whole words."""
    if step.second is None or all(source == lane or source >= lanes for lane, source in enumerate(step.mask)):
        return False
    size = lanes * WORD // REGISTER
    words = (step.mask[first : first + size] for first in range(0, lanes, size))
    return any(word[0] % size or word != tuple(range(word[0], word[0] + size)) for word in words)
