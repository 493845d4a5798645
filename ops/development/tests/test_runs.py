"""Tests of what ops/test runs: tests begin few at once, and fleet tests have a run of their own."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))

from development.test import AT_ONCE, INTEGRATION_TESTS, KINDS, UNIT_TESTS, few_at_once  # noqa: E402


def runs(*arguments):
    """How many tests each run begins at once (`None` for all), and which tests it leaves out."""
    return [("24" if AT_ONCE[0] in words else None, words[words.index("--skip") + 1])
            for name, words in few_at_once("tests", list(arguments))]


class Runs(unittest.TestCase):
    def test_a_filter_by_suites_runs_both_kinds_each_in_its_way(self):
        (width, skipped), (of_fleets, others) = runs("--filter", "PurchaseTests|FaultTests")
        self.assertEqual((width, skipped, of_fleets), ("24", "FleetTests[.]", None))
        self.assertIn("IntegrationTests[.]", others.split("|"))
        self.assertNotIn("FleetTests[.]", others.split("|"))

    def test_a_filter_of_one_kind_has_one_run(self):
        self.assertEqual(runs("--filter", "IntegrationTests[.]"), [("24", "FleetTests[.]")])
        self.assertEqual(runs("--filter", "DomainTests.CommitTests|IntegrationTests[.]X"), [("24", "FleetTests[.]")])
        self.assertEqual([width for width, _ in runs("--filter", "FleetTests[.]StartTests")], [None])
        self.assertEqual([width for width, _ in runs("--filter", "FleetTests")], [None])

    def test_all_other_filters_have_both(self):
        for words in (["--filter", "IntegrationTests[.]|FleetTests[.]ChaosTests"], ["--skip", "X"],
                      ["--filter", "IntegrationTests[.]", "--filter", "FleetTests[.]X"],
                      *(["--filter", text] for text in KINDS.values())):
            self.assertEqual([width for width, _ in runs(*words)], ["24", None], words)

    def test_a_whole_run_begins_few_at_once(self):
        for name, words in (UNIT_TESTS, INTEGRATION_TESTS):
            self.assertEqual(words[-2:], list(AT_ONCE), name)


if __name__ == "__main__":
    unittest.main()
