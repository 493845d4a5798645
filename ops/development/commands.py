"""Runs programs for what they write."""
import subprocess

from fleet import Failure


def output(command, environment, *, folder=None, failure=None, seconds):
    """What a program writes to its standard output.

    folder: where it runs, if not here
    failure: what it means that the program fails, and what the reader can do
    """
    command = [str(word) for word in command]
    meaning = f"\n{failure}" if failure else ""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(command)} did not end within {seconds} seconds{meaning}") from None
    if done.returncode != 0:
        raise Failure(f"{done.stdout[-20_000:]}{done.stderr[-20_000:]}\n{' '.join(command)} ended with status "
                      f"{done.returncode}{meaning}")
    return done.stdout
