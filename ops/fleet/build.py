"""Builds with the Swift package manager, which does nothing when nothing has changed."""
import contextlib
import subprocess
import tempfile

from fleet import ROOT, Failure

# A target that imports another one which it does not declare would compile or not, as the others' order has it.
# The index stays on: SwiftPM finds the tests in it.
COMMAND = ("swift", "build", "--explicit-target-dependency-import-check", "error")


def build(*arguments, environment=None, command=COMMAND):
    """Builds, and shows what the build prints as it comes."""
    process = started([*command, *arguments], environment)
    check([*command, *arguments], process.wait())


@contextlib.contextmanager
def building(*arguments, environment=None, command=COMMAND):
    """Builds while the body runs, which needs nothing of the build. If the body fails, the build ends.

    What the build prints comes after what the body prints.
    """
    with tempfile.TemporaryFile() as output:
        process = started([*command, *arguments], environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield
            status = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
            output.seek(0)
            print(output.read().decode(errors="replace"), end="", flush=True)
    check([*command, *arguments], status)


def started(command, environment, **streams):
    print(f"Building ({' '.join(command)}) …", flush=True)
    try:
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=environment, **streams)
    except OSError as error:
        raise Failure(f"swift cannot be started: {error}; add the toolchain's usr/bin to PATH") from None


def check(command, status):
    if status != 0:
        raise Failure(f"{' '.join(command)} failed with status {status}; its messages are above")
