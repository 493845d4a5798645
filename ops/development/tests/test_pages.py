"""Tests of what ops/test --documents reads, runs and compares. They need no server; ops/test runs them."""
import os
import pathlib
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.pages import Mistake, Step, steps  # noqa: E402
from development.printed import fits  # noqa: E402
from development.shell import Shell  # noqa: E402
from development.walk import pages, read, run, walk  # noqa: E402
from fleet import Failure  # noqa: E402


def indented(text):
    return textwrap.indent(text, "    ")


class Reading(unittest.TestCase):
    """What is a command, and what it prints."""

    def test_every_page_can_be_read(self):
        self.assertGreater(sum(len(read(page)) for page in pages()), 80)

    def test_a_page_that_does_not_exist_is_told(self):
        with self.assertRaises(Failure) as caught:
            walk(["none.md"])
        self.assertIn("no page is named none.md; the pages are README.md, docs/start/", str(caught.exception))

    def test_a_prompt_begins_a_command_and_ends_what_was_printed(self):
        self.assertEqual(steps("Text:\n\n" + indented("$ one \\\n  two\nout\n$ three\n\n{\"a\":\n 1}\n")), [
            Step(3, "one \\\n  two", "out"), Step(6, "three", '{"a":\n 1}')])

    def test_commands_without_prompts_end_with_an_empty_line(self):
        self.assertEqual(steps("\n" + indented("source env\ncurl a\n\n{\"a\":1}\n\ncurl b\n")), [
            Step(2, "source env\ncurl a", '{"a":1}'), Step(7, "curl b")])

    def test_commands_may_stand_before_the_first_prompt(self):
        self.assertEqual(steps("\n" + indented("source env\n\n$ curl a\nout\n")), [
            Step(2, "source env"), Step(4, "curl a", "out")])

    def test_a_here_document_and_a_loop_go_on_behind_an_empty_line(self):
        text = "cat > f <<'END'\none\n\ntwo\nEND\n"
        self.assertEqual(steps("\n" + indented(text)), [Step(2, text.rstrip())])
        loop = "$ for each in a b; do\n    echo $each\n  done\na\nb\n"
        self.assertEqual(steps("\n" + indented(loop)), [
            Step(2, "for each in a b; do\n    echo $each\n  done", "a\nb")])

    def test_a_block_of_a_list_is_a_block(self):
        self.assertEqual(steps("1. Do:\n\n       echo a\n\n2. End\n"), [Step(3, "echo a")])

    def test_text_that_an_item_goes_on_with_is_no_block(self):
        self.assertEqual(steps("- item\n    curl a\n"), [])

    def test_json_and_http_behind_text_are_not_run(self):
        self.assertEqual(steps("\n" + indented('{"a": 1}\n') + "\nText\n\n" + indented("POST /x\nA: b\n\n{}\n")), [])

    def test_a_mark_names_the_reason(self):
        self.assertEqual(
            steps("<!-- not run: needs root -->\n\n" + indented("useradd x\n") + "\nText\n\n" + indented("echo a\n")),
            [Step(3, "useradd x", reason="needs root"), Step(7, "echo a")])

    def test_a_mark_counts_for_the_next_block_only(self):
        self.assertEqual(steps("<!-- not run: why -->\n\nText\n\n" + indented("echo a\n")), [Step(5, "echo a")])

    def test_nothing_is_passed_over_in_silence(self):
        with self.assertRaises(Mistake) as caught:
            steps("\n" + indented("frobnicate --all\n"))
        self.assertIn("line 2: neither a known command nor JSON nor HTTP: frobnicate --all", str(caught.exception))


class Comparing(unittest.TestCase):
    def test_what_may_differ(self):
        for one, other in (
                ("at 2026-11-22T19:21:52.783Z", "at 2027-01-02T00:00:00.000Z"),
                ("evt_b9d9020e664e1ee4b84c207d5135930f", "evt_00000000000000000000000000000001"),
                ('{"secret":"whsec_MiHA/zD0="}', '{"secret":"whsec_AAAA+a=="}'),
                ("http://127.0.0.1:8080/x", "http://127.0.0.1:41234/x"),
                ("ready after 8.4 s", "ready after 12 s"),
                ('"expiresAt":1797120000', '"expiresAt":1700000001'),
                ("31204  .countersign/run/redis.log", "7  .countersign/run/redis.log"),
                ('{"a":1,\n "b":2}', '{"a":1,"b":2}'),
                ("one …\nfour", "one two\nthree\nfour")):
            with self.subTest(one):
                self.assertTrue(fits(one, other))

    def test_what_must_not_differ(self):
        for one, other in (
                ("step 1\nstep 2", "step 1\nstep 2\nstep 3"),
                ('"result":"PURCHASE_SYNCHRONIZED"', '"result":"PURCHASE_REVOKED"'),
                ('"transactionId":"1000000000000042"', '"transactionId":"1000000000000043"'),
                ('"status":422', '"status":403'), ("a.c", "abc"), ("", "something")):
            with self.subTest(one):
                self.assertFalse(fits(one, other))

    def test_a_slow_machine_prints_more(self):
        printed = "Starting …\n  still waiting: their logs are .countersign/run/*.log\n  ready after 17.9 s\n"
        self.assertTrue(fits("Starting …\n  ready after 3.1 s\n", printed))
        self.assertFalse(fits("Starting …\n  ready after 3.1 s\n", printed + "failed: still waiting: no\n"))

    def test_of_an_http_head_the_shown_fields_count(self):
        printed = "HTTP/1.1 202 Accepted\r\nDate: x\r\nLocation: /a\r\nContent-Length: 2\r\n\r\n{}"
        self.assertTrue(fits("HTTP/1.1 202 Accepted\nLocation: /a\n\n{}", printed))
        self.assertFalse(fits("HTTP/1.1 202 Accepted\nLocation: /b\n\n{}", printed))
        self.assertFalse(fits("HTTP/1.1 200 OK\n\n{}", printed))
        self.assertFalse(fits("HTTP/1.1 202 Accepted\nRetry-After: 1\n\n{}", printed))


class Running(unittest.TestCase):
    """One bash runs the steps of a page."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.shell = self.enterContext(Shell(self.folder, self.folder, os.environ | {"LC_ALL": "C.UTF-8"}))

    def problem(self, commands, printed=None, seconds=0):
        return run(self.shell, Step(1, commands, printed), {"ops/run --check": "all is well"}, seconds)

    def test_variables_functions_and_folders_stay(self):
        self.assertIsNone(self.problem("A=1; f() { echo $A$PWD; }; cd /"))
        self.assertIsNone(self.problem("f", "1/"))

    def test_a_failed_command_is_told_unless_the_page_shows_what_it_prints(self):
        self.assertIn("ended with status 3, and printed:\nout", self.problem("echo out; (exit 3); echo more"))
        self.assertIsNone(self.problem("echo out; (exit 3)", "out"))

    def test_a_condition_that_fails_is_no_failure(self):
        self.assertIsNone(self.problem("until [ -e here ]; do touch here; done; false || true"))

    def test_a_refusal_that_the_page_does_not_show_is_told(self):
        refusal = "echo '{\"code\":\"AUTH0003\",\"type\":\"about:blank\"}'"
        self.assertIn("was refused", self.problem(refusal))
        self.assertIsNone(self.problem(refusal, '{"code":"AUTH0003", …'))
        self.assertIn("was refused", self.problem("echo 'HTTP/1.1 422 Unprocessable Content'"))
        self.assertIn("was refused", self.problem("echo '{\"errors\": {\"receipt\": []}}'"))
        self.assertIsNone(self.problem("echo '{\"errors\":[],\"responseData\":{\"success\":true}}'"))

    def test_what_is_printed_must_be_what_is_shown(self):
        problem = self.problem("echo a b", "a c")
        self.assertIn("the page shows\na c\n  and it printed\na b", problem)

    def test_a_command_in_the_background_may_print_later(self):
        self.assertIsNone(self.problem("mkfifo pipe; cat pipe &\n(echo late > pipe) &", "late", seconds=60))

    def test_a_command_in_the_background_can_be_ended(self):
        self.assertIsNone(self.problem("sleep 600 & kill %1; wait $! || echo ended", "ended"))

    def test_commands_do_not_read_the_next_ones(self):
        self.assertIsNone(self.problem("cat", None))
        self.assertIsNone(self.problem("echo here", "here"))

    def test_what_ops_run_prints_is_compared(self):
        self.assertIsNone(self.problem("ops/run --check   # a comment", "all is well"))
        self.assertIn("all is well", self.problem("ops/run --check", "other"))

    def test_a_shell_that_ends_is_told(self):
        with self.assertRaises(Failure) as caught:
            self.shell.run("echo bye; exit 4")
        self.assertIn("ended the shell, and printed:\nbye", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
