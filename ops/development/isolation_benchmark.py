"""What a bad day costs others: a customer of the same app, a publisher with an app of its own, webhooks."""
import collections
import http.client
import json
import time

from development.measured import Measured
from development.notifier_benchmark import FACTOR, webhook_days
from development.table import Row
from fleet import Failure
from fleet.configuration import PUBLISHER, SIMULATED_APP, sha256
from fleet.servers import Servers

# The quiet ones' registrations of a row, one after the other, in turn.
QUIET = 100
# The quiet publisher has an app of its own, and so a budget of its own.
QUIET_APP = SIMULATED_APP | {"bundleId": "com.example.quiet", "appAppleId": SIMULATED_APP["appAppleId"] + 1,
                             "keyId": "QUIETKEY01"}
QUIET_TOKEN = "quiet-publisher"

# What the broker has delivered to consumers since its start, over all queues and kinds of acknowledgement.
DELIVERED = ("lists:sum([maps:get(messages_delivered_total, Counts, 0) || "
             "{_, Counts} <- maps:to_list(rabbit_global_counters:overview())]).")

# A bad day: what a noisy customer registers. `prefix` is a scenario of the simulator (docs/how-to/simulate.md), and
# `ends` says whether all of it ends within a minute or two, so that the benchmark waits for all of it.
BadDay = collections.namedtuple("BadDay", ("name", "prefix", "count", "fields", "quiet_prefix", "ends"))
BAD_DAYS = [
    BadDay("4,000 purchases", 100, 4_000, {}, 100, True),
    BadDay("4,000 unknown ids", 120, 4_000, {}, 100, False),
    BadDay("1,000 calls answered by 429", 130, 1_000, {}, 100, True),
    BadDay("2,000 calls that hang for 3 s", 133, 2_000, {}, 100, False),
    BadDay("a sandbox backlog of 500", 121, 500, {}, 121, False),
    BadDay("an import of 10,000", 100, 10_000, {"Priority": "u=7"}, 100, False),
]


class Caller:
    """Registers purchases at the gateway, and waits for the end of synchronizations."""

    def __init__(self, measured, token, customer):
        self.link = http.client.HTTPConnection(measured.configuration.listen["gateway"], timeout=60)
        self.headers = {"X-Publisher-Token": token, "Content-Type": "application/json"}
        self.customer = customer

    def ask(self, method, path, body=None, fields=None):
        self.link.request(method, path, body and json.dumps(body), self.headers | (fields or {}))
        answer = self.link.getresponse()
        return answer.status, answer.read()

    def register(self, transaction, fields=None):
        """Registers a purchase, and returns the id of its synchronization."""
        body = {"customerId": self.customer, "transactionId": str(transaction)}
        status, content = self.ask("POST", "/storekit2/purchases", body, fields)
        if status != 202:
            raise Failure(f"the registration of {transaction} was answered with {status}: {content[:300]}")
        return json.loads(content)["synchronizationId"]

    def milliseconds_to_end(self, transaction):
        """From a registration to the finalized status."""
        start = time.monotonic()
        path = f"/storekit2/purchases/synchronizations/{self.register(transaction)}"
        while time.monotonic() - start < 300:
            status, content = self.ask("GET", path)
            if status == 200 and json.loads(content)["status"] == "finalized":
                return (time.monotonic() - start) * 1000
            time.sleep(0.002)
        raise Failure(f"{transaction} was not finalized within five minutes")


class Times:
    """The times of somebody's synchronizations, in milliseconds."""

    def __init__(self, times):
        self.sorted = sorted(times)

    def part(self, part):
        return self.sorted[min(len(self.sorted) - 1, int(len(self.sorted) * part))]

    def __str__(self):
        return f"p50 {self.part(0.5):.0f} ms, p99 {self.part(0.99):.0f} ms"


class Fleet:
    """A gateway, a worker and an Apple that takes 50 ms, with one publisher that has bad days and one that is quiet."""

    def __init__(self, measured):
        self.measured = measured
        quiet = measured.configuration.publisher() | {
            "publisherId": PUBLISHER + 100, "customers": "open", "webhooks": [], "doors": {},
            "tokenHashes": [sha256(QUIET_TOKEN)],
            "apps": [QUIET_APP | {
                "privateKeyFile": str(measured.configuration.simulator / f"AuthKey_{QUIET_APP['keyId']}.p8"),
                "environments": ["Production", "Sandbox"]}]}
        folder = measured.configuration.folder / "publishers"
        (folder / "quiet.json").write_text(json.dumps(quiet, indent=2) + "\n")
        settings = measured.configuration.settings()
        settings["simulator"]["apps"] += [":".join(str(value) for value in QUIET_APP.values())]
        measured.configuration.file.write_text(json.dumps(settings, indent=2) + "\n")
        measured.simulator(0.05)
        measured.start("gateway")
        self.worker = measured.start("worker 1")
        self.noisy = Caller(measured, measured.configuration.publisher_token, "noisy")
        self.customer = Caller(measured, measured.configuration.publisher_token, "quiet")
        self.publisher = Caller(measured, QUIET_TOKEN, "quiet")
        self.used = 0

    def transaction(self, prefix):
        """A transaction of a scenario that nobody has registered."""
        self.used += 1
        return prefix * 10 ** 12 + self.used

    def quiet(self, prefix):
        """The times of the quiet customer, and those of the quiet publisher."""
        pairs = [(self.customer.milliseconds_to_end(self.transaction(prefix)),
                  self.publisher.milliseconds_to_end(self.transaction(prefix))) for _ in range(QUIET)]
        return tuple(Times(times) for times in zip(*pairs))

    def deliveries(self):
        """The jobs that have ended, by their deliveries."""
        name = "countersign_job_deliveries"
        values = [self.measured.metric("worker 1", text) for text in (
            f"{name}_count", f"{name}_sum", *(f'{name}_bucket{{le="{most}"}}' for most in (1, 2, 3)))]
        return Deliveries(*values)

    def delivered(self):
        """How many messages the broker has delivered. Nothing but the worker consumes."""
        return int(Servers(self.measured.processes.folder).broker().control("--silent", "eval", DELIVERED))

    def beginning(self):
        """The beginning of a measurement of the worker. The broker comes first: asking it takes a second."""
        return (time.monotonic(), self.delivered(), time.monotonic(),
                self.measured.processor_seconds(self.worker))

    def load_since(self, beginning):
        """The cores that the worker has used since then, and the messages a second that it got."""
        asked, delivered, start, used = beginning
        cores = (self.measured.processor_seconds(self.worker) - used) / (time.monotonic() - start)
        return cores, (self.delivered() - delivered) / (time.monotonic() - asked)


class Deliveries:
    """How many jobs have ended, their deliveries in all, and how many had at most one, two and three."""

    def __init__(self, ended, total, *at_most):
        self.ended, self.total, self.at_most = ended, total, at_most

    def since(self, before):
        return Deliveries(self.ended - before.ended, self.total - before.total,
                          *(now - then for now, then in zip(self.at_most, before.at_most)))

    @property
    def few(self):
        """The part of the jobs with at most three deliveries."""
        return self.at_most[-1] / self.ended if self.ended else 0

    def __str__(self):
        if not self.ended:
            return "no job has ended"
        edges = [0, *self.at_most, self.ended]
        # Two jobs may end while the metrics are read.
        parts = [max(0, high - low) / self.ended for low, high in zip(edges, edges[1:])]
        return (f"{self.total / self.ended:.2f}; "
                + ", ".join(f"{name}: {part:.1%}" for name, part in zip(("1", "2", "3", "more"), parts)))


def crossings(fleet, day, before, delivered):
    """How often the broker delivered each job that has ended, and all messages so far for each job.

    If all jobs of the day end soon, the first row waits for them. Some of the others wait for hours.

    before, delivered: what `Fleet.deliveries` and `Fleet.delivered` said before the day began
    """
    jobs = day.count + 2 * QUIET
    found = fleet.deliveries().since(before)
    deadline = time.monotonic() + 600
    while day.ends and found.ended < jobs and time.monotonic() < deadline:
        time.sleep(1)
        found = fleet.deliveries().since(before)
    name = f"{day.name}: deliveries of a job" + ("" if found.ended >= jobs else f", of {found.ended:,.0f} that ended")
    each = (fleet.delivered() - delivered) / jobs
    return [Row(name, str(found), goal="99 % at most 3",
                holds=found.few >= 0.99 and (found.ended >= jobs or not day.ends)),
            # Without a goal: each further attempt of an unknown id crosses the broker again.
            Row(f"{day.name}: messages so far, for each of {jobs:,} jobs", f"{each:.2f}")]


def beside(day):
    """The rows of one bad day, in a fleet of its own."""
    with Measured() as measured:
        fleet = Fleet(measured)
        beginning = fleet.beginning()
        alone = fleet.quiet(day.quiet_prefix)
        usual, usual_messages = fleet.load_since(beginning)
        before, delivered = fleet.deliveries(), fleet.delivered()
        for _ in range(day.count):
            fleet.noisy.register(fleet.transaction(day.prefix), day.fields)
        beginning = fleet.beginning()
        now = fleet.quiet(day.quiet_prefix)
        cores, messages = fleet.load_since(beginning)
        rows = []
        for name, then, times in zip(("customer", "publisher"), alone, now):
            print(f"isolation: a quiet {name} alone: {then}; beside {day.name}: {times}", flush=True)
            for text, part in (("p50", 0.5), ("p99", 0.99)):
                ratio = times.part(part) / then.part(part)
                # docs/concepts/fairness.md promises a factor for p50 only.
                judged = (f"{FACTOR:.2f}", ratio <= FACTOR) if text == "p50" else ()
                rows.append(Row(f"{day.name}: a quiet {name}, {text}", f"{times.part(part):.0f} ms",
                                f"{then.part(part):.0f} ms", ratio, *judged))
        rows.append(Row(f"{day.name}: the worker meanwhile", f"{cores:.2f} cores, {messages:,.0f} messages/s",
                        f"{usual:.2f} cores, {usual_messages:,.0f}/s alone"))
        return rows + crossings(fleet, day, before, delivered)


def isolation(options):
    """Each bad day beside a quiet customer and a quiet publisher, and the webhooks of a quiet publisher.

    Webhooks have no quiet customer: endpoints belong to publishers, whose customers take no turns there.
    """
    return [row for day in BAD_DAYS for row in beside(day)] + webhook_days()
