"""Tests of the words of the glossary in the names of types."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
TYPE = re.compile(r"\b(?:struct|enum|class|actor|protocol|typealias)\s+(\w+)")

# The words that the glossary replaced by *result* and *attempt*.
DROPPED = re.compile(r"Outcome|Finding|Conclu(?:ded?|sion)|Finalization$")


def types():
    """The names of all types of the product, each with its file."""
    for file in sorted((ROOT / "Sources").rglob("*.swift")):
        code = re.sub(r"//[^\n]*", "", file.read_text())
        for name in TYPE.findall(code):
            yield name, str(file.relative_to(ROOT))


class Words(unittest.TestCase):
    def test_how_it_ended_has_one_word(self):
        self.assertEqual([(name, file) for name, file in types() if DROPPED.search(name)], [])

    def test_each_kind_of_result_has_one_type(self):
        found = [name for name, file in types()]
        page = (ROOT / "docs" / "concepts" / "glossary.md").read_text()
        for name in ("SynchronizationResult", "ResultCode", "AttemptResult", "DeliveryAttempt", "CallResult"):
            self.assertEqual(found.count(name), 1, name)
            self.assertIn(name, page)

    def test_runs_and_checks_have_their_words(self):
        page = (ROOT / "docs" / "concepts" / "glossary.md").read_text()
        found = [name for name, file in types()]
        for name in ("Ending", "Verdict"):
            self.assertGreater(found.count(name), 1, name)
            self.assertRegex(page, rf"(?m)^\| {name.lower()} \|.*`{name}`")

    def test_a_finalized_synchronization_is_one_type(self):
        files = [file for name, file in types() if name == "Finalized"]
        self.assertEqual(files, ["Sources/Domain/Commit/CommitState+Finalize.swift"])

    def test_comments_speak_of_results_and_endings(self):
        # A wire's name stands as code, and a parameter has the name that it counts under.
        self.assertEqual([], [
            f"{file.relative_to(ROOT)}: {comment}" for file in sorted((ROOT / "Sources").rglob("*.swift"))
            for comment in re.findall(r"(?m)^ *///? ?(.*)$", file.read_text())
            if re.search(r"\boutcomes?\b", re.sub(r"`[^`]*`|- Parameter \w+:", "", comment), re.I)])

    def test_the_pattern_knows_the_dropped_words(self):
        for name in ("AttemptOutcome", "Finding", "Conclusion", "Concluded", "ConcludeBatch", "Finalization"):
            self.assertIsNotNone(DROPPED.search(name), name)
        for name in ("FinalizationRequest", "FinalizationWaits", "FinalizedJob", "SynchronizationResult"):
            self.assertIsNone(DROPPED.search(name), name)


if __name__ == "__main__":
    unittest.main()
