#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# tidy: clang-tidy over our own files of a compile database, each finding once.
#
# The checks and their reasons are in .clang-tidy. This script chooses the files (those of this
# repository, not generated ones and not third-party code that happens to be built with it), runs two at
# a time, and prints a finding in a header once instead of once per file that includes it.
"""Usage: tidy.py --db DIR [--root DIR]"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

jobs = 2
tops = ("src", "include", "tests", "examples", "bench", "tools")
finding_line = re.compile(r"^(?:\S.*:\d+:\d+: )?(?:error|warning): ")


def our_files(db, root):
    """C and C++ files of this repository that the database compiles."""
    with open(os.path.join(db, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    paths = {os.path.realpath(os.path.join(entry["directory"], entry["file"])) for entry in entries}
    homes = tuple(os.path.join(os.path.realpath(root), top) + os.sep for top in tops)
    return sorted(path for path in paths if path.startswith(homes) and path.endswith((".cpp", ".c")))


def split_findings(text):
    """Each finding with its snippet and notes as one block."""
    blocks = []
    for line in text.splitlines():
        if finding_line.match(line):
            blocks.append(line)
        elif blocks:
            blocks[-1] += "\n" + line
    return blocks


def check(tool, db, path):
    """The findings of one file; a crash of clang-tidy is a finding too."""
    command = [tool, "--quiet", "-p", db, path]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    blocks = split_findings(done.stdout)
    if done.returncode and not blocks:
        blocks = [f"{path}: clang-tidy failed ({done.returncode}):\n{done.stdout}{done.stderr}"]
    return blocks


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="clang-tidy over our files")
    parser.add_argument("--db", required=True, help="folder of compile_commands.json, made with clang")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)), help="the repository")
    args = parser.parse_args()
    tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not tool:
        print("clang-tidy-14 is not installed")
        return 1
    try:
        files = our_files(args.db, args.root)
    except (OSError, ValueError, KeyError) as why:
        print(f"{args.db}: no usable compile_commands.json: {why}")
        return 1
    if not files:
        print(f"{args.db}/compile_commands.json: names no file of this repository, nothing was checked")
        return 1
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda path: check(tool, args.db, path), files)
        unique = dict.fromkeys(block for blocks in found for block in blocks)
    prefix = os.path.realpath(args.root) + os.sep
    print("\n".join(unique).replace(prefix, ""), end="\n" if unique else "")
    return 1 if unique else 0


if __name__ == "__main__":
    sys.exit(main())
