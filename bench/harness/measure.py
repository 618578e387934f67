# SPDX-License-Identifier: Apache-2.0
"""Repetitions: the systems of a group run in turn (weft, peer, weft, peer, ...), each time as a new process.

Taking turns keeps a slow minute of the machine from falling on one system alone. A repetition the guard finds
contended is tried again; when the tries, or the letter's patience, are used up, the quietest try is kept and
carries its noise into the row.
"""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness.console import say
from harness.guard import Guard, Noise
from harness.memory import bring_in
from harness.model import System
from harness.plan import Group
from harness.program import Figure, ProgramFailed, run_once

TRIES = 4
IDLE_WAIT_S = 10.0  # and never more than a quarter of the patience left
PATIENCE_S = 180.0
QUICK_PATIENCE_S = 8.0


@dataclass
class Patience:
    """Seconds one letter may still spend on waiting for an idle machine and on trying again."""

    left_s: float

    def spend(self, action):
        start = time.monotonic()
        try:
            return action()
        finally:
            self.left_s -= time.monotonic() - start


@dataclass
class Sample:
    """What one system gave in one group."""

    group: Group
    system: System
    figures: list[Figure] = field(default_factory=list)
    noises: list[Noise] = field(default_factory=list)
    status: str = "ok"  # or "absent", "failed"


@dataclass(frozen=True)
class Bench:
    programs: Path
    absent: dict[str, str]
    quick: bool
    guard: Guard


def measure(bench: Bench, groups: list[Group]) -> list[Sample]:
    samples = []
    patience: dict[str, Patience] = {}
    for group in groups:
        budget = patience.setdefault(group.workload.letter, Patience(QUICK_PATIENCE_S if bench.quick else PATIENCE_S))
        if sys.stderr.isatty():
            say(f"measuring {group.label}")
        samples += measure_group(bench, group, budget)
    return samples


def measure_group(bench: Bench, group: Group, patience: Patience) -> list[Sample]:
    samples = [Sample(group, system, status="absent" if system.program in bench.absent else "ok")
               for system in group.systems]
    wait_idle(bench.guard, patience)
    for _ in range(group.workload.repetitions):
        for sample in samples:
            if sample.status == "ok":
                take(bench, sample, patience)
    return samples


def take(bench: Bench, sample: Sample, patience: Patience) -> None:
    try:
        figure, noise = repetition(bench, sample, patience)
    except ProgramFailed as error:
        sample.status = "failed"
        say(str(error))
    else:
        sample.figures.append(figure)
        sample.noises.append(noise)


def repetition(bench: Bench, sample: Sample, patience: Patience) -> tuple[Figure, Noise]:
    def attempt() -> tuple[Figure, Noise]:
        if not bench.quick:
            bring_in(sample.group.workload.memory)
        start = bench.guard.look()
        figure = run_once(bench.programs, sample.system, sample.group, bench.quick)
        return figure, bench.guard.since(start)

    tries = [attempt()]
    while tries[-1][1].contended and len(tries) < TRIES and patience.left_s > 0:
        wait_idle(bench.guard, patience)
        tries.append(patience.spend(attempt))
    return min(tries, key=lambda one: one[1].foreign + one[1].steal)


def wait_idle(guard: Guard, patience: Patience) -> None:
    patience.spend(lambda: guard.wait_idle(min(IDLE_WAIT_S, patience.left_s / 4)))
