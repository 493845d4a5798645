"""One bash that runs a page's commands, one step after the other, as a reader's terminal does."""
import contextlib
import os
import select
import signal
import subprocess
import time

from fleet import Failure

SECONDS = 120


class Shell:
    """A bash with variables, functions and background commands of its own. Use it with `with`."""

    def __init__(self, workplace, scratch, environment):
        """
        workplace: the folder where the commands run
        scratch: an existing folder for what the steps print
        """
        self.scratch, self.number = scratch, 0
        self.ends, told = os.pipe()
        self.bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=workplace, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(told,), start_new_session=True, text=True)
        os.close(told)
        self.told = told

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # What the page left in the background ends with it.
        with contextlib.suppress(OSError):
            os.killpg(self.bash.pid, signal.SIGTERM)
        self.bash.kill()
        self.bash.wait()
        self.bash.stdin.close()
        os.close(self.ends)

    def run(self, commands):
        """Runs commands; returns the file with what they print, and the statuses of those that failed.

        The file grows while a background command prints.
        """
        self.number += 1
        script, output, failed = (self.scratch / f"{self.number}.{end}" for end in ("sh", "out", "failed"))
        script.write_text(commands + "\n")
        failed.write_text("")
        # The commands do not read the script that feeds this bash. A function keeps the trap of an error from itself.
        self.bash.stdin.write(
            f"trap 'echo $? >> {failed}' ERR\n. {script} < /dev/null > {output} 2>&1\n"
            f"trap - ERR; echo done >&{self.told}\n")
        self.bash.stdin.flush()
        deadline = time.monotonic() + SECONDS
        while not select.select([self.ends], [], [], 0.5)[0]:
            if time.monotonic() > deadline:
                raise Failure(f"did not end within {SECONDS} seconds, and printed:\n{output.read_text()}")
        if not os.read(self.ends, 64):
            raise Failure(f"ended the shell, and printed:\n{output.read_text()}")
        return output, failed.read_text().split()
