# SPDX-License-Identifier: Apache-2.0
"""weft in gdb: the tasks of a process that uses weft, live or in a core file.

    (gdb) source tools/gdb/weft.py
    (gdb) weft fibers              all tasks: number, state, context, what it waits for, where it was spawned
    (gdb) weft bt 268435457        the calls of one that waits; `weft bt all` those of all of them

What runs on a thread is shown by gdb's own commands. The library describes itself in numbers (weft_debug_map), so that
it may be built without debug information; names of functions need that of the program.
"""

import struct
from dataclasses import dataclass

import gdb
import gdb.unwinder

VERSION = 1
FIELDS = (
    "version", "runtimes", "node_next", "node_in_runtime", "root_in_runtime", "root_entries", "leaf_entries",
    "block_records", "block_used", "record_stride", "task_name", "task_live_bit", "task_site", "task_way",
    "task_outcome", "task_marks", "task_wait", "task_note", "task_fiber", "task_extras", "mark_main", "mark_extras",
    "extras_name", "fiber_stack_pointer", "fiber_frame_pointer", "fiber_goes_on_at", "fiber_depth", "fiber_below",
    "contexts", "context_name",
)
OUTCOMES = ("ready", "begun", "completed", "completed", "cancelled")
WAIT_RUNNING, WAIT_ARMED, WAIT_PARKED = 0, 1, 2
NOTE_MARKS = 3 << 62  # a wait for the end of a task, or of half of a join


# -- Memory ------------------------------------------------------------------------------------------------------------


def read(address: int, size: int) -> bytes:
    return bytes(gdb.selected_inferior().read_memory(address, size))


def read_word(address: int) -> int:
    return struct.unpack("<Q", read(address, 8))[0]


def read_text(address: int) -> str:
    """What ends with a zero byte."""
    text = b""
    while b"\0" not in text and len(text) < 4096:
        text += read(address + len(text), 16 if (address + len(text)) % 4096 <= 4080 else 1)
    return text.split(b"\0")[0].decode(errors="replace")


def read_string(address: int) -> str:
    """A std::string of libstdc++."""
    start, length = struct.unpack("<QQ", read(address, 16))
    return read(start, min(length, 4096)).decode(errors="replace")


# -- The map -----------------------------------------------------------------------------------------------------------


class Map:
    def __init__(self):
        try:
            address = int(gdb.parse_and_eval("(unsigned long)&weft_debug_map"))
        except gdb.error as error:
            raise gdb.GdbError("this program does not use weft, or is stripped: there is no weft_debug_map") from error
        words = struct.unpack(f"<{len(FIELDS)}Q", read(address, 8 * len(FIELDS)))
        for name, value in zip(FIELDS, words):
            setattr(self, name, value)
        if self.version not in (0, VERSION):
            raise gdb.GdbError(f"this script knows version {VERSION} of weft_debug_map, and the program has {self.version}: "
                               "take tools/gdb/weft.py of the weft that the program was built with")


@dataclass(frozen=True)
class Task:
    id: int
    name: str
    state: str
    context: str
    waits_for: str
    site: str
    fiber: int  # 0 where it is on none, or runs

    def __str__(self) -> str:
        name = f" '{self.name}'" if self.name else ""
        reason = f" on {self.waits_for}" if self.waits_for else ""
        return f"task {self.id}{name}: {self.state}{reason}, in '{self.context}', spawned at {self.site}"


def runtimes(layout: Map):
    if layout.version == 0:
        return
    node = read_word(layout.runtimes + layout.node_next)
    while node != layout.runtimes:
        yield node - layout.node_in_runtime
        node = read_word(node + layout.node_next)


def blocks(layout: Map, runtime: int):
    """The address of the first record of each block, and how many there are."""
    root = runtime + layout.root_in_runtime
    for leaf in struct.unpack(f"<{layout.root_entries}Q", read(root, 8 * layout.root_entries)):
        if leaf == 0:
            return
        for block in struct.unpack(f"<{layout.leaf_entries}Q", read(leaf, 8 * layout.leaf_entries)):
            if block == 0:
                return
            used = struct.unpack("<I", read(block + layout.block_used, 4))[0]
            yield read_word(block + layout.block_records), used


def tasks():
    layout = Map()
    for runtime in runtimes(layout):
        for first, used in blocks(layout, runtime):
            memory = read(first, used * layout.record_stride)
            for index in range(used):
                start = index * layout.record_stride
                record = memory[start:start + layout.record_stride]
                if word_in(record, layout.task_name) & layout.task_live_bit:
                    yield describe(layout, record)


def word_in(record: bytes, offset: int) -> int:
    return struct.unpack_from("<Q", record, offset)[0]


def describe(layout: Map, record: bytes) -> Task:
    marks = record[layout.task_marks]
    wait = word_in(record, layout.task_wait) & 7
    state = OUTCOMES[record[layout.task_outcome]] if record[layout.task_outcome] < len(OUTCOMES) else "unknown"
    if state == "begun":
        state = {WAIT_RUNNING: "running", WAIT_ARMED: "blocked", WAIT_PARKED: "blocked"}.get(wait, "ready")
    site = word_in(record, layout.task_site)
    file, line = site & ((1 << 48) - 1), site >> 48
    extras = word_in(record, layout.task_extras)
    return Task(
        id=0 if marks & layout.mark_main else word_in(record, layout.task_name),
        name=read_string(extras + layout.extras_name) if marks & layout.mark_extras and extras else "",
        state=state,
        context=context_name(layout, struct.unpack_from("<I", record, layout.task_way)[0] & 0xffff),
        waits_for=reason(word_in(record, layout.task_note)) if state == "blocked" else "",
        site=f"{read_text(file)}:{line}" if file else "?",
        fiber=word_in(record, layout.task_fiber) if state == "blocked" and wait == WAIT_PARKED else 0,
    )


def reason(note: int) -> str:
    if note & NOTE_MARKS:
        return "join"
    return read_text(note) if note else ""


def context_name(layout: Map, number: int) -> str:
    context = read_word(layout.contexts + 8 * number)
    return read_string(context + layout.context_name) if context else "?"


# -- Calls -------------------------------------------------------------------------------------------------------------


class FrameId:
    def __init__(self, sp: gdb.Value, pc: gdb.Value):
        self.sp = sp
        self.pc = pc


class FiberUnwinder(gdb.unwinder.Unwinder):
    """Shows a parked fiber behind the innermost frame of the selected thread, while it is asked to."""

    def __init__(self):
        super().__init__("weft fibers")
        self.registers = None  # stack pointer, frame pointer, where it goes on

    def __call__(self, pending_frame):
        if self.registers is None or pending_frame.level() != 0:
            return None
        names = ("rsp", "rbp", "rip") if "x86-64" in pending_frame.architecture().name() else ("sp", "x29", "pc")
        stack_pointer, frame_pointer, goes_on_at = self.registers
        # As if it stood on the fiber's stack: gdb does not believe in callers that stand below.
        word = pending_frame.read_register(names[0]).type
        caller = pending_frame.create_unwind_info(
            FrameId(gdb.Value(stack_pointer - 16).cast(word), pending_frame.read_register(names[2])))
        # One more: gdb looks for the rules of a caller one byte before its return address, and this is none.
        for name, value in zip(names, (stack_pointer, frame_pointer, goes_on_at + 1)):
            caller.add_saved_register(name, gdb.Value(value).cast(pending_frame.read_register(name).type))
        return caller


UNWINDER = FiberUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)


def stacks_of(layout: Map, fiber: int):
    """The registers of each stack that a task stands on, from the newest."""
    while fiber:
        yield tuple(read_word(fiber + offset) for offset in
                    (layout.fiber_stack_pointer, layout.fiber_frame_pointer, layout.fiber_goes_on_at))
        depth = struct.unpack("<I", read(fiber + layout.fiber_depth, 4))[0]
        fiber = read_word(fiber + layout.fiber_below) if depth else 0


def calls_of(registers: tuple[int, int, int]) -> list[str]:
    UNWINDER.registers = registers
    gdb.invalidate_cached_frames()
    try:
        lines = gdb.execute("backtrace", to_string=True).splitlines()
    finally:
        UNWINDER.registers = None
        gdb.invalidate_cached_frames()
    return [line for line in lines if not line.startswith("#0 ")]  # which is the thread's own


def print_calls(task: Task) -> None:
    print(task)
    if not task.fiber:
        print("  it is on no stack of its own now" if task.state != "running" else "  it runs: see the threads")
        return
    layout = Map()
    if layout.fiber_goes_on_at == 0 and layout.fiber_stack_pointer == 0 and layout.fiber_frame_pointer == 0:
        print("  the switch is Boost's, whose stacks cannot be shown")
        return
    number = 0
    for registers in stacks_of(layout, task.fiber):
        for line in calls_of(registers):
            if line.startswith("#"):
                line = f"#{number}".ljust(4) + line[4:]
                number += 1
            print(f"  {line}")


# -- Commands ----------------------------------------------------------------------------------------------------------


class Weft(gdb.Command):
    """Shows the tasks of weft: `weft fibers`, `weft bt NUMBER`, `weft bt all`."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STATUS, prefix=True)


class Fibers(gdb.Command):
    """Shows all tasks: number, state, context, what it waits for, where it was spawned."""

    def __init__(self):
        super().__init__("weft fibers", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        count = 0
        for task in tasks():
            print(task)
            count += 1
        print(f"{count} tasks")


class Backtrace(gdb.Command):
    """Shows the calls of a task that waits, by its number; of all of them: all."""

    def __init__(self):
        super().__init__("weft bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        wanted = argument.strip()
        if wanted != "all" and not wanted.isdigit():
            raise gdb.GdbError(f"'{wanted}' is no task: give the number that `weft fibers` shows, or all")
        found = [task for task in tasks() if wanted == "all" or task.id == int(wanted)]
        if not found and wanted != "all":
            raise gdb.GdbError(f"there is no task {wanted} now; `weft fibers` shows which there are")
        for task in found:
            print_calls(task)


Weft()
Fibers()
Backtrace()
