#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# docs: every public symbol has a documentation comment.
#
# The public headers are the manual, so a symbol without a comment is a hole in it. Doxygen reads
# the headers; this lint then walks the XML it wrote, because Doxygen's own warnings leave out enum
# values, concepts and most of what stands in a namespace. Not asked for: private and protected
# members, `= delete` and `= default`, deduction guides, friend classes and friends that are not public
# themselves, specialisations of std templates, include guards.
"""Usage: docs.py [--root DIR]"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

here = os.path.dirname(os.path.abspath(__file__))
documented_compounds = {"class", "struct", "union", "concept"}
include_guard = re.compile(r"_(H|HPP|H_|HPP_|INCLUDED)$")

# Doxygen 1.9.4 on correct C++20: it fails to match a template's definition with its declaration when
# there is a requires clause, and does not know the scope of a specialisation in std.
parser_weakness = re.compile(r"Internal inconsistency|no matching (class|file) member found|no uniquely matching")


def run_doxygen(root, folder):
    """Writes the XML below `folder`; returns Doxygen's warnings about what the comments say."""
    with open(os.path.join(here, "Doxyfile"), encoding="utf-8") as file:
        settings = file.read()
    settings += f"\nOUTPUT_DIRECTORY = {folder}\nSTRIP_FROM_PATH = {root}\nEXTRACT_ALL = YES\n"
    done = subprocess.run(["doxygen", "-"], cwd=root, input=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"doxygen failed:\n{done.stderr}")
    lines = [line.replace(root.rstrip("/") + "/", "") for line in done.stderr.splitlines()]
    return list(dict.fromkeys(line for line in lines if line.strip() and not parser_weakness.search(line)))


def has_text(element):
    """Whether a brief or detailed description says anything."""
    for kind in ("briefdescription", "detaileddescription"):
        found = element.find(kind)
        if found is not None and "".join(found.itertext()).strip():
            return True
    return False


def place(element, fallback=None):
    """File and line of an element; enum values have no place of their own."""
    location = element.find("location")
    if location is None:
        return place(fallback)
    return location.get("file"), int(location.get("line"))


def is_exempt_function(member):
    """Deleted and defaulted functions and deduction guides, which say everything already."""
    arguments = member.findtext("argsstring") or ""
    is_guide = "->" in arguments and not "".join(member.find("type").itertext())
    return is_guide or re.search(r"=\s*(delete|default)\s*$", arguments) is not None


def is_exempt_friend(member):
    """Friend classes, and friends that live in an internal namespace."""
    is_function = "(" in (member.findtext("argsstring") or "")
    return not is_function or re.search(r"\b(detail|impl)::", member.findtext("name") or "") is not None


def is_include_guard(member):
    empty = not (member.findtext("initializer") or "").strip() and member.find("param") is None
    return empty and include_guard.search(member.findtext("name")) is not None


def is_exempt(member):
    """Whether a member needs no comment of its own."""
    if member.get("prot") != "public":
        return True
    match member.get("kind"):
        case "function":
            return is_exempt_function(member)
        case "friend":
            return is_exempt_friend(member)
        case "define":
            return is_include_guard(member)
    return False


def member_name(member):
    """Kind and full name for the report."""
    kind = {"define": "macro", "variable": "variable or member", "friend": "friend function"}.get(
        member.get("kind"), member.get("kind")
    )
    name = member.findtext("qualifiedname") or member.findtext("name")
    if member.get("kind") in ("function", "friend"):
        name += member.findtext("argsstring") or ""
    return f"{kind} {name}"


def undocumented_members(compound):
    """(id, place, what) for each member of a compound that lacks a comment."""
    for member in compound.iter("memberdef"):
        if is_exempt(member):
            continue
        if not has_text(member):
            yield member.get("id"), place(member), member_name(member)
        for value in member.findall("enumvalue"):
            if not has_text(value):
                name = f"{member.findtext('qualifiedname')}::{value.findtext('name')}"
                yield value.get("id"), place(member), f"enum value {name}"


def is_hidden(compound, private_ids):
    """Nested in something private, a specialisation in std, or a part of one."""
    name = compound.findtext("compoundname") or ""
    return compound.get("id") in private_ids or name == "std" or name.startswith("std::")


def load(folder):
    """The compounddefs that the XML index names."""
    index = xml.parse(os.path.join(folder, "xml", "index.xml")).getroot()
    for entry in index.iter("compound"):
        path = os.path.join(folder, "xml", entry.get("refid") + ".xml")
        yield from xml.parse(path).getroot().iter("compounddef")


def private_compounds(compounds):
    """Ids of classes nested in a private or protected part, at any depth."""
    inner = {c.get("id"): [(i.get("refid"), i.get("prot")) for i in c.iter("innerclass")] for c in compounds}
    hidden, open_ids = set(), [i for nested in inner.values() for i, prot in nested if prot != "public"]
    while open_ids:
        current = open_ids.pop()
        if current not in hidden:
            hidden.add(current)
            open_ids += [refid for refid, _ in inner.get(current, [])]
    return hidden


def undocumented(folder):
    """Findings from the XML in order of place, and how many headers it covers."""
    compounds = list(load(folder))
    private_ids = private_compounds(compounds)
    found = {}
    for compound in compounds:
        if is_hidden(compound, private_ids):
            continue
        if compound.get("kind") in documented_compounds and not has_text(compound):
            what = f"{compound.get('kind')} {compound.findtext('compoundname')}"
            found[compound.get("id")] = (place(compound), what)
        for key, where, what in undocumented_members(compound):
            found[key] = (where, what)
    files = [c for c in compounds if c.get("kind") == "file"]
    lines = [f"{path}:{line}: undocumented {what}" for (path, line), what in sorted(found.values())]
    return lines, len(files)


def main():
    parser = argparse.ArgumentParser(description="every public symbol is documented")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)), help="the repository")
    root = os.path.abspath(parser.parse_args().root)
    try:
        with tempfile.TemporaryDirectory() as folder:
            warnings = run_doxygen(root, folder)
            findings, files = undocumented(folder)
    except (FileNotFoundError, RuntimeError) as why:
        print(f"docs: {why}")
        return 1
    findings += warnings
    if not files:
        findings.append("include/weft: no public headers, nothing was checked")
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
