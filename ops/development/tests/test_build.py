"""What runs beside a build, and which failure comes out."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

from fleet import Failure, build
from fleet.processes import wait_until

# A program that leaves its own id and that of a child in a file, and waits.
COMPILER = """
import pathlib, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
here = pathlib.Path(sys.argv[1])
(here / "new").write_text(f"{child.pid}")
(here / "new").rename(here / "child")
signal.pause()
"""


class BuildTests(unittest.TestCase):
    def builds(self, program, body=lambda: None, *arguments):
        """Builds with a program of Python beside a body; returns what was printed."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            with build.building(*arguments, command=(sys.executable, "-c", program)):
                body()
        return printed.getvalue()

    def test_what_the_build_prints_comes_after_the_checks(self):
        printed = self.builds("print('built')", lambda: print("checked"))
        self.assertLess(printed.index("checked"), printed.rindex("built"))

    def test_a_failed_build_fails_after_good_checks(self):
        done = []
        with self.assertRaisesRegex(Failure, "status 3"):
            self.builds("raise SystemExit(3)", lambda: done.append(True))
        self.assertEqual(done, [True])
        with self.assertRaisesRegex(Failure, "status 4"), contextlib.redirect_stdout(io.StringIO()):
            build.build(command=(sys.executable, "-c", "raise SystemExit(4)"))

    def test_a_failed_check_ends_the_build_and_its_compilers(self):
        def fail():
            wait_until("the compiler", (here / "child").exists, 120)
            raise Failure("a mistake")

        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            with self.assertRaisesRegex(Failure, "a mistake"):
                self.builds(COMPILER, fail, folder)
            child = int((here / "child").read_text())
            # The child is nobody's now. It is gone, or its new parent has not collected it yet.
            status = pathlib.Path(f"/proc/{child}/stat")

            def is_gone():
                try:
                    return status.read_text().rpartition(")")[2].split()[0] == "Z"
                except (FileNotFoundError, ProcessLookupError):
                    return True
            wait_until("the end of the compiler", is_gone, 120)


if __name__ == "__main__":
    unittest.main()
