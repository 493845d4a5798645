"""Sends each text of docs/reference/openapi.yaml to a gateway: as long as it may be, and a character longer."""
import base64
import json
import re
import subprocess
import urllib.parse

from development.openapi import OpenAPI
from fleet import Failure
from fleet.requests import exchange

# Fields that nobody refuses: a proxy writes them, or they are hints. The room for the whole head bounds them (431).
EXEMPT = {"traceparent", "X-Forwarded-For", "Priority", "X-ReportErrorAsSuccess"}
# Ids that are looked up: one that is too long is unknown, as any other one that is not there.
LOOKED_UP = {"endpointId", "eventId", "offerId"}
# A refusal for another reason than the text.
OTHER_REFUSALS = {401, 403, 405, 408, 415, 429}

# What stands in a path beside the text.
PATH = {
    "customerId": "987654321", "offerId": "S123123123_US", "originalTransactionId": "1000000000000001",
    "topic": "inappPurchaseSyncResult", "refundRequestId": "rfr_" + "0" * 32,
    "grantId": "0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10", "synchronizationId": "limits",
    "eventId": "evt_limits", "publisherId": "1001", "applicationUsername": "alice",
    "orderId": "M1000000000000001", "importId": "imp_" + "0" * 32,
}
# The password of the example of a notification of version 1. A gateway that is checked knows it.
SHARED_SECRET = "0123456789abcdef0123456789abcdef"
FORMATS = {
    "uuid": "7e3fb204-2a0f-4d66-9e9a-6a2f3f3f1a10", "date-time": "2026-11-23T09:00:00Z", "ipv4": "203.0.113.7",
    "ipv6": "2001:db8::7",
}
# How far somebody has an export, of a ledger that nobody has.
CURSOR = '{"moment":{"at":"2026-11-28T08:00:00.000Z","history":"1-1","snapshot":1}}'
# An Ed25519 key of zeros, and its public half.
PRIVATE_KEY = bytes(32) + bytes.fromhex("3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29")
# How an endpoint is made whose secret has a form.
SECRETS = {"whsec_": {}, "whsk_": {"signature": "v1a"}, "": {"format": "fovea"}}


def digits(count):
    return "1" * count


def letters(count):
    return "a" * count


# How a text of a length is written, by its pattern.
SAMPLES = {
    "^[0-9]{1,32}$": digits,
    "^[A-Za-z]{1,32}-[0-9]{1,32}$": lambda count: f"{letters(32)}-{digits(count - 33)}",
    "^[0-9]{1,15}-rfr_[0-9a-f]{32}$": lambda count: f"{digits(count - 37)}-rfr_{letters(32)}",
    "^[0-9]{1,15}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$":
        lambda count: f"{digits(count - 37)}-{FORMATS['uuid']}",
    "^[0-9]{1,15}-([0-9a-f]{2}){1,256}$": lambda count: f"{digits(15)}-{letters(count - 16)}",
    "^[1-9][0-9]{0,14}-[0-9]{1,19}$": lambda count: f"{digits(15)}-{digits(count - 16)}",
    "^01[0-9a-f]{16}([0-7][0-9a-f]{15}){2}$": lambda count: "0" + digits(count - 1),
    # Whitespace belongs to JSON.
    r'^\{"moment":\{.*\}.*\}\s*$': lambda count: CURSOR.ljust(count),
    "^[0-9]{1,15}-imp_[0-9a-f]{32}$": lambda count: f"{digits(count - 37)}-imp_{letters(32)}",
    "^imp_[0-9a-f]{32}$": lambda count: f"imp_{letters(count - 4)}",
    "^rfr_[0-9a-f]{32}$": lambda count: f"rfr_{letters(count - 4)}",
    "^[A-Za-z]{2}$": lambda count: "DE" + letters(count - 2),
}


def sample(text, count):
    """A text with so many characters that has its pattern, unless it is too long."""
    pattern = text.pattern or ""
    if pattern in SAMPLES:
        return SAMPLES[pattern](count)
    if "@" in pattern:
        return letters(count - 2) + "@b"
    if "://" in pattern:
        return "https://127.0.0.1:9/" + letters(count - 20)
    if pattern.startswith("^whsec_"):
        return "whsec_" + "A" * (count - 8) + "=="
    if pattern.startswith("^whsk_"):
        # With the public half behind it, which the pattern leaves out.
        return "whsk_" + "A" * (count - 93) + base64.b64encode(PRIVATE_KEY).decode()
    # A text of its own: an id, for example, can be used once.
    own = f"{text.operation.name}-{text.members[-1]}"
    return (own + letters(count))[:count] if count >= 256 else letters(count)


def good_and_bad(text):
    """A text that may be, and one that may not."""
    if text.most:
        return sample(text, text.most), sample(text, text.most + 1)
    good = text.choices[0] if text.choices else FORMATS[text.form]
    return good, good + "x"


class Limits:
    def __init__(self, address, client):
        """
        address: the gateway's host and port
        client: the values of a client of the public contract, with IAPTIC_CREDENTIAL
        """
        self.address, self.client = address, client
        self.endpoints = {}

    def check(self):
        """Tries each text; returns how many there are."""
        texts = [text for operation in OpenAPI().operations() for text in operation.texts()
                 if text.members and text.members[-1] not in EXEMPT]
        mistakes = [mistake for mistake in map(self.mistake, texts) if mistake]
        mistakes += self.mistakes_of_hints()
        if mistakes:
            raise Failure("\n".join([*mistakes, f"{len(mistakes)} limits of docs/reference/openapi.yaml do not hold"]))
        return len(texts)

    def mistake(self, text):
        """What is wrong with the answers to a text; None if nothing is."""
        good, bad = good_and_bad(text)
        taken, refused = self.answer(text, good), self.answer(text, bad)
        shown = f"{text}: {taken[0]} {taken[1][:300]}\n  and beyond the limit: {refused[0]} {refused[1][:300]}"
        if taken[0] >= 500 or taken[0] in OTHER_REFUSALS:
            return f"not answered as a good request: {shown}"
        if not 400 <= refused[0] < 500 or refused[0] in OTHER_REFUSALS:
            return f"not refused: {shown}"
        is_unknown = text.members[-1] in LOOKED_UP and refused[0] == 404
        return f"not told apart: {shown}" if taken == refused and not is_unknown else None

    def answer(self, text, value):
        """The answer to a request with a text: the status, and the body without what repeats the text."""
        operation = text.operation
        path, query, headers = dict(PATH), {}, self.credential(operation)
        if "{endpointId}" in operation.path:
            path["endpointId"] = self.endpoint(text)
        body = self.body(text)
        if text.part == "path":
            path[text.members[0]] = value
        elif text.part == "query":
            query[text.members[0]] = value
        elif text.part == "header":
            headers[text.members[0]] = value
        else:
            body = put(body, text.members, value)
        target = re.sub(r"\{(\w+)\}", lambda match: urllib.parse.quote(path[match[1]], safe=""), operation.path)
        if query:
            target += "?" + urllib.parse.urlencode(query)
        status, answer = self.ask(operation.method, target, headers, body)
        # A failure of iaptic's is answered 200.
        failure = re.match(r'{"ok":false,"status":(\d+)', answer)
        return int(failure[1]) if failure else status, re.sub(r"(.)\1{9,}", "…", answer)

    def body(self, text):
        """The example that a text goes into; None if the operation has no body."""
        if not text.operation.content:
            return None
        bodies = list(text.operation.examples()) or [{}]
        # Two members may exclude each other, so one that has the text already fits best.
        body = max(bodies, key=lambda body: (
            sum(value_at(body, members) == value for members, value in text.beside.items()),
            text.part == "body" and value_at(body, text.members) is not None))
        for members, value in text.beside.items():
            body = put(body, members, value)
        if text.members[-1] == "applicationUsername" and text.part == "body":
            # The user counts for good evidence only.
            evidence = self.minted("jws/1000000000000018")
            body = put(body, ("transaction",), {"type": "apple-sk2", "jwsRepresentation": evidence})
        return body

    def minted(self, path):
        """What StoreKit would give the app. The simulator speaks HTTP/2 only."""
        command = ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--cacert",
                   self.client["SIMULATOR_CA"], f"{self.client['SIMULATOR_URL']}/simulator/{path}"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def credential(self, operation):
        if not operation.credentials:
            return {}
        name = operation.credentials[0]
        ticket = self.client["PLAYFAB_SESSION_TICKET"]
        if name == "publisherToken":
            return {"X-Publisher-Token": self.client["PUBLISHER_TOKEN"]}
        if name == "iapticKey":
            return {"Authorization": "Basic " + base64.b64encode(self.client["IAPTIC_CREDENTIAL"].encode()).decode()}
        if name == "sessionTicket":
            return {"X-Authorization": ticket}
        token = self.client["MBAASY_CLIENT_TOKEN"] if name == "mbaasyClientToken" else ticket
        return {"Authorization": f"Bearer {token}"}

    def endpoint(self, text):
        """An endpoint that fits a text."""
        settings = SECRETS[re.match(r"\^(wh\w+_|)", text.pattern)[1]] if text.members == ("secret",) else {}
        key = json.dumps(settings)
        if key not in self.endpoints:
            status, answer = self.ask(
                "POST", "/3.1/webhook_endpoints", {"X-Publisher-Token": self.client["PUBLISHER_TOKEN"]},
                {"url": "https://127.0.0.1:9/"} | settings)
            if status != 201:
                raise Failure(f"POST /3.1/webhook_endpoints was answered {status} {answer}")
            self.endpoints[key] = json.loads(answer)["id"]
        return self.endpoints[key]

    def mistakes_of_hints(self):
        """PlayFab's hint takes one text only. Each other one counts as false."""
        for value, wanted in (("true", 200), ("false", 400), ("truex", 400)):
            status, answer = self.ask("POST", "/Client/RestoreIOSPurchases", {
                "X-Authorization": self.client["PLAYFAB_SESSION_TICKET"], "X-ReportErrorAsSuccess": value}, {})
            if status != wanted:
                yield f"X-ReportErrorAsSuccess: {value}: {status} {answer}"

    def ask(self, method, target, headers, body):
        if body is not None:
            headers = headers | {"Content-Type": "application/json"}
            # Without spaces, as a body of the greatest length has none.
            body = json.dumps(body, separators=(",", ":"))
        status, answer, _ = exchange(self.address, method, target, body, headers, timeout=30)
        if status == 0:
            raise Failure(f"{method} {target[:200]} at the gateway failed: {answer}")
        return status, answer


def put(body, members, value):
    """A body with a value at a place. An array there has one element then."""
    if not members:
        return value
    name, rest = members[0], members[1:]
    if name == "[]":
        return [put(body[0] if body else None, rest, value)]
    if name == "{}":
        return {"any": put(None, rest, value)}
    body = body or {}
    return body | {name: put(body.get(name), rest, value)}


def value_at(body, members):
    for name in members:
        body = body.get(name) if isinstance(body, dict) else None
    return body
