"""Draws the pictures of docs/operate/dashboards.md: a fleet under load, in which one part after the other breaks.

    PYTHONPATH=ops python3 -B -m development.grafana.pictures

It takes a quarter of an hour, and starts a fleet of its own. `--last` draws the samples of the last run again.
"""
import argparse
import json
import os
import re
import signal
import sys
import threading
import time

from development.grafana.catalog import DASHBOARDS
from development.grafana.drawing import Drawing
from development.grafana.evaluation import filled_in, jobs_of, scrape
from development.grafana.load import HEALTHY, Load
from development.grafana.prometheus import Prometheus, Recording
from fleet import ROOT, Failure
from fleet.processes import Processes
from fleet.run import put_customer
from fleet.system import System

FOLDER = ROOT / "docs" / "operate" / "dashboards"
INTERVAL = 10
SECONDS = 840
# Besides healthy purchases, those that a real shop has: refunded, unknown, of another app, and failures that pass.
SCENARIOS = HEALTHY * 6 + (102, 102, 104, 120, 130, 131, 143)
BURST = 2500


class Story:
    """What breaks, and when. Each part begins a fault, and ends it."""

    def __init__(self, system, load):
        self.system, self.load = system, load
        self.faults = [
            (90, 130, "a burst of registrations", self.burst, None),
            (210, 270, "Apple hangs", lambda: self.signal("simulator", signal.SIGSTOP),
             lambda: self.signal("simulator", signal.SIGCONT)),
            (390, 430, "Redis is killed", lambda: self.servers("kill", "redis"),
             lambda: self.servers("start", "redis")),
            (520, 580, "a worker is killed", lambda: self.kill("worker 2"), lambda: self.system.role("worker 2")),
            (670, 730, "an endpoint is away", lambda: self.kill("receiver"), self.system.receiver)]
        # What people do meanwhile, which breaks nothing.
        self.acts = [
            (150, lambda: load.give_sandbox_access(range(6), seconds=3600)),
            (160, lambda: load.grant(range(12, 18), seconds=160)),
            (170, lambda: load.give_sandbox_access(range(6, 12), seconds=150)),
            (290, lambda: load.import_purchases(1500)),
            (300, lambda: load.withdraw_sandbox_access(range(6)))]

    def process(self, name):
        return [each for each in self.system.processes.all if each.name == name][-1]

    def signal(self, name, number):
        os.kill(self.process(name).pid, number)

    def kill(self, name):
        process = self.process(name)
        process.popen.kill()
        process.popen.wait()
        process.reported = True

    def servers(self, verb, name):
        self.system.processes.tell_servers(verb, name)

    def burst(self):
        """More registrations than Apple's budget allows, from several clients at once."""
        def send(part):
            for number in range(part, BURST, 6):
                self.load.register(f"100{self.load.first:09}8{number:05}", number % 50)
        for part in range(6):
            threading.Thread(target=send, args=(part,), daemon=True).start()


def record(system):
    """Samples of a fleet, and its faults with their times."""
    with Load(system, scenarios=SCENARIOS, customers=600) as load:
        # The first purchases are slow, since everything is new.
        time.sleep(20)
        story = Story(system, load)
        recording = Recording(time.time())
        due = sorted([(begin, start) for begin, _, _, start, _ in story.faults]
                     + [(end, stop) for _, end, _, _, stop in story.faults if stop]
                     + story.acts, key=lambda each: each[0])
        for number in range(SECONDS // INTERVAL + 1):
            at = recording.begin + number * INTERVAL
            while due and recording.begin + due[0][0] <= at:
                due.pop(0)[1]()
            time.sleep(max(0, at - time.time()))
            recording.take(scrape(system), at)
            print(f"  {number * INTERVAL} of {SECONDS} seconds", end="\r", flush=True)
    return recording, [(recording.begin + begin, recording.begin + end, what)
                       for begin, end, what, _, _ in story.faults]


def draw(prometheus, faults):
    recording = prometheus.recording
    FOLDER.mkdir(exist_ok=True)
    for dashboard in DASHBOARDS:
        jobs = jobs_of(dashboard, prometheus, recording.end)

        def answer(query):
            expression = filled_in(query.expr.replace("@", dashboard.labels), jobs)
            found = prometheus.range(expression, recording.begin, recording.end, INTERVAL)
            return [(legend(query, labels), values) for labels, values in found]

        picture = Drawing(recording.begin, recording.end, faults).draw(dashboard, answer)
        (FOLDER / f"{dashboard.name}.svg").write_text(named(picture, prometheus))


def legend(query, labels):
    return re.sub(r"{{(\w+)}}", lambda found: labels.get(found[1], ""), query.legend) or "value"


def named(picture, prometheus):
    """The picture with names in place of addresses, which mean nothing to a reader."""
    labels = [labels for labels, _ in prometheus.now("group by (job, instance) (up)", prometheus.recording.end)]
    for job in sorted({each["job"] for each in labels}):
        addresses = sorted(each["instance"] for each in labels if each["job"] == job)
        for number, address in enumerate(addresses, 1):
            picture = picture.replace(address, f"{job} {number}" if len(addresses) > 1 else job)
    return picture


def main():
    parser = argparse.ArgumentParser(description="Draws the pictures of docs/operate/dashboards.md.")
    parser.add_argument("--last", action="store_true", help="draw the samples of the last run again")
    options = parser.parse_args()
    with Processes(ROOT / ".countersign" / "dashboards") as processes:
        kept = processes.folder / "recording.json"
        if not options.last:
            system = System(processes)
            try:
                system.start()
                put_customer(system.configuration)
                recording, faults = record(system)
            finally:
                system.stop()
                system.forget()
            kept.write_text(json.dumps([recording.begin, recording.end, recording.lines, faults]))
        begin, end, lines, faults = json.loads(kept.read_text())
        recording = Recording(begin)
        recording.end, recording.lines = end, lines
        with Prometheus(processes, recording, lookback=INTERVAL * 2) as prometheus:
            draw(prometheus, faults)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"\npictures: {failure}")
