"""Tests of what decides about workers in ops/development/scaling.py. They need no server; ops/test runs them."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.scaling import Samples, got, replicas  # noqa: E402
from fleet import Failure  # noqa: E402


class Replicas(unittest.TestCase):
    def test_the_number_follows_the_need(self):
        for need, now, wanted in [
                (1.25, 1, 2), (2.5, 2, 3), (0.5, 4, 3), (0, 2, 1), (0, 1, 1),
                # It doubles at most, and has its bounds.
                (3.9, 1, 2), (9, 3, 4), (9, 4, 4),
                # A little more or less changes nothing, and neither does no answer.
                (2.1, 2, 2), (1.9, 2, 2), (None, 3, 3)]:
            with self.subTest(need=need, now=now):
                self.assertEqual(replicas(need, now), wanted)

    def test_what_promtool_got_is_read(self):
        self.assertEqual(got('expr: "a", time: 15s,\n  exp: {} -1E+00\n  got: {} 1.25E+00'), 1.25)
        self.assertIsNone(got('expr: "a", time: 15s,\n  exp: {} -1E+00\n  got: nil'))
        with self.assertRaises(Failure):
            got("promtool: error")

    def test_a_worker_that_is_gone_is_stale(self):
        samples = Samples("sum(countersign_job_slots) + sum(countersign_jobs_in_flight)")
        text = "# TYPE countersign_job_slots gauge\ncountersign_job_slots 8\nother 1\n"
        for workers in (["a"], ["a", "b"], ["b"]):
            samples.take(dict.fromkeys(workers, text))
        key = 'countersign_job_slots{{namespace="shop",job="worker",instance="{}"}}'
        self.assertEqual(
            samples.series, {key.format("a"): ["8", "8", "stale"], key.format("b"): ["_", "8", "8"]})


if __name__ == "__main__":
    unittest.main()
