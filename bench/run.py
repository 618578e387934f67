#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures weft beside its peers: the command behind `./do bench`.

Reads the command line, finds (or has installed) the programs of each system, measures them in turn, judges the rows
against their bars and prints a table. README.md says what the columns mean; workloads.py holds the table of
workloads; harness/ holds the steps, one a file.

Exit code: 0 done; 1 a bar is missed and --check was given; 2 bad arguments; 3 a program failed or the JSON could not
be written.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the source tree clean; must precede the imports below

from harness import report
from harness.again import settle
from harness.arguments import BadArgument, Request, parse
from harness.console import say
from harness.guard import Guard
from harness.judge import Row, judge
from harness.measure import Bench, measure
from harness.model import Workload
from harness.origin import find_origin
from harness.plan import plan
from harness.presence import find_absent
from workloads import WORKLOADS


def main(argv: list[str] | None = None, table: tuple[Workload, ...] = WORKLOADS, guard: Guard | None = None) -> int:
    try:
        request = parse(argv, table)
    except BadArgument as error:
        say(str(error))
        return 2
    groups = plan(request)
    absent = find_absent(groups, request.programs, request.install)
    bench = Bench(request.programs, absent, request.quick, guard or Guard())
    samples = measure(bench, groups)
    rows = settle(bench, groups, samples) if request.check else judge(samples)
    return publish(rows, request)


def publish(rows: list[Row], request: Request) -> int:
    origin = find_origin(request.programs, Path(__file__).resolve().parent)
    print(f"{origin.machine}; {origin.compiler}; commit {origin.commit}")
    print(report.table(rows), flush=True)
    code = 3 if any(row.status == "failed" for row in rows) else 0
    if request.json is not None:
        try:
            report.write_json(request.json, rows, origin)
        except OSError as error:
            say(f"cannot write '{request.json}': {error.strerror}")
            code = 3
    if request.check:
        missed = report.missed_bars(rows)
        for line in missed:
            say(line)
        code = 1 if missed else code
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
