#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/doctor: of how it reads machine code, and with a program that has what it looks for (patient.cpp)."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "doctor"
sys.path.insert(0, str(TOOLS))
import doctor
import graph

PATIENT = os.environ.get("WEFT_TEST_PATIENT")

X86 = """
0000000000001000 <root>:
    1000:\tpush   %rbp
    1001:\tmov    %fs:0x28,%rax
    1005:\tcall   1100 <middle>
    100a:\tlea    0x10(%rip),%rdi        # 1200 <handed_on>
    1010:\tjmp    1005 <root+0x5>

0000000000001020 <usleep@plt>:
    1020:\tjmp    *0x2fe2(%rip)        # 4008 <usleep@GLIBC_2.2.5>

0000000000001100 <middle>:
    1100:\tcall   1020 <usleep@plt>
    1105:\tmov    %fs:0xfffffffffffffffc,%eax

0000000000001200 <handed_on>:
    1200:\tret

0000000000001300 <nobody_calls>:
    1300:\tcall   1100 <middle>
"""

ARM = """
0000000000001000 <root>:
    1000:\tmrs\tx0, tpidr_el0
    1004:\tbl\t1100 <middle>
    1008:\tb.eq\t1004 <root+0x4>

0000000000001100 <middle>:
    1100:\tb\t1020 <read@plt>
"""


class Graph(unittest.TestCase):
    def test_reads_calls_and_addresses_that_are_taken(self):
        functions = graph.parse(X86)
        self.assertEqual(set(functions), {"root", "middle", "handed_on", "nobody_calls"})
        self.assertEqual(functions["root"].calls, {"middle", "handed_on"})
        self.assertEqual(functions["middle"].calls, {"usleep"})

    def test_tells_thread_locals_from_the_stack_protector(self):
        functions = graph.parse(X86)
        self.assertFalse(functions["root"].uses_thread_local)
        self.assertTrue(functions["middle"].uses_thread_local)

    def test_reads_the_other_machine(self):
        functions = graph.parse(ARM)
        self.assertEqual(functions["root"].calls, {"middle"})
        self.assertEqual(functions["middle"].calls, {"read"})
        self.assertTrue(functions["root"].uses_thread_local)

    def test_finds_the_way(self):
        found = graph.reachable(graph.parse(X86), {"root"})
        self.assertEqual(graph.way_to(found, "usleep"), ["root", "middle", "usleep"])
        self.assertNotIn("nobody_calls", found)


class Stacks(unittest.TestCase):
    def test_proposes_twice_as_much(self):
        self.assertEqual(doctor.propose_stack(100), 8192)
        self.assertEqual(doctor.propose_stack(4097), 16384)
        self.assertEqual(doctor.propose_stack(70000), 262144)
        self.assertEqual(doctor.propose_stack(100_000_000), 8 * 1024 * 1024)


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(TOOLS / "doctor.py"), *arguments], check=False, capture_output=True, text=True)


class Bad(unittest.TestCase):
    def test_a_file_that_is_not_there(self):
        result = run("/no/such/program")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "doctor: there is no file '/no/such/program'\n")

    def test_a_file_that_is_no_program(self):
        result = run(__file__)
        self.assertEqual(result.returncode, 2)
        self.assertIn("is no ELF program", result.stderr)


@unittest.skipUnless(PATIENT, "no program to look at")
class Patient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = run(PATIENT, "--run")

    def section(self, kind: str) -> str:
        after = self.result.stdout.split(f"\n{kind}:", 1)
        self.assertEqual(len(after), 2, f"no '{kind}' in:\n{self.result.stdout}{self.result.stderr}")
        return after[1].split("\n\n", 1)[0]

    def test_finds_what_tasks_do(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        locks = self.section("locks of the system")
        self.assertIn("pthread_mutex_lock", locks)
        self.assertIn("write_table", locks)
        sleeps = self.section("sleeps")
        self.assertIn("usleep", sleeps)
        self.assertIn("doze", sleeps)
        blocks = self.section("calls that may block")
        self.assertIn("read, by", blocks)
        self.assertIn("read_settings", blocks)
        self.assertIn("count_visit", self.section("thread-local variables"))
        self.assertIn("visits", self.result.stdout.split("its thread-local variables:", 1)[1].splitlines()[0])

    def test_does_not_name_what_no_task_does(self):
        self.assertNotIn("only_main_syncs", self.result.stdout)

    def test_sees_that_elsewhere_if_asked(self):
        self.assertIn("only_main_syncs", run(PATIENT, "--all").stdout)

    def test_proposes_stacks(self):
        stacks = self.section("stacks, with twice as much as was used")
        self.assertIn("patient.cpp:", stacks)
        deepest = int(stacks.splitlines()[2].split()[0])
        self.assertGreater(deepest, 20 * 1024)
        self.assertLess(deepest, 128 * 1024)


if __name__ == "__main__":
    unittest.main()
