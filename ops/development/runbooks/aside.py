"""What kills the process that has it, and is put aside at last."""
import json
import re
import time

from development.runbooks import trial
from development.runbooks.notifications import minted
from development.runbooks.stage import SECONDS
from fleet import Failure
from fleet.processes import wait_until

WORKERS = ("worker 1", "worker 2")


@trial
def notification_aside(stage):
    """a notification from Apple kills every worker that takes it, and something starts the workers again"""
    life = stage.life(9)
    with stage.variables({"COUNTERSIGN_TEST_CRASH_NOTIFICATION": life}, *WORKERS), stage.kept_running(*WORKERS):
        stage.load.expect("POST", "/apple/notifications", minted(stage, life, "DID_RENEW"), (200,))
        stage.fires("NotificationPutAside", seconds=300)
        stage.logs("worker", "run alone: earlier runs did not end")
        stage.logs("worker", "notification put aside")
    found = stage.says("dead list --kind notifications", r'"id":"([^"]+)","cause":"crashed"')
    stage.says(f"dead retry --kind notifications --id {found[1]}", r'"retried":1')
    stage.ends("NotificationPutAside")
    wait_until("the workers to apply it", lambda: stage.sql(
        f"SELECT applied_at IS NOT NULL FROM notifications WHERE uuid = '{found[1]}'") == "t", SECONDS, every=1)
    stage.note("then the notification is applied")


@trial
def delivery_aside(stage):
    """a delivery kills every notifier that takes it, and something starts the notifier again"""
    name = f"fatal-{time.time_ns()}"
    with stage.variables({"COUNTERSIGN_TEST_CRASH_DELIVERY": name}, "notifier"), stage.kept_running("notifier"):
        status, text = stage.load.ask(
            "POST", "/storekit2/purchases", {"customerId": "load-0", "transactionId": stage.transaction(100)},
            {"Correlation-Id": name})
        if status != 202:
            raise Failure(f"{status} {text}")
        stage.fires("DeliveryPutAside", seconds=300)
        stage.logs("notifier", "put aside")
    stage.says("dead list --kind deliveries --cause crashed", r'"cause":"crashed"')
    row = stage.sql("SELECT error FROM attempts WHERE outcome = 'abandoned' AND error LIKE '%died while they had it%'")
    stage.note(f"the table `attempts`: `{row.splitlines()[0]}`")
    stage.says("dead retry --kind deliveries --cause crashed", r'"retried":[1-9]')
    wait_until("the delivery", lambda: name in stage.system.received.read_text(), SECONDS, every=1)
    stage.note("then the receiver has the webhook")


@trial
def row_held_back(stage):
    """a look at a purchase kills every worker that makes it; its timer is due again and again (by SQL)"""
    life = stage.life(0)
    due = f"UPDATE purchases SET due_at = now() WHERE original_transaction_id = '{life}'"
    with stage.variables({"COUNTERSIGN_TEST_CRASH_LOOK": life}, *WORKERS), stage.kept_running(*WORKERS):
        def look():
            stage.sql(due)
            return stage.firing("RowHeldBack")
        wait_until("the alert RowHeldBack", look, 300, every=2)
        stage.fires("RowHeldBack")
        line = json.loads(stage.logs("worker", "held back: it seems to kill its worker"))
        stage.note(f"its `run` is `{re.sub(life, '…', line['run'])}`, its `crashes` is {line['crashes']}")
    stage.redis("DEL", f"cs:begun:{line['run']}")
    stage.sql(due)
    wait_until("a look at the purchase", lambda: stage.sql(
        f"SELECT looked_at > now() - interval '10 seconds' AND due_at > now() + interval '310 seconds' FROM purchases "
        f"WHERE original_transaction_id = '{life}'") == "t", SECONDS, every=0.5)
    stage.note("then a worker looks at the purchase")
