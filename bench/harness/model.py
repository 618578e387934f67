# SPDX-License-Identifier: Apache-2.0
"""What the table in workloads.py is made of.

A workload is one question ("what does a switch cost?"), asked of several systems (weft and its peers), in one
or more variants and at one or more thread counts. A bar says how weft must stand beside a peer.
"""

from dataclasses import dataclass

WEFT = "weft"
BEST_PEER = "best peer"


@dataclass(frozen=True)
class System:
    """One contestant in a workload, and the program that speaks for it; in other variants another program may."""

    name: str
    program: str
    packages: tuple[str, ...] = ()  # Debian packages without which the program cannot be built
    version_command: tuple[str, ...] = ()  # asked for the version when the program prints an empty one
    variants: tuple[str, ...] = ()  # empty: takes part in all of them
    threads: tuple[int, ...] = ()  # empty: takes part at any count
    is_peer: bool = True  # False: shown for information; never the best peer

    def takes_part(self, variant: str, threads: int) -> bool:
        return (not self.variants or variant in self.variants) and (not self.threads or threads in self.threads)


@dataclass(frozen=True)
class Bar:
    """A limit on weft's figure divided by another one: at most `limit` where smaller is better, else at least.

    The other figure is that of `against` (a system, BEST_PEER, or None for a limit in the workload's own unit) in
    the same variant and at the same thread count, unless `of_variant` or `of_threads` name another row. So
    Bar(1.0, WEFT, threads=(2,), of_threads=1) reads "two threads are not slower than one".
    """

    limit: float
    against: str | None
    variants: tuple[str, ...] = ()  # empty: applies to all of them
    threads: tuple[int, ...] = ()  # empty: applies at any count
    of_variant: str | None = None
    of_threads: int | None = None

    def applies(self, variant: str, threads: int) -> bool:
        return (not self.variants or variant in self.variants) and (not self.threads or threads in self.threads)


@dataclass(frozen=True)
class Workload:
    id: str  # a letter, perhaps with a number: "A", "B1"
    title: str
    unit: str  # every program of the workload reports in this unit
    systems: tuple[System, ...]
    variants: tuple[str, ...] = ("",)
    threads: tuple[int, ...] = (1, 2)
    bars: tuple[Bar, ...] = ()
    fixed_threads: bool = False  # only the counts above make sense; --threads can choose among them, not add
    smaller_is_better: bool = True
    repetitions: int = 5
    median_variants: tuple[str, ...] = ()  # judged by the median, however near the best is
    timeout_s: float = 60.0
    memory: int = 0  # bytes that are brought in before each run: see harness/memory.py

    @property
    def letter(self) -> str:
        return self.id[0]

    @property
    def peers(self) -> tuple[System, ...]:
        return tuple(system for system in self.systems if system.name != WEFT)
