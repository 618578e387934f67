# SPDX-License-Identifier: Apache-2.0
"""Where the figures come from: machine, compiler and commit. A figure without these three says nothing."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Origin:
    machine: str
    compiler: str
    commit: str


def find_origin(programs: Path, source: Path) -> Origin:
    return Origin(machine(), compiler(programs), commit(source))


def machine() -> str:
    system = os.uname()
    model = f"{system.machine} CPU"
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    cores = os.cpu_count() or 0
    return f"{model}, {cores} core{'' if cores == 1 else 's'}, {system.sysname} {system.release}"


def compiler(programs: Path) -> str:
    try:
        return " ".join((programs / "compiler.txt").read_text(encoding="utf-8").split()) or "unknown"
    except OSError:
        return "unknown"


def commit(source: Path) -> str:
    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(source), *arguments], capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    head = git("rev-parse", "--short", "HEAD")
    if not head:
        return "unknown"
    return f"{head}-dirty" if git("status", "--porcelain", "--untracked-files=no") else head
