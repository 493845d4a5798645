"""Tests of the links between the documents. ops/test runs them; they need no server."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from fleet import documents  # noqa: E402


class Readme(unittest.TestCase):
    def test_it_is_short(self):
        lines = (ROOT / "README.md").read_text().splitlines()
        self.assertLessEqual(len(lines), 150)
        self.assertEqual([line for line in lines if len(line) > 120], [])


class Links(unittest.TestCase):
    def test_no_document_has_a_broken_link(self):
        self.assertEqual(documents.mistakes(), [])

    def test_what_exists_is_accepted(self):
        self.assertEqual(self.mistakes(
            "# One, `two`!\n\n## Same\n\n## Same\n\n<a id=\"kept\"></a>\n\n"
            "[file](docs/page.md) [folder](docs) [anchor](docs/page.md#the-page) [own](#one-two) [second](#same-1)\n"
            "[old](#kept) [web](https://example.com/nothing.md) ![image](docs/page.md \"Title\")\n"), [])

    def test_what_does_not_exist_is_told(self):
        for link, problem in {
                "[a](none.md)": "there is no such file",
                "![a](none.png)": "there is no such file",
                "[![a](docs/page.md)](none.md)": "there is no such file",
                "- item\n    continued [a](none.md)": "there is no such file",
                "[a]: none.md": "there is no such file",
                "[a](docs/page.md#none)": "there is no heading with the anchor #none",
                "[a](#none)": "there is no heading with the anchor #none",
                "[a](/docs/page.md)": "begins with a slash; use a path relative to this file",
                "[a](../../up.md)": "leads out of the repository"}.items():
            with self.subTest(link):
                found = self.mistakes(link + "\n")
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].endswith(problem), found)

    def test_code_and_comments_have_no_links(self):
        self.assertEqual(self.mistakes(
            "`[a](none.md)`\n\n    [a](none.md)\n\n```\n[a](none.md)\n```\n\n"
            "<!-- [a](none.md)\n[a](none.md) -->\n"), [])

    def mistakes(self, text):
        """The mistakes in a README with this text, beside one page with the heading *The page*."""
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            (root / "docs").mkdir()
            (root / "docs" / "page.md").write_text("# The page\n")
            (root / "README.md").write_text(text)
            documents.anchors.cache_clear()
            return documents.mistakes(root)


if __name__ == "__main__":
    unittest.main()
