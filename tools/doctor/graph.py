# SPDX-License-Identifier: Apache-2.0
"""graph — who calls whom in a program, as far as its machine code says so."""

import re
import subprocess
from dataclasses import dataclass, field

_HEAD = re.compile(r"^[0-9a-f]+ <(?P<name>.+)>:$")
# `call 1234 <name>`, `jmp ... <name+0x10>`, `bl 1234 <name>`, and addresses that are taken: `lea 0x12(%rip),%rax # 1234 <name>`.
_TARGET = re.compile(r"<(?P<name>[^<>]+?)(?:\+0x[0-9a-f]+)?>\s*$")
_X86_TLS = re.compile(r"%fs:(?P<where>\S*)")
_STACK_PROTECTOR = ("0x28", "0x28,")


@dataclass
class Function:
    """One function of the program."""

    name: str  # as the linker knows it
    calls: set[str] = field(default_factory=set)
    uses_thread_local: bool = False


def _outside(name: str) -> str:
    """The function behind an entry of the procedure linkage table."""
    return name.split("@", 1)[0]


def _touches_thread_local(line: str) -> bool:
    if "tpidr_el0" in line:
        return True
    found = _X86_TLS.search(line)
    return found is not None and not found["where"].startswith(_STACK_PROTECTOR)


def parse(disassembly: str) -> dict[str, Function]:
    """Reads what `objdump -d` prints."""
    functions: dict[str, Function] = {}
    current: Function | None = None
    for line in disassembly.splitlines():
        if head := _HEAD.match(line):
            name = _outside(head["name"])
            current = None if "@plt" in head["name"] else functions.setdefault(name, Function(name))
            continue
        if current is None or "\t" not in line:
            continue
        if _touches_thread_local(line):
            current.uses_thread_local = True
        target = _TARGET.search(line)
        if target is not None and (name := _outside(target["name"])) != current.name:
            current.calls.add(name)
    return functions


def read(program: str) -> dict[str, Function]:
    """The functions of a program, by the linker's names."""
    command = ["objdump", "-d", "--no-show-raw-insn", program]
    return parse(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def reachable(functions: dict[str, Function], roots: set[str]) -> dict[str, str]:
    """All that can be called from the roots; with each, the one it was first found by (a root: itself)."""
    found = {root: root for root in sorted(roots)}
    todo = list(found)
    while todo:
        caller = todo.pop(0)
        if caller not in functions:
            continue
        for callee in sorted(functions[caller].calls):
            if callee not in found:
                found[callee] = caller
                todo.append(callee)
    return found


def way_to(found: dict[str, str], name: str) -> list[str]:
    """From a root to that function."""
    way = [name]
    while found[way[-1]] != way[-1]:
        way.append(found[way[-1]])
    return way[::-1]
