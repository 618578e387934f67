#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# tls: no thread-local access in the built library except through the one accessor.
#
# A fiber may park on one thread and resume on another. A compiler that has seen an ordinary
# thread_local keeps its address in a register across that switch, and the code then reads another
# thread's variable. Source review cannot find this, because inlining creates it; so this lint reads
# the machine code. It accepts the stack canary and the accessor's exact instruction pattern, and
# names the object, function and instruction of everything else: other uses of the thread register,
# every other TLS relocation, errno outside src/sys and the exception globals outside their one file.
"""Usage: tls.py [options] OBJECT-OR-ARCHIVE..."""

import argparse
import os
import re
import shutil
import subprocess
import sys

import objects

carrier = "weft_tls_carrier"
repository = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# x86-64: the thread register is %fs (%gs is nobody's business in user space).
x86_segment = re.compile(r"%[fg]s\b|\b[fg]s\b|\b(?:rd|wr)[fg]sbase\b|\bswapgs\b")
x86_canary = re.compile(r"%fs:0x28(?![\w(])")
x86_tls_kind = re.compile(r"TLSGD|TLSLD|TPOFF|TLSDESC")  # TPOFF also matches DTPOFF and GOTTPOFF
x86_slot_load = re.compile(r"^mov 0x0\(%rip\),(%r\w+)")
x86_leaves = re.compile(r"^(?:\w+ )*(?:call|ret|j[a-z]+)\b")
x86_window = 2  # instructions after the slot load in which the access must come

# aarch64: the thread register is tpidr_el0; the canary is a global there.
arm_thread_register = re.compile(r"\btpidr\w*")
arm_read = re.compile(r"^mrs x\d+, tpidr_el0$")
arm_slot_kinds = {"R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21", "R_AARCH64_TLSIE_LD64_GOTTPREL_LO12_NC"}
arm_window = 4  # instructions between the read of tpidr_el0 and the slot load


def operands(text):
    """An instruction without objdump's comments and symbolic addresses."""
    return re.split(r"\s+(?:#|//|<)", text, maxsplit=1)[0]


def same_function(code, start, stop):
    """The instructions [start, stop) that belong to the function of code[start - 1]."""
    home = code[start - 1].function
    for i in range(start, min(stop, len(code))):
        if code[i].function != home:
            return
        yield i


def x86_access_after(code, at, register):
    """Index of the accessor's %fs access through `register` that follows the slot load, or None."""
    for i in same_function(code, at + 1, at + 1 + x86_window):
        text = operands(code[i].text)
        if f"%fs:({register})" in text or f"%fs:0x0({register})" in text:  # r13 cannot be encoded without a distance
            return i
        if x86_leaves.match(text):
            return None
    return None


def check_x86(code):
    """Findings (instruction, message) for one x86-64 object."""
    claimed = set()
    for at, insn in enumerate(code):
        for reloc in insn.relocations:
            if not x86_tls_kind.search(reloc.kind):
                continue
            load = x86_slot_load.match(operands(insn.text))
            if reloc.kind != "R_X86_64_GOTTPOFF" or reloc.symbol != carrier:
                yield insn, f"TLS relocation {reloc.kind} against {reloc.symbol}"
            elif load is None or (access := x86_access_after(code, at, load[1])) is None:
                yield insn, f"the slot of {carrier} is loaded but not used at once as the accessor does"
            else:
                claimed.add(access)
        text = operands(insn.text)
        if x86_segment.search(text) and not x86_canary.search(text) and at not in claimed:
            yield insn, "access to the thread register outside the accessor"


def arm_slot_loads(code):
    """Indices at which the accessor's slot is addressed, per relocation kind."""
    found = {kind: set() for kind in arm_slot_kinds}
    for at, insn in enumerate(code):
        for reloc in insn.relocations:
            if reloc.kind in arm_slot_kinds and reloc.symbol == carrier:
                found[reloc.kind].add(at)
    return found


def arm_near(code, at, indices):
    """Whether one of `indices` is in at's function and within the window around it."""
    return any(
        at + step in indices and code[at + step].function == code[at].function
        for step in range(-arm_window, arm_window + 1)
    )


def check_aarch64(code):
    """Findings (instruction, message) for one aarch64 object."""
    loads = arm_slot_loads(code)
    reads = {i for i, insn in enumerate(code) if arm_read.match(operands(insn.text))}
    for at, insn in enumerate(code):
        for reloc in insn.relocations:
            if not reloc.kind.startswith("R_AARCH64_TLS"):
                continue
            if reloc.kind not in arm_slot_kinds or reloc.symbol != carrier:
                yield insn, f"TLS relocation {reloc.kind} against {reloc.symbol}"
            elif not arm_near(code, at, reads):
                yield insn, f"the slot of {carrier} is loaded but not used at once as the accessor does"
        if arm_thread_register.search(operands(insn.text)):
            if at not in reads or not all(arm_near(code, at, where) for where in loads.values()):
                yield insn, "access to the thread register outside the accessor"


checkers = {"Advanced Micro Devices X86-64": check_x86, "AArch64": check_aarch64}
tls_in_data = re.compile(r"TLS|TPOFF|TPREL|DTPMOD")


def stem(name):
    """`futex` for futex, futex.cpp, futex.o and futex.cpp.o: archives know no folders."""
    name = os.path.basename(name)
    for suffix in (".obj", ".o"):
        name = name.removesuffix(suffix)
    for suffix in (".cpp", ".c", ".S"):
        name = name.removesuffix(suffix)
    return name


def library_sources(root):
    """Folder under src/ and stem of every file that goes into the library."""
    beside = re.compile(r"_(test|model|stress)$")
    for folder, _, files in os.walk(os.path.join(root, "src")):
        for name in files:
            if name.endswith((".cpp", ".c", ".S")) and not beside.search(stem(name)):
                yield os.path.relpath(folder, os.path.join(root, "src")).split(os.sep)[0], stem(name)


class symbol_owners:
    """Which objects may refer to errno and to the exception globals."""

    def __init__(self, root, errno_ok):
        sources = list(library_sources(root))
        sys_names = {name for folder, name in sources if folder == "sys"}
        other_names = {name for folder, name in sources if folder != "sys"}
        self.errno = {stem(n) for n in errno_ok} if errno_ok else sys_names - other_names
        self.ambiguous = set() if errno_ok else sys_names & other_names

    def complaint(self, obj, symbol):
        """Why `obj` may not refer to `symbol`, or None when it may."""
        name = stem(obj.member)
        if symbol == "__tls_get_addr":
            return "asks the dynamic linker for a thread-local address"
        if symbol == "__errno_location" and name not in self.errno:
            if name in self.ambiguous:
                return (
                    "uses errno, and its name stands both in src/sys and elsewhere in src, "
                    "so the archive cannot say which it is: rename one"
                )
            return "uses errno outside src/sys; return the error instead"
        if symbol in ("__cxa_get_globals", "__cxa_get_globals_fast") and name != "eh_globals":
            return "uses the exception globals outside src/arch/eh_globals.cpp"
        return None


def check_object(obj, owners):
    """Findings of one object as printable lines."""
    if obj.machine not in checkers:
        yield f"{obj}: machine {obj.machine} is not one this lint knows"
        return
    for insn, message in checkers[obj.machine](obj.instructions):
        yield f"{obj}: {insn.function}: {message}: {insn.text}"
    for insn in obj.instructions:
        for reloc in insn.relocations:
            if complaint := owners.complaint(obj, reloc.symbol):
                yield f"{obj}: {insn.function}: {complaint}: {insn.text} ({reloc.symbol})"
    for reloc in obj.relocations:
        if not obj.allocated(reloc.section) or obj.executable(reloc.section):
            continue  # debug information is not code; code was seen above, with its function
        if complaint := owners.complaint(obj, reloc.symbol):
            yield f"{obj}: {reloc.section}: {complaint} ({reloc.symbol})"
        elif tls_in_data.search(reloc.kind):
            yield f"{obj}: {reloc.section}: TLS relocation {reloc.kind} against {reloc.symbol}"


def demangled(lines):
    """The lines with C++ names made readable, where c++filt is at hand."""
    text = "".join(line + "\n" for line in lines)
    if shutil.which("c++filt"):
        text = subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True).stdout
    return text


def parse_arguments():
    parser = argparse.ArgumentParser(description="no TLS access outside the accessor")
    parser.add_argument("files", nargs="+", metavar="OBJECT-OR-ARCHIVE")
    parser.add_argument("--objdump", default="objdump", help="the objdump to use")
    parser.add_argument("--readelf", default="readelf", help="the readelf to use")
    parser.add_argument("--errno-ok", action="extend", nargs="+", default=[], metavar="NAME",
                        help="objects that may use errno (default: those of src/sys)")
    parser.add_argument("--root", default=repository, help="repository whose src/ is looked at")
    return parser.parse_args()


def main():
    args = parse_arguments()
    owners = symbol_owners(args.root, args.errno_ok)
    findings, count = [], 0
    for path in args.files:
        try:
            members = objects.read_objects(path, args.readelf)
            objects.add_instructions(members, args.objdump)
            count += sum(len(obj.instructions) for obj in members)
            findings += [line for obj in members for line in check_object(obj, owners)]
        except objects.refused as why:
            findings.append(str(why))
    if not count and not findings:
        findings.append(f"{' '.join(args.files)}: no machine code at all, nothing was checked")
    sys.stdout.write(demangled(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
