"""What Schemathesis cannot know of the API from docs/reference/openapi.yaml."""
import base64
import datetime
import functools
import itertools
import os
import pathlib
import re
import subprocess

import schemathesis

NUMBERS = itertools.count(1)
MBAASY = "/client/itunes_connect/receipts"
NOTIFICATIONS = (
    "/apple/notifications", "/1.0/in_app/subscriptions/apple/status_update_notification/{publisherId}")
# A receipt whose signer nobody trusts: Cleeng's contract answers it 200, since it is one.
RECEIPT = base64.b64encode(
    (pathlib.Path(__file__).resolve().parents[3] / "Tests" / "Fixtures" / "authority" / "receipt.der").read_bytes()
).decode()


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives each registration an id of its own: one that another purchase has is refused, with 400."""
    headers = case.headers or {}
    for name, value in list(headers.items()):
        if name.lower() == "correlation-id" and re.fullmatch(r"[\x21-\x7e]{1,256}", str(value)):
            headers[name] = f"contract-{os.getpid()}-{next(NUMBERS)}"
    # No generated text is a transaction that Apple has signed: the gateway refuses it, with 400.
    if isinstance(case.body, dict) and isinstance(case.body.get("signedTransaction"), str):
        del case.body["signedTransaction"]
    # Nor is it a receipt.
    receipt = case.body.get("receipt") if isinstance(case.body, dict) else None
    if isinstance(receipt, dict) and isinstance(receipt.get("receiptData"), str) and receipt["receiptData"]:
        receipt["receiptData"] = RECEIPT
    # What Apple takes depends on the product of the request, and the file cannot say that: no request is answered.
    if case.path == "/refund-requests/{refundRequestId}":
        if re.fullmatch(r"rfr_[0-9a-f]{32}", str((case.path_parameters or {}).get("refundRequestId"))):
            case.path_parameters["refundRequestId"] = "rfr_" + "0" * 32
    # The pattern of a cursor does not say that it is JSON: no generated text is one that the gateway takes.
    after = str((case.query or {}).get("after"))
    if case.path == "/export" and re.match(r'\{"moment":\{', after):
        case.query["after"] = '{"moment":{"at":"2026-11-28T08:00:00.000Z","history":"1-1","snapshot":1}}'
    if case.path.endswith("/grants"):
        give(case)
    if case.path.endswith("/sandbox-access"):
        let_in(case)
    if case.path.startswith("/Client/"):
        play(case)
    if case.path in NOTIFICATIONS:
        notify(case)
    if isinstance(receipt, str) and receipt and case.path == MBAASY:
        case.body["receipt"] = minted("receipt/1000000000000077")


@schemathesis.auth().apply_to(path=MBAASY)
class MbaasyClientToken:
    """An app of Mbaasy's has a token of its own."""

    def get(self, case, context):
        return os.environ["MBAASY_CLIENT_TOKEN"]

    def set(self, case, data, context):
        case.headers = case.headers or {}
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.auth().apply_to(path_regex="^/v[12]/")
class IapticKey:
    """A backend of iaptic's has the app's name and its secret key."""

    def get(self, case, context):
        return base64.b64encode(os.environ["IAPTIC_CREDENTIAL"].encode()).decode()

    def set(self, case, data, context):
        case.headers = case.headers or {}
        case.headers["Authorization"] = f"Basic {data}"


def play(case):
    """Gives a good request of PlayFab's API good evidence: no generated text is any."""
    # Otherwise a bad request would be answered 200.
    case.headers.pop("X-ReportErrorAsSuccess", None)
    if case.meta is None or case.meta.generation.mode.is_negative or not isinstance(case.body, dict):
        return
    if case.path.endswith("/RestoreIOSPurchases"):
        case.body["ReceiptData"] = minted("receipt/1000000000000017")
    else:
        case.body.pop("ReceiptData", None)
        case.body |= {"JwsReceiptData": minted("jws/1000000000000017"), "PurchasePrice": 999, "CurrencyCode": "USD"}
    case.body.pop("CatalogVersion", None)


def give(case):
    """Lets a good grant end in the future, and give an offer that exists: the file can say neither."""
    if case.meta is not None and case.meta.generation.mode.is_negative or not isinstance(case.body, dict):
        return
    if "expiresAt" in case.body:
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=30)
        case.body["expiresAt"] = end.isoformat(timespec="seconds")
    if "offerId" in case.body:
        case.body["offerId"] = "S123123123_US"


def let_in(case):
    """Lets good sandbox access end in the future: the file cannot say that."""
    if case.meta is not None and case.meta.generation.mode.is_negative or not isinstance(case.body, dict):
        return
    if "until" in case.body:
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=30)
        case.body["until"] = end.isoformat(timespec="seconds")


def notify(case):
    """Gives a good request what Apple signs, and names the publisher of the run."""
    if case.meta is None or case.meta.generation.mode.is_negative or not isinstance(case.body, dict):
        return
    case.body = {"signedPayload": minted("notification/1000000000000017?type=TEST")}
    if "publisherId" in (case.path_parameters or {}):
        case.path_parameters["publisherId"] = 1001


@functools.cache
def minted(path):
    """What StoreKit would give the app. The simulator speaks HTTP/2 only."""
    command = ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--cacert", os.environ["SIMULATOR_CA"],
               f"{os.environ['SIMULATOR_URL']}/simulator/{path}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
