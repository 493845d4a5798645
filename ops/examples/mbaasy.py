#!/usr/bin/env python3
"""An app that uploads its receipts as Mbaasy's client API wants them, and a backend that gets the webhooks.

The app knows only the contract: https://docs.mbaasy.com, client API and event payloads. What Mbaasy's console does is
done by Countersign's own API: the webhook endpoint is created. Nobody registers the user. The simulator gives the app
the receipts that StoreKit would give it. Start ops/run in one terminal and this in another:

    ops/examples/mbaasy.py [ENV_FILE]

For ENV_FILE and the libraries, see ops/examples/client.py.
"""
import base64
import datetime
import hashlib
import hmac
import json
import random
import sys
import uuid

import client
from client import expect

HMAC_KEY = "an-hmac-key-of-the-console"


class Backend(client.Receiver):
    """Collects the webhooks whose digest is right."""

    def __init__(self):
        self.events = {}
        super().__init__()

    def accept(self, path, headers, body):
        digest = hmac.new(HMAC_KEY.encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(digest, headers.get("X-SHA256-Digest", "")):
            return 401
        event = json.loads(body)
        self.events[event["id"]] = event
        return 200

    def wait(self, name, purchase):
        """The event of a purchase, by the id of its resource."""
        def find():
            return next((event for event in list(self.events.values())
                         if event["name"] == name and event["data"]["id"] == purchase), None)
        return self.until(f"{name} of {purchase}", find)


class App:
    def __init__(self, values):
        import requests
        self.values = values
        self.session = requests.Session()
        self.session.trust_env = False
        self.user = f"user-{random.randrange(10**9)}"

    def receipt(self, scenario, *also):
        """What StoreKit would give the app: a receipt with one new purchase of each scenario."""
        first, *others = [client.new_transaction(each) for each in (scenario, *also)]
        more = f"?also={','.join(others)}" if others else ""
        return client.minted(self.values, f"receipt/{first}{more}")

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
            ({"receipt": app.receipt("100"), "user_identifier": ""}, {"user_identifier"})):
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
    endpoint = app.console("POST", "/3.1/webhook_endpoints", {
        "url": backend.url("mbaasy"), "format": "mbaasy", "secret": HMAC_KEY,
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
