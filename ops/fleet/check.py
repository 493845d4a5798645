"""Plays one customer's purchase as a new user does: with curl, amqp-consume and a webhook endpoint."""
import json
import subprocess
import time

from fleet import Failure, shown
from fleet.configuration import CUSTOMER, PUBLISHER
from fleet.processes import wait_until

TOPIC = "inappPurchaseSyncResult"
# A customer who has not bought anything.
OTHER = "customer-without-purchase"
ACTIVE, SLOW = "1000000000000001", "1330000000000001"
SECONDS = 120
# So often it tries to register a purchase again before the simulator has answered about it.
TRIES = 5


class Check:
    def __init__(self, system):
        self.system = system
        self.configuration = system.configuration
        self.events = system.folder / "events.jsonl"
        self.events.unlink(missing_ok=True)
        self.seen = {}

    def run(self):
        self.subscribe()
        self.expect(self.call("PUT", f"/customers/{CUSTOMER}", {}), (200, 201), None)
        print(f"Customer {CUSTOMER} is known. One purchase:", flush=True)
        self.purchase()
        self.entitlement()
        self.owned()
        self.conflict()
        self.refusal()
        for reason in self.system.processes.deaths():
            raise Failure(reason)

    # -- the four observations

    def purchase(self):
        begin = time.monotonic()
        body = {"cleengCustomerId": CUSTOMER, "transactionId": ACTIVE, "ipAddress": "203.0.113.7"}
        status, answer = self.call("POST", "/storekit2/purchases", body)
        self.expect((status, answer), (202,), None)
        identifier = answer.get("synchronizationId")
        if not identifier:
            raise Failure(f"missing: the synchronizationId in the answer 202 to POST /storekit2/purchases: {answer}")
        self.tell("registered", begin, f"202, synchronizationId {identifier}")

        wanted = {
            "the finalized status": lambda: self.status(identifier),
            "the event from RabbitMQ": lambda: self.event(identifier),
            "the signed webhook": lambda: self.webhook(identifier),
        }
        while len(self.seen) < len(wanted):
            for what, look in wanted.items():
                if what not in self.seen and (found := look()):
                    self.seen[what] = found
                    self.tell(what, begin, found[0])
            for reason in self.system.processes.deaths():
                raise Failure(reason)
            if time.monotonic() - begin > SECONDS:
                missing = ", ".join(what for what in wanted if what not in self.seen)
                raise Failure(f"missing after {SECONDS} seconds: {missing}; look at {shown(self.system.folder)}/*.log")
            time.sleep(0.05)
        if self.seen["the signed webhook"][1] != self.seen["the event from RabbitMQ"][1]:
            raise Failure("the webhook's body is not the event's: " + str([self.seen[what][1] for what in wanted]))

    def status(self, identifier):
        status, answer = self.call("GET", f"/storekit2/purchases/synchronizations/{identifier}")
        self.expect((status, answer), (200,), None)
        if answer.get("status") != "finalized":
            return None
        self.entitled(answer, "the finalized status")
        return f"{answer['result']}, accessGranted, offer {answer['offerId']}", answer

    def event(self, identifier):
        for line in lines(self.events):
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("data", {}).get("synchronizationId") == identifier:
                self.entitled(event["data"], "the event")
                return f"{event['topic']} of publisher {event['broadcasterId']}: {line}", event
        return None

    def webhook(self, identifier):
        for line in lines(self.system.received):
            record = json.loads(line)
            if not record["verified"]:
                raise Failure(f"a webhook came with a bad signature: {record['problem']}: {line}")
            event = json.loads(record["body"])
            if event.get("data", {}).get("synchronizationId") == identifier:
                headers = record["headers"]
                return f"signature verified, webhook-id {headers['webhook-id']}, body equal to the event's", event
        return None

    @staticmethod
    def entitled(found, where):
        if found.get("accessGranted") is not True or found.get("result") != "PURCHASE_SYNCHRONIZED":
            raise Failure(f"{where} should grant access with PURCHASE_SYNCHRONIZED, but is {found}")
        if not found.get("offerId"):
            raise Failure(f"{where} should name the offer in offerId, but is {found}")

    def entitlement(self):
        """Reads what the ledger says about the customer now."""
        offer = self.seen["the finalized status"][1]["offerId"]
        path = f"/customers/{CUSTOMER}/entitlements/{offer}"
        answer = self.call("GET", path)
        self.expect(answer, (200,), None)
        if answer[1].get("accessGranted") is not True:
            raise Failure(f"GET {path} should grant access, but answered {answer[1]}")
        until, rule = answer[1].get("expiresAt"), answer[1].get("rule")
        print(f"  the ledger's entitlement: {offer} until {until}, {rule}", flush=True)

    # -- refusals

    def owned(self):
        """Registers the same purchase for another customer, who must not get it."""
        self.expect(self.call("PUT", f"/customers/{OTHER}", {}), (200, 201), None)
        status, answer = self.call("POST", "/storekit2/purchases", {"customerId": OTHER, "transactionId": ACTIVE})
        self.expect((status, answer), (202,), None)
        path = f"/storekit2/purchases/synchronizations/{answer['synchronizationId']}"

        def result():
            status, answer = self.call("GET", path)
            self.expect((status, answer), (200,), None)
            return answer if answer.get("status") == "finalized" else None

        found = wait_until("the other customer's registration to be finalized", result, SECONDS)
        wanted = "PURCHASE_OWNED_BY_ANOTHER_CUSTOMER"
        if found.get("result") != wanted or found.get("accessGranted") is not False:
            raise Failure(f"{self.last} should refuse with {wanted}, but is {found}")
        print(f"  another customer who registers the same purchase is refused: {wanted}", flush=True)

    def conflict(self):
        for number in range(TRIES):
            body = {"cleengCustomerId": CUSTOMER, "transactionId": str(int(SLOW) + number)}
            first = self.call("POST", "/storekit2/purchases", body)
            self.expect(first, (202,), None)
            second = self.call("POST", "/storekit2/purchases", body)
            # On a machine that stood still meanwhile, the first one is finalized. Then another purchase shows it.
            if second[0] != 202 or not self.status(first[1]["synchronizationId"]):
                break
        self.last = "POST /storekit2/purchases"
        self.expect(second, (409,), "SK2C0101")
        print("  a transaction that is being synchronized is refused: 409 SK2C0101", flush=True)

    def refusal(self):
        body = {"cleengCustomerId": CUSTOMER, "transactionId": "abc"}
        self.expect(self.call("POST", "/storekit2/purchases", body), (400,), "REQ0001")
        print("  a transactionId that is not a number is refused: 400 REQ0001", flush=True)

    # -- tools

    def subscribe(self):
        """Binds a queue of our own to the events, before the first event."""
        consume = self.system.processes.start("events", [
            "amqp-consume", f"--url={self.configuration.rabbitmq}", "--exclusive", "--exchange=countersign.events",
            f"--routing-key={TOPIC}.{PUBLISHER}", "awk", "1"], output=self.events)
        told = "Server provided queue name: "
        queue = wait_until(
            "amqp-consume to declare its queue",
            lambda: next((line.removeprefix(told) for line in lines(consume.log) if line.startswith(told)), None),
            SECONDS, failed=consume.ended)
        # amqp-consume binds the queue before it consumes from it: once this message has arrived, the binding is there.
        publish = subprocess.run(
            ["amqp-publish", f"--url={self.configuration.rabbitmq}", "--exchange=", f"--routing-key={queue}",
             "--body=ready"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if publish.returncode != 0:
            raise Failure(f"amqp-publish to the queue {queue} failed: {publish.stderr.strip()}")
        wait_until(
            "amqp-consume to receive", lambda: "ready" in lines(self.events), SECONDS, failed=consume.ended)

    def call(self, method, path, body=None):
        """The status and the body of an answer."""
        command = [
            "curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", str(SECONDS), "--request", method,
            "--header", f"X-Publisher-Token: {self.configuration.publisher_token}", "--write-out", "\n%{http_code}"]
        if body is not None:
            command += ["--header", "Content-Type: application/json", "--data", json.dumps(body)]
        command.append(f"http://{self.configuration.listen['gateway']}{path}")
        run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if run.returncode != 0:
            raise Failure(f"{method} {path}: {run.stderr.strip()}")
        text, _, status = run.stdout.rpartition("\n")
        self.last = f"{method} {path}"
        try:
            return int(status), json.loads(text) if text else {}
        except ValueError:
            raise Failure(f"{method} {path} was answered {status} with a body that is not JSON: {text}") from None

    def expect(self, answer, statuses, code):
        status, body = answer
        if status not in statuses or (code and body.get("code") != code):
            wanted = " or ".join(str(each) for each in statuses) + (f" with code {code}" if code else "")
            raise Failure(f"{self.last} was answered {status} {json.dumps(body)}, expected {wanted}")

    @staticmethod
    def tell(what, begin, detail):
        print(f"  {time.monotonic() - begin:6.3f} s  {what}: {detail}", flush=True)


def lines(path):
    """The complete lines of a file that another process writes."""
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return []
    return text[:text.rfind("\n") + 1].splitlines()
