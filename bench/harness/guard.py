# SPDX-License-Identifier: Apache-2.0
"""The noise guard: how much of the machine others used while a program ran.

A busy neighbour can double a two-thread figure, and best-of-five does not notice. So each repetition is framed by two
looks at /proc/stat: the CPU time of the whole machine, less what the program and this driver used themselves, is
"foreign"; the time the hypervisor gave to other machines is "steal". Both are percentages of one core.

/proc/stat counts in ticks of 10 ms, so either end of a run may be off by one tick. Four percent of 0.25 s is one
tick: programs that run for 0.3 s or more are judged correctly to within the threshold, and a run that is caught on
the wrong side of a tick is merely repeated. For a shorter run one tick alone is never held against it; a row sums
its kept repetitions and judges the sum too, which a steady neighbour cannot slip through.

One neighbour leaves no trace there: who runs on the other half of a core that is two, as hypervisors rent them out. It
takes no time, but up to half of the speed. It is found by doing a small piece of work over and over: those that it
meets take longer than the fastest.
"""

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

NOISE_MAX = 0.04  # of one core, foreign and steal together
IDLE_WINDOW_S = 0.3
IDLE_TICKS_MAX = 2
BUSY_WINDOW_S = 1.0
SLOWNESS_MAX = 1.15  # of a piece of work on average, in times of the fastest
REST_S = 5.0
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Noise:
    """What others took during `wall_s` seconds. Counted seconds may be slightly negative: the ticks are coarse."""

    wall_s: float
    foreign_s: float
    steal_s: float

    def __add__(self, other: "Noise") -> "Noise":
        return Noise(self.wall_s + other.wall_s, self.foreign_s + other.foreign_s, self.steal_s + other.steal_s)

    @property
    def foreign(self) -> float:
        return 100.0 * max(0.0, self.foreign_s) / self.wall_s

    @property
    def steal(self) -> float:
        return 100.0 * max(0.0, self.steal_s) / self.wall_s

    @property
    def contended(self) -> bool:
        taken_s = max(0.0, self.foreign_s) + self.steal_s
        return taken_s > max(NOISE_MAX * self.wall_s, 1.001 * TICK_S)


@dataclass(frozen=True)
class Look:
    """The counters at one moment, in seconds."""

    clock_s: float
    busy_s: float
    steal_s: float
    own_s: float


class Guard:
    def look(self) -> Look:
        with open("/proc/stat", encoding="ascii") as stat:
            # cpu user nice system idle iowait irq softirq steal ...
            ticks = [int(field) for field in stat.readline().split()[1:9]]
        user, nice, system, _, _, irq, softirq, steal = ticks
        return Look(time.monotonic(), (user + nice + system + irq + softirq) * TICK_S, steal * TICK_S, own_cpu_s())

    def since(self, start: Look) -> Noise:
        now = self.look()
        busy_s = now.busy_s - start.busy_s
        own_s = now.own_s - start.own_s
        return Noise(max(now.clock_s - start.clock_s, 1e-9), busy_s - own_s, now.steal_s - start.steal_s)

    def wait_idle(self, limit_s: float) -> None:
        """Returns once nobody else has used the machine for a moment, or after about `limit_s`."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() + IDLE_WINDOW_S <= deadline:
            start = self.look()
            time.sleep(IDLE_WINDOW_S)
            noise = self.since(start)
            if noise.foreign_s + noise.steal_s < (IDLE_TICKS_MAX + 0.5) * TICK_S:
                return

    def is_left_alone(self) -> bool:
        """Whether this machine has all of its processors for a moment, at their full speed.

        The hypervisor takes nothing from a machine that is idle; so it is kept busy for that moment.
        """
        start = self.look()
        slowness = keep_busy(BUSY_WINDOW_S)
        return slowness <= SLOWNESS_MAX and not self.since(start).contended

    def wait_left_alone(self, limit_s: float) -> bool:
        """Returns once that is so, or after about `limit_s`: whether it is. In between the machine rests."""
        deadline = time.monotonic() + limit_s
        while True:
            if self.is_left_alone():
                return True
            if time.monotonic() + REST_S + BUSY_WINDOW_S > deadline:
                return False
            time.sleep(REST_S)


# Prints how long a piece of work has taken on average, in times of the fastest.
SPINNER = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
fastest, total, count = float("inf"), 0.0, 0
while time.monotonic() < end:
    start = time.perf_counter()
    for _ in range(10_000):
        pass
    took = time.perf_counter() - start
    fastest, total, count = min(fastest, took), total + took, count + 1
print(total / count / fastest)
"""


def keep_busy(seconds: float) -> float:
    """Uses all processors for so long. Returns how much slower they were than at their best: the slowest of them."""
    command = [sys.executable, "-c", SPINNER, str(seconds)]
    spinners = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in os.sched_getaffinity(0)]
    return max(float(spinner.communicate()[0]) for spinner in spinners)


def own_cpu_s() -> float:
    """CPU time of this process and of every child it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
