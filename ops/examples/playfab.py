#!/usr/bin/env python3
"""A game that speaks PlayFab's client API only: /Client/ValidateIOSReceipt and /Client/RestoreIOSPurchases.

It sends what a library of PlayFab sends, with the customer's token as the session ticket. The simulator gives it the
receipts that an app would get from StoreKit. Start ops/run in one terminal and this in another:

    ops/examples/playfab.py [ENV_FILE]

For ENV_FILE and the libraries, see ops/examples/client.py.
"""
import sys

import client
from client import expect


class Game:
    def __init__(self, values):
        import requests
        self.values = values
        self.session = requests.Session()
        self.session.trust_env = False

    def call(self, method, body, **headers):
        """Calls the API as a library of PlayFab does; returns the HTTP status and the body."""
        headers = {"X-Authorization": self.values["PLAYFAB_SESSION_TICKET"], "X-PlayFabSDK": "Example-1.0"} | headers
        answer = self.session.post(
            f"{self.values['API_URL']}/Client/{method}?sdk=Example-1.0", json=body, timeout=20,
            headers={name: value for name, value in headers.items() if value})
        return answer.status_code, answer.json()

    def validate(self, price, currency="USD", **evidence):
        return self.call("ValidateIOSReceipt", evidence | {"PurchasePrice": price, "CurrencyCode": currency})

    def restore(self, receipt, **more):
        return self.call("RestoreIOSPurchases", {"ReceiptData": receipt, "CustomTags": {"build": "7"}} | more)

    def minted(self, path):
        """What StoreKit would give the app."""
        return client.minted(self.values, path)


def items(answer):
    return [item for fulfillment in answer["data"]["Fulfillments"] for item in fulfillment["FulfilledItems"]]


def expect_items(what, answer, products):
    status, body = answer
    expect(f"{what}: 200", status == 200 and body["code"] == 200 and body["status"] == "OK", answer)
    found = sorted(item["ItemId"].rpartition(".")[2] for item in items(body))
    expect(f"{what}: {products}", found == sorted(products), answer)
    print(f"  {what}: {', '.join(found) or 'nothing'}", flush=True)
    return items(body)


def expect_error(what, answer, name, number, status=400):
    code, body = answer
    expect(f"{what}: {status} {name} {number}",
           code == status and body["code"] == status and (body["error"], body["errorCode"]) == (name, number), answer)
    expect(f"{what}: status and errorMessage", body["status"] and body["errorMessage"], answer)
    print(f"  refused: {what}: {name} {number} {body['errorMessage']}", flush=True)


def purchases(game):
    subscription, coins = client.new_transaction("100"), client.new_transaction("111")
    answer = game.validate(999, JwsReceiptData=game.minted(f"jws/{subscription}"))
    item = expect_items("a subscription, validated", answer, ["monthly"])[0]
    expect("its fields", item["ItemInstanceId"] and item["Expiration"] and item["ItemClass"] == "subscriptions"
           and item["CatalogVersion"] == "5" and item["DisplayName"] == "Video", item)
    fulfillment = answer[1]["data"]["Fulfillments"][0]
    expect("the recorded price", (fulfillment["RecordedPriceSource"], fulfillment["RecordedTransactionCurrency"],
                                  fulfillment["RecordedTransactionTotal"]) == ("Request", "USD", 999), fulfillment)
    jws = game.minted(f"jws/{coins}")
    item = expect_items("coins, validated", game.validate(199, JwsReceiptData=jws), ["coins"])[0]
    expect("one use", item["RemainingUses"] == item["UsesIncrementedBy"] == 1, item)
    expect_error("coins, validated twice", game.validate(199, JwsReceiptData=jws), "ReceiptAlreadyUsed", 1022)

    lifetime, expired = client.new_transaction("110"), client.new_transaction("101")
    receipt = game.minted(f"receipt/{subscription}?also={coins},{lifetime},{expired}")
    restored = expect_items("a receipt with four purchases, restored", game.restore(receipt), ["monthly", "lifetime"])
    again = expect_items("restored again", game.restore(receipt), ["monthly", "lifetime"])
    expect("the same items", again == restored, again)
    expect_items("restored from catalog version 5", game.restore(receipt, CatalogVersion="5"), ["monthly"])
    expect_items("an expired receipt, restored", game.restore(game.minted(f"receipt/{expired}")), [])


def refusals(game):
    transaction = client.new_transaction("100")
    receipt = game.minted(f"receipt/{transaction}")
    body = {"ReceiptData": receipt}
    expect_error("no ticket", game.call("RestoreIOSPurchases", body, **{"X-Authorization": None}), "NotAuthenticated",
                 1074, 401)
    expect_error("a wrong ticket", game.call("RestoreIOSPurchases", body, **{"X-Authorization": "ticket"}),
                 "InvalidSessionTicket", 1100, 401)
    status, answer = game.call(
        "RestoreIOSPurchases", body, **{"X-Authorization": None, "X-ReportErrorAsSuccess": "true"})
    expect("the same as a success", status == 200 and answer["code"] == 401 and answer["errorCode"] == 1074, answer)
    expect_error("no receipt", game.call("RestoreIOSPurchases", {}), "InvalidParams", 1000)
    expect_error("a text", game.restore("TUlJVA=="), "InvalidReceipt", 1021)
    forged = game.minted(f"receipt/{client.new_transaction('141')}")
    expect_error("a forged receipt", game.restore(forged), "InvalidReceipt", 1021)
    foreign = game.minted(f"receipt/{client.new_transaction('143')}")
    expect_error("another app's receipt", game.restore(foreign), "InvalidBundleID", 1098)
    unknown = game.minted(f"receipt/{client.new_transaction('120')}")
    expect_error("an unknown purchase", game.restore(unknown), "InvalidReceipt", 1021)
    expect_error("an app without purchases", game.restore(game.minted("receipt")), "ReceiptDoesNotContainInAppItems",
                 1096)
    expect_error("another catalog", game.restore(receipt, CatalogVersion="6"), "NoMatchingCatalogItemForReceipt", 1178)
    both = game.minted(f"receipt/{transaction}?also={client.new_transaction('110')}")
    expect_error("two purchases", game.validate(999, ReceiptData=both), "ReceiptContainsMultipleInAppItems", 1097)
    jws = game.minted(f"jws/{transaction}")
    expect_error("another currency", game.validate(999, "EUR", JwsReceiptData=jws), "InvalidCurrencyCode", 1179)
    expect_error("another price", game.validate(1, JwsReceiptData=jws), "InvalidParams", 1000)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    client.bring_libraries()
    game = Game(client.every_setting())
    for part in (purchases, refusals):
        print(f"{part.__name__.capitalize()}:", flush=True)
        part(game)
    print("PlayFab's contract holds.", flush=True)


if __name__ == "__main__":
    main()
