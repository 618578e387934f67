# SPDX-License-Identifier: Apache-2.0
"""Which programs exist, which can be had by installing something, and why the others are absent.

Installing is the caller's business: a command given with --install-cmd is called with the names of the packages, and
is expected to install them and to build what they make possible. A program that is absent even then is reported with
the reason; nothing is skipped in silence.
"""

import os
import subprocess
from pathlib import Path

from harness.console import say
from harness.model import System
from harness.plan import Group

INSTALL_TIMEOUT_S = 900
STDERR = 2  # the descriptor: stdout belongs to the table


def find_absent(groups: list[Group], programs: Path, install: tuple[str, ...]) -> dict[str, str]:
    """Installs what is missing, if allowed to, and returns why each program that is still missing is."""
    absent = {}
    tried = {}  # packages -> why installing them failed, or ""
    for system in dict.fromkeys(s for group in groups for s in group.systems):
        if is_program(programs / system.program):
            continue
        why = ""
        if install and system.packages:
            if system.packages not in tried:
                tried[system.packages] = run_install(install, system.packages)
            why = tried[system.packages]
        if not is_program(programs / system.program):
            absent[system.program] = reason(system, programs, bool(install), why)
            say(f"{system.name} is absent: {absent[system.program]}")
    return absent


def is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def run_install(install: tuple[str, ...], packages: tuple[str, ...]) -> str:
    say(f"installing {' '.join(packages)}")
    try:
        done = subprocess.run([*install, *packages], stdin=subprocess.DEVNULL, stdout=STDERR,
                              timeout=INSTALL_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"installing {' '.join(packages)} failed: {error}"
    return f"installing {' '.join(packages)} failed with exit code {done.returncode}" if done.returncode else ""


def reason(system: System, programs: Path, may_install: bool, why: str) -> str:
    text = f"there is no program {system.program} in {programs}"
    if why:
        return f"{text}, and {why}"
    if system.packages and may_install:
        return f"{text}, even after installing {' '.join(system.packages)}"
    if system.packages:
        return f"{text}; it needs {' '.join(system.packages)}"
    return text
