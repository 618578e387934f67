# SPDX-License-Identifier: Apache-2.0
"""From repetitions to rows: best, worst and median, the ratio to the best peer, and whether each bar is met.

A row is judged by its best figure, unless the median is so far from it (1.5 times) that the best looks like luck, or
the workload says so for the variant; then it is judged by the median. weft's ratio is its judged figure over the best
peer's. A bar that cannot be judged, because what it compares with is absent or failed or was not selected, counts as
missed.
"""

import statistics
from dataclasses import dataclass, field

from harness.guard import Noise
from harness.measure import Sample
from harness.model import BEST_PEER, WEFT, Bar, Workload

MEDIAN_SPREAD_MAX = 1.5


@dataclass(frozen=True)
class Verdict:
    bar: Bar
    ratio: float | None  # None: cannot be judged
    met: bool
    text: str  # "weft is 0.52 of boost.context, bar <= 0.45"


@dataclass
class Row:
    workload: Workload
    variant: str
    system: str
    threads: int
    status: str
    is_peer: bool = False
    version: str | None = None
    best: float | None = None
    worst: float | None = None
    median: float | None = None
    heavy_barriers_per_s: float | None = None
    note: str = ""  # what the last repetition remarked
    foreign: float | None = None
    steal: float | None = None
    contended: bool | None = None
    ratio: float | None = None
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def by_median(self) -> bool:
        if self.best is None or self.median is None:
            return False
        if self.variant in self.workload.median_variants:
            return True
        low, high = sorted((self.best, self.median))
        return high > MEDIAN_SPREAD_MAX * low

    @property
    def judged(self) -> float | None:
        return self.median if self.by_median else self.best

    @property
    def met(self) -> bool | None:
        return all(verdict.met for verdict in self.verdicts) if self.verdicts else None


def make_row(sample: Sample) -> Row:
    group = sample.group
    row = Row(group.workload, group.variant, sample.system.name, group.threads, sample.status)
    row.is_peer = sample.system.name != WEFT and sample.system.is_peer
    if sample.status != "ok":
        return row
    values = sorted((figure.value for figure in sample.figures), reverse=not group.workload.smaller_is_better)
    row.version = sample.figures[0].version or None
    row.best, row.worst, row.median = values[0], values[-1], statistics.median(values)
    row.note = sample.figures[-1].note
    barriers = [f.heavy_barriers_per_s for f in sample.figures if f.heavy_barriers_per_s is not None]
    row.heavy_barriers_per_s = statistics.median(barriers) if barriers else None
    row.foreign = max(noise.foreign for noise in sample.noises)
    row.steal = max(noise.steal for noise in sample.noises)
    total = sum(sample.noises, Noise(0.0, 0.0, 0.0))
    row.contended = total.contended or any(noise.contended for noise in sample.noises)
    return row


def judge(samples: list[Sample]) -> list[Row]:
    rows = [make_row(sample) for sample in samples]
    for row in rows:
        if row.system != WEFT:
            continue
        peer = best_peer(rows, row.workload, row.variant, row.threads)
        if row.judged is not None and peer is not None:
            row.ratio = row.judged / peer.judged
        row.verdicts = [judge_bar(bar, row, rows) for bar in row.workload.bars
                        if bar.applies(row.variant, row.threads)]
    return rows


def group_rows(rows: list[Row], workload: Workload, variant: str, threads: int) -> list[Row]:
    return [row for row in rows
            if row.workload.id == workload.id and row.variant == variant and row.threads == threads]


def best_peer(rows: list[Row], workload: Workload, variant: str, threads: int) -> Row | None:
    peers = [row for row in group_rows(rows, workload, variant, threads)
             if row.is_peer and row.judged is not None]
    choose = min if workload.smaller_is_better else max
    return choose(peers, key=lambda row: row.judged, default=None)


def judge_bar(bar: Bar, row: Row, rows: list[Row]) -> Verdict:
    if row.judged is None:
        return Verdict(bar, None, False, f"cannot be judged: weft {row.status}")
    if bar.against is None:
        return compare(bar, row, row.judged, f"{row.judged:.4g} {row.workload.unit}")
    variant = row.variant if bar.of_variant is None else bar.of_variant
    threads = row.threads if bar.of_threads is None else bar.of_threads
    if bar.against == BEST_PEER:
        other = best_peer(rows, row.workload, variant, threads)
    else:
        other = next((r for r in group_rows(rows, row.workload, variant, threads) if r.system == bar.against), None)
    if other is None or other.judged is None:
        return Verdict(bar, None, False, f"cannot be judged: {missing(bar, other, variant, threads)}")
    ratio = row.judged / other.judged
    return compare(bar, row, ratio, f"{ratio:.4g} of {reference(bar, other.system)}")


def compare(bar: Bar, row: Row, ratio: float, text: str) -> Verdict:
    smaller = row.workload.smaller_is_better
    met = ratio <= bar.limit if smaller else ratio >= bar.limit
    return Verdict(bar, ratio, met, f"weft is {text}, bar {bar_limit(bar, smaller)}")


def missing(bar: Bar, other: Row | None, variant: str, threads: int) -> str:
    if bar.against == BEST_PEER:
        return "no peer was measured"
    who = "weft" if bar.against == WEFT else f"peer {bar.against}"
    if other is not None:
        return f"{who} {other.status}"
    where = f" in variant {variant}" if bar.of_variant is not None else ""
    return f"{who} was not selected{where} at threads {threads}"


def bar_limit(bar: Bar, smaller_is_better: bool) -> str:
    return f"{'<=' if smaller_is_better else '>='} {bar.limit:g}"


def reference(bar: Bar, system: str) -> str:
    """What a bar compares with, as a reader would say it: "go", "weft at 1 thread", "weft wake"."""
    words = [system]
    if bar.of_variant is not None:
        words.append(bar.of_variant)
    if bar.of_threads is not None:
        words.append(f"at {bar.of_threads} thread{'s' if bar.of_threads > 1 else ''}")
    return " ".join(words)


def binding(row: Row) -> Verdict | None:
    """Of several bars the one nearest to being missed, or furthest beyond; one that cannot be judged comes first."""
    def slack(verdict: Verdict) -> float:
        if verdict.ratio is None:
            return float("-inf")
        quotient = verdict.bar.limit / verdict.ratio
        return quotient if row.workload.smaller_is_better else 1.0 / quotient

    return min(row.verdicts, key=slack, default=None)
