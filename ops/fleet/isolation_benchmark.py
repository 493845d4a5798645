"""What somebody's bad day costs a quiet customer: registrations alone, and beside bursts that use up Apple's budget."""
import http.client
import json
import time

from fleet import Failure
from fleet.measured import Measured
from fleet.table import Row

# The quiet customer's registrations of a run, one after the other.
QUIET = 30
# The noisy customer's registrations, all of which wait for a call.
NOISY = 2_000


class Customers:
    """Registers purchases at the gateway, and waits for the end of synchronizations."""

    def __init__(self, measured):
        self.link = http.client.HTTPConnection(measured.configuration.listen["gateway"], timeout=60)
        self.headers = {"X-Publisher-Token": measured.configuration.publisher_token,
                        "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        self.link.request(method, path, body and json.dumps(body), self.headers)
        answer = self.link.getresponse()
        return answer.status, answer.read()

    def register(self, customer, transaction):
        """Registers a purchase, and returns the id of its synchronization."""
        body = {"customerId": customer, "transactionId": str(transaction)}
        status, content = self.ask("POST", "/storekit2/purchases", body)
        if status != 202:
            raise Failure(f"the registration of {transaction} was answered with {status}: {content[:300]}")
        return json.loads(content)["synchronizationId"]

    def milliseconds_to_end(self, customer, transaction):
        """From a registration to the finalized status."""
        start = time.monotonic()
        path = f"/storekit2/purchases/synchronizations/{self.register(customer, transaction)}"
        while time.monotonic() - start < 300:
            status, content = self.ask("GET", path)
            if status == 200 and json.loads(content)["status"] == "finalized":
                return (time.monotonic() - start) * 1000
            time.sleep(0.005)
        raise Failure(f"{transaction} was not finalized within five minutes")


def quiet(customers, first):
    """p50 and the most of the quiet customer's synchronizations, in milliseconds."""
    times = sorted(customers.milliseconds_to_end("quiet", first + number) for number in range(QUIET))
    return times[len(times) // 2], times[-1]


def deliveries(measured):
    """How many jobs have ended, and how many of them after at most three deliveries."""
    name = "countersign_job_deliveries"
    ended = measured.metric("worker 1", f"{name}_count")
    return ended, measured.metric("worker 1", f'{name}_bucket{{le="3"}}')


def at_most_three(measured, before):
    """Waits for the end of all jobs, and tells which part of them had at most three deliveries."""
    after = deliveries(measured)
    while after[0] - before[0] < NOISY + QUIET:
        time.sleep(1)
        after = deliveries(measured)
    few = (after[1] - before[1]) / (after[0] - before[0])
    return Row("jobs with at most 3 deliveries", f"{few:.1%}", goal="99 %", holds=few >= 0.99)


def isolation(options):
    """A quiet customer alone, and beside a customer of the same app with thousands of jobs in the line."""
    rows = []
    with Measured() as measured:
        measured.simulator(0.05)
        measured.start("gateway")
        measured.start("worker 1")
        customers = Customers(measured)
        # The numbers of the simulator: 100… is an active purchase, and 120… is known nowhere.
        alone = quiet(customers, 1_000_000_000_000)
        print(f"isolation: a quiet customer alone: p50 {alone[0]:.0f} ms, at most {alone[1]:.0f} ms", flush=True)
        for what, noisy_first, first in (("purchases", 1_000_100_000_000, 1_000_200_000_000),
                                         ("unknown ids", 1_200_000_000_000, 1_000_300_000_000)):
            before = deliveries(measured)
            for number in range(NOISY):
                customers.register("noisy", noisy_first + number)
            beside = quiet(customers, first)
            print(f"beside {NOISY:,} {what} of another: p50 {beside[0]:.0f} ms, at most {beside[1]:.0f} ms", flush=True)
            rows += [
                Row(f"quiet customer beside {what}, p50", f"{beside[0]:.0f} ms", f"{alone[0]:.0f} ms",
                    beside[0] / alone[0]),
                Row(f"quiet customer beside {what}, at most", f"{beside[1]:.0f} ms", f"{alone[1]:.0f} ms",
                    beside[1] / alone[1])]
            # Unknown ids are asked about again and again, which takes a quarter of an hour.
            if what == "purchases":
                rows.append(at_most_three(measured, before))
    return rows
