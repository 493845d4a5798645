"""What runs beside a build, and which failure comes out."""
import contextlib
import io
import sys
import unittest
from unittest import mock

from fleet import Failure, build


class BuildTests(unittest.TestCase):
    def builds(self, program, body=lambda: None):
        """Builds with a program of Python beside a body; returns what was printed."""
        begun = []

        def started(*arguments, **streams):
            begun.append(started_for_real(*arguments, **streams))
            return begun[-1]

        started_for_real = build.started
        with mock.patch.object(build, "started", started), contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                with build.building(command=(sys.executable, "-c", program)):
                    body()
            finally:
                self.ended = begun[0].poll() is not None
        return printed.getvalue()

    def test_what_the_build_prints_comes_after_the_checks(self):
        printed = self.builds("print('built')", lambda: print("checked"))
        self.assertLess(printed.index("checked"), printed.rindex("built"))

    def test_a_failed_build_fails_after_good_checks(self):
        done = []
        with self.assertRaisesRegex(Failure, "status 3"):
            self.builds("raise SystemExit(3)", lambda: done.append(True))
        self.assertEqual(done, [True])

    def test_a_failed_check_ends_the_build(self):
        def fail():
            raise Failure("a mistake")

        with self.assertRaisesRegex(Failure, "a mistake"):
            self.builds("import signal; signal.pause()", fail)
        self.assertTrue(self.ended)


if __name__ == "__main__":
    unittest.main()
