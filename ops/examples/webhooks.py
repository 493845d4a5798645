#!/usr/bin/env python3
"""A publisher's backend that manages its webhook endpoints and verifies their webhooks.

It knows only docs/reference/openapi.yaml. It creates endpoints of every signature and format on a port of this
machine, asks for test events, and verifies them with common libraries: v1 with the Standard Webhooks library, v1a with
the cryptography package. It also does so while a secret is rotated. Then it lists the attempts of a failed delivery,
and recovers the delivery.

Start ops/run in one terminal and this in another:

    ops/examples/webhooks.py [ENV_FILE]

For ENV_FILE and the libraries, see ops/examples/client.py.
"""
import base64
import hashlib
import hmac
import json
import sys
import time

import client
from client import expect

client.LIBRARIES += ("cryptography",)
PATIENCE_SECONDS = 30


class Receiver(client.Receiver):
    """Stores the webhooks that arrive, by their webhook-id."""

    def __init__(self):
        self.received = {}
        self.status = 200
        super().__init__()

    def accept(self, path, headers, body):
        if self.status == 200:
            self.received[headers["webhook-id"]] = ({name.lower(): value for name, value in headers.items()}, body)
        return self.status

    def wait(self, event):
        return self.until(f"webhook {event}", lambda: self.received.get(event))


class Webhooks:
    def __init__(self, backend, receiver):
        self.backend = backend
        self.receiver = receiver

    def call(self, method, path, body=None, status=200):
        answer = self.backend.call(method, "/3.1/" + path, body)
        expect(f"{method} {path}: {status}", answer.status_code == status, answer)
        return answer.json() if answer.content else None

    def create(self, name, **members):
        return self.call("POST", "webhook_endpoints", {"url": self.receiver.url(name), **members}, 201)

    def test(self, endpoint):
        """Asks for a test event and returns its headers and body as they arrived."""
        event = self.call("POST", f"webhook_endpoints/{endpoint['id']}/test", status=202)["eventId"]
        return self.receiver.wait(event)


def is_signed(webhook, secret):
    """Whether the Standard Webhooks library accepts one of the signatures with a shared secret."""
    import standardwebhooks
    headers, body = webhook
    try:
        standardwebhooks.Webhook(secret).verify(body, headers)
        return True
    except standardwebhooks.WebhookVerificationError:
        return False


def is_signed_v1a(webhook, public_key):
    """Whether one of the signatures fits a public key; the library supports shared secrets only."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    headers, body = webhook
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key.removeprefix("whpk_")))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    for signature in headers["webhook-signature"].split(" "):
        version, _, value = signature.partition(",")
        try:
            if version == "v1a":
                key.verify(base64.b64decode(value), signed)
                return True
        except InvalidSignature:
            pass
    return False


def signatures(hooks):
    v1, v1a = hooks.create("v1"), hooks.create("v1a", signature="v1a")
    expect("v1 verified", is_signed(hooks.test(v1), v1["secret"]), v1)
    expect("v1a verified", is_signed_v1a(hooks.test(v1a), v1a["publicKey"]), v1a)
    expect("no secret of v1a is told", "secret" not in v1a, v1a)
    topic = "webhook_subscriptions/webhookEndpointDisabled"
    own = "a secret of the publisher"
    drawn, given = hooks.call("PUT", topic, [
        {"url": hooks.receiver.url("drawn")},
        {"url": hooks.receiver.url("given"), "verification": {
            "name": "HMAC", "options": {"hashAlg": "SHA256", "sharedSecret": own}}}])
    expect("a drawn secret verified", is_signed(hooks.test(drawn), drawn["signingSecret"]), drawn)
    expect("a given secret verified", is_signed(hooks.test(given), own.encode()), given)
    expect("the list is empty again", hooks.call("PUT", topic, []) == [], topic)
    print("  v1, v1a and the documented form: verified", flush=True)
    return v1, v1a


def formats(hooks):
    fovea, mbaasy = hooks.create("fovea", format="fovea"), hooks.create("mbaasy", format="mbaasy")
    headers, body = hooks.test(fovea)
    expect("the password of fovea", json.loads(body)["password"] == fovea["secret"], body)
    headers, body = hooks.test(mbaasy)
    digest = hmac.digest(mbaasy["secret"].encode(), body, hashlib.sha256).hex()
    expect("the digest of mbaasy", headers["x-sha256-digest"] == digest, headers)
    print("  fovea and mbaasy: their own proofs fit", flush=True)
    return fovea, mbaasy


def rotation(hooks, v1, v1a):
    def rotate(endpoint, overlap):
        return hooks.call("POST", f"webhook_endpoints/{endpoint['id']}/rotate_secret", {"overlapSeconds": overlap})

    def eventually(what, holds):
        # The notifiers read the endpoints once a second.
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            expect(what, time.monotonic() < deadline, None)
            time.sleep(0.1)

    second, key = rotate(v1, 600), rotate(v1a, 600)

    def both():
        shared, public = hooks.test(v1), hooks.test(v1a)
        return (all(is_signed(shared, one["secret"]) for one in (v1, second))
                and all(is_signed_v1a(public, one["publicKey"]) for one in (v1a, key)))
    eventually("old and new secrets verify", both)
    third = rotate(v1, 0)

    def newest():
        webhook = hooks.test(v1)
        return [is_signed(webhook, one["secret"]) for one in (v1, second, third)] == [False, False, True]
    eventually("the newest secret alone verifies", newest)
    print("  during the overlap every secret fits, without one the newest only", flush=True)


def recovery(hooks):
    # With a topic that nothing comes of here: results of purchases that are still being verified would be in its log.
    endpoint = hooks.create("down", topics=["webhookEndpointDisabled"], retryPolicy={"enabled": False})
    path = f"webhook_endpoints/{endpoint['id']}"
    hooks.receiver.status = 500
    event = hooks.call("POST", f"{path}/test", status=202)["eventId"]
    deadline = time.monotonic() + PATIENCE_SECONDS
    attempts = []
    while not attempts and time.monotonic() < deadline:
        attempts = hooks.call("GET", f"{path}/attempts?outcome=abandoned")["attempts"]
        time.sleep(0.05)
    expect("one attempt, answered 500", [(one["eventId"], one["attempt"], one["status"]) for one in attempts]
           == [(event, 1, 500)], attempts)
    hooks.receiver.status = 200
    recovered = hooks.call("POST", f"{path}/recover", {"since": attempts[0]["time"]}, 202)
    expect("one event recovered", recovered == {"recovered": 1}, recovered)
    expect("verified", is_signed(hooks.receiver.wait(event), endpoint["secret"]), event)
    print("  what failed is listed, and recovered", flush=True)
    return endpoint


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    client.bring_libraries()
    hooks = Webhooks(client.Client(client.settings()), Receiver())
    made = []
    try:
        made += signatures(hooks)
        made += formats(hooks)
        rotation(hooks, *made[:2])
        made.append(recovery(hooks))
    finally:
        for endpoint in made:
            hooks.call("DELETE", f"webhook_endpoints/{endpoint['id']}", status=204)
    print("Every webhook is signed as the contract says.", flush=True)


if __name__ == "__main__":
    main()
