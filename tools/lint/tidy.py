#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# tidy: clang-tidy over our own files of a compile database, each finding once.
#
# The checks and their reasons are in .clang-tidy. This script chooses the files (those of this
# repository, not generated ones and not third-party code that happens to be built with it), runs two at
# a time, and prints a finding in a header once instead of once per file that includes it.
#
# Tests take most of the time, for GoogleTest's headers. A quick run leaves them out, and reads our headers, which are
# templates that hardly anything but tests includes, by one file that includes them all.
"""Usage: tidy.py --db DIR [--root DIR] [--quick]"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

jobs = 2
tops = ("src", "include", "tests", "examples", "bench", "tools")
finding_line = re.compile(r"^(?:\S.*:\d+:\d+: )?(?:error|warning): ")


def database(folder):
    """What is compiled and how: the entries of the folder's compile_commands.json."""
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        return json.load(file)


def our_files(entries, root):
    """C and C++ files of this repository that the database compiles."""
    paths = {os.path.realpath(os.path.join(entry["directory"], entry["file"])) for entry in entries}
    homes = tuple(os.path.join(os.path.realpath(root), top) + os.sep for top in tops)
    return sorted(path for path in paths if path.startswith(homes) and path.endswith((".cpp", ".c")))


def is_test(path):
    return path.endswith(("_test.cpp", "_model.cpp")) or f"{os.sep}tests{os.sep}" in path


def compiler_options(entries):
    """The folders, definitions and language that the database's files are compiled with, all together."""
    words = [word for entry in entries for word in entry["command"].split()]
    return list(dict.fromkeys(word for word in words if word.startswith(("-I", "-D", "-std="))))


def headers(root):
    """What #include calls our headers, but for src/arch: of those each machine has its own, and the library has them all."""
    for top in ("include", "src"):
        for place, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(name for name in folders if name != "arch")
            yield from (os.path.relpath(os.path.join(place, name), os.path.join(root, top))
                        for name in sorted(names) if name.endswith(".hpp"))


def split_findings(text):
    """Each finding with its snippet and notes as one block."""
    blocks = []
    for line in text.splitlines():
        if finding_line.match(line):
            blocks.append(line)
        elif blocks:
            blocks[-1] += "\n" + line
    return blocks


def check(command, path, root):
    """The findings of one file; a crash of clang-tidy is a finding too."""
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False)
    blocks = split_findings(done.stdout)
    if done.returncode and not blocks:
        blocks = [f"{path}: clang-tidy failed ({done.returncode}):\n{done.stdout}{done.stderr}"]
    return blocks


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="clang-tidy over our files")
    parser.add_argument("--db", required=True, help="folder of compile_commands.json, made with clang")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)), help="the repository")
    parser.add_argument("--quick", action="store_true", help="leave the tests out")
    args = parser.parse_args()
    tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not tool:
        print("clang-tidy-14 is not installed")
        return 1
    try:
        entries = database(args.db)
        files = our_files(entries, args.root)
    except (OSError, ValueError, KeyError) as why:
        print(f"{args.db}: no usable compile_commands.json: {why}")
        return 1
    if not files:
        print(f"{args.db}/compile_commands.json: names no file of this repository, nothing was checked")
        return 1
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        commands = [([tool, "--quiet", "-p", os.path.realpath(args.db), path], path) for path in files]
        if args.quick:
            commands = [pair for pair in commands if not is_test(pair[1])]
            everything = os.path.join(scratch, "all_headers.cpp")
            with open(everything, "w", encoding="utf-8") as file:
                file.writelines(f'#include "{name}"\n' for name in headers(args.root))
            config = f"--config-file={os.path.join(args.root, '.clang-tidy')}"
            commands.insert(0, ([tool, "--quiet", config, everything, "--", *compiler_options(entries)], everything))
        found = pool.map(lambda pair: check(*pair, args.root), commands)
        unique = dict.fromkeys(block for blocks in found for block in blocks)
    prefix = os.path.realpath(args.root) + os.sep
    print("\n".join(unique).replace(prefix, ""), end="\n" if unique else "")
    return 1 if unique else 0


if __name__ == "__main__":
    sys.exit(main())
