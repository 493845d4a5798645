"""Evaluates the query that scales workers, on made-up series of Prometheus. promtool of Debian's prometheus does it."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import helm_python
import yaml

from charts import FORMS, named, rendered

SLOTS = 266
MINUTES = 6


class Scaling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        helm_python.disable_logging()
        cls.scaled = named(rendered(FORMS["everything"]), "ScaledObject")["spec"]
        cls.query = cls.scaled["triggers"][0]["metadata"]["query"]

    def workers(self, in_flight, calls=None, namespace="shop", unset=False):
        """Series of workers with so many jobs in flight each. `calls` has, for an outcome, the seconds of calls that
        end in a second at one worker."""
        series = []
        for index, jobs in enumerate(in_flight):
            labels = f'namespace="{namespace}",job="worker",instance="{index}"'
            series.append({"series": f"countersign_job_slots{{{labels}}}", "values": f"{SLOTS}x{4 * MINUTES}"})
            series.append({"series": f"countersign_jobs_in_flight{{{labels}}}", "values": f"{jobs}x{4 * MINUTES}"})
            for outcome, seconds in ({"ok": 0} | (calls or {})).items():
                series.append({
                    "series": f'countersign_apple_call_duration_seconds_sum{{{labels},outcome="{outcome}"}}',
                    "values": f"0+{15 * seconds}x{4 * MINUTES}"})
        return series

    def holds(self, series, value):
        """Whether the query answers so; `None` is an empty answer, and so a mistake for KEDA."""
        samples = [] if value is None else [{"labels": "{}", "value": value}]
        test = {"evaluation_interval": "15s", "rule_files": [], "tests": [{
            "interval": "15s", "input_series": series,
            "promql_expr_test": [{"expr": self.query, "eval_time": f"{MINUTES}m", "exp_samples": samples}]}]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "test.yml"
            path.write_text(yaml.safe_dump(test, width=1000))
            run = subprocess.run([os.environ["PROMTOOL"], "test", "rules", path], capture_output=True, text=True)
        if run.returncode != 0 and "got:" not in run.stdout + run.stderr:
            raise AssertionError(run.stdout + run.stderr)
        return run.returncode == 0

    def check(self, series, value):
        if not self.holds(series, value):
            raise AssertionError(f"the query does not answer {value}")

    def wanted(self, jobs, workers=1):
        return workers * jobs / (0.6 * SLOTS)

    def test_idle_workers_are_too_many(self):
        self.check(self.workers([0, 0, 0]), 0)

    def test_a_usual_load_needs_fewer_workers_than_there_are(self):
        self.check(self.workers([60, 60]), self.wanted(60, 2))

    def test_full_workers_need_more(self):
        self.check(self.workers([SLOTS], {"ok": SLOTS}), self.wanted(SLOTS))
        # One publisher alone cannot take more than 200 places.
        self.check(self.workers([200, 200], {"ok": 400}), self.wanted(200, 2))
        self.assertGreater(self.wanted(200, 2), 2 * 1.1, "beyond the tolerance of the autoscaler")

    def test_jobs_held_by_429_need_nobody(self):
        # They are in the line. A few places have those whose turn has come; the queue may be as long as it likes.
        line = {"series": 'countersign_line_jobs{namespace="shop",job="worker",instance="0",lane="usual"}',
                "values": f"100000x{4 * MINUTES}"}
        self.check([*self.workers([15, 15], {"ok": 10, "rate_limited": 0.1}), line], self.wanted(15, 2))

    def test_an_apple_that_hangs_brings_no_worker_and_takes_none(self):
        self.check(self.workers([200, 200, 200], {"ok": 0, "timeout": 200}), 3)
        self.check(self.workers([SLOTS, SLOTS], {"ok": 20, "timeout": 240}), 2)

    def test_what_does_not_hang_may_still_need_more(self):
        self.check(self.workers([SLOTS], {"ok": 192, "timeout": 64}), self.wanted(SLOTS * 0.75))

    def test_a_few_timeouts_let_idle_workers_go(self):
        self.check(self.workers([10, 10, 10], {"ok": 5, "timeout": 5}), self.wanted(10, 3))

    def test_no_data_is_no_number(self):
        self.check([], None)
        # Another fleet's workers count nothing.
        self.check(self.workers([SLOTS], namespace="other"), None)
        self.assertEqual(self.scaled["triggers"][0]["metadata"]["ignoreNullValues"], "false")
        self.assertEqual(self.scaled["fallback"]["behavior"], "currentReplicasIfHigher")

    def test_a_wrong_number_is_found(self):
        self.assertFalse(self.holds(self.workers([0, 0]), 1))
        self.assertFalse(self.holds([], 0))


if __name__ == "__main__":
    unittest.main()
