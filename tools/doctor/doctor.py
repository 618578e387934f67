#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor — looks through a program for what does not go well with tasks.

Lists the locks of the system, the calls that may block and the thread-local variables that its tasks can reach, with the way there; and,
if it may run the program, proposes stack sizes from how deep its tasks went.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import catalogue
import graph

# What weft runs as a task, or as a half of a join: the roots. And what is weft's own, which knows what it does.
_ROOT = re.compile(r"^weft::detail::(task_body<.*>::(run|drop|clear)\(|join_arm<.*>::|joined<.*>::)")
_OWN = re.compile(r"^(\(anonymous namespace\)::)?weft::|^weft_tls_|^(operator (new|delete)|__cxa_|_Unwind_|__clang_call_terminate)")
_SYSTEM_LIBRARY = re.compile(r"^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|c\+\+|c\+\+abi|weft))[-.]")
_STACK_USE = re.compile(r"stack use: (\d+) of (\d+) bytes by (\d+) tasks spawned at (.*):(\d+)$", re.MULTILINE)
_SMALLEST_STACK = 8 * 1024
_LARGEST_STACK = 8 * 1024 * 1024


class Refused(Exception):
    """Something that cannot be examined, in one sentence."""


def demangle(names: list[str]) -> dict[str, str]:
    """The names as they are written in C++."""
    if not names:
        return {}
    result = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True)
    return dict(zip(names, result.stdout.splitlines()))


def check_program(program: str) -> None:
    """Refuses what is no program."""
    path = Path(program)
    if not path.exists():
        raise Refused(f"there is no file '{program}'")
    if not path.is_file() or path.open("rb").read(4) != b"\x7fELF":
        raise Refused(f"'{program}' is no ELF program; name one that was built with weft, such as build/release/examples/...")


def other_libraries(program: str) -> list[str]:
    """Shared libraries of the program's, but for those of the system."""
    result = subprocess.run(["ldd", program], check=False, capture_output=True, text=True)
    found = []
    for line in result.stdout.splitlines():
        parts = line.split()
        if len(parts) >= 3 and parts[1] == "=>" and not _SYSTEM_LIBRARY.match(parts[0]) and parts[2].startswith("/"):
            found.append(parts[2])
    return found


def imports_of(library: str) -> set[str]:
    """What a shared library needs of others."""
    result = subprocess.run(["nm", "-D", "--undefined-only", library], check=False, capture_output=True, text=True)
    return {line.split()[-1].split("@", 1)[0] for line in result.stdout.splitlines() if line.split()}


def thread_locals_of(program: str) -> list[str]:
    """Its thread-local variables."""
    result = subprocess.run(["readelf", "-sW", "--demangle", program], check=False, capture_output=True, text=True)
    found = set()
    for line in result.stdout.splitlines():
        parts = line.split(None, 7)
        if len(parts) == 8 and parts[3] == "TLS" and parts[6] != "UND":
            found.add(parts[7].strip())
    return sorted(name for name in found if not _OWN.match(name))


def shorten(name: str, most: int = 90) -> str:
    """A name that fits into a line."""
    return name if len(name) <= most else name[: most - 3] + "..."


def print_way(way: list[str], names: dict[str, str]) -> None:
    """How a task comes there: the functions in between that are the user's own."""
    shown = [names.get(each, each) for each in way[:-1]]
    own = [each for each in shown if not _OWN.match(each)] or shown[:1]
    for depth, each in enumerate(own[-3:]):
        print("      " + "  " * depth + shorten(each))


def report_calls(found: dict[str, str], names: dict[str, str], functions: dict[str, graph.Function]) -> int:
    """What can be reached, by kinds. Returns how much that is."""
    count = 0
    for kind, (bad, advice) in catalogue.KINDS.items():
        lines = []
        for name in sorted(bad & found.keys()):
            callers = [c for c in found if c in functions and name in functions[c].calls and not _OWN.match(names.get(c, c))]
            if callers:
                lines.append((name, callers))
        users = []
        if kind == "thread-local variables":
            users = [f for f in found if f in functions and functions[f].uses_thread_local and not _OWN.match(names.get(f, f))]
        if not lines and not users:
            continue
        print(f"\n{kind}: {advice}")
        for name, callers in lines:
            print(f"  {name}, by {len(callers)} function{'s' if len(callers) > 1 else ''}:")
            for caller in callers[:5]:
                print_way([*graph.way_to(found, caller), name], names)
            count += 1
        for user in users[:10]:
            print("  used by:")
            print_way([*graph.way_to(found, user), user], names)
            count += 1
    return count


def report_libraries(program: str) -> int:
    """What shared libraries call: who calls those is not known."""
    count = 0
    for library in other_libraries(program):
        needs = imports_of(library)
        bad = sorted(name for names, _ in catalogue.KINDS.values() for name in needs & names)
        if bad:
            print(f"\n{library} calls {', '.join(bad)}: whether a task comes there, its own code tells")
            count += 1
    return count


def propose_stack(deepest: int) -> int:
    """Twice as much as was used, as a size that weft has."""
    size = _SMALLEST_STACK
    while size < 2 * deepest and size < _LARGEST_STACK:
        size *= 2
    return size


def report_stacks(program: str, arguments: list[str]) -> None:
    """Runs the program, and says which stacks would do."""
    environment = {**os.environ, "WEFT_DEBUG_STACKS": "1"}
    command = [os.path.abspath(program), *arguments]
    result = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, env=environment)
    rest = [line for line in result.stderr.splitlines() if not _STACK_USE.search(line)]
    if rest:
        print("\n".join(rest), file=sys.stderr)
    if result.returncode != 0:
        print(f"\nthe program ended with status {result.returncode}", file=sys.stderr)
    uses: dict[tuple[str, int], tuple[int, int, int]] = {}
    for deepest, size, samples, file, line in _STACK_USE.findall(result.stderr):
        place = (file, int(line))
        before = uses.get(place, (0, 0, 0))
        uses[place] = (max(before[0], int(deepest)), max(before[1], int(size)), before[2] + int(samples))
    if not uses:
        print("\nstacks: no task was measured; does the program end, and is it built with weft?")
        return
    print("\nstacks, with twice as much as was used:")
    print(f"  {'used':>9} {'of':>9} {'tasks':>9}  proposed  spawned at")
    for (file, line), (deepest, size, samples) in sorted(uses.items(), key=lambda item: -item[1][0]):
        print(f"  {deepest:>9} {size:>9} {samples:>9}  {propose_stack(deepest):>8}  {file}:{line}")
    most = propose_stack(max(use[0] for use in uses.values()))
    print(f"  all of them would do with runtime_options::stack_bytes = {most}, or WEFT_STACK_SIZE={most}")


def examine(program: str, everything: bool) -> int:
    """Says what it has found. Returns how much."""
    functions = graph.read(program)
    names = demangle(sorted(functions))
    roots = {name for name in functions if _ROOT.match(names[name])}
    if not roots and not everything:
        print("no task was found in it (stripped, or not built with weft?): all of its functions are taken for tasks")
    if not roots or everything:
        roots = set(functions)
        print(f"{program}: {len(functions)} functions")
    else:
        print(f"{program}: {len(roots)} functions are run as tasks, or as halves of joins")
    found = graph.reachable(functions, roots)
    count = report_calls(found, names, functions) + report_libraries(program)
    variables = thread_locals_of(program)
    if variables:
        print(f"\nits thread-local variables: {', '.join(shorten(each) for each in variables)}")
    if count == 0:
        print("\nnothing was found that would keep a worker from its work")
    print("\n(calls by pointers and virtual functions are not followed)")
    return count


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="./do doctor", description=__doc__)
    parser.add_argument("program", help="built with weft, and not stripped")
    parser.add_argument("--all", action="store_true", help="look at all functions, not only at what tasks can reach")
    parser.add_argument("--run", nargs=argparse.REMAINDER, metavar="ARGUMENT",
                        help="run the program with these arguments, and propose stack sizes")  # fmt: skip
    options = parser.parse_args()
    try:
        check_program(options.program)
        examine(options.program, options.all)
        if options.run is not None:
            report_stacks(options.program, options.run)
    except Refused as error:
        print(f"doctor: {error}", file=sys.stderr)
        return 2
    except FileNotFoundError as error:
        print(f"doctor: {error.filename} is missing; the Debian package binutils has it", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
