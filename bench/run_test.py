#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the benchmark command, with shell scripts in place of the benchmark programs.

The noise guard is replaced by one that sees what the test tells it to, so the tests do not need an idle machine. Run
with `python3 bench/run_test.py`.
"""

import contextlib
import io
import json
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the source tree clean; must precede the imports below

import run
from harness.arguments import writable_file
from harness.guard import Guard, Look, Noise
from harness.model import BEST_PEER, WEFT, Bar, System, Workload
from workloads import WORKLOADS

QUIET = Noise(wall_s=0.5, foreign_s=0.001, steal_s=0.0)
BUSY = Noise(wall_s=0.5, foreign_s=0.100, steal_s=0.0)

SWITCH = Workload("X1", "a fake", "ns", variants=("one", "two"), threads=(1,),
                  bars=(Bar(0.5, "go", variants=("one",)),),
                  systems=(System(WEFT, "x_weft"), System("go", "x_go", packages=("golang-go",))))
SPAWN = Workload("Y", "another fake", "ns", threads=(1, 2),
                 systems=(System(WEFT, "y_weft"), System("go", "y_go"), System("tokio", "y_tokio", threads=(1,))))
SERVE = Workload("X2", "a fake where larger is better", "req/s", threads=(1,), smaller_is_better=False,
                 bars=(Bar(1.15, "go"), Bar(1.0, "tokio")),
                 systems=(System(WEFT, "s_weft"), System("go", "s_go"), System("tokio", "s_tokio")))
TABLE = (SWITCH, SERVE, SPAWN)


class FakeGuard(Guard):
    """Reports the given noises in turn, then quiet for ever; never waits."""

    def __init__(self, *noises: Noise, slow_looks: int = 0):
        self.noises = list(noises)
        self.slow_looks = slow_looks
        self.waits = 0

    def look(self) -> Look:
        return Look(0.0, 0.0, 0.0, 0.0)

    def since(self, start: Look) -> Noise:
        return self.noises.pop(0) if self.noises else QUIET

    def wait_idle(self, limit_s: float) -> None:
        self.waits += 1

    def is_left_alone(self) -> bool:
        self.slow_looks -= 1
        return self.slow_looks < 0

    def wait_left_alone(self, limit_s: float) -> bool:
        return not self.noises


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.dir = Path(self.directory.name)
        self.json = self.dir / "out.json"
        self.calls = self.dir / "calls"

    def script(self, name: str, text: str) -> None:
        path = self.dir / name
        path.write_text(f"#!/bin/sh\necho {name} \"$@\" >> '{self.calls}'\n{text}\n")
        path.chmod(0o755)

    def fake(self, name: str, system: str, *values: float, unit: str = "ns", version: str = "1.0") -> None:
        """A program that reports the given values in turn, then the last one for ever."""
        line = json.dumps({"value": 0, "unit": unit, "system": system, "version": version})
        cases = "\n".join(f"{i + 1}) v={value};;" for i, value in enumerate(values))
        self.script(name, f"n=$(grep -c '^{name} ' '{self.calls}')\ncase $n in\n{cases}\n*) v={values[-1]};;\nesac\n"
                          f"echo '{line}' | sed \"s/: 0,/: $v,/\"")

    def bench(self, *arguments: str, table=TABLE, guard: Guard | None = None) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run.main(["--programs", str(self.dir), *arguments], table, guard or FakeGuard())
        return code, out.getvalue(), err.getvalue()

    def rows(self, *arguments: str, **options) -> list[dict]:
        self.bench("--json", str(self.json), *arguments, **options)
        return json.loads(self.json.read_text())

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


class Arguments(BenchTest):
    def workloads(self, *arguments: str) -> list[str]:
        return list(dict.fromkeys(row["workload"] for row in self.rows(*arguments)))

    def test_letters_may_be_written_in_many_ways(self):
        for words, expected in ((["X"], "X1 X2"), (["x"], "X1 X2"), (["x1"], "X1"), (["XY"], "X1 X2 Y"),
                                (["y,X2"], "X2 Y"), (["Y", "X1"], "X1 Y"), (["X1Y"], "X1 Y"), (["X, Y"], "X1 X2 Y"),
                                ([], "X1 X2 Y"), (["Y", "--quick", "X2"], "X2 Y")):
            with self.subTest(words=words):
                self.assertEqual(self.workloads(*words), expected.split())

    def test_bad_arguments_are_named_in_one_sentence_before_anything_runs(self):
        self.fake("x_weft", WEFT, 1)
        (self.dir / "folder").mkdir()
        cases = (
            (["Z"], "'Z'", "X, X1, X2, Y"), (["X9"], "'X9'", "X1"), (["X-1"], "'X-1'", "X1"), ([","], "','", "X1"),
            (["--peers", "java"], "'java'", "go, tokio"), (["X1", "--peers", "tokio"], "'tokio'", "are go"),
            (["--peers", ""], "''", "go"), (["--threads", "0"], "'0'", "from 1"), (["--threads", "-1"], "-1", ""),
            (["--threads", "1,x"], "'x'", "from 1"), (["--threads", "9999999999"], "'9999999999'", "to 1024"),
            (["--json", str(self.dir / "no" / "f")], "no/f", "writable directory"),
            (["--json", str(self.dir / "folder")], "folder", "writable directory"),
            (["--install-cmd", "/no/such/command"], "/no/such/command", "executable"),
            (["--frobnicate"], "--frobnicate", ""), (["--programs", "/no/such/place"], "/no/such/place", "directory"),
        )
        for arguments, value, legal in cases:
            with self.subTest(arguments=arguments):
                code, out, err = self.bench(*arguments)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1))
                self.assertIn(value, err)
                self.assertIn(legal, err)
        self.assertEqual(self.called(), [])

    def test_checking_the_json_path_leaves_no_file_and_harms_none(self):
        writable_file(str(self.json))
        self.assertFalse(self.json.exists())
        self.json.write_text("kept")
        writable_file(str(self.json))
        self.assertEqual(self.json.read_text(), "kept")

    def test_threads_replace_the_counts_of_the_table(self):
        self.assertEqual({row["threads"] for row in self.rows("Y")}, {1, 2})
        self.assertEqual({row["threads"] for row in self.rows("Y", "--threads", "2,4")}, {2, 4})

    def test_fixed_thread_counts_are_chosen_from_and_never_added_to(self):
        fixed = (replace(SWITCH, fixed_threads=True),)
        code, out, err = self.bench("--threads", "1,2", table=fixed)
        self.assertEqual(code, 0)
        self.assertIn("X1 is not measured at --threads 2", err)
        code, out, err = self.bench("--threads", "2", table=fixed)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("legal for X1 are 1", err)

    def test_peers_restricts_the_rows(self):
        self.assertEqual([row["system"] for row in self.rows("Y", "--threads", "1", "--peers", "tokio")],
                         ["weft", "tokio"])


class Measuring(BenchTest):
    def test_programs_run_in_turn_with_the_agreed_command_line(self):
        self.fake("x_weft", WEFT, 1)
        self.fake("x_go", "go", 2)
        self.bench("X1", "--quick")
        tail = "--workload X1 --variant one --threads 1 --quick"
        self.assertEqual(self.called()[:10], [f"x_weft {tail}", f"x_go {tail}"] * 5)

    def test_a_contended_repetition_is_tried_again(self):
        self.fake("x_weft", WEFT, 99, 1)
        self.fake("x_go", "go", 2)
        guard = FakeGuard(BUSY, BUSY)
        row = self.rows("X1", guard=guard)[0]
        self.assertEqual((row["worst"], row["contended"]), (1, False))
        self.assertEqual(guard.waits, 2 + 2)  # once per group, once per retry

    def test_a_repetition_that_stays_contended_is_flagged(self):
        self.fake("x_weft", WEFT, 5, 6, 7, 8, 1)
        self.fake("x_go", "go", 20)
        noises = [replace(BUSY, foreign_s=s) for s in (0.3, 0.1, 0.2, 0.2)]
        code, out, _ = self.bench("X1", "--json", str(self.json), guard=FakeGuard(*noises))
        weft, go = json.loads(self.json.read_text())[:2]
        self.assertEqual((weft["worst"], weft["foreign"], weft["contended"]), (6, 20.0, True))
        self.assertFalse(go["contended"])
        self.assertEqual(out.count("CONTENDED"), 1)

    def test_what_was_disturbed_and_missed_its_bar_is_measured_again_if_checked(self):
        self.fake("x_weft", WEFT, *[9] * 8, 1)  # four tries and four more repetitions, then well
        self.fake("x_go", "go", 10)
        for arguments, expected in (([], (9, 0)), (["--check"], (1, 0))):
            with self.subTest(arguments=arguments):
                self.calls.write_text("")
                one = (replace(SWITCH, variants=("one",)),)
                code, _, err = self.bench("X1", *arguments, "--json", str(self.json), table=one,
                                          guard=FakeGuard(*[BUSY] * 4))
                self.assertEqual((json.loads(self.json.read_text())[0]["worst"], code), expected)
                self.assertEqual("measured again, since others disturbed it: X1" in err, "--check" in arguments)

    def test_what_was_missed_on_a_quiet_machine_is_not_measured_again(self):
        self.fake("x_weft", WEFT, *[9] * 10, 1)
        self.fake("x_go", "go", 10)
        code, _, err = self.bench("X1", "--check")
        self.assertEqual(code, 1)
        self.assertNotIn("measured again", err)

    def test_what_was_missed_on_a_machine_that_is_slow_afterwards_is_measured_again(self):
        self.fake("x_weft", WEFT, *[9] * 5, 1)
        self.fake("x_go", "go", 10)
        one = (replace(SWITCH, variants=("one",)),)
        code, _, err = self.bench("X1", "--check", table=one, guard=FakeGuard(slow_looks=1))
        self.assertEqual((code, err.count("measured again")), (0, 1))

    def test_a_bar_that_cannot_be_judged_is_not_measured_again(self):
        self.fake("x_weft", WEFT, 9)
        one = (replace(SWITCH, variants=("one",)),)
        code, _, err = self.bench("X1", "--check", table=one, guard=FakeGuard(*[BUSY] * 4))
        self.assertEqual(code, 1)
        self.assertNotIn("measured again", err)

    def test_what_stays_disturbed_is_measured_again_three_times(self):
        self.fake("x_weft", WEFT, 9)
        self.fake("x_go", "go", 10)
        one = (replace(SWITCH, variants=("one",)),)
        code, _, err = self.bench("X1", "--check", "--quick", table=one, guard=FakeGuard(*[BUSY] * 1000))
        self.assertEqual((code, err.count("measured again"), err.count("others are still busy")), (1, 3, 3))

    def test_a_broken_program_is_named_and_the_others_go_on(self):
        for text, expected in (("exit 7", "exited with code 7"), ("kill -SEGV $$", "killed by SIGSEGV"),
                               ("echo broken >&2; exit 1", "broken"), ("echo hello", "not JSON"),
                               ("echo 3", "not a JSON object"), (":", "printed 0 lines"),
                               ("echo; echo", "printed 2 lines"),
                               ("sleep 60", "did not finish within 0.3 s"),
                               ("sleep 60 & exit 0", "did not finish within 0.3 s")):
            with self.subTest(text=text):
                start = time.monotonic()
                self.fake("x_weft", WEFT, 1)
                self.script("x_go", text)
                code, out, err = self.bench("X1", "--check", table=(replace(SWITCH, timeout_s=0.3),))
                self.assertEqual(code, 1)
                self.assertIn("x_go", err)
                self.assertIn(expected, err)
                self.assertIn("peer go failed", err)
                self.assertIn("failed", out)
                self.assertEqual(self.bench("X1", table=(replace(SWITCH, timeout_s=0.3),))[0], 3)
                self.assertLess(time.monotonic() - start, 30)  # nothing waits for the sixty seconds

    def test_a_line_with_wrong_fields_is_refused(self):
        good = {"value": 1.5, "unit": "ns", "system": "go", "version": "1"}
        for wrong in ({"value": "1"}, {"value": True}, {"value": 0}, {"value": -1}, {"value": float("nan")},
                      {"value": 10**400}, {"value": None}, {"unit": "us"}, {"system": "weft"}, {"version": 3}):
            with self.subTest(wrong=wrong):
                self.script("x_go", f"echo '{json.dumps(good | wrong)}'")
                code, _, err = self.bench("X1")
                self.assertEqual(code, 3)
                self.assertRegex(err, f"x_go .*{next(iter(wrong))}")

    def test_a_program_without_a_version_is_looked_up(self):
        self.fake("x_go", "go", 2, version="")
        systems = (System("go", "x_go", version_command=("echo", "go version go1.19.8 linux")),)
        self.assertEqual(self.rows(table=(replace(SWITCH, systems=systems),))[0]["version"], "1.19.8")


class Judging(BenchTest):
    def test_the_best_is_judged(self):
        self.fake("x_weft", WEFT, 4, 3, 4, 4, 4)
        self.fake("x_go", "go", 11, 10, 10, 12, 11)
        weft, go = self.rows("X1")[:2]
        self.assertEqual((weft["best"], weft["worst"], weft["median"]), (3, 4, 4))
        self.assertEqual((weft["ratio"], weft["bar"], weft["met"]), (0.3, 0.5, True))
        self.assertEqual((go["ratio"], go["bar"], go["met"]), (None, None, None))

    def test_a_best_far_from_the_median_gives_way_to_it(self):
        self.fake("x_weft", WEFT, 8, 2, 8, 8, 8)
        self.fake("x_go", "go", 10)
        code, out, err = self.bench("X1", "--json", str(self.json), "--check")
        row = json.loads(self.json.read_text())[0]
        self.assertEqual((row["best"], row["ratio"], row["met"]), (2, 0.8, False))
        self.assertIn("judged by its median", out)
        self.assertEqual(code, 1)
        self.assertIn("X1 one at threads 1: weft is 0.8 of go, bar <= 0.5", err)

    def test_a_median_of_exactly_one_and_a_half_still_leaves_the_best(self):
        self.fake("x_weft", WEFT, 4, 6, 6, 6, 6)
        self.fake("x_go", "go", 10)
        self.assertEqual(self.rows("X1")[0]["ratio"], 0.4)

    def test_a_variant_may_be_judged_by_its_median_always(self):
        self.fake("x_weft", WEFT, 4, 5, 5, 5, 5)
        self.fake("x_go", "go", 8, 10, 10, 10, 10)
        table = (replace(SWITCH, median_variants=("one",)),)
        code, out, _ = self.bench("X1", "--json", str(self.json), table=table)
        one, two = (row for row in json.loads(self.json.read_text()) if row["system"] == WEFT)
        self.assertEqual((one["best"], one["ratio"]), (4, 0.5))
        self.assertEqual(two["ratio"], 0.5)  # 5 of 10, the best of the second variant
        self.assertEqual(out.count("judged by its median"), 2)

    def test_a_system_shown_for_information_is_not_the_best_peer(self):
        self.fake("x_weft", WEFT, 5)
        self.fake("x_go", "go", 10)
        self.fake("x_serial", "serial", 1)
        systems = (*SWITCH.systems, System("serial", "x_serial", is_peer=False))
        rows = self.rows("X1", table=(replace(SWITCH, systems=systems, bars=(Bar(0.5, BEST_PEER),)),))
        self.assertEqual([row["system"] for row in rows[:3]], [WEFT, "go", "serial"])
        self.assertEqual((rows[0]["ratio"], rows[0]["met"], rows[2]["best"]), (0.5, True, 1))

    def test_where_larger_is_better_best_and_bar_turn_round(self):
        self.fake("s_weft", WEFT, 90, 120, unit="req/s")
        self.fake("s_go", "go", 100, unit="req/s")
        self.fake("s_tokio", "tokio", 80, 110, unit="req/s")
        code, out, _ = self.bench("X2", "--check", "--json", str(self.json))
        weft = json.loads(self.json.read_text())[0]
        self.assertEqual((code, weft["best"], weft["worst"], weft["met"]), (0, 120, 90, True))
        self.assertAlmostEqual(weft["ratio"], 120 / 110)  # to the best peer
        self.assertEqual([(bar["against"], bar["met"]) for bar in weft["bars"]], [("go", True), ("tokio", True)])
        self.assertEqual(weft["bar"], 1.15)  # the one nearest to being missed: 1.2 of go
        self.assertIn(">= 1.15 go (1.200), >= 1 tokio", out)

    def test_where_larger_is_better_a_lucky_best_gives_way_to_the_median(self):
        self.fake("s_weft", WEFT, 50, 200, 50, unit="req/s")
        self.fake("s_go", "go", 100, unit="req/s")
        self.fake("s_tokio", "tokio", 100, unit="req/s")
        row = self.rows("X2")[0]
        self.assertEqual((row["best"], row["ratio"], row["met"]), (200, 0.5, False))

    def test_bars_may_be_absolute_or_against_the_best_peer_or_weft_itself(self):
        self.fake("y_weft", WEFT, *[10] * 5, 9)
        self.fake("y_go", "go", 20)
        self.fake("y_tokio", "tokio", 12)
        bars = (Bar(0.9, BEST_PEER), Bar(9.5, None), Bar(1.0, WEFT, threads=(2,), of_threads=1))
        code, _, err = self.bench("--check", "--json", str(self.json), table=(replace(SPAWN, bars=bars),))
        one, two = (r for r in json.loads(self.json.read_text()) if r["system"] == WEFT)
        self.assertEqual([bar["met"] for bar in one["bars"]], [True, False])
        self.assertEqual(one["bar"], 9.5)  # the missed one
        self.assertEqual([bar["met"] for bar in two["bars"]], [True, True, True])
        self.assertEqual(two["bars"][2]["against"], "weft at 1 thread")
        self.assertEqual((code, err.count("bar missed")), (1, 1))
        self.assertIn("weft is 10 ns, bar <= 9.5", err)

    def test_check_passes_when_every_bar_is_met(self):
        self.fake("x_weft", WEFT, 1)
        self.fake("x_go", "go", 2)
        code, out, err = self.bench("X1", "--check")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("met", out)

    def test_a_missed_bar_without_check_is_no_error(self):
        self.fake("x_weft", WEFT, 2)
        self.fake("x_go", "go", 2)
        code, out, err = self.bench("X1")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("missed", out)


class Absence(BenchTest):
    def test_an_absent_peer_has_a_row_and_a_reason_and_its_bar_is_missed(self):
        self.fake("x_weft", WEFT, 1)
        code, out, err = self.bench("X1", "--check", "--json", str(self.json))
        weft, go = json.loads(self.json.read_text())[:2]
        self.assertEqual((go["status"], go["best"], go["version"]), ("absent", None, None))
        self.assertEqual((weft["status"], weft["ratio"], weft["met"]), ("ok", None, False))
        self.assertEqual((code, out.count("absent")), (1, 2))
        self.assertIn("go is absent: there is no program x_go", err)
        self.assertIn("it needs golang-go", err)
        self.assertIn("X1 one at threads 1: cannot be judged: peer go absent", err)

    def test_absent_weft_misses_its_bar(self):
        self.fake("x_go", "go", 1)
        code, _, err = self.bench("X1", "--check")
        self.assertEqual(code, 1)
        self.assertIn("cannot be judged: weft absent", err)

    def test_a_peer_that_was_not_selected_cannot_judge_a_bar(self):
        for program, system in (("s_weft", WEFT), ("s_go", "go")):
            self.fake(program, system, 100, unit="req/s")
        code, _, err = self.bench("X2", "--check", "--peers", "go")
        self.assertEqual(code, 1)
        self.assertIn("cannot be judged: peer tokio was not selected", err)

    def test_a_missing_peer_is_installed_through_the_hook_once(self):
        self.fake("x_weft", WEFT, 1)
        self.fake("ready", "go", 3)
        self.script("hook", f"mv '{self.dir}/ready' '{self.dir}/x_go'")
        code, _, err = self.bench("X1", "--check", "--install-cmd", str(self.dir / "hook"))
        self.assertEqual(code, 0, err)
        self.assertEqual([call for call in self.called() if call.startswith("hook")], ["hook golang-go"])

    def test_a_hook_that_fails_or_does_not_help_is_reported(self):
        for text, expected in (("exit 5", "installing golang-go failed with exit code 5"),
                               ("exit 0", "even after installing golang-go")):
            self.script("hook", text)
            code, _, err = self.bench("X1", "--install-cmd", str(self.dir / "hook"))
            self.assertEqual(code, 0)
            self.assertIn(expected, err)

    def test_packages_two_peers_need_are_installed_once(self):
        self.script("hook", "exit 0")
        systems = tuple(System(name, f"x_{name}", packages=("cargo",)) for name in ("rayon", "tokio"))
        code, _, err = self.bench("--install-cmd", str(self.dir / "hook"), table=(replace(SWITCH, systems=systems),))
        self.assertEqual((self.called(), err.count("is absent")), (["hook cargo"], 2))


class Output(BenchTest):
    def test_json_rows_have_the_promised_keys(self):
        (self.dir / "compiler.txt").write_text("GNU 12.2.0\n-O3\n")
        self.fake("x_weft", WEFT, 1)
        promised = set("workload variant system version threads best worst median unit ratio bar met foreign steal "
                       "contended machine compiler commit".split())
        rows = self.rows("X1")
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertLessEqual(promised, set(row))
            self.assertEqual(row["compiler"], "GNU 12.2.0 -O3")
            self.assertRegex(row["machine"], r"\d+ cores?, Linux ")
            self.assertRegex(row["commit"], r"^(unknown|[0-9a-f]{7,}(-dirty)?)$")

    def test_heavy_barriers_are_shown_where_they_are_counted(self):
        line = {"value": 1, "unit": "ns", "system": WEFT, "version": "1.0", "heavy_barriers_per_s": 250}
        self.script("x_weft", f"echo '{json.dumps(line)}'")
        self.fake("x_go", "go", 2)
        out = self.bench("X1", "--json", str(self.json))[1].splitlines()
        weft, go = json.loads(self.json.read_text())[:2]
        self.assertEqual((weft["heavy_barriers_per_s"], go["heavy_barriers_per_s"]), (250, None))
        end = out[1].index("barriers/s") + len("barriers/s")
        self.assertEqual([line[:end].endswith("250.0") for line in out[2:4]], [True, False])

    def test_a_note_is_shown_beside_the_figure(self):
        line = {"value": 1, "unit": "ns", "system": WEFT, "version": "1.0", "note": "page tables 8 bytes"}
        self.script("x_weft", f"echo '{json.dumps(line)}'")
        self.fake("x_go", "go", 2)
        out = self.bench("X1", "--json", str(self.json))[1].splitlines()
        weft, go = json.loads(self.json.read_text())[:2]
        self.assertEqual((weft["note"], go["note"]), ("page tables 8 bytes", ""))
        self.assertTrue(out[2].endswith("; page tables 8 bytes"))
        self.script("x_weft", f"echo '{json.dumps(line | {'note': 8})}'")
        code, _, err = self.bench("X1")
        self.assertEqual(code, 3)
        self.assertIn("printed no text as its note", err)

    def test_a_senseless_number_of_barriers_is_a_failure(self):
        for number in ('"many"', "-1", "NaN", "true"):
            self.script("x_weft", f"""echo '{{"value": 1, "unit": "ns", "system": "weft", "version": "1",'"""
                                  f""" '"heavy_barriers_per_s": {number}}}'""")
            code, _, err = self.bench("X1")
            self.assertEqual(code, 3)
            self.assertIn("printed no finite number of heavy barriers", err)

    def test_the_table_is_aligned(self):
        self.fake("x_weft", WEFT, 12345.6)
        self.fake("x_go", "go", 0.5)
        lines = self.bench("X1")[1].splitlines()[1:]
        column = lines[0].index("unit")
        self.assertEqual([line[column:column + 2] for line in lines[1:]], ["ns"] * 4)
        self.assertIn(" 12,346 ", lines[1])

    def test_a_json_file_that_fails_at_the_end_is_reported(self):
        code, _, err = self.bench("X1", "--json", "/dev/full")
        self.assertEqual(code, 3)
        self.assertIn("/dev/full", err)


class RealTable(unittest.TestCase):
    def test_the_workloads_are_consistent(self):
        self.assertEqual(len({w.id for w in WORKLOADS}), len(WORKLOADS))
        for workload in WORKLOADS:
            with self.subTest(workload=workload.id):
                names = [system.name for system in workload.systems]
                for variant in workload.variants:  # a system may have another program for another variant
                    there = [s.name for s in workload.systems if not s.variants or variant in s.variants]
                    self.assertEqual(len(set(there)), len(there))
                    if workload.bars:
                        self.assertEqual(there[0], WEFT)
                    else:  # weft may not take part yet
                        self.assertNotIn(WEFT, there[1:])
                self.assertRegex(workload.id, r"^[A-Z][0-9]*$")
                self.assertGreaterEqual(workload.repetitions, 5)
                for bar in workload.bars:
                    self.assertIn(bar.against, [*names, BEST_PEER, None])
                    self.assertLessEqual(set(bar.variants), set(workload.variants))
                self.assertLessEqual(set(workload.median_variants), set(workload.variants))


if __name__ == "__main__":
    unittest.main()
