"""
The process that measures: tasks as lines of JSON in, rows out.

A process of its own for each number of threads, because libraries look at the CPUs that they may use when they are
loaded; and because a kernel that crashes must not end the run.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from benchmarks.copies import Copies
from benchmarks.machine import use_cpus
from benchmarks.measure import Options, measure
from benchmarks.peers import Peer, available
from benchmarks.tasks import Task


def main() -> None:
    """The one argument is JSON: the fields of Options, and `peers`."""
    asked = json.loads(sys.argv[1])
    peers = available(asked.pop("peers"))
    options = Options(**asked)
    with own_stdout() as rows:
        print(json.dumps(facts(peers, options)), file=rows, flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(Task.from_json(json.loads(line)), peers, options)), file=rows, flush=True)


def own_stdout() -> TextIO:
    """Standard output for the rows alone; what libraries print goes to standard error."""
    rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return rows


def facts(peers: dict[str, Peer], options: Options) -> dict[str, Any]:
    return {"peers": list(peers), "streaming_copy": Copies(options.threads).streaming_instructions}


def answer(task: Task, peers: dict[str, Peer], options: Options) -> dict[str, Any]:
    """The row of a task, or why there is none."""
    try:
        return measure(task, peers, options).to_json()
    except Exception as error:  # a defect of the compiler is a row of its own, and the run goes on
        return {**task.to_json(), "threads": options.threads, "error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    use_cpus(json.loads(sys.argv[1])["threads"])
    main()
