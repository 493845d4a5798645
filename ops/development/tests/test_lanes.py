"""Which lanes run side by side."""
import contextlib
import io
import unittest
from unittest import mock

from development import lanes
from fleet import Failure


class Parts:
    def __init__(self):
        self.times, self.summaries = [], []


class PlayedLane:
    """A lane that ends after so many looks, with a status."""

    begun = []
    beside = []
    plan = {}

    def __init__(self, name):
        self.name, self.popen = name, self
        self.looks, self.status = self.plan.get(name, (1, 0))
        self.returncode = None
        self.begun.append(name)
        self.open.append(name)
        self.beside.append(len(self.open))

    def poll(self):
        self.looks -= 1
        if self.looks <= 0 and self.returncode is None:
            self.returncode = self.status
            self.open.remove(self.name)
        return self.returncode

    def show(self):
        print(f"shown {self.name}")

    def read(self):
        return [("tests", 1)], [f"{self.name} ended"]


class LanesTests(unittest.TestCase):
    def run_lanes(self, names, plan, at_once=2):
        PlayedLane.begun, PlayedLane.beside, PlayedLane.open, PlayedLane.plan = [], [], [], plan
        parts, printed = Parts(), io.StringIO()
        with mock.patch.object(lanes, "Lane", PlayedLane), mock.patch.object(lanes.time, "sleep"), \
                mock.patch.object(lanes.Processes, "handle_signals"), contextlib.redirect_stdout(printed):
            try:
                lanes.run_lanes(names, parts, at_once)
                failure = None
            except Failure as found:
                failure = str(found)
        return parts, printed.getvalue().splitlines(), failure

    def test_the_next_lane_begins_when_one_has_ended(self):
        parts, _, failure = self.run_lanes(["a", "b", "c", "d"], {"a": (9, 0), "b": (1, 0), "c": (1, 0)})
        self.assertIsNone(failure)
        self.assertEqual(PlayedLane.begun, ["a", "b", "c", "d"])
        self.assertEqual(max(PlayedLane.beside), 2)
        self.assertEqual(parts.times[0], ("a: tests", 1))
        self.assertEqual(parts.summaries, ["a ended", "b ended", "c ended", "d ended"])

    def test_after_a_failure_no_other_begins_and_its_output_comes_last(self):
        parts, printed, failure = self.run_lanes(["a", "b", "c"], {"a": (3, 0), "b": (1, 1)})
        self.assertEqual(PlayedLane.begun, ["a", "b"])
        self.assertEqual(failure, "failed: b; their output is above")
        self.assertEqual(printed[-2:], ["shown a", "shown b"])
        self.assertEqual(parts.summaries[-1], "b ended")


if __name__ == "__main__":
    unittest.main()
