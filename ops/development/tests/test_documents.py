"""Tests of the documents: their links, and what they claim. ops/test runs them; they need no server."""
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development import documents  # noqa: E402


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


class Claims(unittest.TestCase):
    """Sentences that say what is there and what is missing. The code decides whether they are true."""

    # A page, what it says, and what the code must have for that: a file, and an expression in it.
    TRUE = [
        ("docs/compatibility/iaptic.md", "| Apple's notifications | yes | [yes](../how-to/receive-apple-notifications",
         "Sources/Gateway/HTTP/Route+All.swift", r"/apple/notifications"),
        ("docs/compatibility/iaptic.md", "users that the publisher has registered (`PUT /customers/{customerId}`), set",
         "Sources/Doors/Iaptic/IapticDoor.swift", r"IapticDoor[\s\S]*DoorPolicy\(customers: \.open\), appName"),
        ("docs/compatibility/mbaasy.md", "[Workers look](../how-to/receive-apple-notifications.md#without-notif",
         "Sources/Doors/Mbaasy/MbaasyDoor.swift", r"MbaasyRecheck\.next"),
        ("docs/compatibility/mbaasy.md", "the publisher has not registered | all users are taken | the same",
         "Sources/Doors/Mbaasy/MbaasyDoor.swift", r"MbaasyDoor[\s\S]*DoorPolicy\(customers: \.open\), clientTokens"),
        ("docs/internals/verification.md", "A gateway verifies what comes to it signed",
         "Sources/Gateway/Doors/EvidenceIntake.swift", r"signedTransaction\("),
        ("docs/internals/verification.md", "Our own API takes ids, and one signed transaction of 16 KiB at most",
         "Sources/Gateway/Registration/RegistrationRequest.swift", r"signedTransaction"),
        ("docs/internals/verification.md", "`tryLater`\nis not used yet",
         "Sources/AppStore/Verification/Verdict.swift", r"case tryLater"),
        ("docs/concepts/purchase.md", "The worker publishes the event directly to the notifiers' queue",
         "Sources/Service/Events/RoleContext+Events.swift", r"queues = deliveryQueues\] in queues\.next"),
    ]

    def test_what_the_pages_claim_is_in_the_code(self):
        for page, sentence, file, expression in self.TRUE:
            with self.subTest(f"{page}: {sentence}"):
                self.assertIn(sentence, (ROOT / page).read_text())
                self.assertRegex((ROOT / file).read_text(), expression)

    def test_the_pages_of_the_doors_call_nothing_of_ours_missing_for_now(self):
        for page in sorted((ROOT / "docs" / "compatibility").glob("*.md")):
            for line in page.read_text().splitlines():
                self.assertNotRegex(line, r"(?i)\b(not yet|not \w+( \w+)? yet:|this version)", page.name)

    def test_nobody_binds_the_notifiers_queue(self):
        # docs/concepts/purchase.md and docs/operate/subscribers.md say that it gets its events by name.
        for part in ("Notifier", "Worker", "Gateway", "Messaging", "Service", "Ledger"):
            for file in (ROOT / "Sources" / part).rglob("*.swift"):
                self.assertNotIn(".bindQueue(", file.read_text(), file.name)

    def test_testing_names_each_fake(self):
        page = (ROOT / "docs" / "internals" / "testing.md").read_text()
        # A class of the tests that serves requests stands in for somebody.
        fakes = set()
        tests = ROOT / "Tests"
        for file in [*(tests / "FleetTests").rglob("*.swift"), *(tests / "Support").rglob("*.swift")]:
            text = file.read_text()
            if "= try HTTPServer(" in text:
                fakes |= set(re.findall(r"^(?:public )?final class (\w+)", text, re.MULTILINE))
        self.assertEqual(fakes, {"WebhookReceiver", "IdentityProvider"})
        for fake in fakes | {"FaultProxy", "StreamSocketTests"}:
            self.assertIn(f"`{fake}`", page)

    def test_the_files_that_pages_name_exist(self):
        named = 0
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            if page.parent.name == "decisions":
                continue  # A decision tells what was there when it was made.
            for path in re.findall(r"`((?:Sources|Tests|ops|docs)/[\w/+.-]+)`", page.read_text()):
                named += 1
                self.assertTrue((ROOT / path).exists(), f"{page.relative_to(ROOT)} names {path}")
        self.assertGreater(named, 50)


if __name__ == "__main__":
    unittest.main()
