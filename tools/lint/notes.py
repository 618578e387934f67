#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# notes: the promises that object files make to the linker are true ones.
#
# The linker marks a program with a hardware feature only if every object in it claims the feature.
# One object without the IBT (x86-64) or BTI (aarch64) note therefore switches branch protection off
# for every program that links weft. A claim of SHSTK or GCS would be worse: the context switch
# changes stacks without telling the shadow stack, so the claim would be false and the program would
# die. Last, one object without a non-executable .note.GNU-stack makes all stacks executable.
"""Usage: notes.py [options] OBJECT-OR-ARCHIVE..."""

import argparse
import re
import sys

import objects

# Per machine: the landing-pad feature expected, and the shadow-stack features nobody may claim.
# binutils before 2.44 do not know GCS and print its bit instead.
features = {
    "Advanced Micro Devices X86-64": ("x86 feature", "IBT", ("SHSTK",)),
    "AArch64": ("AArch64 feature", "BTI", ("GCS", "<unknown: 4>")),
}


def claimed(obj, label):
    """The features that the object's property notes claim."""
    found = set()
    for note in obj.notes:
        for match in re.finditer(re.escape(label) + r": ([^\n]*)", note):
            found |= {name.strip() for name in match[1].split(",")}
    return found


def stack_findings(obj):
    """Findings about .note.GNU-stack."""
    stack = [s for s in obj.sections if s.name == ".note.GNU-stack"]
    if not stack:
        yield f"{obj}: no .note.GNU-stack, so the linker assumes an executable stack"
    elif any("X" in s.flags for s in stack):
        yield f"{obj}: .note.GNU-stack asks for an executable stack"


def feature_findings(obj, landing_pads):
    """Findings about the branch-protection and shadow-stack properties."""
    if obj.machine not in features:
        yield f"{obj}: machine {obj.machine} is not one this lint knows"
        return
    label, wanted, forbidden = features[obj.machine]
    have = claimed(obj, label)
    if landing_pads and wanted not in have:
        yield f"{obj}: does not claim {wanted}, which switches it off for the whole program"
    for name in forbidden:
        if name in have:
            shown = forbidden[0]
            yield f"{obj}: claims {shown}, but the context switch does not keep a shadow stack"


def parse_arguments():
    parser = argparse.ArgumentParser(description="property and stack notes of object files")
    parser.add_argument("files", nargs="+", metavar="OBJECT-OR-ARCHIVE")
    parser.add_argument("--readelf", default="readelf", help="the readelf to use")
    parser.add_argument("--landing-pads", choices=("required", "optional"), default="required",
                        help="whether each object must claim IBT (x86-64) or BTI (aarch64): "
                             "optional for a build without -fcf-protection or -mbranch-protection")
    return parser.parse_args()


def main():
    args = parse_arguments()
    findings = []
    for path in args.files:
        try:
            for obj in objects.read_objects(path, args.readelf):
                findings += stack_findings(obj)
                findings += feature_findings(obj, args.landing_pads == "required")
        except objects.refused as why:
            findings.append(str(why))
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
