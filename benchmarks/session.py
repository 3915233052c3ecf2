"""The worker process as the one who asks sees it; a new one takes over where one crashed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.measure import Options
from benchmarks.tasks import Task
from layoutc.errors import LayoutcError

ENVIRONMENT = {"GOMP_SPINCOUNT": "10000"}
"""OpenMP's threads wait actively from one call to the next, but not on into the sample of another peer."""


def rows(tasks: Sequence[Task], peers: Sequence[str], options: Options) -> Iterator[dict[str, Any]]:
    """
    A row for every task, in order. The first item is the worker's own facts.

    The cache of kernels is empty at first, so that the C compiler's time is measured too.
    """
    with tempfile.TemporaryDirectory(prefix="layoutc-bench-") as cache:
        environment = {**os.environ, **ENVIRONMENT, "LAYOUTC_CACHE_DIR": cache, "OMP_NUM_THREADS": str(options.threads)}
        first, left = True, list(tasks)
        while left or first:
            done = 0
            for row in _of_one_worker(left, peers, options, environment, first):
                first = False
                done += "case" in row
                yield row
            left = left[done:]


def _of_one_worker(
    tasks: Sequence[Task], peers: Sequence[str], options: Options, environment: dict[str, str], is_first: bool
) -> Iterator[dict[str, Any]]:
    """The rows of one process; if it crashes, the last one says so."""
    asked = json.dumps({**asdict(options), "peers": list(peers)})
    command = [sys.executable, "-m", "benchmarks.worker", asked]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        assert worker.stdin and worker.stdout
        facts = worker.stdout.readline()
        if not facts:
            raise LayoutcError(f"the worker did not start: status {worker.wait()}")
        if is_first:
            yield json.loads(facts)
        for task in tasks:
            line = _exchanged(worker, task)
            if not line:
                yield {**task.to_json(), "threads": options.threads, "error": f"crashed: status {worker.wait()}"}
                return
            yield json.loads(line)


def _exchanged(worker: subprocess.Popen[str], task: Task) -> str:
    """The line that answers a task; nothing from a worker that ended."""
    assert worker.stdin and worker.stdout
    try:
        worker.stdin.write(json.dumps(task.to_json()) + "\n")
        worker.stdin.flush()
    except BrokenPipeError:
        return ""
    return worker.stdout.readline()
