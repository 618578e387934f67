#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the noise guard: what it makes of the machine's counters. Run with `python3 bench/guard_test.py`."""

import sys
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True  # keeps the source tree clean; must precede the imports below

from harness.guard import TICK_S, Guard, Look, Noise, keep_busy

QUIET = Noise(wall_s=0.5, foreign_s=0.001, steal_s=0.0)
BUSY = Noise(wall_s=0.5, foreign_s=0.100, steal_s=0.0)


class NoiseGuard(unittest.TestCase):
    def test_four_percent_of_a_core_is_the_limit_and_steal_counts(self):
        self.assertFalse(Noise(1.0, 0.039, 0.0).contended)
        self.assertTrue(Noise(1.0, 0.041, 0.0).contended)
        self.assertTrue(Noise(1.0, 0.03, 0.02).contended)
        self.assertFalse(Noise(1.0, -0.03, 0.02).contended)

    def test_one_tick_alone_never_condemns_a_short_run(self):
        self.assertFalse(Noise(0.1, TICK_S, 0.0).contended)
        self.assertTrue(Noise(0.1, 2 * TICK_S, 0.0).contended)

    def test_own_cpu_time_is_not_foreign(self):
        guard = Guard()
        looks = iter((Look(0.0, 100.0, 5.0, 1.0), Look(2.0, 102.5, 5.1, 3.0)))
        guard.look = lambda: next(looks)
        noise = guard.since(guard.look())
        self.assertAlmostEqual(noise.foreign, 25.0)
        self.assertAlmostEqual(noise.steal, 5.0)

    def test_a_machine_that_is_robbed_is_waited_for(self):
        cases = (([], 60.0, True, 1), ([BUSY], 60.0, True, 2), ([BUSY] * 9, 0.0, False, 1))
        for noises, limit_s, expected, looks in cases:
            with self.subTest(noises=noises):
                guard = Guard()
                left = list(noises)
                seen = []
                guard.since = lambda start: seen.append(start) or (left.pop(0) if left else QUIET)
                busy = unittest.mock.patch("harness.guard.keep_busy", return_value=1.0)
                with busy, unittest.mock.patch("harness.guard.REST_S", 0.01):
                    self.assertEqual(guard.wait_left_alone(limit_s), expected)
                self.assertEqual(len(seen), looks)

    def test_a_machine_that_is_slowed_down_is_not_left_alone(self):
        for slowness, expected in ((1.0, True), (1.14, True), (1.16, False), (2.0, False)):
            with self.subTest(slowness=slowness):
                guard = Guard()
                guard.since = lambda start: QUIET
                with unittest.mock.patch("harness.guard.keep_busy", return_value=slowness):
                    self.assertEqual(guard.is_left_alone(), expected)

    def test_the_time_of_being_busy_is_its_own(self):
        guard = Guard()
        start = guard.look()
        self.assertGreaterEqual(keep_busy(0.2), 1.0)
        self.assertGreater(guard.look().own_s - start.own_s, 0.05)

    def test_the_real_counters_can_be_read(self):
        guard = Guard()
        start = guard.look()
        time.sleep(0.02)
        noise = guard.since(start)
        self.assertGreater(noise.wall_s, 0.0)
        self.assertGreaterEqual(noise.foreign, 0.0)


if __name__ == "__main__":
    unittest.main()
