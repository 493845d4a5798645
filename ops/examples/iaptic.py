#!/usr/bin/env python3
"""The Cordova plugin, iaptic's Swift client and a publisher's backend, speaking iaptic's contract.

It validates receipts and signed transactions, reads a user's purchases, and receives the webhook purchases.updated.
Nobody registers its users, and only its webhook endpoints are made by Countersign's own API. The simulator gives it
what an app would get from StoreKit. Start ops/run in one terminal and this in another:

    ops/examples/iaptic.py [ENV_FILE]

For ENV_FILE and the libraries, see ops/examples/client.py.
"""
import base64
import hashlib
import json
import random
import sys
import time

import client
from client import expect

BUNDLE = "com.example.app"
PLUGIN = "cordova-plugin-purchase/13.12.0"
SWIFT = "iaptic-storekit2/1.0.0"
SECRET = "0b7b4d0e-6a0f-4a53-8f0f-2f8d1c5b7e11"
INVALID_PAYLOAD, NEED_MORE_DATA = 6778001, 6778006


class Backend(client.Receiver):
    """Receives the webhooks, as iaptic's own example of a backend does."""

    def __init__(self):
        self.received = []
        super().__init__()

    def accept(self, path, headers, body):
        body = json.loads(body)
        if body.get("password") != SECRET:
            return 401
        self.received.append((path, body))
        return 200

    def wait(self, what, wanted):
        """The first webhook that a function wants, and that nobody has got yet."""
        def find():
            for entry in list(self.received):
                if wanted(*entry):
                    self.received.remove(entry)
                    return entry[1]
            return None
        return self.until(f"the webhook of {what}", find)


class Iaptic:
    def __init__(self, values):
        import requests
        self.values = values
        self.session = requests.Session()
        self.session.trust_env = False
        self.backend = Backend()
        self.first = random.randrange(10**9, 10**10)

    # -- what is there before

    def own(self, method, path, body):
        return self.session.request(
            method, self.values["API_URL"] + path, json=body, timeout=10,
            headers={"X-Publisher-Token": self.values["PUBLISHER_TOKEN"]})

    def user(self, name):
        """Makes a user, whom only the app knows."""
        return f"{name}-{self.first}"

    def endpoint(self, path, **members):
        members |= {"url": self.backend.url(path), "format": "fovea", "secret": SECRET}
        answer = self.own("POST", "/3.1/webhook_endpoints", members)
        expect("POST of an endpoint: 201", answer.status_code == 201, answer)
        expect("the topic of the format", answer.json()["topics"] == ["purchases.updated"], answer)
        return answer.json()["id"]

    def held(self, path):
        """What an app would hold."""
        return client.minted(self.values, path)

    # -- the contract

    def validate(self, body, query=None, headers=None):
        if query is None:
            query = {"appName": self.values["IAPTIC_APP_NAME"], "apiKey": self.values["IAPTIC_API_KEY"]}
        answer = self.session.post(
            self.values["API_URL"] + "/v1/validate", params=query, json=body, timeout=20, headers=(headers or {}) | {
                "Accept": "application/json", "Content-Type": "application/json;charset=UTF-8"})
        expect("the plugin reads a 200 only", answer.status_code == 200, answer)
        expect("ok is true or false", answer.json()["ok"] in (True, False), answer.text)
        return answer.json()

    def basic(self, key):
        text = f"{self.values['IAPTIC_APP_NAME']}:{key}"
        return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}

    def plugin(self, transaction, user=None):
        """The Cordova plugin: the credential in the query, and the user with its obfuscated name."""
        body = {"id": BUNDLE, "type": "application", "transaction": transaction, "additionalData": {},
                "products": [{"type": "paid subscription", "id": f"{BUNDLE}.monthly", "offers": []}],
                "device": {"plugin": PLUGIN, "platform": "ios", "isVirtual": False}}
        if user:
            body["additionalData"] = {"applicationUsername": user, "obfuscatedUsername": uuid_of(user)}
        return self.validate(body)

    def swift(self, jws, user=""):
        """The Swift client: the credential in the header, and an empty name for no user."""
        body = {"id": BUNDLE, "type": "application",
                "transaction": {"id": BUNDLE, "type": "apple-sk2", "jwsRepresentation": jws},
                "additionalData": {"applicationUsername": user}, "device": {"plugin": SWIFT}}
        return self.validate(body, query={}, headers=self.basic(self.values["IAPTIC_API_KEY"]))

    def read(self, path, key="IAPTIC_SECRET_KEY"):
        return self.session.get(
            self.values["API_URL"] + path, headers=self.basic(self.values[key]), timeout=10)


def uuid_of(user):
    """The plugin's UUID of a user."""
    digest = hashlib.md5(user.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-3{digest[13:16]}-8{digest[17:20]}-{digest[20:]}"


def verified(answer):
    """The collection of an answer, as both clients check it."""
    expect("ok", answer["ok"] is True, answer)
    data = answer["data"]
    expect("an id and a transaction", isinstance(data["id"], str) and isinstance(data["transaction"], dict), data)
    expect("the latest receipt", data["latest_receipt"] is True, data)
    expect("a date with a fraction", data["date"].endswith("Z") and "." in data["date"], data)
    for purchase in data["collection"]:
        dates = [purchase[name] for name in ("purchaseDate", "expiryDate", "lastRenewalDate") if name in purchase]
        expect("dates in milliseconds", all(isinstance(date, int) and date > 10**12 for date in dates), purchase)
        expect("a reason, or none", isinstance(purchase["cancelationReason"], str), purchase)
        expect("flags", all(purchase[name] in (True, False) for name in
                            ("isExpired", "isBillingRetryPeriod", "isTrialPeriod", "isIntroPeriod")), purchase)
    return data["collection"]


def failed(what, answer, code):
    expect(what, answer["ok"] is False and answer["code"] == code and answer["message"], answer)


def the_plugin(iaptic):
    user = iaptic.user("plugin")
    monthly, lifetime = client.new_transaction("100"), client.new_transaction("110")
    receipt = iaptic.held(f"receipt/{monthly}?also={lifetime}")
    answer = iaptic.plugin({"type": "ios-appstore", "id": monthly, "appStoreReceipt": receipt}, user)
    owned = {purchase["id"]: purchase for purchase in verified(answer)}
    expect("both purchases", set(owned) == {f"{BUNDLE}.monthly", f"{BUNDLE}.lifetime"}, owned)
    subscription = owned[f"{BUNDLE}.monthly"]
    # A worker may have asked Apple for the transaction alone, which does not tell the intent.
    expect("a running subscription", subscription["isExpired"] is False
           and subscription.get("renewalIntent", "Renew") == "Renew"
           and subscription["expiryDate"] > time.time() * 1000, subscription)
    expect("the download of the app", "original_application_version" in answer["data"]["transaction"]
           and int(answer["data"]["transaction"]["original_purchase_date_ms"]) > 0, answer)
    print(f"  a receipt with two purchases: {', '.join(sorted(owned))}", flush=True)

    expired = iaptic.held(f"jws/{client.new_transaction('101')}")
    purchases = verified(iaptic.plugin({"type": "apple-sk2", "id": "x", "jwsRepresentation": expired}, user))
    expect("an expired purchase is ok", purchases[0]["isExpired"] is True, purchases)
    refunded = iaptic.held(f"jws/{client.new_transaction('102')}")
    purchases = verified(iaptic.plugin({"type": "apple-sk2", "id": "x", "jwsRepresentation": refunded}, user))
    expect("so is a refunded one", purchases[0]["isExpired"] is True
           and purchases[0]["cancelationReason"].startswith("Customer"), purchases)
    grace = iaptic.held(f"jws/{client.new_transaction('103')}")
    purchases = verified(iaptic.plugin({"type": "apple-sk2", "id": "x", "jwsRepresentation": grace}, user))
    expect("one in its grace period runs", purchases[0]["isExpired"] is False
           and purchases[0]["isBillingRetryPeriod"] is True, purchases)
    print("  expired, refunded and in grace: ok, with isExpired", flush=True)


def the_swift_client(iaptic):
    user, other = iaptic.user("swift"), iaptic.user("other")
    transaction = client.new_transaction("100")
    jws = iaptic.held(f"jws/{transaction}")
    expect("verified without a user", len(verified(iaptic.swift(jws))) == 1, transaction)
    purchases = verified(iaptic.swift(jws, user))
    expect("the purchase", purchases[0]["transactionId"] == transaction, purchases)
    refused = iaptic.swift(jws, other)
    failed("another user's purchase, with a text as code", refused, str(INVALID_PAYLOAD))
    print(f"  verified for nobody, then for {user}; refused for {other}", flush=True)


def the_backend(iaptic):
    user = iaptic.user("backend")
    test = iaptic.endpoint("all")
    iaptic.endpoint("sandbox", environment="Sandbox")
    asked = iaptic.own("POST", f"/3.1/webhook_endpoints/{test}/test", {})
    expect("a test: 202", asked.status_code == 202, asked)
    iaptic.backend.wait("the test", lambda path, body: path == "all" and body["type"] == "test")

    bought = {}
    for scenario in ("100", "121"):
        bought[scenario] = client.new_transaction(scenario)
        jws = iaptic.held(f"jws/{bought[scenario]}")
        verified(iaptic.plugin({"type": "apple-sk2", "id": "x", "jwsRepresentation": jws}, user))
        told = iaptic.backend.wait(scenario, lambda path, body: path == "all" and is_about(body, bought[scenario]))
        expect("the user", told["type"] == "purchases.updated" and told["applicationUsername"] == user, told)
        expect("the reason", told["notification"]["reason"] == "RECEIPT_VALIDATED", told)
        purchase = told["purchases"][told["notification"]["productId"]]
        expect("the purchase", purchase["platform"] == "apple" and purchase["entitledUsers"] == [user]
               and purchase["sandbox"] is (scenario == "121") and purchase["expirationDate"].endswith("Z"), told)
    told = iaptic.backend.wait("the sandbox", lambda path, body: path == "sandbox" and is_about(body, bought["121"]))
    foreign = [body for path, body in iaptic.backend.received if path == "sandbox" and is_about(body, bought["100"])]
    expect("only sandbox purchases at its URL", not foreign, foreign)
    print("  webhooks: a test, a validation, and the sandbox's at a URL of its own", flush=True)

    read = iaptic.read(f"/v2/customers/{user}/purchases")
    expect("the purchases", read.status_code == 200 and read.json()["applicationUsername"] == user
           and f"apple:{BUNDLE}.monthly" in read.json()["purchases"], read.text)
    rows = iaptic.read(f"/v2/customers/?applicationUsername={user}%2Cnobody").json()["rows"]
    expect("the user in the list", [row["applicationUsername"] for row in rows] == [user]
           and rows[0]["customerInfo"]["activeSubscriber"] is True, rows)
    page = iaptic.read("/v2/customers/?limit=1&skip=0").json()
    expect("a page", len(page["rows"]) == 1 and page["paging"]["limit"] == 1 and page["paging"]["total"] >= 1, page)
    subscription = iaptic.read(f"/v1/customers/{user}/subscription").json()
    expect("the subscription", subscription["id"] == user
           and subscription["subscription"]["productId"] == f"{BUNDLE}.monthly"
           and subscription["subscription"]["expiresAt"] > time.time() * 1000, subscription)
    public = iaptic.read(f"/v2/customers/{user}/purchases", "IAPTIC_API_KEY")
    expect("the app's key reads nothing", public.status_code == 401 and public.json()["ok"] is False, public)
    print("  purchases, customers and subscription read with the secret key", flush=True)


def is_about(body, transaction):
    return body.get("notification", {}).get("purchaseId") == f"apple:{transaction}"


def refusals(iaptic):
    user = iaptic.user("refused")
    good = {"type": "apple-sk2", "jwsRepresentation": iaptic.held(f"jws/{client.new_transaction('100')}")}
    for scenario, what in (("140", "tampered"), ("141", "of another root"), ("143", "of another app")):
        transaction = client.new_transaction(scenario)
        for body in ({"type": "apple-sk2", "jwsRepresentation": iaptic.held(f"jws/{transaction}")},
                     {"type": "ios-appstore", "appStoreReceipt": iaptic.held(f"receipt/{transaction}")}):
            failed(f"{body['type']} {what}", iaptic.plugin(body, user), INVALID_PAYLOAD)
    failed("a user with a long name", iaptic.plugin(good, "x" * 257), INVALID_PAYLOAD)
    failed("another store", iaptic.plugin({"type": "android-playstore"}, user), INVALID_PAYLOAD)
    failed("no receipt", iaptic.plugin({"type": "ios-appstore"}, user), NEED_MORE_DATA)
    failed("no transaction", iaptic.validate({"id": BUNDLE}), INVALID_PAYLOAD)
    failed("no credential", iaptic.validate({"transaction": good}, query={}), INVALID_PAYLOAD)
    wrong = {"appName": iaptic.values["IAPTIC_APP_NAME"], "apiKey": "wrong"}
    failed("a wrong key", iaptic.validate({"transaction": good}, query=wrong), INVALID_PAYLOAD)
    expect("nothing was kept", iaptic.read(f"/v2/customers/{user}/purchases").json()["purchases"] == {}, user)
    print("  every bad request has the validator's code", flush=True)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    client.bring_libraries()
    iaptic = Iaptic(client.every_setting())
    for part in (the_plugin, the_swift_client, the_backend, refusals):
        print(f"{part.__name__.replace('_', ' ').capitalize()}:", flush=True)
        part(iaptic)
    print("Everything is as iaptic's contract says.", flush=True)


if __name__ == "__main__":
    main()
