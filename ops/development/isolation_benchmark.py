"""What a bad day costs others: a customer of the same app, a publisher with an app of its own, webhooks."""
import collections
import http.client
import json
import time

from development.measured import Measured
from development.notifier_benchmark import webhook_days
from development.table import Row
from fleet import Failure
from fleet.configuration import PUBLISHER, SIMULATED_APP, sha256

# The quiet ones' registrations of a row, one after the other, in turn.
QUIET = 100
# The quiet publisher has an app of its own, and so a budget of its own.
QUIET_APP = SIMULATED_APP | {"bundleId": "com.example.quiet", "appAppleId": SIMULATED_APP["appAppleId"] + 1,
                             "keyId": "QUIETKEY01"}
QUIET_TOKEN = "quiet-publisher"

# A bad day: what a noisy customer registers. `prefix` is a scenario of the simulator (docs/how-to/simulate.md), and
# `ends` says whether all of it ends within a minute or two, so that its deliveries can be counted.
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
        measured.start("worker 1")
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
        """How many jobs have ended, how many of them after at most three deliveries, and all deliveries."""
        name = "countersign_job_deliveries"
        return [self.measured.metric("worker 1", text) for text in (
            f"{name}_count", f'{name}_bucket{{le="3"}}', f"{name}_sum")]


def crossings(fleet, day, before):
    """How often the broker delivered each job, once all have ended."""
    after = fleet.deliveries()
    deadline = time.monotonic() + 600
    while after[0] - before[0] < day.count + 2 * QUIET and time.monotonic() < deadline:
        time.sleep(1)
        after = fleet.deliveries()
    ended, few, all_of_them = (now - then for now, then in zip(after, before))
    return Row(f"{day.name}: deliveries of a job", f"{all_of_them / ended:.2f}, {few / ended:.1%} at most 3",
               goal="99 % at most 3", holds=ended >= day.count + 2 * QUIET and few / ended >= 0.99)


def beside(day):
    """The rows of one bad day, in a fleet of its own."""
    with Measured() as measured:
        fleet = Fleet(measured)
        alone = fleet.quiet(day.quiet_prefix)
        before = fleet.deliveries()
        for _ in range(day.count):
            fleet.noisy.register(fleet.transaction(day.prefix), day.fields)
        now = fleet.quiet(day.quiet_prefix)
        rows = []
        for name, then, times in zip(("customer", "publisher"), alone, now):
            print(f"isolation: a quiet {name} alone: {then}; beside {day.name}: {times}", flush=True)
            for text, part in (("p50", 0.5), ("p99", 0.99)):
                rows.append(Row(f"{day.name}: a quiet {name}, {text}", f"{times.part(part):.0f} ms",
                                f"{then.part(part):.0f} ms", times.part(part) / then.part(part)))
        if day.ends:
            rows.append(crossings(fleet, day, before))
        return rows


def isolation(options):
    """Each bad day beside a quiet customer and a quiet publisher, and the webhooks of a quiet publisher."""
    return [row for day in BAD_DAYS for row in beside(day)] + webhook_days()
