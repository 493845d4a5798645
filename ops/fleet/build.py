"""Builds with the Swift package manager, which does nothing when nothing has changed."""
import subprocess

from fleet import ROOT, Failure


def build(*arguments, environment=None):
    command = ["swift", "build", *arguments]
    print(f"Building ({' '.join(command)}) …", flush=True)
    try:
        status = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=environment).returncode
    except OSError as error:
        raise Failure(f"swift cannot be started: {error}; add the toolchain's usr/bin to PATH") from None
    if status != 0:
        raise Failure(f"{' '.join(command)} failed with status {status}; its messages are above")
