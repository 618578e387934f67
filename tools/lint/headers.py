#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# headers: every header compiles alone.
#
# A header that only compiles after another one was included breaks the first user who includes it
# in a different order. This lint compiles, for each header, a file that includes nothing else: the
# public ones as a user would, the private ones as src/ does, with g++ and with clang++. A header
# whose name ends in an instruction set (`_x86_64`, `_aarch64`) is compiled for that one. What cannot
# be compiled for want of a compiler is named in the output.
"""Usage: headers.py [--root DIR] [--include DIR]..."""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

warnings = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
jobs = 2
isa_suffix = re.compile(r"_(x86_64|aarch64)\.(?:hpp|h)$")


@dataclass
class task:
    header: str  # relative to the root
    spelling: str  # as it is included
    compiler: str
    language: str  # c or c++
    folders: list

    def command(self):
        standard = "-std=c++20" if self.language == "c++" else "-std=c11"
        include = [f"-I{folder}" for folder in self.folders]
        return [self.compiler, standard, *include, *warnings, "-x", self.language, "-"]


def compilers(language, isa):
    """The compilers for one language and instruction set, and the names of those that are missing."""
    gcc, clang = ("g++", "clang++") if language == "c++" else ("gcc", "clang")
    wanted = [gcc, clang] if isa in (None, platform.machine()) else [f"{isa}-linux-gnu-{gcc}"]
    found = [name for name in wanted if shutil.which(name)]
    return found, [name for name in wanted if name not in found]


def header_files(root, top):
    """Headers under `top`, relative to it."""
    base = os.path.join(root, top)
    for folder, _, files in sorted(os.walk(base)):
        for name in sorted(files):
            if name.endswith((".hpp", ".h")):
                yield os.path.relpath(os.path.join(folder, name), base)


def tasks_for(root, generated, missing):
    """One task per header, language and compiler; what has no compiler goes into `missing`."""
    public = [os.path.join(root, "include"), *generated]
    private = [*public, os.path.join(root, "src")]
    for top, folders in (("include", public), ("src", private)):
        for name in header_files(root, top):
            isa = isa_suffix.search(name)
            for language in ("c", "c++") if name.endswith(".h") and top == "include" else ("c++",):
                found, absent = compilers(language, isa and isa[1])
                for compiler in absent:
                    missing.setdefault(compiler, []).append(f"{top}/{name}")
                spelling = f"<{name}>" if top == "include" else f'"{name}"'
                for compiler in found:
                    yield task(f"{top}/{name}", spelling, compiler, language, folders)


def compile_alone(work):
    """The finding of one task, or None."""
    text = f"#include {work.spelling}\n"
    done = subprocess.run(work.command(), input=text, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return f"{work.header}:1: does not compile alone as {work.language} with {work.compiler}:\n{done.stderr}"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="each header compiles alone")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)), help="the repository")
    parser.add_argument("--include", action="append", default=[], metavar="DIR",
                        help="a folder of generated headers; repeatable")
    args = parser.parse_args()
    missing = {}
    work = list(tasks_for(args.root, args.include, missing))
    for compiler, skipped in missing.items():
        print(f"{compiler} is not installed: skipped for {len(skipped)} headers ({', '.join(skipped[:5])}"
              f"{', ...' if len(skipped) > 5 else ''})")
    with ThreadPoolExecutor(jobs) as pool:
        findings = [finding for finding in pool.map(compile_alone, work) if finding]
    if not work:
        findings.append("no header was compiled: nothing was checked\n")
    sys.stdout.write("".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
