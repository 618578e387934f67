# SPDX-License-Identifier: Apache-2.0
#
# objects: what readelf and objdump say about object files, as plain Python values.
#
# tls.py and notes.py both look at the built library. This module turns a `.o` file or a static
# archive into one `object_file` per member, and refuses whatever would make a check pass without
# having looked at machine code: link-time-optimisation objects, linked files, empty archives, an
# objdump built for another instruction set.
"""Reads ELF objects and archives for the lints."""

import os
import re
import subprocess
from dataclasses import dataclass, field


class refused(Exception):
    """The input cannot be checked; the message says why and what to do."""


@dataclass
class section:
    name: str
    size: int
    flags: str


@dataclass
class relocation:
    kind: str
    symbol: str
    section: str


@dataclass
class instruction:
    function: str
    text: str
    relocations: list = field(default_factory=list)


@dataclass
class object_file:
    path: str  # the file or archive as given
    member: str  # the member's base name; the file's own for a plain object
    machine: str = ""
    kind: str = ""
    sections: list = field(default_factory=list)
    relocations: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    instructions: list = field(default_factory=list)

    def __str__(self):
        return self.path if os.path.basename(self.path) == self.member else f"{self.path}({self.member})"

    def code_size(self):
        return sum(s.size for s in self.sections if "X" in s.flags and "A" in s.flags)

    def allocated(self, name):
        return any(s.name == name and "A" in s.flags for s in self.sections)

    def executable(self, name):
        return any(s.name == name and "X" in s.flags for s in self.sections)


def run_tool(command):
    """Output of a binutils command; a missing tool is a refusal, not a crash."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise refused(f"{command[0]}: not installed") from None
    return done.stdout, done.stderr.strip()


file_line = re.compile(r"^File: (.*?)(?:\((.*)\)|\[(.*)\])?$")
section_line = re.compile(
    r"^\s+\[\s*\d+\] (?P<name>\S*)\s+\S+\s+[0-9a-f]{16} [0-9a-f]+ (?P<size>[0-9a-f]+) [0-9a-f]+ "
    r"(?P<flags>[A-Za-z ]*?)\s+\d+\s+\d+\s+\d+$"
)
relocation_section_line = re.compile(r"^Relocation section '\.rela?(.*)' at offset")
relocation_line = re.compile(r"^[0-9a-f]{12,16}\s+[0-9a-f]{12,16} (R_\S+)(?:\s+[0-9a-f]{16} (\S+))?")


def read_readelf(path, readelf):
    """One object_file per member of `path`, filled from `readelf -h -S -r -n`."""
    out, err = run_tool([readelf, "-W", "-h", "-S", "-r", "-n", path])
    objects, current, reloc_section = [], None, ""
    for line in out.splitlines():
        if match := file_line.match(line):
            current = object_file(path, os.path.basename(match[2] or match[3] or path))
            objects.append(current)
        elif line == "ELF Header:" and (current is None or current.machine):
            current = object_file(path, os.path.basename(path))
            objects.append(current)
        elif current is None:
            continue
        elif line.startswith("  Machine:"):
            current.machine = line.split(":", 1)[1].strip()
        elif line.startswith("  Type:"):
            current.kind = line.split()[1]
        elif match := section_line.match(line):
            current.sections.append(section(match["name"], int(match["size"], 16), match["flags"]))
        elif match := relocation_section_line.match(line):
            reloc_section = match[1]
        elif match := relocation_line.match(line):
            current.relocations.append(relocation(match[1], match[2] or "", reloc_section))
        elif "feature: " in line:
            current.notes.append(line[line.index("Properties:") + 12 :] if "Properties:" in line else line.strip())
    if not objects:
        raise refused(f"{path}: holds no object files ({err or 'readelf found no ELF header'})")
    return objects


def refuse_unreadable(objects):
    """Raises for members without machine code of their own to look at."""
    for obj in objects:
        if not obj.machine:
            raise refused(
                f"{obj}: is not an ELF object (LLVM bitcode from -flto?); build the checked library without LTO"
            )
        if obj.kind != "REL":
            raise refused(f"{obj}: is a linked file ({obj.kind}); give the static archive or .o files")
        if any(s.name.startswith(".gnu.lto_") for s in obj.sections) and obj.code_size() == 0:
            raise refused(
                f"{obj}: is a slim LTO object without machine code; build the checked library without -flto"
            )


def read_objects(path, readelf):
    """The object files in `path`, all of them certain to hold what the compiler finally emitted."""
    if not os.path.isfile(path):
        raise refused(f"{path}: no such file")
    objects = read_readelf(path, readelf)
    refuse_unreadable(objects)
    return objects


member_line = re.compile(r"^(\S.*):\s+file format \S+$")
function_line = re.compile(r"^[0-9a-f]+ <(.+)>:$")
instruction_line = re.compile(r"^\s+[0-9a-f]+:\t(.*)$")
code_relocation_line = re.compile(r"^\s+[0-9a-f]+: (R_\S+)\s+(.*?)(?:[-+]0x[0-9a-f]+)?$")


def add_instructions(objects, objdump):
    """Disassembles the members of one file, which `read_objects` gave in the same order."""
    path = objects[0].path
    out, err = run_tool([objdump, "-dr", "--no-show-raw-insn", path])
    index, function = -1, ""
    for line in out.splitlines():
        if match := instruction_line.match(line):
            objects[index].instructions.append(instruction(function, " ".join(match[1].split())))
        elif match := code_relocation_line.match(line):
            last = objects[index].instructions[-1]
            last.relocations.append(relocation(match[1], match[2], ""))
        elif match := function_line.match(line):
            function = match[1]
        elif member_line.match(line):
            index, function = index + 1, ""
            if index >= len(objects):
                raise refused(f"{path}: objdump and readelf disagree about its members")
    for obj in objects:
        if obj.code_size() and not obj.instructions:
            raise refused(
                f"{obj}: {objdump} cannot disassemble {obj.machine}; give the cross tools "
                f"with --objdump and --readelf ({err or 'no instructions printed'})"
            )
