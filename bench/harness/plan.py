# SPDX-License-Identifier: Apache-2.0
"""Which systems are measured together.

A group is one workload in one variant at one thread count, with every system that takes part: the rows that are
compared with each other, and so are measured within the same minute.
"""

from dataclasses import dataclass

from harness.arguments import Request
from harness.console import say
from harness.model import WEFT, System, Workload


@dataclass(frozen=True)
class Group:
    workload: Workload
    variant: str
    threads: int
    systems: tuple[System, ...]

    @property
    def label(self) -> str:
        parts = (self.workload.id, self.variant, f"{self.threads} thread{'s' if self.threads > 1 else ''}")
        return " ".join(part for part in parts if part)


def plan(request: Request) -> list[Group]:
    groups = []
    for workload in request.workloads:
        for threads in thread_counts(workload, request.threads):
            for variant in workload.variants:
                systems = tuple(s for s in workload.systems if s.takes_part(variant, threads)
                                and (s.name == WEFT or request.peers is None or s.name in request.peers))
                if systems:
                    groups.append(Group(workload, variant, threads, systems))
    return groups


def thread_counts(workload: Workload, asked: tuple[int, ...] | None) -> tuple[int, ...]:
    if asked is None:
        return workload.threads
    if not workload.fixed_threads:
        return asked
    for count in asked:
        if count not in workload.threads:
            say(f"{workload.id} is not measured at --threads {count}: it runs at "
                f"{', '.join(map(str, workload.threads))} only")
    return tuple(count for count in asked if count in workload.threads)
