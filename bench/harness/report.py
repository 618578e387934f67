# SPDX-License-Identifier: Apache-2.0
"""The two forms of the result: an aligned table for people and a list of objects for programs."""

import json
from pathlib import Path

from harness.judge import Row, Verdict, bar_limit, binding, reference
from harness.model import BEST_PEER
from harness.origin import Origin

HEADINGS = ("workload", "variant", "system", "threads", "best", "median", "worst", "unit", "barriers/s", "ratio", "bar",
            "verdict", "noise")
NUMBERS = {"threads", "best", "median", "worst", "barriers/s", "ratio"}


def number(value: float | None) -> str:
    """About four significant digits, and never an exponent."""
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 100 else 2 if value >= 10 else 3}f}"


def bar_text(verdict: Verdict, row: Row) -> str:
    """The bar as a reader would say it, with its own ratio where that is not the one in the ratio column."""
    bar = verdict.bar
    text = bar_limit(bar, row.workload.smaller_is_better)
    if bar.against is None:
        return f"{text} {row.workload.unit}"
    text += f" {reference(bar, bar.against)}"
    if verdict.ratio is not None and verdict.ratio != row.ratio and bar.against != BEST_PEER:
        text += f" ({number(verdict.ratio)})"
    return text


def noise_text(row: Row) -> str:
    if row.status != "ok":
        return ""
    text = f"foreign {row.foreign:.1f}% steal {row.steal:.1f}%"
    if row.contended:
        text += " CONTENDED"
    if row.by_median:
        text += f"; judged by its median, {number(row.median)}"
    return f"{text}; {row.note}" if row.note else text


def cells(row: Row) -> tuple[str, ...]:
    met = {True: "met", False: "missed", None: ""}[row.met]
    return (
        row.workload.id,
        row.variant,
        f"{row.system} {row.version or ''}".rstrip(),
        str(row.threads),
        number(row.best) if row.status == "ok" else row.status,
        number(row.median),
        number(row.worst),
        row.workload.unit,
        number(row.heavy_barriers_per_s) if row.heavy_barriers_per_s is not None else "",
        number(row.ratio) if row.ratio is not None else "",
        ", ".join(bar_text(verdict, row) for verdict in row.verdicts),
        met,
        noise_text(row),
    )


def table(rows: list[Row]) -> str:
    lines = [HEADINGS, *(cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.rjust(width) if heading in NUMBERS else cell.ljust(width)
                  for cell, width, heading in zip(line, widths, HEADINGS)).rstrip()
        for line in lines)


def as_object(row: Row, origin: Origin) -> dict:
    """`bar` is the limit of the bar nearest to being missed; `bars` holds them all, with the ratio each judges."""
    tightest = binding(row)
    return {
        "workload": row.workload.id,
        "variant": row.variant,
        "system": row.system,
        "version": row.version,
        "threads": row.threads,
        "status": row.status,
        "best": row.best,
        "worst": row.worst,
        "median": row.median,
        "unit": row.workload.unit,
        "heavy_barriers_per_s": row.heavy_barriers_per_s,
        "note": row.note,
        "ratio": row.ratio,
        "bar": tightest.bar.limit if tightest else None,
        "met": row.met,
        "bars": [{"limit": v.bar.limit, "against": v.bar.against and reference(v.bar, v.bar.against),
                  "ratio": v.ratio, "met": v.met} for v in row.verdicts],
        "foreign": row.foreign if row.foreign is None else round(row.foreign, 2),
        "steal": row.steal if row.steal is None else round(row.steal, 2),
        "contended": row.contended,
        "machine": origin.machine,
        "compiler": origin.compiler,
        "commit": origin.commit,
    }


def write_json(path: Path, rows: list[Row], origin: Origin) -> None:
    path.write_text(json.dumps([as_object(row, origin) for row in rows], indent=2) + "\n", encoding="utf-8")


def missed_bars(rows: list[Row]) -> list[str]:
    lines = []
    for row in rows:
        name = " ".join(part for part in (row.workload.id, row.variant, f"at threads {row.threads}") if part)
        noisy = " (the row is contended)" if row.contended else ""
        lines += [f"bar missed: {name}: {v.text}{noisy}" for v in row.verdicts if not v.met]
    return lines
