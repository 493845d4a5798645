"""What trials break, mend and look at."""
import contextlib
import itertools
import json
import re
import subprocess
import threading
import time

from development.alerts import RUNBOOKS
from fleet import COUNTERSIGN, Failure
from fleet.processes import wait_until
from fleet.servers import Servers

SCRAPE = 2
SECONDS = 150


class Stage:
    """A running fleet with its Prometheus. It notes what each trial has seen."""

    def __init__(self, system, prometheus, load):
        self.system, self.prometheus, self.load = system, prometheus, load
        self.configuration = system.configuration
        self.rows = []
        # What a trial has seen: alerts, and what the operator sees.
        self.fired, self.seen = [], []
        self.numbers = itertools.count(1)

    # -- breaking and mending

    def servers(self, verb, *names):
        self.system.processes.tell_servers(verb, *names)

    def rabbitmqctl(self, *words):
        return Servers(self.system.folder).broker().control(*words)

    def process(self, name):
        return [each for each in self.system.processes.all if each.name == name][-1]

    def kill(self, *names):
        for name in names:
            process = self.process(name)
            process.popen.kill()
            process.popen.wait()
            process.reported = True

    def start(self, *names):
        for name in names:
            role = self.system.role(name)
            if name != "simulator":
                self.system.wait(role, lambda name=name: self.system.answers(name, "/livez"))

    def restart(self, *names):
        """Stops roles properly, and starts them again."""
        for name in names:
            self.system.processes.stop([self.process(name)])
            self.process(name).reported = True
        self.start(*names)

    @contextlib.contextmanager
    def variables(self, variables, *names):
        """Roles with other settings, for a time."""
        self.system.variables |= {name: variables for name in names}
        try:
            self.restart(*names)
            yield
        finally:
            for name in names:
                del self.system.variables[name]
            self.restart(*names)

    @contextlib.contextmanager
    def kept_running(self, *names):
        """Starts roles again that die, as a supervisor does."""
        is_over = threading.Event()

        def look():
            while not is_over.wait(0.1):
                for name in names:
                    if self.process(name).popen.poll() is not None:
                        self.process(name).reported = True
                        self.system.role(name)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def redis(self, *words):
        subprocess.run(["redis-cli", "-u", self.configuration.redis, *words], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, check=True)

    def sql(self, text):
        """What psql prints for a statement."""
        run = subprocess.run(["psql", "-XAt", "-v", "ON_ERROR_STOP=1", "-c", text, self.configuration.ledger],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if run.returncode != 0:
            raise Failure(f"psql: {run.stderr.strip()}\n  to {text}")
        return run.stdout.strip()

    def publish(self, queue, body, count=1):
        """Publishes texts to a queue, each a message."""
        subprocess.run(["amqp-publish", f"--url={self.configuration.rabbitmq}", "--exchange=",
                        f"--routing-key={queue}", "--line-buffered"], input=f"{body}\n" * count, text=True, check=True)

    def simulator(self, method, path, body=""):
        """What the simulator answers. It speaks HTTP/2 only."""
        run = subprocess.run(
            ["curl", "--silent", "--show-error", "--fail-with-body", "--noproxy", "*", "--max-time", "10", "--cacert",
             self.configuration.tls_authority, "--request", method, *(["--data-binary", "@-"] if body else []),
             f"https://{self.configuration.listen['simulator']}/simulator/{path}"],
            input=body, capture_output=True, text=True)
        if run.returncode != 0:
            raise Failure(f"{method} {path} at the simulator: {run.stderr.strip()} {run.stdout}")
        return run.stdout.strip()

    def transaction(self, scenario):
        """The id of a new purchase of a scenario of the simulator."""
        return f"{scenario}{self.load.first:09}7{next(self.numbers):05}"

    def register(self, scenario, count=1):
        for _ in range(count):
            transaction = self.transaction(scenario)
            self.load.register(transaction, int(transaction) % self.load.customers)

    def register_at_once(self, scenario, count, threads=8):
        """Registers so many on each of several threads, so that the first job still runs when the last one comes."""
        running = [threading.Thread(target=self.register, args=(scenario, count)) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    def registered(self, transaction, customer=0):
        """Registers a purchase, and waits until its customer has it."""
        self.load.register(transaction, customer)
        wait_until(f"the purchase {transaction}", lambda: self.load.ask("GET", f"/purchases/{transaction}")[0] == 200,
                   SECONDS, every=0.5)
        return transaction

    def life(self, number, **terms):
        """A purchase of the simulator's with a life of its own, which a customer has registered; returns its id."""
        life = f"901{self.load.first:09}{number:04}"
        self.simulator("PUT", f"lives/{life}", json.dumps({"periodSeconds": 3600, "quiet": True} | terms))
        return self.registered(life)

    def endpoint(self, url):
        """The id of a new webhook endpoint."""
        status, text = self.load.ask("POST", "/3.1/webhook_endpoints", {"url": url})
        if status != 201:
            raise Failure(f"a new webhook endpoint was answered {status} {text}")
        return json.loads(text)["id"]

    @contextlib.contextmanager
    def busy(self, work, threads):
        """Does something again and again, on several threads."""
        is_over = threading.Event()

        def go():
            while not is_over.is_set():
                work()

        running = [threading.Thread(target=go, daemon=True) for _ in range(threads)]
        for thread in running:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            for thread in running:
                thread.join()

    @contextlib.contextmanager
    def file(self, path, change):
        """Another content of a file, for a time."""
        before = path.read_text()
        path.write_text(change(before))
        try:
            yield
        finally:
            path.write_text(before)

    @contextlib.contextmanager
    def broken(self, begin, end):
        begin()
        try:
            yield
        finally:
            end()

    # -- looking

    def firing(self, alert):
        return self.prometheus.now(f'ALERTS{{alertname="Countersign{alert}",alertstate="firing"}}')

    def fires(self, *alerts, seconds=SECONDS):
        for alert in alerts:
            begin = time.monotonic()
            wait_until(f"the alert {alert}", lambda alert=alert: self.firing(alert), seconds, every=0.5)
            self.fired.append(f"`{alert}`")
            print(f"    {alert} fires after {time.monotonic() - begin:.0f} s", flush=True)

    def ends(self, *alerts, seconds=SECONDS):
        for alert in alerts:
            wait_until(f"the end of the alert {alert}", lambda alert=alert: not self.firing(alert), seconds, every=0.5)
            print(f"    {alert} has ended", flush=True)

    @staticmethod
    def processes(role):
        return ["worker 1", "worker 2"] if role == "worker" else [role]

    def note(self, what):
        self.seen.append(what)
        print(f"    {what}", flush=True)

    def ready(self, role, pattern):
        """What /readyz of one of the processes says."""
        def look():
            texts = [self.system.get(name, "/readyz?verbose")[1] for name in self.processes(role)]
            return next(filter(None, (re.search(pattern, text) for text in texts)), None)
        found = wait_until(f"{pattern} in /readyz of the {role}", look, SECONDS, every=0.5)
        self.note(f"`/readyz` of a {role}: `{found[0]}`")

    def logs(self, role, event):
        """What one of the processes has logged since the trial began; returns the line."""
        paths = [self.system.folder / f"{name.replace(' ', '-')}.log" for name in self.processes(role)]

        def look():
            lines = (line for path in paths for line in path.read_bytes()[self.marks.get(path, 0):].splitlines())
            return next((line for line in lines if event.encode() in line), None)
        line = wait_until(f"{event} in the log of the {role}", look, SECONDS, every=0.5)
        self.note(f"log of a {role}: `{event}`")
        return line.decode(errors="replace")

    def lists(self, page, role):
        """Runs the `jq` of a runbook on what a role has logged since the trial began: it lists what was slow."""
        program = re.search(r"jq -cR '([^']+)'", (RUNBOOKS / page).read_text())[1]
        paths = [self.system.folder / f"{name.replace(' ', '-')}.log" for name in self.processes(role)]

        def look():
            text = b"".join(path.read_bytes()[self.marks.get(path, 0):] for path in paths)
            run = subprocess.run(["jq", "-cR", program], input=text, capture_output=True, check=True)
            found = [json.loads(line) for line in run.stdout.splitlines()]
            return next((line for line in found if line["synchronizationId"] and line["traceId"]), None)
        print(f"    {wait_until(f'a line of the jq of {page}', look, SECONDS, every=0.5)}", flush=True)
        self.note(f"the `jq` of `{page}` prints a `synchronizationId` with its `traceId`")

    def metric(self, query, is_so, what):
        """Waits until a number of Prometheus is as the runbook says."""
        wait_until(f"{query} {what}", lambda: any(is_so(value) for _, value in self.prometheus.now(query)), SECONDS,
                   every=0.5)
        self.note(f"`{query}` {what}")

    def command(self, *words):
        """What a command of Countersign prints."""
        run = subprocess.run(
            [COUNTERSIGN, *words, "--config", self.configuration.file], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, env=self.configuration.environment({}))
        return run.stdout + run.stderr

    def says(self, words, pattern):
        """Waits until a command of Countersign prints something."""
        found = wait_until(f"{pattern} of countersign {words}",
                           lambda: re.search(pattern, self.command(*words.split()), re.DOTALL), SECONDS, every=0.5)
        self.note(f"`countersign {words}`: `{found[0]}`" if found[0] else f"`countersign {words}` prints nothing")
        return found

    # -- all of them

    def play(self, trials):
        for trial in trials:
            print(f"  {trial.__name__}: {trial.__doc__} …", flush=True)
            self.fired, self.seen = [], []
            self.marks = {log: log.stat().st_size for log in self.system.folder.glob("*.log")}
            try:
                trial(self)
            except (Failure, subprocess.CalledProcessError) as failure:
                self.seen.append(f"**not as the page says**: {failure}")
                print(f"    {failure}", flush=True)
            self.rows.append(f"| {trial.__doc__} | {', '.join(self.fired)} | {'; '.join(self.seen)} |")
            print(f"  {self.rows[-1]}", flush=True)
