"""Lets the workers of the chart grow and shrink as KEDA would: by the chart's query, on the metrics of real workers."""
import json
import math
import pathlib
import re
import subprocess
import tempfile
import threading
import time

from development.charts import promtool
from development.pods import Pods
from fleet import Failure

LEAST, MOST = 1, 4
# Seconds between two samples, as Prometheus counts them here. The test takes them faster.
INTERVAL = 15
# The autoscaler changes nothing while the need differs from the number by less.
TOLERANCE = 0.1
SECONDS = 180
# Six jobs of one publisher run at once in a worker, and Apple takes three seconds for each.
CONCURRENCY = 6
SLOW = 133
# So many registrations are open: more than four workers can take, and then few enough for one.
MANY, FEW = 40, 2


class Samples:
    """What Prometheus would have of some workers: a series for each metric and worker."""

    def __init__(self, query):
        self.query = query
        self.metrics = set(re.findall(r"countersign_\w+", query))
        self.series = {}
        self.count = 0

    def take(self, texts):
        """Notes what /metrics of each worker says now; a worker that is gone has no sample."""
        found = {}
        for worker, text in texts.items():
            for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
                if name in self.metrics:
                    own = f'namespace="shop",job="worker",instance="{worker}"'
                    found[f"{name}{{{own}{',' + labels if labels else ''}}}"] = value
        for key in found.keys() - self.series.keys():
            self.series[key] = ["_"] * self.count
        for key, values in self.series.items():
            values.append(found.get(key, "stale"))
        self.count += 1

    def answer(self):
        """What the query says now; `None` if it says nothing."""
        test = {"evaluation_interval": f"{INTERVAL}s", "rule_files": [], "tests": [{
            "interval": f"{INTERVAL}s",
            "input_series": [{"series": key, "values": " ".join(values)} for key, values in self.series.items()],
            # It is never so, and promtool prints what it got instead.
            "promql_expr_test": [{
                "expr": self.query, "eval_time": f"{INTERVAL * (self.count - 1)}s",
                "exp_samples": [{"labels": "{}", "value": -1}]}]}]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "test.yml"
            path.write_text(json.dumps(test))  # JSON is YAML
            run = subprocess.run([promtool(), "test", "rules", path], capture_output=True, text=True)
        return got(run.stdout + run.stderr)


def got(text):
    """The value that promtool got."""
    found = re.search(r"got:\s*(?:\{\} (\S+)|nil)", text)
    if not found:
        raise Failure(f"promtool said something else:\n{text}")
    return float(found[1]) if found[1] else None


def replicas(need, now):
    """How many workers the autoscaler wants: at most twice as many, and one less at a time."""
    if need is None or abs(need / now - 1) <= TOLERANCE:
        return now
    wanted = min(MOST, max(LEAST, math.ceil(need)))
    return min(wanted, 2 * now) if wanted > now else now - 1 if wanted < now else now


class Buyers:
    """Keeps a number of registrations open, each of its own customer and transaction."""

    def __init__(self, pods, most):
        self.pods, self.most = pods, most
        self.open, self.done = set(), set()
        self.number = 0
        self.failure = None
        self.goes_on = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while self.goes_on or self.open:
                while self.goes_on and len(self.open) < self.most:
                    self.register()
                for path in list(self.open):
                    status, text = self.pods.ask("gateway", "GET", path)
                    if status == 200 and '"status":"finalized"' in text:
                        if "PURCHASE_SYNCHRONIZED" not in text:
                            raise Failure(f"{path} ended with {text}")
                        self.open.remove(path)
                        self.done.add(path)
                time.sleep(0.1)
        except Failure as failure:
            self.failure = failure

    def register(self):
        self.number += 1
        self.open.add(self.pods.register(f"scaling-{self.number}", f"{SLOW}{self.number:09}"))


def scale(system):
    """Grows from one worker to four, and back, with no job lost."""
    pods = Pods(system, {"worker": {"concurrency": CONCURRENCY}})
    pods.prepare()
    for role in ("gateway", "worker", "notifier"):
        pods.start(role)
    samples = Samples(pods.query)
    workers, ending, most_in_hand = ["worker"], [], 0

    def look():
        texts = {name: pods.ask(name, "GET", "/metrics")[1] for name in workers + ending}
        samples.take({name: text for name, text in texts.items() if "countersign_job_slots" in text})
        wanted = replicas(samples.answer(), len(workers))
        for _ in range(wanted - len(workers)):
            name = f"worker {samples.count}-{len(workers)}"
            pods.start(name)
            workers.append(name)
        for _ in range(len(workers) - wanted):
            ending.append(workers.pop(0))
            pods.pods[ending[-1]]["process"].popen.terminate()

    def until(count, buyers):
        end = time.monotonic() + SECONDS
        while len(workers) != count:
            if time.monotonic() > end:
                raise Failure(f"after {SECONDS} seconds there are {len(workers)} workers instead of {count}; the query "
                              f"says {samples.answer()}")
            if buyers.failure:
                raise buyers.failure
            look()
            time.sleep(0.5)

    buyers = Buyers(pods, MANY)
    until(MOST, buyers)
    print(f"  {MOST} workers after {len(buyers.done)} purchases", flush=True)
    buyers.most = FEW
    until(LEAST, buyers)
    print(f"  {LEAST} worker after {len(buyers.done)} purchases", flush=True)
    buyers.goes_on = False
    buyers.thread.join(SECONDS)
    if buyers.failure or buyers.open:
        raise buyers.failure or Failure(f"{len(buyers.open)} registrations are not finalized")
    for name in ending:
        pods.end(name, is_told=True)
    for name in ("gateway", "notifier", *workers):
        pods.end(name)
    pods.remove()
