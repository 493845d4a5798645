"""Checks the names of the ledger's statements: a connection prepares each name once."""
import re
import unittest

from fleet import ROOT


class Statements(unittest.TestCase):
    def test_each_name_stands_once_and_fits(self):
        names = []
        for path in sorted((ROOT / "Sources").rglob("*.swift")):
            names += re.findall(r'PostgresStatement\(\s*"([^"]+)"', path.read_text())
        self.assertGreater(len(names), 50)
        self.assertEqual(sorted({name for name in names if names.count(name) > 1}), [])
        # PostgreSQL cuts longer names, so that two of them could become one.
        self.assertEqual([name for name in names if len(name.encode()) > 55], [])


if __name__ == "__main__":
    unittest.main()
