# SPDX-License-Identifier: Apache-2.0
"""Memory at hand: lets the machine have what a program will use before the program runs.

A virtual machine may have given memory that nobody used back to its host. Then the next to touch it pays for getting it
again, several microseconds a page: more than all that is measured, and whoever uses more memory than the run before pays
for both. So a child process touches as much as the workload is known to take, and ends; what it leaves is free, and there.
"""

import mmap
import subprocess
import sys
from pathlib import Path

from harness.console import say

PAGE = mmap.PAGESIZE


def touch(size: int) -> None:
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for at in range(0, size, PAGE):
            memory[at] = 1


def available() -> int:
    with open("/proc/meminfo", encoding="ascii") as info:
        for line in info:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def bring_in(size: int) -> None:
    """Does nothing where so much is not to be had: then the program's own trouble is the figure."""
    if size == 0:
        return
    if available() < size + size // 4:
        say(f"not {size >> 20} MB to be had: programs pay for memory that is not at hand")
        return
    child = [sys.executable, "-m", "harness.memory", str(size)]
    if subprocess.run(child, cwd=Path(__file__).parents[1], check=False).returncode != 0:
        say(f"{size >> 20} MB could not be brought in: programs pay for memory that is not at hand")


if __name__ == "__main__":
    touch(int(sys.argv[1]))
