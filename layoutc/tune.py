"""Tuning: the planner's best few plans of a reorder, and plans near the fastest, tried on this machine."""

from __future__ import annotations

import math
import platform
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from layoutc import tuned
from layoutc.buffers import address_of
from layoutc.builds import compile_all
from layoutc.conversion import Attributes, conversion_of
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError, UntunableError
from layoutc.kernel import Kernel
from layoutc.param import Param
from layoutc.planning.alternatives import choose_plans
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import machine
from layoutc.planning.neighbours import neighbours
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.plans.plan import Plan

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"

TRIES, ROUNDS = 64, 15
PLANNED = 16
"""plans of the planner that are tried; then those near the fastest, as long as one of them is faster"""
SAMPLE_S = 1e-3
"""a sample is as many calls as take this long"""
MOST_CACHED_S = 10e-3
"""a call that takes less meets in the caches what the one before it left there: before a sample it is one of its own"""
GAIN = 1.03
"""how much faster than the planner's choice, or than the plan it is near to, another one must be: less is noise"""
SOME = 65_521
"""elements that are drawn; a longer buffer repeats them: a prime, so that rows are not alike, which a plan may mix"""
WIDE = 100
"""the standard deviation of integers"""
PAGE = 4096


@dataclass
class Candidate:
    """A plan, its kernel, and how long each call took, in seconds, when it was measured last."""

    plan: Plan
    kernel: Kernel
    is_right: bool = True
    samples: list[float] = field(default_factory=list[float])

    @property
    def seconds(self) -> float:
        """The median; infinite if the result was wrong."""
        return statistics.median(self.samples) if self.is_right and self.samples else math.inf


seconds = attrgetter("seconds")


@dataclass(frozen=True)
class Tuning:
    """What tuning a reorder found: the candidates in the order in which they were tried, and the one that won."""

    candidates: tuple[Candidate, ...]
    best: Candidate

    @property
    def entry(self) -> dict[str, Any]:
        """What a file of tuned plans says of it."""
        kernel, first = self.best.kernel, self.candidates[0]
        key = tuned.key_of(kernel.source, kernel.destination, kernel.conversion, kernel.target, kernel.threads)
        return {
            **key._asdict(),
            "plan": list(kernel.plan),
            "microseconds": round(self.best.seconds * 1e6, 2),
            "planner_microseconds": round(first.seconds * 1e6, 2),
            "tried": len(self.candidates),
            "machine": this_machine(),
        }


def tune(
    source: MemoryDesc,
    destination: MemoryDesc,
    *,
    target: str = "native",
    threads: int = 1,
    tries: int = TRIES,
    rounds: int = ROUNDS,
    **attributes: Unpack[Attributes],
) -> Tuning:
    """
    The fastest of `tries` plans: of the planner's first ones, and then of the neighbours of the fastest, as long as one
    of these is faster. Each time is the median of `rounds` samples, taken in turns.

    `attributes` are those of `layoutc.compile`: scales, zero points, `sum`. Each result is compared with the reference,
    with random values for what is an argument; a plan with a wrong one is out. The planner's choice stands unless
    another plan is faster by more than noise. Raises UntunableError for a reorder that only has the plain plan.
    """
    conversion = conversion_of(tune, attributes)
    asked = Kernel(source, destination, "c", target=target, threads=threads, conversion=conversion)

    def built(plans: Sequence[Plan]) -> list[Candidate]:
        kernels = (replace(asked, plan=tuple(plan_lines(plan))) for plan in plans)
        return list(map(Candidate, plans, compile_all(kernels)))

    try:
        planned = choose_plans(source, destination, machine(target), threads, conversion)
        plans = list(islice(planned, min(tries, PLANNED)))
    except NotStridedError as error:
        raise UntunableError(f"nothing to tune: {error}") from None
    bench = Bench(asked, rounds)
    first, *_ = found = bench.measured(built(plans))
    if not first.is_right:
        raise LayoutcError("the planner's choice gives a wrong result: please report this reorder")
    best = min(found, key=seconds)
    seen = set(plans)
    while left := tries - len(seen):
        others = dict.fromkeys(plan for plan in neighbours(best.plan, conversion) if plan not in seen)
        plans = list(islice(others, left))
        near = bench.measured([best, *built(plans)])
        seen.update(plans)
        found += near[1:]
        if (faster := min(near, key=seconds)).seconds * GAIN >= best.seconds:
            break
        best = faster
    if best is not first:
        bench.measured([first, best])
    is_faster = best.seconds * GAIN < first.seconds
    return Tuning(tuple(c for c in found if c.is_right), best if is_faster else first)


class Bench:
    """The buffers and arguments of a kernel, and what all that stand in for it must make of them."""

    def __init__(self, kernel: Kernel, rounds: int) -> None:
        import numpy as np

        self.rounds = rounds
        self.read, self.written = _aligned(kernel.source_bytes), _aligned(kernel.destination_bytes)
        draw, dims = np.random.default_rng(0), kernel.source.dims
        self.read[:] = np.resize(_elements(kernel.source.element_type, draw), self.read.size)
        self.before = draw.integers(0, 256, self.written.size, np.uint8)
        self.params = {name: _values(param, dims, draw) for name, param in kernel.conversion.arguments.items()}
        self.expected = self.before.copy()
        replace(kernel, executor="reference")(self.read, self.expected, **self.params)

    def measured(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates, with samples taken in turns of those whose results are right."""
        for candidate in candidates:
            candidate.samples.clear()
            candidate.is_right = self._is_right(candidate.kernel)
        order, draw = [candidate for candidate in candidates if candidate.is_right], random.Random(0)
        paced = [(candidate, self._sample(candidate, 1)) for candidate in order]
        for _ in range(self.rounds):
            draw.shuffle(paced)
            for candidate, seconds in paced:
                if seconds < MOST_CACHED_S:
                    self._sample(candidate, 1)
                candidate.samples.append(self._sample(candidate, max(1, int(SAMPLE_S / max(seconds, 1e-9)))))
        return candidates

    def _is_right(self, kernel: Kernel) -> bool:
        import numpy as np

        self.written[:] = self.before  # a sum adds to it
        kernel(self.read, self.written, **self.params)
        return bool(np.array_equal(self.written, self.expected))

    def _sample(self, candidate: Candidate, calls: int) -> float:
        return _sample(candidate.kernel, self.read, self.written, self.params, calls)


def _sample(kernel: Kernel, read: Array, written: Array, params: dict[str, Array | bytes], calls: int) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    for _ in range(calls):
        kernel(read, written, **params)
    return (time.perf_counter() - start) / calls


def _values(param: Param, dims: Sequence[int], draw: Generator) -> Array | bytes:
    """Values of a parameter around 1, or of small integers; of 4 bits as bytes that hold two."""
    from layoutc.numeric.arithmetic import constant_bytes

    known = (0.5, 1.0, 2.0) if param.type.name == "e8m0" else (0.7, 0.9, 1.0, 1.2)
    values = draw.choice((0, 1, 2, 3, 5) if param.type.is_integer else known, param.shape(dims))
    data = constant_bytes(replace(param, values=tuple(values.ravel().tolist())))
    return data.tobytes() if param.type.bits < 8 else data.view(param.type.numpy).reshape(values.shape)


def _elements(type: ElementType, draw: Generator) -> Array:
    """
    Bytes of elements of the size that tensors have, normally distributed, so that kernels seldom meet what they compute
    by another way, as random bits of floats would make them; of types below a byte all codes.
    """
    import numpy as np

    from layoutc.numeric.convert import convert

    if type.bits < 8:
        return draw.integers(0, 256, SOME, np.uint8)
    values = draw.standard_normal(SOME) * (WIDE if type.is_integer else 1)
    return convert(values.view(np.uint64), element_type("f64"), type).view(np.uint8)


def _aligned(size: int) -> Array:
    """Bytes that start at a page and have been touched."""
    import numpy as np

    memory = np.full(size + PAGE, 1, np.uint8)
    start = -address_of(memory) % PAGE
    return memory[start : start + size]


def this_machine() -> dict[str, Any]:
    """What a file of tuned plans says of where a plan was the fastest."""
    here = machine()
    return {"processor": _processor(), "vector": here.vector, "l1": here.l1, "l2": here.l2, "llc": here.llc}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            models = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
            return next(models, platform.machine())
    except OSError:
        return platform.processor() or platform.machine()
