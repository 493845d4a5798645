#!/usr/bin/env python3
"""Registers a purchase, waits for its result, and reads what the customer may use: purchase.py CUSTOMER TRANSACTION"""
import json, os, sys, time, urllib.error, urllib.parse, urllib.request, uuid

def call(method, path, body=None, headers={}):
    headers = {"X-Publisher-Token": os.environ["PUBLISHER_TOKEN"], "Content-Type": "application/json"} | headers
    for _ in range(20):  # The server is busy (429) or cannot answer (503, no answer): the same request again.
        request = urllib.request.Request(os.environ["API_URL"] + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.headers, json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 409: return 409, error.headers, json.load(error)
            if error.code not in (429, 503): sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")
            time.sleep(int(error.headers["Retry-After"] or 1))
        except OSError:
            time.sleep(1)
    sys.exit(f"{method} {path}: no answer after 20 attempts {headers.get('Correlation-Id', '')}")

if len(sys.argv) != 3: sys.exit(__doc__)
customer, transaction = sys.argv[1:]
purchase = json.dumps({"customerId": customer, "transactionId": transaction}).encode()
# Each attempt has the same id, so the purchase is registered once. After a 409, another registration of it is running.
status, headers, answer = call("POST", "/storekit2/purchases", purchase, {"Correlation-Id": str(uuid.uuid4())})
location = answer["instance"] if status == 409 else headers["Location"]
while (found := call("GET", location))[2]["status"] != "finalized":
    time.sleep(int(found[1]["Retry-After"]))
print(found[2]["result"])
for entitlement in call("GET", f"/customers/{urllib.parse.quote(customer, safe='')}/entitlements")[2]["entitlements"]:
    print(entitlement["offerId"], "may be used" if entitlement["accessGranted"] else "may not be used")
