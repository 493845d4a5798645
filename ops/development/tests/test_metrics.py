"""The page of metrics begins each meaning with the HELP text that the roles export."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
# A HELP text has several words. What stands behind a name elsewhere, such as a label, has one.
HELP = re.compile(r'"(countersign_\w+)",\s*"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"')
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def helps():
    """The HELP texts of the source: name and text. Several roles may have the same metric."""
    for file in sorted((ROOT / "Sources").rglob("*.swift")):
        yield from HELP.findall(file.read_text())


def meanings():
    """The meanings on the page, without markup, by the name of the metric."""
    found = {}
    for line in (ROOT / "docs" / "reference" / "metrics.md").read_text().splitlines():
        if line.startswith("| `countersign_"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found.setdefault(cells[0].strip("`"), []).append(LINK.sub(r"\1", cells[3]).replace("`", ""))
    return found


class Metrics(unittest.TestCase):
    def test_the_page_begins_with_the_help_text(self):
        page = meanings()
        self.assertGreater(len(page), 100)
        texts = list(helps())
        self.assertEqual({name for name, text in texts}, set(page))
        for name, text in texts:
            with self.subTest(name):
                self.assertTrue(text.endswith("."), text)
                for meaning in page[name]:
                    self.assertTrue(meaning.startswith(text.removesuffix(".")), f"{meaning}\nbut HELP: {text}")


if __name__ == "__main__":
    unittest.main()
