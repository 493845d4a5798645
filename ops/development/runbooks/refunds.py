"""Apple's questions about refunds."""
import json

from development.runbooks import trial
from development.runbooks.stage import SECONDS
from fleet import Failure
from fleet.processes import wait_until

ANSWER = {"customerConsented": True, "deliveryStatus": "DELIVERED", "sampleContentProvided": False}
PENDING = ("SELECT publisher_id, id, state, deadline, answered_by, attempts, last_error FROM refund_requests "
           "WHERE state IN ('open', 'sending') ORDER BY deadline")


def asked(stage, life):
    """The id of the request, once Apple has asked about a life."""
    stage.simulator("POST", f"lives/{life}/request-refund")
    return wait_until("the request for a refund", lambda: stage.sql(
        f"SELECT id FROM refund_requests WHERE original_transaction_id = '{life}'"), SECONDS, every=0.5)


def age(stage, request, left):
    """Moves the times of a request into the past, so that this is left of its twelve hours."""
    stage.sql(f"UPDATE refund_requests SET requested_at = now() + interval '{left}' - interval '12 hours', "
              f"deadline = now() + interval '{left}', due_at = now() + interval '{left}' WHERE id = '{request}'")


@trial
def refund_due(stage):
    """nobody answers a request for a refund, and its deadline is two hours away (by SQL)"""
    request = asked(stage, stage.life(5))
    age(stage, request, "2 hours")
    stage.fires("RefundRequestDue")
    if not any(request in row and "|open|" in row for row in stage.sql(PENDING).splitlines()):
        raise Failure("the runbook's statement does not list the request")
    stage.note("the ledger's statement lists the request as `open`")
    listed = json.loads(stage.load.ask("GET", "/refund-requests")[1])["refundRequests"]
    stage.note(f"`GET /refund-requests` lists it {'first' if listed[0]['refundRequestId'] == request else 'NOT first'}")
    stage.load.expect("PUT", f"/refund-requests/{request}", ANSWER, (200,))
    stage.ends("RefundRequestDue")


@trial
def refund_missed(stage):
    """the deadline of a request for a refund passes (by SQL)"""
    request = asked(stage, stage.life(6))
    age(stage, request, "3 seconds")
    stage.logs("worker", "refund request ended without an answer")
    stage.fires("RefundRequestMissed")


@trial
def refund_refused(stage):
    """a publisher answers about a purchase that a family member shares, and Apple refuses that"""
    request = asked(stage, stage.life(7, familyShared=True, owner=stage.life(10)))
    stage.load.expect("PUT", f"/refund-requests/{request}", ANSWER, (200,))
    stage.logs("worker", "Apple did not accept the answer about a refund")
    stage.logs("worker", "refund request ended without an answer")
    stage.fires("RefundRequestMissed")
    stage.note(f"`last_error`: `{stage.sql(f'''SELECT last_error FROM refund_requests WHERE id = '{request}' ''')}`")
