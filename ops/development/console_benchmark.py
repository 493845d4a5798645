"""The benchmark of the console: how long each page takes beside a large ledger."""
import hashlib
import http.client
import time
import urllib.parse
import uuid

from development.isolation_benchmark import Times
from development.ledger import MADE
from development.measured_webhooks import MeasuredWebhooks
from development.table import Row
from fleet import Failure
from fleet.configuration import CONSOLE_USER, PUBLISHER
from fleet.processes import wait_until

# The goal of a page's p95, in milliseconds.
GOAL = 50
# How often each page is asked for. A page about one thing is each time about another one.
ROUNDS = 100
# Attempts for each purchase, and the endpoints that they went to.
ATTEMPTS, ENDPOINTS = 10, 100


class Browser:
    """A person who has signed in."""

    def __init__(self, measured):
        self.link = http.client.HTTPConnection(measured.configuration.listen["console"], timeout=60)
        self.cookie = ""
        form = urllib.parse.urlencode({"name": CONSOLE_USER, "password": measured.configuration.console_password})
        status, fields, _ = self.ask("POST", "/sign-in", form, {
            "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin",
            "Origin": f"http://{measured.configuration.listen['console']}"})
        if status != 303:
            raise Failure(f"the console answered the sign-in with {status}")
        self.cookie = fields["Set-Cookie"].partition(";")[0]

    def ask(self, method, path, body=None, fields=None):
        self.link.request(method, path, body, {"Cookie": self.cookie} | (fields or {}))
        answer = self.link.getresponse()
        return answer.status, answer.headers, answer.read()

    def milliseconds(self, path):
        start = time.monotonic()
        status, _, content = self.ask("GET", path)
        if status not in (200, 303):
            raise Failure(f"{path} was answered with {status}: {content[:300]}")
        return (time.monotonic() - start) * 1000


def console(options):
    """Each page, with so many purchases, ten times as many attempts, and as many events, audit rows and the like."""
    count = options.rows or 1_000_000
    with MeasuredWebhooks() as measured:
        measured.simulator(0)
        measured.declare()
        measured.fill(1)
        measured.floor(1, 1)  # commits the one that SQL copies
        receiver = measured.receiver()
        measured.endpoints(ENDPOINTS, receiver)
        # It makes today's partition of the attempts, in its first seconds.
        notifier = measured.start("notifier")
        wait_until("today's partition of the attempts", lambda: measured.ledger.query(
            "SELECT 1 FROM pg_class WHERE relname = 'attempts_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM_DD');"),
            60, failed=notifier.ended, every=0.2)
        measured.stop(notifier)
        print(f"console: making {count:,} purchases and {count * ATTEMPTS:,} attempts …", flush=True)
        measured.ledger.make(count)
        for sql in more(count):
            measured.ledger.query(f"SET synchronous_commit = off;\n{sql}")
        measured.ledger.server.query("VACUUM (ANALYZE);\nCHECKPOINT;", database=measured.ledger.database)
        process = measured.start("console")
        browser = Browser(measured)
        rows = []
        for name, path in PAGES.items():
            browser.milliseconds(path(0))
            times = Times([browser.milliseconds(path(number * 7919 % count)) for number in range(1, ROUNDS + 1)])
            print(f"console: {name}: p50 {times.part(0.5):.0f} ms, p95 {times.part(0.95):.0f} ms", flush=True)
            rows.append(Row(f"console, {name}, p95", f"{times.part(0.95):.0f} ms", goal=f"{GOAL} ms",
                            holds=times.part(0.95) <= GOAL))
        rows.append(Row("console, memory", f"{measured.resident_now(process):.0f} MiB"))
        measured.stop(process)
    return rows


def more(count):
    """The rows besides purchases: unclaimed ones, attempts, notifications, audit, registrations that wait."""
    number = "n.number"
    last = MADE + count - 1
    text = "'100' || (10000000000 + n.number)"
    yield f"UPDATE purchases SET customer_id = NULL WHERE subscription_id BETWEEN {MADE} AND {MADE + count // 100};"
    yield (
        "INSERT INTO attempts (at, publisher_id, endpoint_id, event_id, round, topic, version, number, status,"
        " duration_ms, outcome)"
        # All of today: their table has a partition a day.
        f" SELECT now() - (now() - date_trunc('day', now())) * (1 - a.number / {count * ATTEMPTS}.0),"
        f" {PUBLISHER}, 'ep' || a.number % {ENDPOINTS}, 'evt_' || md5(({MADE} + a.number / {ATTEMPTS})::text), '',"
        " 'inappPurchaseSyncResult', 1, 1, 200, 20, 'delivered'"
        f" FROM generate_series(0, {count * ATTEMPTS - 1}) AS a (number);")
    yield (
        "INSERT INTO notifications (publisher_id, uuid, type, environment, bundle_id, original_transaction_id,"
        " signed_date, received_at, source, body, applied_at, is_news)"
        f" SELECT {PUBLISHER}, md5({number}::text)::uuid::text, 'DID_RENEW', 'Production', 'com.example.app', {text},"
        f" now() - interval '30 days' * (({last} - {number}) / {count}.0),"
        f" now() - interval '30 days' * (({last} - {number}) / {count}.0), 'apple', '{{}}', now(), true"
        f" FROM generate_series({MADE}, {last}) AS n (number);")
    yield (
        "INSERT INTO audit (publisher_id, actor, action, subject, detail)"
        f" SELECT {PUBLISHER}, 'publisher', 'customer.put', 'customer-' || {number}, '{{}}'"
        f" FROM generate_series({MADE}, {last}) AS n (number);")
    # Redis knows none of them, so a list for one reason looks at as many as it may.
    yield (
        "INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status, job, due_at)"
        f" SELECT {PUBLISHER}, 'waits-' || {number}, {text}, 'customer-' || {number}, 'registration', 'retrying',"
        f" '{{}}', now() + interval '1 day' * (1 + ({number} - {MADE}) / {count}.0)"
        f" FROM generate_series({MADE}, {MADE + count // 100}) AS n (number);")


def customer(number):
    return f"/customers/{PUBLISHER}/customer-{MADE + number}"


def transaction(number):
    return f"100{10_000_000_000 + MADE + number}"


def purchase(number, kind="purchases"):
    return f"/{kind}/{PUBLISHER}/Production/{transaction(number)}"


def event(number):
    return f"/events/{PUBLISHER}/evt_{hashlib.md5(str(MADE + number).encode()).hexdigest()}"


def notification(number):
    return f"/notifications/{PUBLISHER}/{uuid.UUID(hashlib.md5(str(MADE + number).encode()).hexdigest())}"


PAGES = {
    "find, a transaction": lambda number: f"/find?q={transaction(number)}",
    "find, a customer": lambda number: f"/find?q=customer-{MADE + number}",
    "customer": customer,
    "customer, as JSON": lambda number: customer(number).replace("/customers", "/customers.json", 1),
    "purchase": purchase,
    "purchase, as JSON": lambda number: purchase(number, "purchases.json"),
    "refund requests": lambda number: "/refund-requests",
    "refund requests, answered": lambda number: "/refund-requests?state=answered",
    "unclaimed": lambda number: "/unclaimed",
    "webhooks": lambda number: "/endpoints",
    "an endpoint": lambda number: f"/endpoints/{PUBLISHER}/ep{number % ENDPOINTS}",
    "an endpoint, failed attempts": lambda number: f"/endpoints/{PUBLISHER}/ep{number % ENDPOINTS}?outcome=failed",
    "an event": event,
    "notifications": lambda number: "/notifications",
    "notifications, stale": lambda number: "/notifications?state=stale",
    "notifications, put aside": lambda number: "/notifications?state=aside",
    "a notification": notification,
    "synchronizations": lambda number: "/synchronizations",
    "synchronizations, of one reason": lambda number: "/synchronizations?cause=unauthorized",
    "a synchronization": lambda number: f"/synchronizations/{PUBLISHER}/bench-{MADE + number}",
    "audit": lambda number: "/audit",
    "audit of a customer": lambda number: f"/audit?customer=customer-{MADE + number}&publisher={PUBLISHER}",
    "configuration": lambda number: "/configuration",
    "fleet": lambda number: "/fleet",
    "imports": lambda number: "/imports",
    "given up, jobs": lambda number: "/dead",
    "given up, notifications": lambda number: "/dead?kind=notifications",
}
