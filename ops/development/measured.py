"""Private servers, the simulator and one role at a time, with their use of the processor."""
import json
import os
import pathlib
import socket
import statistics
import subprocess
import time

from development.ledger import MeasuredLedger
from fleet import ROOT, Failure
from fleet.configuration import PUBLISHER, SIMULATED_APP, Configuration
from fleet.processes import Processes, stat, wait_until
from fleet.requests import exchange
from fleet.system import migrate, simulator_is_ready

# The same options as the image's: the static Swift library needs less memory, and its calls no lookup. The build has a
# folder of its own, because the programs of ops/chaos cannot be built with these options.
SCRATCH = ROOT / ".build" / "static"
OPTIONS = ("-c", "release", "--static-swift-stdlib", "--scratch-path", str(SCRATCH))
PRODUCTS = SCRATCH / "release"
TICKS = os.sysconf("SC_CLK_TCK")


def output(command):
    """Runs a command and returns its output."""
    command = [str(word) for word in command]
    run = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode != 0:
        raise Failure(f"{' '.join(command)} ended with status {run.returncode}: {run.stderr.strip()}")
    return run.stdout


def run_program(*arguments):
    """Runs a part of Tests/Laboratory/Benchmarks and returns its measurements."""
    return json.loads(output([PRODUCTS / "Benchmarks", *arguments]))


def median_of(rows):
    """The median of each column."""
    return [statistics.median(column) for column in zip(*rows)]


def processor_seconds(pid):
    """The processor time that a process has used so far, in seconds."""
    return sum(map(int, stat(pid)[11:13])) / TICKS


def family(pid):
    """A process and its descendants, because a script may have started the server itself."""
    pids = [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*")]
    parents = {child: fields[1] for child in pids if (fields := stat(child))}
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == str(one)]
    return found


def resident_mib(pid, line="VmHWM"):
    """The most memory that a process has had, or its present memory (`VmRSS`)."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(text.split()[1]) for text in file if text.startswith(line)) / 1024


def connections_to(port):
    """The number of established connections to a port of this machine, counted at the clients."""
    remote = f"0100007F:{port:04X}"
    with open("/proc/net/tcp") as file:
        return sum(fields[2] == remote and fields[3] == "01" for fields in map(str.split, file))


def free_ports(count):
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


# One publisher, and few customers, send the whole load of a benchmark.
NO_LIMITS = {f"COUNTERSIGN_GATEWAY_LIMITS_{name}": "1000000" for name in (
    "REGISTRATIONS_PER_SECOND", "CUSTOMER_REGISTRATIONS_PER_SECOND", "OPEN_PER_CUSTOMER", "OPEN_PER_PUBLISHER",
    "READS_PER_SECOND", "CUSTOMER_READS_PER_SECOND")}


class Measured:
    """The servers of a benchmark."""

    def __init__(self, has_doors=False):
        """
        has_doors: whether the publisher has opened the doors; each of them makes events of its own, and no floor does
        """
        self.has_doors = has_doors
        self.processes = Processes(ROOT / ".countersign" / "bench")
        self.filled = 0
        self.configuration = None
        self.running = {}
        self.ledger = None

    def __enter__(self):
        self.processes.__enter__()
        self.processes.forget_servers()
        servers = self.processes.start_servers()
        names = (
            "gateway", *(f"worker {number}" for number in range(1, 9)), "notifier", "console", "simulator", "receiver")
        self.configuration = Configuration(
            self.processes.folder / "config", servers,
            {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(len(names)))})
        self.configuration.write()
        self.write_publishers()
        with open(self.processes.folder / "ports.json") as file:
            self.ports = json.load(file)
        self.ledger = MeasuredLedger(self.processes.folder, self.ports["postgres"])
        migrate(PRODUCTS / "countersign", self.configuration)
        return self

    def new_ledger(self, keeps=False):
        """Lets all roles that start from now on use a new, migrated database.

        It drops the one before, or `keeps` it.
        """
        self.use_ledger(self.ledger.create(keeps))
        migrate(PRODUCTS / "countersign", self.configuration)

    def use_ledger(self, database):
        self.ledger.database = database
        self.configuration.ledger = self.ledger.url
        self.configuration.file.write_text(json.dumps(self.configuration.settings(), indent=2) + "\n")

    def write_publishers(self):
        """Writes nine more publishers without webhooks, because one publisher has at most a thousand endpoints.

        They have no app: each publisher with an app keeps and applies each of its notifications.

        Each registration brings its own customer, so the example's publisher has open customers.
        """
        example = self.configuration.publisher() | {"customers": "open"} | ({} if self.has_doors else {"doors": {}})
        (self.configuration.folder / "publishers" / "example.json").write_text(json.dumps(example, indent=2) + "\n")
        for number in range(1, 10):
            publisher = self.configuration.publisher() | {
                "publisherId": PUBLISHER + number, "webhooks": [], "doors": {}, "apps": [],
                "tokenHashes": [f"{number:064x}"]}
            (self.configuration.folder / "publishers" / f"publisher{number}.json").write_text(json.dumps(publisher))

    def __exit__(self, *details):
        return self.processes.__exit__(*details)

    # -- roles

    def start(self, name, overrides=None):
        """Starts a role of the release build and waits until it is ready."""
        role, listen = name.split()[0], self.configuration.listen[name]
        environment = self.configuration.environment(
            {f"COUNTERSIGN_{role.upper()}_LISTEN": listen} | NO_LIMITS | (overrides or {}))
        process = self.processes.start(
            name, [PRODUCTS / "countersign", role, "--config", self.configuration.file], environment)
        wait_until(f"{name} at {listen}", lambda: self.is_ready(name), 60, failed=process.ended)
        self.running[name] = process
        return process

    def simulator(self, latency):
        """Starts the stand-in for Apple, which needs so many seconds for each answer."""
        return self.start("simulator", {"COUNTERSIGN_SIMULATOR_LATENCY_SECONDS": str(latency)})

    def sign_ahead(self, count):
        """Lets the simulator sign the answers for the last jobs of the queue.

        Apple's signing must not count in a benchmark.
        """
        # The transactionId of the number 0 in Backend.job, in Tests/Laboratory/Benchmarks.
        first = 10_010_000_000_000 + self.filled - count
        app = SIMULATED_APP["bundleId"]
        output(["curl", "--silent", "--show-error", "--fail", "--http2", "--noproxy", "*", "--cacert",
                self.configuration.tls_authority, "--request", "PUT",
                f"https://{self.configuration.listen['simulator']}"
                f"/simulator/signed/production/transactions/{app}/{first}/{count}"])

    def stop(self, process):
        self.processes.stop([process])

    def is_ready(self, name):
        if name == "simulator":
            return simulator_is_ready(self.configuration)
        return self.get(name, "/readyz")[0] == 200

    def get(self, name, path):
        """The status and the text of a process's answer; status 0 without one."""
        return exchange(self.configuration.listen[name], "GET", path, timeout=5)[:2]

    def metric(self, name, start):
        """The sum of a metric's samples whose line starts with a text."""
        lines = self.get(name, "/metrics")[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start))

    # -- benchmarks

    def processor_seconds(self, process):
        return processor_seconds(process.pid)

    def resident_now(self, process):
        return resident_mib(process.pid, "VmRSS")

    def arguments(self, name):
        return [name, "--rabbitmq", self.ports["rabbitmq"], "--redis", self.ports["redis"], "--ledger",
                self.ledger.url]

    def benchmark(self, name, *arguments):
        return run_program(*self.arguments(name), *arguments)

    def gateway_arguments(self):
        return ["--gateway", self.configuration.listen["gateway"].rpartition(":")[2],
                "--token", self.configuration.publisher_token]

    def numbers(self, count):
        """Reserves so many numbers that no job has had; returns the first one."""
        first, self.filled = self.filled, self.filled + count
        return first

    def declare(self):
        """Starts and stops a worker, which declares the queues that the benchmarks use."""
        self.stop(self.start("worker 1"))

    def fill(self, count, *arguments, progress=False, concurrency=500, first=None):
        """Puts jobs into the queue as a gateway does; returns the measurements.

        `first` is the number of the first job, by default one that no job has had.
        """
        part = 100_000 if progress else count
        for done in range(0, count, part):
            result = self.benchmark(
                "fill", "--count", min(part, count - done), "--from",
                self.numbers(part) if first is None else first + done, "--concurrency", concurrency, *arguments)
            if progress:
                print(f"  {min(done + part, count):,} of {count:,} queued, {result['perSecond']:,.0f}/s", flush=True)
        return result

    def empty(self):
        """Deletes the queued jobs, their records in Redis, and all rows of the ledger."""
        self.benchmark("delete")
        self.ledger.empty()
        self.declare()

    def start_filling(self, count, rate):
        """Starts a process that puts jobs into the queue at a steady rate."""
        command = [PRODUCTS / "Benchmarks", *self.arguments("fill"), "--count", count, "--from", self.numbers(count),
                   "--rate", rate]
        return self.processes.start("load", command).popen

    def register(self, count, *arguments, connections=256):
        """Registers purchases over HTTP. Each connection must send a request at least every ten seconds."""
        return self.benchmark(
            "register", "--count", count, "--from", self.numbers(count), "--connections", connections,
            *self.gateway_arguments(), *arguments)

    def worker(self, count, overrides, waits_for_all=True, first=0):
        """Lets one worker run so many of the queued jobs."""
        return self.workers(1, count, overrides, waits_for_all, first)

    def workers(self, processes, count, overrides, waits_for_all=True, first=0):
        """Lets workers share so many jobs.

        Without `waits_for_all`, the queue holds more jobs than the benchmark measures. The `first` jobs do not count:
        the work that a process does only once is no job's cost.
        """
        names = [f"worker {number}" for number in range(1, processes + 1)]
        workers = [self.start(name, overrides) for name in names]
        try:
            wait_until("the first jobs have their events", lambda: self.told(names) >= first, 60,
                       failed=workers[0].ended, every=0.1)
            # The start is no job's cost. The few jobs that ran meanwhile do not count either.
            start, used, done = time.monotonic(), sum(map(self.processor_seconds, workers)), self.told(names)
            ledger = self.ledger.written()
            others = self.others()
            most = {"mostInFlight": 0, "mostConnections": 0}
            port = int(self.configuration.listen["simulator"].rpartition(":")[2])

            def is_done():
                most["mostInFlight"] = max(most["mostInFlight"], self.sum(names, "countersign_jobs_in_flight"))
                most["mostConnections"] = max(most["mostConnections"], connections_to(port))
                return self.told(names) - (0 if waits_for_all else done) >= count

            # Not too often, because a worker also spends time on printing its metrics.
            wait_until("every job has its event", is_done, 900, failed=workers[0].ended, every=0.1)
            seconds, left = time.monotonic() - start, self.told(names) - done
            used = sum(map(self.processor_seconds, workers)) - used
            others = {name: (now - others[name]) / left * 1e6 for name, now in self.others().items()}
            # Counted over all jobs: a job's events are told before it counts.
            events = self.sum(names, "countersign_events_published_total") / (done + left)
            figures = {"jobs": left, "events": events, "perSecond": left / seconds,
                       "processorMicroseconds": used / left * 1e6,
                       "residentMiB": max(resident_mib(worker.pid) for worker in workers),
                       "calls": self.sum(names, "countersign_apple_call_duration_seconds_count") / (done + left)}
            return others | self.ledger.written_since(ledger, left) | figures | most
        finally:
            self.processes.stop(workers)

    def others(self):
        """The processor time of the servers and of the simulator."""
        pids = {name: int((self.processes.folder / f"{name}.pid").read_text()) for name in ("rabbitmq", "redis")}
        return {name: sum(map(processor_seconds, family(pid))) for name, pid in
                (pids | {"simulator": self.running["simulator"].pid}).items()} | {"postgres": self.ledger_seconds()}

    def ledger_seconds(self):
        """The processor time of all processes of PostgreSQL, those that have ended too."""
        first, *rest = family(self.ledger.pid())
        return sum(map(int, stat(first)[11:15])) / TICKS + sum(map(processor_seconds, rest))

    def floor(self, jobs, prefetch, first=0):
        """Runs so many of the queued jobs without Apple and without cryptography, after `first` that do not count."""
        arguments = [PRODUCTS / "Benchmarks", *self.arguments("floor"), "--count", jobs, "--first", first, "--prefetch",
                     prefetch]
        with subprocess.Popen(
                [str(word) for word in arguments], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                text=True) as program:
            marks, result = [], ""
            for line in program.stdout:
                if line.strip() == "begin":
                    ledger = self.ledger.written()
                    marks.append(self.ledger_seconds())
                elif line.strip() == "end":
                    marks.append(self.ledger_seconds())
                    written = self.ledger.written_since(ledger, jobs)
                else:
                    result = line
        if program.returncode != 0:
            raise Failure(f"the floor ended with status {program.returncode}; its message is above")
        return json.loads(result) | {"postgres": (marks[1] - marks[0]) / jobs * 1e6} | written

    def bursts(self, rounds, overrides):
        """Gives one worker a thousand jobs again and again; returns the CPU of a job, and the memory.

        There are so many rounds, after a first one that does not count.
        """
        worker = self.start("worker 1", overrides)
        try:
            used = 0
            for number in range(rounds + 1):
                if number == 1:
                    used = self.processor_seconds(worker)
                self.fill(1000)
                wait_until("every job has its event", lambda: self.told() >= (number + 1) * 1000, 60,
                           failed=worker.ended, every=0.1)
            used = self.processor_seconds(worker) - used
            return {"processorMicroseconds": used / rounds / 1000 * 1e6, "residentMiB": resident_mib(worker.pid)}
        finally:
            self.stop(worker)

    def seconds_to_start(self, name, overrides):
        """The seconds from exec until the role is ready; a worker is ready when it consumes."""
        environment = self.configuration.environment(
            {"COUNTERSIGN_WORKER_LISTEN": self.configuration.listen[name]} | overrides)
        start = time.monotonic()
        process = self.processes.start(
            name, [PRODUCTS / "countersign", name.split()[0], "--config", self.configuration.file], environment)
        while not self.is_ready(name):
            if time.monotonic() - start > 30:
                raise Failure(f"{name} is not ready after 30 seconds")
            time.sleep(0.002)
        seconds = time.monotonic() - start
        self.stop(process)
        return seconds

    def told(self, names=("worker 1",)):
        """The jobs whose event the broker has confirmed. A job may have more events than its own."""
        return self.sum(names, "countersign_synchronization_age_seconds_count")

    def sum(self, names, metric):
        return sum(self.metric(name, metric) for name in names)
