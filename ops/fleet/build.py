"""Builds with the Swift package manager, which does nothing when nothing has changed."""
import subprocess

from fleet import ROOT, Failure


def build(*arguments, environment=None):
    # A target that imports another one which it does not declare would compile or not, as the others' order has it.
    # The index stays on: SwiftPM finds the tests in it.
    command = ["swift", "build", "--explicit-target-dependency-import-check", "error", *arguments]
    print(f"Building ({' '.join(command)}) …", flush=True)
    try:
        status = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=environment).returncode
    except OSError as error:
        raise Failure(f"swift cannot be started: {error}; add the toolchain's usr/bin to PATH") from None
    if status != 0:
        raise Failure(f"{' '.join(command)} failed with status {status}; its messages are above")
