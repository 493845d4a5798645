#!/usr/bin/env python3
"""An app that uploads its receipts as Mbaasy's client API wants them, and a backend that gets the webhooks.

The app knows only the contract: https://docs.mbaasy.com, client API and event payloads. What Mbaasy's console does is
done by Countersign's own API: the user is registered, and the webhook endpoint is created. The simulator gives the app
the receipts that StoreKit would give it. Start ops/run in one terminal and this in another:

    ops/examples/mbaasy.py [ENV_FILE]

For ENV_FILE and the libraries, see ops/examples/client.py.
"""
import base64
import datetime
import hashlib
import hmac
import http.server
import json
import random
import subprocess
import sys
import threading
import time
import uuid

import client
from client import expect

PATIENCE_SECONDS = 30
HMAC_KEY = "an-hmac-key-of-the-console"


class Backend(http.server.ThreadingHTTPServer):
    """Collects the webhooks whose digest is right."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.events = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait(self, name, purchase):
        """The event of a purchase, by the id of its resource."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for event in list(self.events.values()):
                if event["name"] == name and event["data"]["id"] == purchase:
                    return event
            time.sleep(0.02)
        expect(f"{name} of {purchase} within {PATIENCE_SECONDS} seconds", False, list(self.events.values()))
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        digest = hmac.new(HMAC_KEY.encode(), body, hashlib.sha256).hexdigest()
        is_right = hmac.compare_digest(digest, self.headers.get("X-SHA256-Digest", ""))
        if is_right:
            event = json.loads(body)
            self.server.events[event["id"]] = event
        self.send_response(200 if is_right else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class App:
    def __init__(self, values):
        import requests
        self.values = values
        self.session = requests.Session()
        self.session.trust_env = False
        self.user = f"user-{random.randrange(10**9)}"
        self.number = 0

    def receipt(self, scenario, *also):
        """What StoreKit would give the app: a receipt with one new purchase of each scenario."""
        first, *others = [self.transaction(each) for each in (scenario, *also)]
        url = f"{self.values['SIMULATOR_URL']}/simulator/receipt/{first}?also={','.join(others)}"
        run = subprocess.run(
            ["curl", "--silent", "--show-error", "--fail", "--http2", "--noproxy", "*", "--cacert",
             self.values["SIMULATOR_CA"], url.removesuffix("?also=")], capture_output=True, text=True)
        expect("a receipt of the simulator", run.returncode == 0, run.stderr)
        return run.stdout.strip()

    def transaction(self, scenario):
        self.number += 1
        return f"{scenario}{random.randrange(10**11):011d}{self.number:02d}"

    def upload(self, token=None, **body):
        return self.session.post(
            f"{self.values['API_URL']}/client/itunes_connect/receipts", timeout=30, data=json.dumps(body), headers={
                "Accept": "application/json", "Content-Type": "application/json",
                "Authorization": f"Bearer {token or self.values['MBAASY_CLIENT_TOKEN']}"})

    def console(self, method, path, body):
        """What a person does in Mbaasy's console."""
        answer = self.session.request(
            method, self.values["API_URL"] + path, json=body, timeout=10,
            headers={"X-Publisher-Token": self.values["PUBLISHER_TOKEN"]})
        expect(f"{method} {path}", answer.status_code in (200, 201), answer)
        return answer.json()


def expect_time(what, value):
    is_time = isinstance(value, dict) and value.keys() == {"utc", "ms"}
    expect(f"{what}: a timestamp", is_time, value)
    moment = datetime.datetime.fromtimestamp(value["ms"] // 1000, datetime.timezone.utc)
    expect(f"{what}: utc and ms alike", value["utc"] == moment.strftime("%Y-%m-%d %H:%M:%S UTC"), value)


def expect_purchase(purchase, **members):
    for name in ("id", "app_family_id", "fact_id"):
        expect(f"{name} is a UUID", str(uuid.UUID(purchase[name])) == purchase[name], purchase)
    for name in ("purchased_at", "created_at", "updated_at", "last_synced_at"):
        expect_time(name, purchase[name])
    for name in ("current_period_start_at", "current_period_end_at"):
        if purchase["type"] == "subscription":
            expect_time(name, purchase[name])
    expect("the marketplace", purchase["marketplace"] == "itunes_connect", purchase)
    for name, value in members.items():
        expect(f"{name} is {value!r}", purchase[name] == value, purchase)


def validated(app, backend):
    receipt = app.receipt("100", "110")
    answer = app.upload(
        receipt=receipt, user_identifier=app.user, country_code="DE", metadata={"campaign_id": "spring"},
        identifier_for_vendor=str(uuid.uuid4()))
    expect("a genuine receipt: 200", answer.status_code == 200, answer)
    body = answer.json()
    expect("a unified receipt of production", (body["style"], body["environment"]) == ("unified", "production"), body)
    expect("no fraud", body["is_fraud"] is False, body)
    expect("the address of the client", body["ip_address"] == "127.0.0.1", body)
    expect("the user", body["user_identifier"] == app.user, body)
    expect("the metadata", body["metadata"] == {"campaign_id": "spring"}, body)
    for name in ("created_at", "updated_at"):
        expect_time(name, body[name])
    expect("two purchases", len(body["in_app_purchases"]) == 2, body)
    for purchase in body["in_app_purchases"]:
        expect_purchase(
            purchase, user_identifier=app.user, country_code="DE", metadata={"campaign_id": "spring"},
            environment="production", app_identifier=body["bundle_id"])
        event = backend.wait("in_app_purchase.created", purchase["id"])
        expect("the event has the resource", event["data"]["user_identifier"] == app.user, event)
        expect("nothing was before", event["previous_attributes"] == {}, event)
        expect_time("created_at of the event", event["created_at"])
    print(f"  200: {len(body['in_app_purchases'])} purchases of {app.user}, and their webhooks", flush=True)

    again = app.upload(receipt=receipt, user_identifier=app.user, metadata={"campaign_id": "autumn"}, ip_address=None)
    expect("the same receipt: 200", again.status_code == 200, again)
    expect("the same resource", again.json()["id"] == body["id"], again)
    expect("no address", again.json()["ip_address"] is None, again)
    event = backend.wait("in_app_purchase.updated", body["in_app_purchases"][0]["id"])
    expect("before", event["previous_attributes"]["metadata"] == {"campaign_id": "spring"}, event)
    expect("after", event["new_attributes"]["metadata"] == {"campaign_id": "autumn"}, event)
    expect("the changed keys only", set(event["new_attributes"]) == {"metadata", "updated_at"}, event)
    print("  in_app_purchase.updated: the changed metadata", flush=True)

    other = app.upload(receipt=receipt)
    expect("without a user: 200", other.status_code == 200, other)
    expect("and nothing of the owner's", all(
        purchase["user_identifier"] is None and purchase["metadata"] is None
        for purchase in other.json()["in_app_purchases"]), other)


def other_purchases(app, _):
    for scenario, members in (
            ("101", {"type": "subscription", "canceled_by": "user"}),
            ("102", {"type": "subscription", "canceled_by": "user"}),
            ("103", {"in_grace_period": True, "canceled_by": None}),
            ("111", {"type": "consumable", "is_auto_renewing": False}),
            ("121", {"environment": "sandbox"})):
        answer = app.upload(receipt=app.receipt(scenario), user_identifier=app.user)
        expect(f"scenario {scenario}: 200", answer.status_code == 200, answer)
        expect_purchase(answer.json()["in_app_purchases"][0], **members)
        print(f"  {scenario}…: {members}", flush=True)


def enqueued(app, backend):
    # Apple fails at this one for as long as the door waits.
    answer = app.upload(receipt=app.receipt("132"), user_identifier=app.user)
    expect("Apple does not answer: 206", answer.status_code == 206, answer)
    expect("no purchase yet", answer.json()["in_app_purchases"] == [], answer)
    print("  206: queued", flush=True)


def refused(app, _):
    wrong = app.upload(token="wrong", receipt=app.receipt("100"))
    expect("a wrong token: 401", wrong.status_code == 401 and "authorization" in wrong.json()["errors"], wrong)
    for scenario in ("140", "141"):
        forged = app.upload(receipt=app.receipt(scenario), user_identifier=app.user)
        expect("a forged receipt: 402", forged.status_code == 402, forged)
        expect("a fraud with its reason", forged.json()["is_fraud"] is True and forged.json()["fraud_reason"], forged)
        expect("no purchases", forged.json()["in_app_purchases"] == [], forged)
    for body, fields in (
            ({}, {"receipt"}), ({"receipt": base64.b64encode(b"x" * 100).decode()}, {"receipt"}),
            ({"receipt": app.receipt("143")}, {"receipt"}),
            ({"country_code": "DEU", "ip_address": "home", "metadata": []},
             {"receipt", "country_code", "ip_address", "metadata"}),
            ({"receipt": app.receipt("100"), "user_identifier": "a stranger"}, {"user_identifier"})):
        answer = app.upload(**body)
        expect(f"errors at {fields}: 422", answer.status_code == 422, answer)
        expect("errors by field", answer.json()["errors"].keys() == fields, answer)
        print(f"  422: {answer.json()['errors']}", flush=True)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    client.bring_libraries()
    app, backend = App(client.every_setting()), Backend()
    app.console("PUT", f"/customers/{app.user}", {})
    endpoint = app.console("POST", "/3.1/webhook_endpoints", {
        "url": f"http://127.0.0.1:{backend.server_port}/mbaasy", "format": "mbaasy", "secret": HMAC_KEY,
        "topics": ["in_app_purchase.created", "in_app_purchase.updated"]})
    for part in (validated, other_purchases, enqueued, refused):
        print(f"{part.__name__.replace('_', ' ').capitalize()}:", flush=True)
        part(app, backend)
    app.session.delete(
        f"{app.values['API_URL']}/3.1/webhook_endpoints/{endpoint['id']}", timeout=10,
        headers={"X-Publisher-Token": app.values["PUBLISHER_TOKEN"]})
    print("Everything is as the contract says.", flush=True)


if __name__ == "__main__":
    main()
