"""Moves a fleet to a newer RabbitMQ as docs/operate/upgrade.md says: *With a new RabbitMQ*, steps 1 to 5, under load.

    PYTHONPATH=ops python3 -B -m development.broker_move [SET]

The old RabbitMQ is the machine's. The new one is that of SET, debian13 by default, which `ops/test --servers SET`
fetches. Clients keep registering: those whom no gateway answers try again with the same Correlation-Id. When the fleet
stops, jobs wait after an error of Apple's, and webhooks wait because the receiver is away. At the end each registration
has one event, one owner and its webhook. It builds nothing.
"""
import itertools
import json
import os
import subprocess
import sys
import threading
import time

from fleet import ROOT, Failure
from fleet.check import lines
from fleet.configuration import PUBLISHER, Configuration
from fleet.postgres import Postgres
from fleet.processes import Processes, wait_until
from fleet.requests import exchange
from fleet.servers import Servers
from fleet.sets import VARIABLE, ServerSet
from fleet.system import Step, System

TOPICS = ("inappPurchaseSyncResult", "entitlementsChanged")
# Those that must be empty before workers and notifiers stop.
EMPTIED = [f"countersign.{name}" for name in ("jobs", "jobs.bulk", "notifier", "notifications")]
# Purchases that Apple answers at once, and after one error.
ACTIVE, FAILING_ONCE = "100", "131"
# How long a job and a delivery wait in a delay queue, so that some wait when the fleet stops.
WAIT = 30
CLIENTS = 3
PAUSE = 0.1
ENOUGH = 60
SECONDS = 180


class MovedConfiguration(Configuration):
    def settings(self):
        found = super().settings()
        found["worker"] |= {"retryScheduleSeconds": [WAIT] * 5, "sweepIntervalSeconds": 1, "sweepAfterSeconds": 5}
        found["notifier"] |= {"retryScheduleSeconds": [WAIT] * 5, "sweepIntervalSeconds": 1, "sweepAfterSeconds": 5}
        found["shutdownGraceSeconds"] = 10
        return found

    def publisher(self):
        return super().publisher() | {"customers": "open"}


class MovedSystem(System):
    settings = MovedConfiguration


class Load:
    """Clients that register purchases, each for a customer of its own, until all are accepted."""

    def __init__(self, configuration):
        self.configuration = configuration
        self.numbers = itertools.count(1)
        # What a gateway has accepted: the synchronization and its customer.
        self.accepted = {}
        self.refused = []
        self.repeated = 0
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.is_over.is_set():
            number = next(self.numbers)
            self.register(number, (FAILING_ONCE if number % 3 == 0 else ACTIVE) + f"{number:013}")
            time.sleep(PAUSE)

    def register(self, number, transaction):
        name, customer = f"move-{number}", str(10_000 + number)
        body = json.dumps({"customerId": customer, "transactionId": transaction})
        headers = {"X-Publisher-Token": self.configuration.publisher_token, "Content-Type": "application/json",
                   "Correlation-Id": name}
        while True:
            status, text, _ = exchange(
                self.configuration.listen["gateway"], "POST", "/storekit2/purchases", body, headers)
            if status == 202:
                self.accepted[name] = customer
                return
            if status not in (0, 503):
                self.refused.append(f"{name}: {status} {text}")
                return
            self.repeated += 1
            time.sleep(PAUSE)

    def go_on(self):
        """Waits until more registrations are accepted."""
        before = len(self.accepted)
        wait_until("registrations to be accepted", lambda: len(self.accepted) > before + ENOUGH, SECONDS)

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


class Move:
    def __init__(self, processes, new_set):
        self.processes, self.new_set = processes, new_set
        self.system = MovedSystem(processes)
        self.new_folder = processes.folder / "new"
        self.files = []

    # -- the servers

    def new_server(self, verb):
        run = subprocess.run(
            [ROOT / "ops" / "servers", verb, self.new_folder, *(["rabbitmq"] if verb == "start" else [])],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, env=os.environ | {VARIABLE: self.new_set})
        if run.returncode != 0:
            raise Failure(f"ops/servers {verb} of the new RabbitMQ failed: {run.stderr.strip()}")
        return dict(line.split("=", 1) for line in run.stdout.splitlines() if "=" in line)

    def queues(self):
        """How many messages each queue of the old RabbitMQ has, with those that a consumer holds."""
        found = Servers(self.processes.folder).nodes["rabbitmq"].queues("name", "messages")
        return {each["name"]: each["messages"] for each in found}

    def waiting(self, names):
        counts = self.queues()
        return sum(counts[name] for name in names)

    # -- the subscriber

    def subscribe(self, name, url):
        """Lets a subscriber declare a queue, bind it and consume from it; returns the queue's name."""
        file = self.processes.folder / f"events-{name}.jsonl"
        file.unlink(missing_ok=True)
        consumer = self.processes.start(f"events of the {name} RabbitMQ", [
            "amqp-consume", f"--url={url}", "--exclusive", "--exchange=countersign.events", "--routing-key=#",
            "awk", "1"], output=file)
        self.files.append(file)
        told = "Server provided queue name: "
        return wait_until(
            f"the subscriber's queue in the {name} RabbitMQ",
            lambda: next((line.removeprefix(told) for line in lines(consumer.log) if line.startswith(told)), None),
            SECONDS, failed=consumer.ended)

    def events(self):
        """The results of each synchronization, and the changes of each customer's access: each body once.

        An event that comes again is the same, and a second change has another version of its customer.
        """
        results, changes = {}, {}
        for line in set(itertools.chain(*map(lines, self.files))):
            event = json.loads(line)
            data = event["data"]
            if event["topic"] == TOPICS[0]:
                results.setdefault(data["synchronizationId"], []).append(data)
            elif event["topic"] == TOPICS[1]:
                changes.setdefault(data["customerId"], []).append(data)
        return results, changes

    def webhooks(self):
        """The ids of the webhooks about each synchronization. An event that comes again has the same id."""
        found = {}
        for line in lines(self.system.received):
            record = json.loads(line)
            if not record["verified"]:
                raise Failure(f"a webhook came with a bad signature: {record['problem']}")
            name = json.loads(record["body"])["data"].get("synchronizationId")
            found.setdefault(name, set()).add(record["headers"]["webhook-id"])
        return found

    # -- the page

    def countersign(self, *words, **more):
        command, environment = self.system.command(
            words[0], [*words, "--config", self.system.configuration.file],
            self.system.configuration.environment(more))
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        if run.returncode != 0:
            raise Failure(f"countersign {' '.join(words)} ended with {run.returncode}: {run.stdout}{run.stderr}")
        return run.stdout

    def stop(self, *names):
        found = [each for each in self.processes.all if each.name in names and each.popen.poll() is None]
        self.processes.stop(found, grace=20)
        for each in found:
            each.reported = True
            if each.name != "receiver" and each.popen.returncode != 0:
                raise Failure(f"{each.name} ended with {each.popen.returncode} after SIGTERM")

    def start(self, *names):
        roles = [self.system.role(name) for name in names]
        for role in roles:
            self.system.wait(role, lambda role=role: self.system.answers(role.name, "/readyz"))

    def play(self):
        self.system.start()
        configuration = self.system.configuration
        old, queue = configuration.rabbitmq, self.subscribe("old", configuration.rabbitmq)
        load = Load(configuration)
        load.go_on()

        with Step("1. the new RabbitMQ, its queues and the subscriber's"):
            new = self.new_server("start")["COUNTERSIGN_RABBITMQ_URL"]
            self.countersign("declare", COUNTERSIGN_RABBITMQ_URL=new)
            self.subscribe("new", new)
        with Step("2. the dead queues", "Looking at"):
            dead = self.countersign("dead", "list", "--kind", "jobs") + self.countersign(
                "dead", "list", "--kind", "deliveries")
            if any('"looked":0' not in line for line in dead.splitlines()):
                raise Failure(f"the dead queues should be empty, but have {dead}")
        # From here on, webhooks wait, and so do the jobs that Apple answered with an error.
        self.stop("receiver")
        load.go_on()
        with Step("3. the gateway's end, and empty queues", "Waiting for"):
            self.stop("gateway")
            wait_until("the queues of work to be empty",
                       lambda: not self.waiting(EMPTIED), SECONDS)
        with Step("4. the end of workers and notifier, and an empty queue of the subscriber", "Waiting for"):
            self.stop("worker 1", "worker 2", "notifier")
            wait_until("the subscriber's queue to be empty", lambda: not self.waiting([queue]), SECONDS)
            counts = self.queues()
            waiting = {kind: sum(count for name, count in counts.items() if f".{kind}.delay." in name)
                       for kind in ("jobs", "notifier")}
            if not all(waiting.values()):
                raise Failure(f"jobs and deliveries should wait in the old delay queues, but {waiting} do")
        configuration.rabbitmq = new
        configuration.file.write_text(json.dumps(configuration.settings(), indent=2) + "\n")
        with Step("5. all roles, with the new address"):
            receiver = self.system.receiver()
            self.system.wait(receiver, lambda: self.system.answers("receiver", "/livez"))
            self.start("gateway", "worker 1", "worker 2", "notifier")
        load.go_on()
        load.end()
        self.judge(load, waiting, old)

    def judge(self, load, waiting, old):
        if load.refused:
            raise Failure(f"{len(load.refused)} registrations were refused: {load.refused[:5]}")
        names = set(load.accepted)
        for what, found in (("events", lambda: self.events()[0]), ("webhooks", self.webhooks)):
            try:
                wait_until(f"the {what} of {len(names)} registrations",
                           lambda found=found: names <= found().keys(), SECONDS)
            except Failure:
                lost = sorted(names - found().keys())
                raise Failure(f"{len(lost)} registrations have no {what}, such as {lost[:10]}") from None
        (results, changes), webhooks = self.events(), self.webhooks()
        wrong = [name for name in names if len(results[name]) != 1 or len(webhooks[name]) != 1
                 or results[name][0].get("accessGranted") is not True]
        twice = [customer for customer in load.accepted.values() if len(changes.get(customer, [])) != 1]
        if wrong or twice:
            raise Failure(f"{len(wrong)} registrations have not one event that grants access: {wrong[:5]}; "
                          f"{len(twice)} customers have not one change of their access: {twice[:5]}")
        owned = int(subprocess.run(
            [Postgres.tool("psql"), self.system.configuration.ledger, "--no-align", "--tuples-only", "--command",
             f"SELECT count(*) FROM purchases WHERE publisher_id = {PUBLISHER} AND customer_id IS NOT NULL"],
            check=True, capture_output=True, text=True).stdout)
        if owned != len(names):
            raise Failure(f"the ledger has {owned} purchases with an owner, but {len(names)} were accepted")
        swept = sum(self.metric(f"worker {number}", "countersign_swept_jobs_total") for number in (1, 2))
        print(f"\n{len(names)} registrations, {load.repeated} attempts repeated; {waiting['jobs']} jobs and "
              f"{waiting['notifier']} deliveries waited in delay queues of {old.rpartition('@')[2]}; "
              f"{swept:.0f} jobs swept; 0 lost, 0 granted twice", flush=True)

    def metric(self, name, metric):
        text = self.system.get(name, "/metrics")[1]
        found = [line.split() for line in text.splitlines() if line.startswith((metric + " ", metric + "{"))]
        return sum(float(words[-1]) for words in found)


def main():
    new_set = sys.argv[1] if len(sys.argv) > 1 else "debian13"
    try:
        if not ServerSet(new_set).root.exists():
            print(f"not run: .countersign/servers has no {new_set}. `ops/test --servers {new_set}` fetches it.")
            return 0
        with Processes(ROOT / ".countersign" / "broker-move") as processes:
            move = Move(processes, new_set)
            try:
                move.play()
            finally:
                move.system.stop()
                if (move.new_folder / "ports.json").exists():
                    move.new_server("stop")
                    move.new_server("wipe")
                move.system.forget()
    except Failure as failure:
        print(f"\nbroker_move: {failure}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
