"""A Prometheus on this machine: with samples that were taken before, or with those that it takes of a fleet itself."""
import json
import math
import re
import shutil
import subprocess
import urllib.parse

from development.charts import prometheus_tool
from fleet import Failure
from fleet.processes import wait_until
from fleet.requests import exchange
from fleet.system import free_ports

# How long it may take to start, and to answer.
SECONDS = 120
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class Recording:
    """Samples of a fleet's processes, each with its time."""

    def __init__(self, begin):
        """
        begin: the time of the first sample, in seconds
        """
        self.begin = self.end = begin
        self.lines = []
        # The names of the series that some process has told.
        self.names = {"up"}

    def take(self, targets, now):
        """Notes what each process says.

        targets: for each process its `job`, its `instance`, and the text of /metrics; `None` if it did not answer
        """
        self.end = now
        for job, instance, text in targets:
            own = f'job="{job}",instance="{instance}"'
            self.lines.append(f"up{{{own}}} {0 if text is None else 1} {now:.3f}")
            for name, labels, value in SAMPLE.findall(text or ""):
                self.names.add(name)
                self.lines.append(f"{name}{{{own}{',' + labels if labels else ''}}} {value} {now:.3f}")

    def write_blocks(self, folder):
        """Writes the samples as a database of Prometheus."""
        file = folder / "samples.txt"
        file.write_text("\n".join([*self.lines, "# EOF\n"]))
        run = subprocess.run(
            [prometheus_tool("promtool"), "tsdb", "create-blocks-from", "openmetrics", file, folder / "data"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            raise Failure(f"promtool could not read what the fleet told:\n{run.stdout[-2000:]}")


class Prometheus:
    """Use it with `with`."""

    def __init__(self, processes, recording=None, settings=None, lookback=300):
        """
        recording: samples that it has from the start
        settings: its configuration file, as a dictionary: what it scrapes, and its rules
        lookback: for how many seconds a sample counts when no newer one comes
        """
        self.processes, self.recording, self.settings = processes, recording, settings or {"scrape_configs": []}
        self.folder = processes.folder / "prometheus"
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        self.lookback = lookback

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if self.recording:
            self.recording.write_blocks(self.folder)
        # JSON is YAML.
        (self.folder / "prometheus.yml").write_text(json.dumps(self.settings))
        self.process = self.processes.start("prometheus", [
            prometheus_tool("prometheus"), f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'data'}", "--storage.tsdb.retention.time=10y",
            f"--query.lookback-delta={self.lookback}s", f"--web.listen-address={self.address}", "--log.level=warn"])
        wait_until("Prometheus", lambda: self.get("/-/ready")[0] == 200, SECONDS, failed=self.process.ended)
        return self

    def __exit__(self, *_):
        self.processes.stop([self.process])
        shutil.rmtree(self.folder, ignore_errors=True)

    def get(self, path):
        return exchange(self.address, "GET", path, timeout=SECONDS)[:2]

    def ask(self, path, **fields):
        status, text = self.get(f"/api/v1/{path}?{urllib.parse.urlencode(fields)}")
        answer = json.loads(text) if text.startswith("{") else {}
        if answer.get("status") != "success":
            raise Failure(f"Prometheus answered {status} {answer.get('error', text)}\n  to {fields.get('query')}")
        return answer["data"]["result"]

    def range(self, query, begin, end, step):
        """The series of a query: the labels, and pairs of a time and a finite number."""
        found = self.ask("query_range", query=query, start=begin, end=end, step=step)
        series = [(each["metric"], [(float(time), float(value)) for time, value in each["values"]
                                    if math.isfinite(float(value))]) for each in found]
        return [(labels, values) for labels, values in series if values]

    def now(self, query, time=None):
        """The labels and the numbers of a query, now or at a time."""
        found = self.ask("query", query=query, **({} if time is None else {"time": time}))
        return [(each["metric"], float(each["value"][1])) for each in found]


def scraping(system, roles, seconds, rules=()):
    """Settings of a Prometheus that asks the processes of a system itself, each by its address."""
    jobs = {}
    for name in roles:
        jobs.setdefault(name.split()[0], []).append(system.configuration.listen[name])
    return {"global": {"scrape_interval": f"{seconds}s", "scrape_timeout": f"{seconds}s",
                       "evaluation_interval": f"{seconds}s"},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [{"job_name": job, "static_configs": [{"targets": addresses}]}
                               for job, addresses in jobs.items()]}
