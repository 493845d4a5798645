#!/usr/bin/env python3
"""A middleware and an app that speak Cleeng's StoreKit 1 contract: /apple/payment, the reads, and the webhooks.

It sends receipts, polls for access, moves a subscription to another e-mail address, and receives the webhooks that
Cleeng documents. Only its customers are made by Countersign's own API. The simulator gives it the receipts that an app
would get from StoreKit. Start ops/run in one terminal and this in another:

    ops/examples/cleeng_sk1.py [ENV_FILE]

For ENV_FILE and the libraries, see ops/examples/client.py.
"""
import json
import random
import sys
import time

import client
from client import expect

OFFER = "S123123123_US"
TOPICS = ("inappPurchaseValidationSucceeded", "inappPurchaseValidationFailed", "subscriptionCreated",
          "subscriptionTerminated")
# An app polls every 5 seconds. A test is in a hurry.
POLL_SECONDS = 0.2
PATIENCE_SECONDS = 60


class Webhooks(client.Receiver):
    """Collects the webhooks."""

    def __init__(self):
        self.received = {}
        super().__init__()

    def accept(self, path, headers, body):
        self.received[headers["webhook-id"]] = json.loads(body)
        return 200

    def wait(self, what, customer, topics):
        """The data of one webhook of each topic about a customer; they are not looked at again."""
        def find():
            found = {}
            for identifier, body in list(self.received.items()):
                if body["data"].get("customerId") == customer and body["topic"] in topics:
                    found.setdefault(body["topic"], (identifier, body["data"]))
            if set(found) != set(topics):
                return None
            for identifier, _ in found.values():
                del self.received[identifier]
            return {topic: data for topic, (_, data) in found.items()}
        return self.until(f"webhooks of {what}", find)


class Cleeng:
    def __init__(self, values):
        import requests
        self.values = values
        self.session = requests.Session()
        self.session.trust_env = False
        self.webhooks = Webhooks()
        self.publisher = {"X-Publisher-Token": values["PUBLISHER_TOKEN"]}
        self.first = random.randrange(10**9, 10**10)

    def call(self, method, path, body=None, headers=None):
        return self.session.request(
            method, self.values["API_URL"] + path, json=body, headers=self.publisher if headers is None else headers,
            timeout=10)

    # -- what is there before

    def customer(self, number):
        """Makes a customer; returns the id and the e-mail address."""
        number = self.first + number
        email = f"customer-{number}@example.com"
        answer = self.call("PUT", f"/customers/{number}", {"email": email})
        expect("PUT of a new customer: 201", answer.status_code == 201, answer)
        return number, email

    def bearer(self, customer):
        return client.customer_token(self.values, customer)

    def subscribe(self, urls):
        for topic in TOPICS:
            answer = self.call("PUT", f"/3.1/webhook_subscriptions/{topic}", [{"url": url} for url in urls])
            expect(f"webhook_subscriptions of {topic}: 200", answer.status_code == 200, answer)

    def receipt(self, scenario):
        """A transaction of a scenario of the simulator, and a receipt with it."""
        transaction = client.new_transaction(scenario)
        return transaction, client.minted(self.values, f"receipt/{transaction}")

    # -- the contract

    def payment(self, email, transaction, receipt, offer=OFFER, headers=None, **more):
        body = {"customerEmail": email, "offerId": offer, "appType": "ios", "ipAddress": "203.0.113.7",
                "receipt": {"transactionId": transaction, "receiptData": receipt}} | more
        return self.call("POST", "/apple/payment", body, headers)

    def pay(self, *arguments, **more):
        answer = self.payment(*arguments, **more)
        expect("a payment: 200", answer.status_code == 200, answer)

    def entitlement(self, customer, offer=OFFER):
        answer = self.call("GET", f"/entitlements/{offer}",
                           headers={"Authorization": f"Bearer {self.bearer(customer)}"})
        expect("entitlements: 200", answer.status_code == 200, answer)
        data = answer.json()["responseData"]
        expect("no errors", answer.json()["errors"] == [], answer)
        return data

    def poll(self, customer):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            data = self.entitlement(customer)
            if data["accessGranted"]:
                expect("expiresAt in seconds", data["expiresAt"] > time.time(), data)
                return
            time.sleep(POLL_SECONDS)
        expect(f"access within {PATIENCE_SECONDS} seconds", False, data)

    def tags(self, customer):
        call = {"method": "getAccessibleTags", "jsonrpc": "2.0", "id": 1, "params": {
            "publisherToken": self.values["PUBLISHER_TOKEN"], "customerToken": self.bearer(customer)}}
        answer = self.call("POST", "/3.1/json-rpc", call, headers={}).json()
        expect("JSON-RPC", answer["id"] == "1" and answer["error"] is None and answer["jsonrpc"] == "2.0", answer)
        return answer["result"]["tags"]


def a_payment_and_a_transfer(cleeng):
    (mia, mias_email), (ben, bens_email) = cleeng.customer(1), cleeng.customer(2)
    transaction, receipt = cleeng.receipt("100")
    cleeng.pay(mias_email, transaction, receipt, couponCode="SUMMER")
    cleeng.poll(mia)
    told = cleeng.webhooks.wait(
        "a payment", mia, ("subscriptionCreated", "inappPurchaseValidationSucceeded"))
    created, succeeded = told["subscriptionCreated"], told["inappPurchaseValidationSucceeded"]
    expect("SubscriptionCreated", succeeded["result"] == "SubscriptionCreated", succeeded)
    expect("one subscriptionId", created["subscriptionId"] == succeeded["subscriptionId"], told)
    expect("the documented members", {
        "paymentGateway", "offerId", "inAppSpecificData", "offerType", "active", "inTrial", "expirationDate"
    } <= succeeded.keys() and succeeded["offerType"] == "subscription", succeeded)
    expect("the transaction", succeeded["inAppSpecificData"]["transactionId"] == transaction, succeeded)
    print(f"  paid: subscription {created['subscriptionId']} of {mia}, until {succeeded['expirationDate']}", flush=True)

    # The app's own token, and a coupon that is not valid: the payment goes on all the same.
    cleeng.pay(mias_email, transaction, receipt, couponCode="nothing",
               headers={"Authorization": f"Bearer {cleeng.bearer(mia)}"})
    told = cleeng.webhooks.wait("the same payment", mia, ("inappPurchaseValidationSucceeded",))
    again = told["inappPurchaseValidationSucceeded"]
    expect("SubscriptionSynchronized", again["result"] == "SubscriptionSynchronized", again)
    print("  paid again: nothing to do", flush=True)

    cleeng.pay(bens_email, transaction, receipt)
    cleeng.poll(ben)
    ended = cleeng.webhooks.wait("the old customer", mia, ("subscriptionTerminated",))["subscriptionTerminated"]
    told = cleeng.webhooks.wait("the new customer", ben, ("subscriptionCreated", "inappPurchaseValidationSucceeded"))
    moved = told["inappPurchaseValidationSucceeded"]
    expect("SubscriptionTransferred", moved["result"] == "SubscriptionTransferred", moved)
    expect("the previous subscription", ended["subscriptionId"] == created["subscriptionId"]
           and moved["prevSubscriptionId"] == created["subscriptionId"] and moved["prevCustomerId"] == mia, moved)
    expect("no access of the old customer", cleeng.entitlement(mia)["accessGranted"] is False, mia)
    answer = cleeng.call("GET", f"/3.1/entitlements/customer_id/{ben}/offer_id/{OFFER}")
    expect("API 3.1 says the same", answer.status_code == 200 and answer.json()["accessGranted"] is True, answer)
    expect("tags", cleeng.tags(ben) and not cleeng.tags(mia), (cleeng.tags(ben), cleeng.tags(mia)))
    print(f"  moved: subscription {moved['subscriptionId']} of {ben}, tags {', '.join(cleeng.tags(ben))}", flush=True)


def failures(cleeng):
    ida, email = cleeng.customer(3)
    for scenario, offer, result in (
            ("101", OFFER, "PurchaseExpired"), ("102", OFFER, "PurchaseRevoked"), ("141", OFFER, "ReceiptNotValid"),
            ("143", OFFER, "ReceiptOfAnotherApp"), ("100", "P123123125_US", "OfferMismatch"),
            ("100", "S000000000_XX", "OfferNotFound")):
        cleeng.pay(email, *cleeng.receipt(scenario), offer=offer)
        data = cleeng.webhooks.wait(result, ida, ("inappPurchaseValidationFailed",))["inappPurchaseValidationFailed"]
        expect(result, data["result"] == result and data["offerId"] == offer, data)
        print(f"  failed: {result}", flush=True)
    expect("no access", cleeng.entitlement(ida)["accessGranted"] is False, ida)


def refusals(cleeng):
    _, email = cleeng.customer(4)
    transaction, receipt = cleeng.receipt("100")
    wrong = {"X-Publisher-Token": "wrong"}
    for what, answer, status, code in (
            ("a receipt that is none", cleeng.payment(email, transaction, "receipt_data"), 400, "REQ0001"),
            ("no address", cleeng.payment("nobody", transaction, receipt), 400, "REQ0001"),
            ("a device of others", cleeng.payment(email, transaction, receipt, appType="roku"), 400, "REQ0001"),
            ("no credential", cleeng.payment(email, transaction, receipt, headers={}), 401, "AUTH0001"),
            ("a wrong token", cleeng.payment(email, transaction, receipt, headers=wrong), 401, "AUTH0002")):
        expect(f"{what}: {status} {code}", answer.status_code == status and answer.json()["code"] == code
               and answer.json()["errors"], answer)
        print(f"  refused: {what}: {status} {code} {answer.json()['message']}", flush=True)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    client.bring_libraries()
    cleeng = Cleeng(client.every_setting())
    cleeng.subscribe([cleeng.webhooks.url("webhooks")])
    try:
        for part in (a_payment_and_a_transfer, failures, refusals):
            print(f"{part.__name__.replace('_', ' ').capitalize()}:", flush=True)
            part(cleeng)
    finally:
        cleeng.subscribe([])
    print("Cleeng's StoreKit 1 contract holds.", flush=True)


if __name__ == "__main__":
    main()
