"""What the measurements depend on: processor, caches, compiler. All of it is asked of the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from layoutc.errors import LayoutcError
from layoutc.planning.machine import SHARED_LLC
from layoutc.runtime import find_compiler

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PEER_PACKAGES = ("numpy", "onednn", "torch")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class Machine:
    """Facts about the machine; sizes in bytes, 0 for a cache that it does not have."""

    processor: str
    cpus: int
    l1: int
    l2: int
    l3: int
    huge_pages: str
    system: str
    compiler: str
    python: str
    packages: dict[str, str]

    @property
    def l3_share(self) -> int:
        """Bytes of L3 that one process may expect to have, as layoutc does."""
        return min(self.l3, SHARED_LLC)

    def __str__(self) -> str:
        caches = f"L1d {self.l1 >> 10} KiB, L2 {self.l2 >> 10} KiB, L3 {self.l3 >> 20} MiB"
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        return f"{self.processor}, {self.cpus} CPUs, {caches}; {self.compiler}; Python {self.python}, {packages}"


def detect() -> Machine:
    """The machine that this runs on. Raises LayoutcError if it does not tell its cache sizes."""
    l1, l2, l3 = (cache_size(level) for level in (1, 2, 3))
    if not l1 or not l2:
        raise LayoutcError(f"cache sizes are neither in {CACHES} nor known to sysconf")
    return Machine(
        processor=processor(),
        cpus=len(usable_cpus()),
        l1=l1,
        l2=l2,
        l3=l3,
        huge_pages=HUGE_PAGES.read_text().strip() if HUGE_PAGES.exists() else "",
        # A release, not the build of it that a provider has: results of two such builds may be compared.
        system=f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}",
        compiler=compiler(),
        python=platform.python_version(),
        packages={name: version(name) for name in PEER_PACKAGES if is_installed(name)},
    )


def usable_cpus() -> list[int]:
    """The CPUs that this process may run on."""
    if sys.platform == "linux":
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def use_cpus(count: int) -> None:
    """Bind this process to its last `count` CPUs; the first one is where most interrupts go."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, usable_cpus()[-count:])


def cache_size(level: int) -> int:
    """Bytes of the data or unified cache of that level, as one CPU sees it; 0 if there is none."""
    return next(_in_sysfs(level), 0) or _by_sysconf("LEVEL1_DCACHE" if level == 1 else f"LEVEL{level}_CACHE")


def _in_sysfs(level: int) -> Iterator[int]:
    for folder in sorted(CACHES.glob("index*")):
        if (folder / "level").read_text().strip() == str(level) and "Instr" not in (folder / "type").read_text():
            yield size_of((folder / "size").read_text())


def size_of(text: str) -> int:
    """Bytes of a size as the kernel writes it: `1024K`."""
    found = re.fullmatch(r"([0-9]+)([KMG]?)", text.strip())
    if found is None:
        raise LayoutcError(f"cache size {text.strip()!r} is not a number with K, M or G")
    return int(found[1]) * UNITS[found[2]]


def _by_sysconf(cache: str) -> int:
    try:
        return max(0, os.sysconf(f"SC_{cache}_SIZE"))
    except (ValueError, OSError):
        return 0


def processor() -> str:
    """The processor's name for people."""
    listed = first_line(("lscpu",), "Model name:")
    return listed.removeprefix("Model name:").strip() or platform.processor() or platform.machine()


def compiler() -> str:
    """The first line that the C compiler says of itself."""
    found = find_compiler()
    return "no C compiler" if found is None else first_line((*found.command, "--version"))


def first_line(command: Sequence[str], start: str = "") -> str:
    """The first line of what a command prints that begins with `start`, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next((line for line in done.stdout.splitlines() if line.startswith(start)), "")


def is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
