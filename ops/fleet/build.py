"""Builds with the Swift package manager, which does nothing when nothing has changed."""
import contextlib
import os
import signal
import subprocess
import tempfile

from fleet import ROOT, Failure

# A target that imports another one which it does not declare would compile or not, as the others' order has it.
# The index stays on: SwiftPM finds the tests in it.
COMMAND = ("swift", "build", "--explicit-target-dependency-import-check", "error")


def build(*arguments, environment=None, command=COMMAND):
    """Builds, and shows what the build prints as it comes."""
    command = [*command, *arguments]
    with process_of(command, environment) as process:
        status = process.wait()
    check(command, status)


@contextlib.contextmanager
def building(*arguments, environment=None, command=COMMAND):
    """Builds while the body runs, which needs nothing of the build. If the body fails, the build ends.

    What the build prints comes after what the body prints.
    """
    command = [*command, *arguments]
    with tempfile.TemporaryFile() as output:
        try:
            with process_of(command, environment, stdout=output, stderr=subprocess.STDOUT) as process:
                yield
                if process.poll() is None:
                    print("Still building …", flush=True)
                status = process.wait()
        finally:
            output.seek(0)
            print(output.read().decode(errors="replace"), end="", flush=True)
    check(command, status)


@contextlib.contextmanager
def process_of(command, environment, **streams):
    """A build. Whatever ends the body ends the compilers, too: swift build leaves them behind if it alone is killed."""
    print(f"Building ({' '.join(command)}) …", flush=True)
    try:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, env=environment, start_new_session=True, **streams)
    except OSError as error:
        raise Failure(f"swift cannot be started: {error}; add the toolchain's usr/bin to PATH") from None
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def check(command, status):
    if status != 0:
        raise Failure(f"{' '.join(command)} failed with status {status}; its messages are above")
