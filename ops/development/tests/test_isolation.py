"""Tests of what ops/bench isolation says about deliveries. They need no server; ops/test runs them."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.isolation_benchmark import Deliveries  # noqa: E402


class Distribution(unittest.TestCase):
    def test_the_distribution_has_each_job_in_one_place(self):
        before = Deliveries(10, 20, 1, 9, 10)
        found = Deliveries(110, 250, 21, 94, 108).since(before)
        self.assertEqual(str(found), "2.30; 1: 20.0%, 2: 65.0%, 3: 13.0%, more: 2.0%")
        self.assertEqual(found.few, 0.98)

    def test_without_an_ended_job_there_is_no_distribution(self):
        found = Deliveries(3, 5, 1, 3, 3).since(Deliveries(3, 5, 1, 3, 3))
        self.assertEqual(str(found), "no job has ended")
        self.assertEqual(found.few, 0)


if __name__ == "__main__":
    unittest.main()
