# SPDX-License-Identifier: Apache-2.0
"""One run of one benchmark program, and the line it prints.

A program is called as `PROGRAM --workload B1 --variant inline --threads 1 [--quick]` and prints exactly one line:
{"value": 1.23, "unit": "ns", "system": "weft", "version": "0.1.0"}, perhaps with "heavy_barriers_per_s" and
a remark as "note" besides.
Anything else raises ProgramFailed with a message that names the program.
"""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.model import System
from harness.plan import Group

QUICK_TIMEOUT_S = 20.0


class ProgramFailed(Exception):
    """A benchmark program crashed, hung or did not print its line."""


@dataclass(frozen=True)
class Figure:
    value: float
    version: str
    heavy_barriers_per_s: float | None = None  # None: the program does not count them
    note: str = ""


def run_once(programs: Path, system: System, group: Group, quick: bool) -> Figure:
    timeout_s = min(group.workload.timeout_s, QUICK_TIMEOUT_S) if quick else group.workload.timeout_s
    command = [str(programs / system.program), "--workload", group.workload.id, "--variant", group.variant,
               "--threads", str(group.threads)] + (["--quick"] if quick else [])
    code, output, errors = execute(command, system.program, timeout_s)
    if code != 0:
        last = errors.strip().splitlines()[-1:]
        raise ProgramFailed(": ".join([f"{system.program} ({group.label}) {ending(code)}", *last]))
    sys.stderr.write(errors)
    return read_line(output, system, group)


def execute(command: list[str], name: str, timeout_s: float) -> tuple[int, str, str]:
    """Runs the command in its own process group, so that whatever it started can be ended with it."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, errors="replace", start_new_session=True)
    except OSError as error:
        raise ProgramFailed(f"{name} cannot be started: {error.strerror}") from None
    try:
        output, errors = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise ProgramFailed(f"{name} did not finish within {timeout_s:g} s ({' '.join(command[1:])})") from None
    finally:
        if child.returncode is None:  # a time-out, or the user pressed Ctrl-C
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
            child.stderr.close()
    return child.returncode, output, errors


def ending(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def read_line(output: str, system: System, group: Group) -> Figure:
    def bad(what: str) -> ProgramFailed:
        return ProgramFailed(f"{system.program} ({group.label}) {what}: {output.strip()[:200]!r}")

    lines = output.splitlines()
    if len(lines) != 1:
        raise bad(f"printed {len(lines)} lines instead of one line of JSON")
    try:
        fields = json.loads(lines[0])
    except ValueError:
        raise bad("printed something that is not JSON") from None
    if not isinstance(fields, dict):
        raise bad("printed something that is not a JSON object")
    value = fields.get("value")
    if type(value) not in (int, float) or not 0 < value <= sys.float_info.max:
        raise bad("printed no positive, finite number as its value")
    for key, expected in (("unit", group.workload.unit), ("system", system.name)):
        if fields.get(key) != expected:
            raise bad(f"printed {key} {fields.get(key)!r} where {expected!r} was expected")
    if not isinstance(fields.get("version"), str):
        raise bad("printed no text as its version")
    barriers = fields.get("heavy_barriers_per_s")
    if barriers is not None and (type(barriers) not in (int, float) or not 0 <= barriers <= sys.float_info.max):
        raise bad("printed no finite number of heavy barriers")
    note = fields.get("note", "")
    if not isinstance(note, str):
        raise bad("printed no text as its note")
    return Figure(float(value), fields["version"] or installed_version(system.version_command), barriers, note)


@cache
def installed_version(command: tuple[str, ...]) -> str:
    """The first dotted number in what the command prints, for a system that does not know its own version."""
    if not command:
        return ""
    try:
        printed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"[0-9]+(\.[0-9]+)+", printed)
    return found.group() if found else ""
