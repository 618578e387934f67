# SPDX-License-Identifier: Apache-2.0
"""What was disturbed and missed its bar is measured again, once all else is done: by then a busy neighbour may be gone,
and that is waited for, though not for ever.

Again means all groups of the workload, whatever they gave the first time, since bars compare them with each other.
What was measured last counts, met or missed. A row that missed its bar on a quiet machine is not measured again, nor
one whose bar cannot be judged, since its peer would be missing the next time, too. A machine that was quiet by its
counters, but is slower than it could be right after, was not.
"""

from harness.console import say
from harness.judge import Row, judge
from harness.measure import Bench, Sample, measure
from harness.plan import Group

ROUNDS = 3
WAIT_S = 600.0


def settle(bench: Bench, groups: list[Group], samples: list[Sample]) -> list[Row]:
    rows = judge(samples)
    for _ in range(ROUNDS):
        workloads = disturbed(rows)
        if not workloads:
            workloads = missed(rows)
            if not workloads or bench.guard.is_left_alone():
                break
        if not bench.guard.wait_left_alone(WAIT_S):
            say("others are still busy on this machine")
        say(f"measured again, since others disturbed it: {', '.join(workloads)}")
        again = iter(measure(bench, [group for group in groups if group.workload.id in workloads]))  # in the same order
        samples = [next(again) if sample.group.workload.id in workloads else sample for sample in samples]
        rows = judge(samples)
    return rows


def disturbed(rows: list[Row]) -> list[str]:
    """The workloads with a bar that was missed and a row that is contended, in the order of the table."""
    contended = {row.workload.id for row in rows if row.contended}
    return [workload for workload in missed(rows) if workload in contended]


def missed(rows: list[Row]) -> list[str]:
    """The workloads with a bar that was missed, in the order of the table."""
    late = (row for row in rows if any(not v.met and v.ratio is not None for v in row.verdicts))
    return list(dict.fromkeys(row.workload.id for row in late))
