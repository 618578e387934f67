#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# examples: code in the guide is code that runs.
#
# An example in the guide that was copied once soon shows what used to work. So an example is a piece of a test: the
# test marks it by two lines `// [name]`, the guide names it before the code block by
# `<!-- example: path/to/foo_test.cpp [name] -->`, and this lint compares the two, less their common indentation.
"""Usage: examples.py [--root DIR]"""

import argparse
import glob
import os
import re
import sys
import textwrap

here = os.path.dirname(os.path.abspath(__file__))
reference = re.compile(r"^<!-- example: (?P<path>\S+) \[(?P<name>[\w-]+)\] -->$")


def marked_piece(path, name):
    """The lines between the two marks, as one text; raises ValueError with what is wrong."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        raise ValueError("that file does not exist") from None
    marks = [i for i, line in enumerate(lines) if line.strip() == f"// [{name}]"]
    if len(marks) != 2:
        raise ValueError(f"that file has {len(marks)} lines `// [{name}]` instead of two")
    return textwrap.dedent("\n".join(lines[marks[0] + 1:marks[1]])).strip("\n")


def code_block_after(lines, index):
    """The indented code block that begins after line `index`, less its indentation."""
    block = []
    for line in lines[index + 1:]:
        if line.strip() and not line.startswith("    "):
            break
        block.append(line)
    return textwrap.dedent("\n".join(block)).strip("\n")


def findings_in(root, page):
    """(how many examples the page names, what is wrong with them)."""
    with open(os.path.join(root, page), encoding="utf-8") as file:
        lines = file.read().splitlines()
    count, findings = 0, []
    for index, line in enumerate(lines):
        named = reference.match(line)
        if not named:
            if "<!-- example:" in line:
                findings.append(f"{page}:{index + 1}: write `<!-- example: path [name] -->` on a line of its own")
            continue
        count += 1
        where = f"{page}:{index + 1}: example {named['path']} [{named['name']}]"
        try:
            piece = marked_piece(os.path.join(root, named["path"]), named["name"])
        except ValueError as why:
            findings.append(f"{where}: {why}")
            continue
        if code_block_after(lines, index) != piece:
            findings.append(f"{where}: differs from the code block below")
    return count, findings


def main():
    parser = argparse.ArgumentParser(description="code in the guide is code that runs")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)), help="the repository")
    root = os.path.abspath(parser.parse_args().root)
    pages = sorted(os.path.relpath(path, root) for path in glob.glob(os.path.join(root, "docs/guide/*.md")))
    results = [findings_in(root, page) for page in pages]
    findings = [line for _, lines in results for line in lines]
    if not findings and not any(count for count, _ in results):
        findings = ["docs/guide: no page names an example, nothing was checked"]
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
