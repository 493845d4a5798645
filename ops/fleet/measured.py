"""Private servers, the simulator and one role at a time, with their use of the processor."""
import http.client
import json
import os
import socket
import subprocess
import time

from fleet import ROOT, Failure
from fleet.configuration import Configuration
from fleet.processes import Processes, wait_until
from fleet.system import simulator_is_ready

PRODUCTS = ROOT / ".build" / "release"
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid):
    """What a process has used of the processors so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def free_ports(count):
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Measured:
    """The servers of a benchmark."""

    def __init__(self):
        self.processes = Processes(ROOT / ".countersign" / "bench")
        self.filled = 0
        self.configuration = None
        self.running = {}

    def __enter__(self):
        self.processes.__enter__()
        self.processes.forget_servers()
        servers = self.processes.start_servers()
        names = ("gateway", "worker 1", "worker 2", "notifier", "simulator", "receiver")
        self.configuration = Configuration(
            self.processes.folder / "config", servers, dict(zip(names, free_ports(len(names)))))
        self.configuration.write()
        with open(self.processes.folder / "ports.json") as file:
            self.ports = json.load(file)
        return self

    def __exit__(self, *details):
        return self.processes.__exit__(*details)

    # -- roles

    def start(self, name, overrides=None):
        """Starts a role of the release build and waits until it is ready."""
        role, listen = name.split()[0], self.configuration.listen[name]
        environment = self.configuration.environment({f"COUNTERSIGN_{role.upper()}_LISTEN": listen} | (overrides or {}))
        process = self.processes.start(
            name, [PRODUCTS / "countersign", role, "--config", self.configuration.file], environment)
        wait_until(f"{name} at {listen}", lambda: self.is_ready(name), 60, failed=process.ended)
        return process

    def stop(self, process):
        self.processes.stop([process])

    def is_ready(self, name):
        if name == "simulator":
            return simulator_is_ready(self.configuration)
        return self.get(name, "/readyz")[0] == 200

    def get(self, name, path):
        host, _, port = self.configuration.listen[name].rpartition(":")
        link = http.client.HTTPConnection(host, int(port), timeout=5)
        try:
            link.request("GET", path)
            answer = link.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            link.close()

    def metric(self, name, start):
        """The sum of a metric's samples whose line starts so."""
        lines = self.get(name, "/metrics")[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start))

    # -- benchmarks

    def benchmark(self, name, *arguments):
        command = [PRODUCTS / "Benchmarks", name, "--rabbitmq", self.ports["rabbitmq"], "--redis", self.ports["redis"],
                   *arguments]
        run = subprocess.run([str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                             text=True)
        if run.returncode != 0:
            raise Failure(f"{name} ended with status {run.returncode}: {run.stderr.strip()}")
        return json.loads(run.stdout)

    def declare(self):
        """A role declares the queues that the benchmarks use."""
        self.stop(self.start("worker 1"))

    def fill(self, count):
        """Puts jobs into the queue as a gateway would, and says what that took."""
        result = self.benchmark("fill", "--count", count, "--from", self.filled)
        self.filled += count
        return result

    def worker(self, count, overrides):
        """Lets one worker run what is in the queue."""
        worker = self.start("worker 1", overrides)
        try:
            # Start-up is not a job's cost; the first few jobs that ran meanwhile are counted out as well.
            start, used, done = time.monotonic(), processor_seconds(worker.pid), self.told()
            left = count - done
            wait_until("every job has its event", lambda: self.told() >= count, 600, failed=worker.ended)
            seconds = time.monotonic() - start
            used = processor_seconds(worker.pid) - used
            return {"jobs": left, "perSecond": left / seconds, "processorMicroseconds": used / left * 1e6,
                    "residentMiB": resident_mib(worker.pid),
                    "calls": self.metric("worker 1", "countersign_apple_call_duration_seconds_count") / count}
        finally:
            self.stop(worker)

    def told(self):
        return self.metric("worker 1", "countersign_events_published_total")
