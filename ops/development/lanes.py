"""Runs parts of ops/test side by side, each in a process of its own, with servers of its own."""
import json
import os
import subprocess
import sys
import time

from fleet import ROOT, Failure
from fleet.processes import Processes, Stopped

FOLDER = ROOT / ".countersign" / "lanes"


class Lane:
    """One part of a run, while it runs. Its output waits in a file until it ends."""

    def __init__(self, name):
        self.name, self.output, self.results = name, FOLDER / f"{name}.out", FOLDER / f"{name}.json"
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.results.unlink(missing_ok=True)
        with self.output.open("wb") as output:
            self.popen = subprocess.Popen(
                [sys.executable, "-B", "-m", "development.test", "--lane", name], cwd=ROOT, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, env=os.environ | {"PYTHONPATH": str(ROOT / "ops")})

    def show(self):
        print(f"\n== {self.name} ==", flush=True)
        sys.stdout.buffer.write(self.output.read_bytes())
        sys.stdout.flush()

    def read(self):
        """How long each part took, and the summaries of its tests. A lane that was killed has left none."""
        if not self.results.exists():
            return [], []
        found = json.loads(self.results.read_text())
        return [tuple(part) for part in found["times"]], found["summaries"]


def record(name, parts):
    """Leaves what a lane has to tell for the process that started it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {"times": parts.times, "summaries": parts.summaries}
    (FOLDER / f"{name}.json").write_text(json.dumps(found))


def run_lanes(names, parts, at_once):
    """Runs lanes in their order, so many side by side; the next one begins when one has ended.

    Raises a failure when one fails: no other begins then, and what it printed comes last, after those beside it have
    ended.
    """
    lanes, running, waiting = [], [], list(names)
    Processes.handle_signals(Processes.interrupted)
    print(f"Running {', '.join(names)}, {at_once} at a time …", flush=True)
    try:
        while running or waiting:
            while waiting and len(running) < at_once:
                lanes.append(Lane(waiting.pop(0)))
                running.append(lanes[-1])
            for lane in [lane for lane in running if lane.popen.poll() is not None]:
                running.remove(lane)
                if lane.popen.returncode == 0:
                    lane.show()
                else:
                    waiting.clear()
            time.sleep(0.1)
    except (Stopped, KeyboardInterrupt):
        for lane in lanes:
            lane.popen.terminate()
        for lane in lanes:
            lane.popen.wait()
        raise
    failed = [lane for lane in lanes if lane.popen.returncode != 0]
    # The summary of a failure is the last one.
    for lane in sorted(lanes, key=failed.__contains__):
        times, summaries = lane.read()
        parts.times += [(f"{lane.name}: {part}", seconds) for part, seconds in times]
        parts.summaries += summaries
    for lane in failed:
        lane.show()
    if failed:
        raise Failure(f"failed: {', '.join(lane.name for lane in failed)}; their output is above")
