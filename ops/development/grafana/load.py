"""A small load that meets every part of a fleet: purchases of many kinds, lives, reads, doors, transfers, webhooks."""
import json
import random
import subprocess
import threading
import time
import uuid

from fleet import Failure
from fleet.configuration import CUSTOMER
from fleet.requests import exchange

# Purchases that end as they should. The first three digits are the simulator's scenario.
HEALTHY = (100, 100, 100, 101, 103, 105, 110, 111, 112, 121)
LIVES = 30


class Load:
    """Customers of one publisher. Use it with `with`: they go on until its end."""

    def __init__(self, system, rate=15, scenarios=HEALTHY, customers=50):
        """
        rate: registrations a second
        customers: how many there are; the longer the load, the more purchases each of them has
        scenarios: those of the simulator, each as likely as the others
        """
        self.system, self.rate, self.scenarios, self.customers = system, rate, scenarios, customers
        self.configuration = system.configuration
        self.random = random.Random(7)
        # A fleet that has had such a load knows its ids.
        self.first = int(time.time()) % 1_000_000_000
        self.number = 0
        self.bought = []
        self.goes_on = True
        self.thread = threading.Thread(target=self.run, daemon=True)

    def put_customers(self):
        for customer in range(self.customers):
            if customer % 100 == 99:
                # Fewer than `gateway.limits.writesPerSecond`, however fast the gateway is.
                time.sleep(1)
            self.expect("PUT", f"/customers/load-{customer}", {}, (200, 201))

    def __enter__(self):
        self.put_customers()
        # One that limits itself, so that attempts wait for it. It has another secret than the receiver, and so gets
        # 401: in every fleet, somebody's endpoint fails.
        self.expect("POST", "/3.1/webhook_endpoints", {
            "url": f"http://{self.configuration.listen['receiver']}/slow", "maxPerSecond": 20, "topics": [
                "inappPurchaseSyncResult"]}, (201,))
        self.live()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.goes_on = False
        self.thread.join(60)

    def live(self):
        """Purchases that renew each minute, so that Apple has something to tell."""
        lives = [{"originalTransactionId": self.life(number), "product": "monthly",
                  "ageSeconds": 50 if number < LIVES // 2 else 5} for number in range(LIVES)]
        self.simulator("PUT", "lives", "\n".join(json.dumps(life) for life in lives))
        for number in range(LIVES):
            self.register(self.life(number), number % self.customers)

    def life(self, number):
        return f"900{self.first:09}{number:04}"

    def simulator(self, method, path, body=""):
        """The simulator speaks HTTP/2 only. It may hang on purpose."""
        subprocess.run(
            ["curl", "--silent", "--fail", "--noproxy", "*", "--max-time", "5", "--cacert",
             self.configuration.tls_authority, "--request", method, "--data-binary", "@-", "--output", "/dev/null",
             f"https://{self.configuration.listen['simulator']}/simulator/{path}"], input=body, text=True)

    def run(self):
        begin, turns = time.monotonic(), 0
        while self.goes_on:
            turns += 1
            self.turn(turns)
            # A turn that was late is made up for, but not a minute of them.
            pause = begin + turns / self.rate - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            elif pause < -2:
                begin -= pause

    def turn(self, number):
        self.number += 1
        scenario = self.random.choice(self.scenarios)
        transaction = f"{scenario}{self.first:09}{self.number:06}"
        customer = self.random.randrange(self.customers)
        self.register(transaction, customer)
        if scenario == 100:
            self.bought.append(transaction)
        self.ask("GET", f"/customers/load-{customer}/entitlements")
        if number % 10 == 0:
            # Again, as an impatient app does: 409, or a result that is a moment old.
            self.register(transaction, customer)
            self.ask("POST", "/Client/RestoreIOSPurchases", {"ReceiptData": "no receipt"}, {
                "X-Authorization": self.configuration.customer_token(CUSTOMER, 600)})
        if number % 20 == 0 and len(self.bought) > 40:
            self.ask("POST", "/storekit2/purchases/transfers", {
                "customerId": f"load-{customer}", "transactionId": self.bought[-40]})
        if number % 100 == 50:
            self.simulator("POST", f"lives/{self.life(number // 100 % LIVES)}/request-refund")
        if number % 100 == 0:
            self.simulator("POST", f"lives/{self.life((number // 100 + LIVES // 2) % LIVES)}/refund")

    @staticmethod
    def time_in(seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))

    def give_sandbox_access(self, customers, seconds):
        """As support does for testers; it ends by itself after the seconds."""
        for customer in customers:
            self.expect("PUT", f"/customers/load-{customer}/sandbox-access", {
                "until": self.time_in(seconds), "reason": "testing"}, (200, 201))

    def grant(self, customers, seconds):
        """Access by hand, which ends by itself after the seconds."""
        for customer in customers:
            self.expect("POST", f"/customers/load-{customer}/grants", {
                "grantId": str(uuid.uuid4()), "offerId": "S123123123_US", "reason": "goodwill",
                "expiresAt": self.time_in(seconds)}, (200, 201))

    def withdraw_sandbox_access(self, customers):
        for customer in customers:
            self.expect("DELETE", f"/customers/load-{customer}/sandbox-access", None, (200,))

    def import_purchases(self, count):
        """An import over HTTP, with a small share of Apple's budget, so that it runs beside the load for a while."""
        lines = ["customer_id,transaction_id"] + [
            f"load-{number % self.customers},100{self.first:09}7{number:05}" for number in range(count)]
        status, text = self.ask("POST", "/imports", {"from": "plain", "share": 0.2})
        if status != 201:
            raise Failure(f"POST /imports was answered {status} {text}")
        path = f"/imports/{json.loads(text)['importId']}"
        self.expect("POST", f"{path}/file?offset=0", "\n".join(lines) + "\n", (200,))
        self.expect("POST", f"{path}/start", None, (200,))

    def register(self, transaction, customer):
        self.ask("POST", "/storekit2/purchases", {"customerId": f"load-{customer}", "transactionId": transaction})

    def expect(self, method, path, body, statuses):
        status, text = self.ask(method, path, body)
        if status not in statuses:
            raise Failure(f"{method} {path} at the gateway was answered {status} {text}")

    def ask(self, method, path, body=None, headers={}):
        """The status and the text of an answer; status 0 without one. A body that is a text goes as it is."""
        return exchange(
            self.configuration.listen["gateway"], method, path,
            body if body is None or isinstance(body, str) else json.dumps(body),
            {"X-Publisher-Token": self.configuration.publisher_token, "Content-Type": "application/json"} | headers)[:2]
