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

    def test_the_pattern_knows_the_dropped_words(self):
        for name in ("AttemptOutcome", "Finding", "Conclusion", "Concluded", "ConcludeBatch", "Finalization"):
            self.assertIsNotNone(DROPPED.search(name), name)
        for name in ("FinalizationRequest", "FinalizationWaits", "FinalizedJob", "SynchronizationResult"):
            self.assertIsNone(DROPPED.search(name), name)


if __name__ == "__main__":
    unittest.main()
