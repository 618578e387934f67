#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# layers: every folder includes only downwards.
#
# weft is a stack of folders under src/, each knowing only the ones below it. That is what lets one
# layer be read, tested and replaced without the rest, and it is lost one convenient #include at a
# time. This lint reads the include lines of src/ and include/weft and reports each that points
# upwards or sideways, breaks the rules for public headers, or names a file that does not exist. It
# does not know which layer implements a public header: src/ may include any of them.
"""Usage: layers.py [--root DIR] [--include DIR]..."""

import argparse
import os
import re
import sys
from dataclasses import dataclass

# Lowest first. Folders on one line stand side by side and may not include each other.
tiers = [
    ("base",),
    ("arch", "sys"),
    ("stack", "queue"),
    ("event",),
    ("sched",),
    ("sync",),
    ("scope",),
    ("chan", "stm", "par", "io", "actor", "coro", "sim"),
]
c_layer = "c"  # above everything, written against the public headers only

may_include = {c_layer: {c_layer}}
for index, tier in enumerate(tiers):
    below = {name for lower in tiers[:index] for name in lower}
    may_include.update({name: below | {name} for name in tier})

standard_headers = set(
    """
    algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts
    condition_variable coroutine deque exception execution expected filesystem format forward_list
    fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits
    list locale map memory memory_resource mutex new numbers numeric optional ostream print queue random
    ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span spanstream sstream
    stack stacktrace stdexcept stop_token streambuf string string_view strstream syncstream system_error
    thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant
    vector version cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal
    cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype
    assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h
    setjmp.h signal.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h
    stdnoreturn.h string.h tgmath.h threads.h time.h uchar.h wchar.h wctype.h
    """.split()
)

source_suffixes = (".hpp", ".cpp", ".h", ".c", ".S", ".inc", ".ipp")
beside_code = re.compile(r"_(test|model|stress)\.cpp$")
include_line = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(?:"([^"]*)"|<([^>]*)>)?')
# Raw strings, plain strings, characters and comments: what could hide or fake an include line.
not_code = re.compile(
    r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)


@dataclass
class include:
    path: str  # of the including file, relative to the root
    line: int
    name: str  # as written; empty when a macro computes it
    angle: bool

    def written(self):
        return f"<{self.name}>" if self.angle else f'"{self.name}"'


def blank(match):
    """Keeps plain strings, and the line count of everything else."""
    text = match[0]
    return text if text.startswith('"') else "\n" * text.count("\n")


def includes_of(root, path):
    """The include lines of one file."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        lines = not_code.sub(blank, file.read()).splitlines()
    for number, text in enumerate(lines, 1):
        if match := include_line.match(text):
            quoted, angled = match.groups()
            yield include(path, number, quoted or angled or "", quoted is None)


class checker:
    """Judges include lines of one repository."""

    def __init__(self, root, generated):
        self.root = root
        self.generated = generated

    def exists(self, *parts):
        return os.path.isfile(os.path.join(self.root, *parts))

    def public_exists(self, name):
        """Whether <weft/...> is there, as a header, as the template of one, or generated."""
        return (
            self.exists("include", name)
            or self.exists("cmake", os.path.basename(name) + ".in")
            or any(os.path.isfile(os.path.join(folder, name)) for folder in self.generated)
        )

    def judge(self, inc):
        """The complaint about one include line, or None."""
        if not inc.name:
            return "a computed include cannot be checked: name the header"
        if inc.path.startswith("include/"):
            return self.judge_public(inc)
        return self.judge_private(inc)

    def judge_public(self, inc):
        """For a line in include/weft: the standard library and include/weft itself."""
        if not inc.angle:
            beside = os.path.normpath(os.path.join(os.path.dirname(inc.path), inc.name))
            if self.exists(beside) and beside.startswith("include/weft/"):
                return None
        elif inc.name in standard_headers:
            return None
        elif inc.name.startswith("weft/"):
            return None if self.public_exists(inc.name) else f"{inc.written()} does not exist"
        layer = inc.name.split("/")[0]
        what = f"layer {layer}" if layer in may_include else "something else"
        return (
            f"a public header includes {what} ({inc.written()}): include/weft may include only "
            "include/weft and the standard library"
        )

    def judge_private(self, inc):
        """For a line in src/<layer>/."""
        layer = inc.path.split("/")[1]
        first = inc.name.split("/")[0]
        if first == "weft":
            return self.judge_use_of_public(inc, layer)
        if first in ("gtest", "gmock"):
            return self.only_beside_code(inc, layer, "a test library", always=inc.angle)
        if first == "support" and not inc.angle:
            return self.only_beside_code(inc, layer, "tests/support", self.exists("tests", inc.name))
        if first == "model" and inc.path.endswith("_model.cpp") and self.exists("tools", inc.name):
            return None
        if inc.angle:
            if first in may_include and self.exists("src", inc.name):
                return f'{inc.written()}: private headers are included as "{inc.name}"'
            return None
        return self.judge_quoted(inc, layer)

    def judge_use_of_public(self, inc, layer):
        if not inc.angle:
            return f"{inc.written()}: public headers are included as <{inc.name}>"
        if not self.public_exists(inc.name):
            return f"{inc.written()} does not exist"
        if layer == c_layer and inc.name.startswith("weft/detail/"):
            return f"layer c includes weft/detail ({inc.written()}): layer c may include only public headers"
        return None

    def only_beside_code(self, inc, layer, what, always):
        if not beside_code.search(inc.path):
            return (
                f"layer {layer} includes {what} ({inc.written()}): only *_test.cpp, *_model.cpp and "
                "*_stress.cpp may"
            )
        return None if always else f"{inc.written()} does not exist"

    def judge_quoted(self, inc, layer):
        if ".." in inc.name.split("/"):
            return f"{inc.written()}: private headers are named from src/, without .."
        if self.exists(os.path.dirname(inc.path), inc.name):
            return None
        if any(os.path.isfile(os.path.join(folder, inc.name)) for folder in self.generated):
            return None
        if not self.exists("src", inc.name):
            return f"{inc.written()} does not exist, beside this file or under src/"
        target = inc.name.split("/")[0]
        if target in may_include[layer]:
            return None
        return f"layer {layer} includes layer {target} ({inc.written()}): {rule(layer, target)}"


def rule(layer, target):
    """The rule that an include of `target` from `layer` breaks."""
    if layer == c_layer:
        return "layer c may include only public headers"
    for tier in tiers:
        if layer in tier and target in tier:
            if tier is tiers[-1]:
                return "a feature uses another only by its public header, <weft/...>"
            return f"{layer} and {target} stand side by side; neither includes the other"
    allowed = [name for tier in tiers for name in tier if name in may_include[layer]]
    return f"{layer} may include only {', '.join(allowed)}"


def source_files(root):
    """Files with include lines under src/ and include/weft, relative to the root."""
    for top in ("include/weft", "src"):
        for folder, _, files in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(files):
                if name.endswith(source_suffixes):
                    yield os.path.relpath(os.path.join(folder, name), root)


def findings_in(check, path):
    """Printable findings of one file."""
    parts = path.split("/")
    if parts[0] == "src" and (len(parts) < 3 or parts[1] not in may_include):
        yield f"{path}:1: stands in no layer: files belong in src/<layer>/, one of {', '.join(may_include)}"
        return
    for inc in includes_of(check.root, path):
        if complaint := check.judge(inc):
            yield f"{path}:{inc.line}: {complaint}"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="folders include only downwards")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)), help="the repository")
    parser.add_argument("--include", action="append", default=[], metavar="DIR",
                        help="a folder of generated headers; repeatable")
    args = parser.parse_args()
    check = checker(args.root, args.include)
    files = list(source_files(args.root))
    findings = [line for path in files for line in findings_in(check, path)]
    if not files:
        findings = [f"{args.root}: no sources under src/ or include/weft, nothing was checked"]
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
