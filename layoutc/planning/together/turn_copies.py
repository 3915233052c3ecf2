"""What a copy does in a turn of loops that it shares with others, and the copy that it is part of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from layoutc.errors import LayoutcError
from layoutc.planning.copies.copy_digits import CopyDigit, StridedCopy, falling, merged
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine
from layoutc.planning.plans.turns import SharedLoop


def target_of_turns(loops: Sequence[SharedLoop], target: Machine) -> Machine:
    """The machine as turns have it: what is a whole line in the first one need be none in the others."""
    turns = [loop.dst * gcd(loop.step, loop.extent) for loop in loops if loop.step < loop.extent]
    return replace(target, alignment=gcd(target.alignment, *turns))


def loop_of(digit: CopyDigit, widths: Widths) -> SharedLoop | None:
    """A loop over the steps of a digit; None where they are no whole bytes apart."""
    src, dst = widths.bytes("src", digit.src), widths.bytes("dst", digit.dst)
    return None if src is None or dst is None or digit.swaps else SharedLoop(digit.extent, 1, src, dst, digit.params)


def step_of(loop: SharedLoop, copy: StridedCopy, widths: Widths, extent: int | None = None) -> CopyDigit | None:
    """
    The digit of a copy that a loop takes steps of; None if these are no whole elements.

    A fill counts its destination on both sides, and has no parameters.
    """
    extent = loop.extent if extent is None else extent
    dst = widths.elements("dst", loop.dst)
    src = dst if copy.is_fill else widths.elements("src", loop.src)
    params = loop.params if copy.params else ()
    return None if src is None or dst is None else CopyDigit(extent, src, dst, extent, (), params)


def reduced(copy: StridedCopy, widths: Widths, loops: Sequence[SharedLoop]) -> StridedCopy:
    """What a copy does in one turn of the loops."""
    steps = {step_of(loop, copy, widths): step_of(loop, copy, widths, loop.step) for loop in loops}
    digits = (steps.get(digit) or digit for digit in copy.digits)
    return replace(copy, digits=tuple(digit for digit in digits if digit.extent > 1))


def of_one_step(copy: StridedCopy, widths: Widths, loops: Sequence[SharedLoop]) -> StridedCopy:
    """What a copy that was `reduced` does in one step of all loops."""
    parts = [step_of(loop, copy, widths, loop.step) for loop in loops]
    return replace(copy, digits=tuple(digit for digit in copy.digits if digit not in parts))


def restored(copy: StridedCopy, widths: Widths, loops: Sequence[SharedLoop]) -> StridedCopy:
    """
    The copy that `reduced` was given, with its digits by falling stride of the destination.

    Raises LayoutcError if the copy has not the digits of the loops.
    """
    digits = list(copy.digits)
    for loop in loops:
        part, whole = step_of(loop, copy, widths, loop.step), step_of(loop, copy, widths)
        has_part = loop.step == 1 or part in digits
        if part is None or whole is None or not has_part or len(part.params) != len(copy.params):
            step = ", ".join(map(str, (loop.src, loop.dst, *loop.params)))
            raise LayoutcError(f"a copy has no digit {loop.step}x({step}), in bytes, of the loops around it")
        if loop.step > 1:
            digits.remove(part)
        digits.append(whole)
    digits.sort(key=falling)
    whole = replace(copy, digits=tuple(digits))
    return merged(whole) if copy.is_fill else whole
