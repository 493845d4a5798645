#!/usr/bin/env python3
"""A publisher's backend that knows only the public contract: openapi.yaml and asyncapi.yaml in docs/reference.

It registers purchases, polls them, consumes their events with pika, and verifies their webhooks with the Standard
Webhooks library. Start ops/run in one terminal and this in another:

    ops/examples/client.py [ENV_FILE]

ops/run writes ENV_FILE, .countersign/run/env by default. Variables of the same names override it. The client installs
the libraries into .countersign/venv. Without PyPI it prints a message and skips the run. The other examples use its
parts: the settings, the customer's token, new transactions, and a web server for webhooks.
"""
import base64
import hashlib
import hmac
import http.server
import importlib.util
import itertools
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import threading
import time

LIBRARIES = ("requests", "pika", "standardwebhooks")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOPIC = "inappPurchaseSyncResult"
# The example that runs.
NAME = pathlib.Path(sys.argv[0]).stem
NUMBERS = itertools.count(1)


def bring_libraries():
    """Continues in a virtual environment with the libraries, unless this one has them."""
    if all(importlib.util.find_spec(name) for name in LIBRARIES):
        return
    venv = ROOT / ".countersign" / "venv"
    python = venv / "bin" / "python"
    if pathlib.Path(sys.prefix) == venv:
        skip(f"{venv} lacks one of {', '.join(LIBRARIES)}; delete it and try again")
    steps = [
        [sys.executable, "-m", "venv", str(venv)],
        [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--timeout", "10", "--retries",
         "1", *LIBRARIES],
    ]
    probe = [str(python), "-c", f"import {', '.join(LIBRARIES)}"]
    if not python.exists() or subprocess.run(probe, stderr=subprocess.DEVNULL).returncode != 0:
        print(f"Installing {', '.join(LIBRARIES)} into {venv} …", flush=True)
        for step in steps:
            run = subprocess.run(step, capture_output=True, text=True)
            if run.returncode != 0:
                said = f"{run.stdout}{run.stderr}".strip()
                skip(f"{' '.join(step)} failed; offline, or is the package python3-venv missing?\n{said}")
    os.execv(python, [str(python), *sys.argv])


def skip(reason):
    print(f"{NAME}: skipped: {reason}", file=sys.stderr)
    sys.exit(0)


def every_setting():
    """The values of the file that ops/run writes. Variables of the same names override them."""
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".countersign" / "run" / "env"
    try:
        lines = [line.partition("=") for line in path.read_text().splitlines()]
    except OSError as error:
        sys.exit(f"{NAME}: {path} cannot be read ({error.strerror}); is ops/run running?")
    values = {name: " ".join(shlex.split(value)) for name, _, value in lines}
    return values | {name: os.environ[name] for name in values if os.environ.get(name)}


def settings():
    """The values that this client needs: from the environment if it has them all, else from the file."""
    names = ("API_URL", "AMQP_URL", "PUBLISHER_ID", "PUBLISHER_TOKEN", "CUSTOMER_TOKEN_SECRET", "WEBHOOK_SECRET",
             "WEBHOOKS_RECEIVED")
    values = os.environ if all(os.environ.get(name) for name in names) else every_setting()
    return {name: values[name] for name in names}


def new_transaction(scenario):
    """The id of a transaction that nobody has used. The simulator knows it by its first three digits."""
    return f"{scenario}{random.randrange(10**11):011d}{next(NUMBERS):02d}"


def minted(values, path):
    """What StoreKit would give an app. The simulator speaks HTTP/2 only, as Apple's servers do."""
    run = subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--http2", "--noproxy", "*", "--max-time", "10", "--cacert",
         values["SIMULATOR_CA"], f"{values['SIMULATOR_URL']}/simulator/{path}"], capture_output=True, text=True)
    expect(f"{path} from the simulator", run.returncode == 0, run.stderr)
    return run.stdout.strip()


def customer_token(values, customer):
    """The token that the publisher gives to a customer's app: a JWT with HS256."""
    def encoded(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=")
    signed = b".".join(encoded(json.dumps(part).encode()) for part in (
        {"alg": "HS256", "typ": "JWT"},
        {"customerId": customer, "publisherId": int(values["PUBLISHER_ID"]), "exp": int(time.time()) + 600}))
    signature = encoded(hmac.digest(values["CUSTOMER_TOKEN_SECRET"].encode(), signed, hashlib.sha256))
    return f"{signed.decode()}.{signature.decode()}"


class Receiver(http.server.ThreadingHTTPServer):
    """A web server that gets webhooks. A subclass keeps them: accept() takes one, and returns the status to answer."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"

    def accept(self, path, headers, body):
        raise NotImplementedError

    def until(self, what, find, seconds=60):
        """What find() returns, as soon as it returns something."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = find()
            if found is not None:
                return found
            time.sleep(0.02)
        expect(f"{what} within {seconds} seconds", False, vars(self).get("received"))
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.server.accept(self.path.strip("/"), self.headers, body))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Client:
    def __init__(self, values):
        import requests
        self.values = values
        self.session = requests.Session()
        self.session.trust_env = False
        self.backend = {"X-Publisher-Token": values["PUBLISHER_TOKEN"]}
        self.customer = random.randrange(10**9, 10**10)

    # -- HTTP

    def call(self, method, path, body=None, headers=None):
        return self.session.request(
            method, self.values["API_URL"] + path, json=body, headers=self.backend if headers is None else headers,
            timeout=10)

    def register(self, transaction, customer=None, headers=None):
        body = {
            "cleengCustomerId": customer or self.customer, "transactionId": transaction, "ipAddress": "203.0.113.7"}
        return self.call("POST", "/storekit2/purchases", body, headers)

    def finalized(self, identifier, headers=None, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            answer = self.call("GET", f"/storekit2/purchases/synchronizations/{identifier}", headers=headers)
            expect("status answered 200", answer.status_code == 200, answer)
            if answer.json()["status"] == "finalized":
                expect("no Retry-After once finalized", "Retry-After" not in answer.headers, answer.headers)
                return answer.json()
            wait = answer.headers.get("Retry-After")
            expect("Retry-After while not finalized", wait is not None, answer.headers)
            time.sleep(min(float(wait), 0.1))
        expect(f"{identifier} finalized within {seconds} seconds", False, answer.json())

    def customer_token(self, customer):
        return {"Authorization": f"Bearer {customer_token(self.values, customer)}"}

    # -- AMQP

    def subscribe(self):
        import pika
        self.channel = pika.BlockingConnection(pika.URLParameters(self.values["AMQP_URL"])).channel()
        self.queue = self.channel.queue_declare("", exclusive=True).method.queue
        self.channel.queue_bind(self.queue, "countersign.events", f"{TOPIC}.{self.values['PUBLISHER_ID']}")

    def event(self, identifier, seconds=30):
        for _, properties, body in self.channel.consume(self.queue, auto_ack=True, inactivity_timeout=seconds):
            expect(f"event of {identifier} within {seconds} seconds", body is not None, None)
            if json.loads(body)["data"]["synchronizationId"] == identifier:
                return properties, json.loads(body)
        return None

    # -- webhooks

    def webhook(self, identifier, seconds=30):
        import standardwebhooks
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                received = pathlib.Path(self.values["WEBHOOKS_RECEIVED"]).read_text().splitlines(keepends=True)
            except FileNotFoundError:
                received = []
            for record in (json.loads(line) for line in received if line.endswith("\n")):
                body = json.loads(record["body"])
                if body["data"]["synchronizationId"] == identifier:
                    library = standardwebhooks.Webhook(self.values["WEBHOOK_SECRET"])
                    return record["headers"], library.verify(record["body"], record["headers"])
            time.sleep(0.05)
        expect(f"webhook of {identifier} within {seconds} seconds", False, None)


def expect(what, is_so, found):
    if not is_so:
        text = f"{found.status_code} {dict(found.headers)} {found.text}" if hasattr(found, "status_code") else found
        sys.exit(f"{NAME}: expected: {what}; found: {text}")


def expect_problem(what, answer, status, code):
    expect(f"{what}: {status}", answer.status_code == status, answer)
    kind = answer.headers.get("content-type", "").split(";")[0]
    expect(f"{what}: problem+json", kind == "application/problem+json", answer)
    expect(f"{what}: {code}", answer.json()["code"] == code, answer)
    expect(f"{what}: type, title, status and message",
           {"type", "title", "message"} <= answer.json().keys() and answer.json()["status"] == status, answer)
    print(f"  refused: {what}: {status} {code} {answer.json()['message']}", flush=True)


def one_purchase(client):
    identifier = f"order-{random.randrange(10**12)}"
    trace = f"00-{random.getrandbits(128) | 1:032x}-{random.getrandbits(64) | 1:016x}-01"
    transaction = new_transaction("100")
    answer = client.register(
        transaction, headers=client.backend | {"Correlation-Id": identifier, "traceparent": trace})
    expect("registered: 202", answer.status_code == 202, answer)
    expect("the Correlation-Id as synchronizationId", answer.json() == {"synchronizationId": identifier}, answer)
    expect("Location", answer.headers.get("location", "").endswith(f"/synchronizations/{identifier}"), answer)
    print(f"  registered: {transaction} as {identifier}", flush=True)

    properties, event = client.event(identifier)
    status = client.finalized(identifier, seconds=0.5)  # a status is never behind an event
    headers, data = properties.headers, event["data"]
    print(f"  event {properties.message_id}: {data['result']}", flush=True)
    expect("PURCHASE_SYNCHRONIZED", data["result"] == "PURCHASE_SYNCHRONIZED", event)
    expect("access", data["accessGranted"] is True, event)
    expect("the topic", event["topic"] == TOPIC, event)
    expect("the publisher", str(event["broadcasterId"]) == client.values["PUBLISHER_ID"], event)
    expect("persistent", properties.delivery_mode == 2, properties)
    expect("JSON", properties.content_type == "application/json", properties)
    expect("CloudEvents headers", headers["cloudEvents_specversion"] == "1.0" and headers["cloudEvents_type"] == TOPIC
           and headers["cloudEvents_id"] == properties.message_id
           and headers["cloudEvents_source"] == f"/countersign/{client.values['PUBLISHER_ID']}"
           and "T" in headers["cloudEvents_time"], headers)
    expect("the trace of the registration", headers["traceparent"].split("-")[1] == trace.split("-")[1], headers)
    names = ("accessGranted", "result", "offerId", "environment", "transactionId", "originalTransactionId",
             "synchronizationId")
    for name in names:
        expect(f"{name} alike in status and event", status[name] == data[name], (status, data))
    expect("version alike", status["version"] == headers["version"], (status, headers))
    expect("the customer", data["cleengCustomerId"] == client.customer
           and data["customerId"] == str(client.customer), data)
    print(f"  status: {status['status']}, offer {status['offerId']}, version {status['version']}", flush=True)

    delivered, body = client.webhook(identifier)
    expect("webhook-id is the event's id", delivered["webhook-id"] == properties.message_id, delivered)
    expect("the webhook's body is the event's", body == event, body)
    expect("the trace in the webhook", delivered["traceparent"].split("-")[1] == trace.split("-")[1], delivered)
    print(f"  webhook {delivered['webhook-id']}: signature verified by the Standard Webhooks library", flush=True)

    again = client.register(transaction)
    expect("registered again once finalized: 202", again.status_code == 202, again)
    later = client.finalized(again.json()["synchronizationId"])
    # The version is the purchase's: it grows only with news about the purchase.
    expect("a version that does not shrink", later["version"] >= status["version"], (status, later))
    print(f"  registered again: version {later['version']}", flush=True)


def other_results(client):
    for scenario, result in (("101", "RECEIVED_EXPIRED_PURCHASE"), ("102", "PURCHASE_REVOKED")):
        identifier = client.register(new_transaction(scenario)).json()["synchronizationId"]
        status = client.finalized(identifier)
        expect(f"{result} without access", status["result"] == result and status["accessGranted"] is False
               and "offerId" not in status, status)
        print(f"  {scenario}…: {result}", flush=True)
    # The configuration of ops/run gives every customer access for purchases from the sandbox.
    identifier = client.register(new_transaction("121")).json()["synchronizationId"]
    status = client.finalized(identifier)
    expect("access in the sandbox", status["accessGranted"] is True and status["environment"] == "Sandbox", status)
    print(f"  121…: {status['result']}, environment {status['environment']}", flush=True)


def a_customer(client):
    other = client.customer + 1
    expect("PUT of another customer: 201", client.call("PUT", f"/customers/{other}", {}).status_code == 201, other)
    token = client.customer_token(client.customer)
    identifier = client.register(new_transaction("100"), headers=token).json()["synchronizationId"]
    client.finalized(identifier, headers=token)
    print("  registered and polled with a customer's token", flush=True)
    expect_problem(
        "a token for another customer", client.register(new_transaction("100"), other, token), 403, "AUTH0003")
    expect_problem(
        "another customer's synchronization",
        client.call(
            "GET", f"/storekit2/purchases/synchronizations/{identifier}", headers=client.customer_token(other)),
        404, "REQ0100")
    erased = client.call("DELETE", f"/customers/{other}")
    expect("DELETE: 200, and what stays", erased.status_code == 200 and erased.json()["kept"], erased)
    expect_problem("a deleted customer", client.call("GET", f"/customers/{other}"), 404, "REQ0100")


def refusals(client):
    slow = new_transaction("133")
    running = client.register(slow)
    expect("registered: 202", running.status_code == 202, running)
    conflict = client.register(slow)
    expect_problem("a transaction that is being synchronized", conflict, 409, "SK2C0101")
    expect("the running synchronization in instance",
           conflict.json().get("instance", "").endswith(running.json()["synchronizationId"]), conflict)
    purchases, transaction = "/storekit2/purchases", new_transaction("100")
    good = {"cleengCustomerId": client.customer, "transactionId": transaction}
    expect_problem("a transactionId that is not a number", client.register("abc"), 400, "REQ0001")
    expect_problem(
        "a body without transactionId", client.call("POST", purchases, {"cleengCustomerId": 1}), 400, "REQ0001")
    expect_problem(
        "a Correlation-Id of 257 characters",
        client.register(transaction, headers=client.backend | {"Correlation-Id": "x" * 257}), 400, "REQ0004")
    missing = client.call("POST", purchases, good, headers={})
    expect_problem("no credential", missing, 401, "AUTH0001")
    expect("WWW-Authenticate", "www-authenticate" in missing.headers, missing)
    expect_problem("a wrong publisher token",
                   client.call("POST", purchases, good, headers={"X-Publisher-Token": "wrong"}), 401, "AUTH0002")
    expect_problem("a customer that nobody has put", client.register(transaction, 1), 422, "SK2C0100")
    expect_problem("an unknown path", client.call("GET", "/nothing"), 404, "REQ0100")
    unknown = client.call("GET", f"{purchases}/synchronizations/none")
    expect_problem("an unknown synchronization", unknown, 404, "REQ0100")
    delete = client.call("DELETE", purchases)
    expect("DELETE of purchases: 405 with Allow: POST",
           delete.status_code == 405 and delete.headers.get("allow") == "POST", delete)
    large = client.call("POST", purchases, good | {"ipAddress": "1" * 100_000})
    expect("a body of 100 kB: 413", large.status_code == 413, large)
    text = client.session.post(client.values["API_URL"] + purchases, data="hello", timeout=10,
                               headers=client.backend | {"Content-Type": "text/plain"})
    expect("a text: 415", text.status_code == 415, text)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    bring_libraries()
    client = Client(settings())
    client.subscribe()
    created = client.call("PUT", f"/customers/{client.customer}", {"email": "customer@example.com"})
    expect("PUT of a new customer: 201", created.status_code == 201, created)
    expect("PUT again: 200", client.call("PUT", f"/customers/{client.customer}", {}).status_code == 200, created)
    for part in (one_purchase, other_results, a_customer, refusals):
        print(f"{part.__name__.replace('_', ' ').capitalize()}:", flush=True)
        part(client)
    print("Everything is as the contract says.", flush=True)


if __name__ == "__main__":
    main()
