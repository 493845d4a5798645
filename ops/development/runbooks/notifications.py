"""Apple's notifications: those that do not come, that nobody knows, or that somebody does not get."""
import hashlib
import json
import subprocess
import time

from development.runbooks import trial
from development.runbooks.endpoint import endpoint
from fleet import Failure
from fleet.configuration import SIMULATED_APP
from fleet.processes import wait_until


def minted(stage, about, kind, subtype=""):
    """What Apple would post about a purchase."""
    return {"signedPayload": stage.simulator("GET", f"notification/{about}?type={kind}&subtype={subtype}")}


@trial
def unknown_notification(stage):
    """Apple sends a type that nobody knows"""
    stage.load.expect("POST", "/apple/notifications", minted(stage, stage.load.life(0), "MADE_UP"), (200,))
    stage.fires("UnknownNotification")


@trial
def posters(stage):
    """somebody posts notifications that Apple did not sign, until the answer is 429"""
    for _ in range(5000):
        if stage.load.ask("POST", "/apple/notifications", {"signedPayload": "a.b.c"})[0] == 429:
            break
    stage.fires("NotificationPostersHeldUp")


@trial
def history_gap(stage):
    """a publisher's file has a wrong `appAppleId`, so that no reading of the Notification History ends"""
    path = stage.configuration.folder / "publishers" / "gap.json"
    app = stage.configuration.publisher()["apps"][0]
    publisher = {"publisherId": 3, "apps": [app | {"appAppleId": SIMULATED_APP["appAppleId"] + 1}]}
    path.write_text(json.dumps(publisher))
    stage.fires("HistoryGap")
    stage.logs("worker", "a notification of the history was refused")
    stage.metric('countersign_history_readings_total{outcome="refused"}', lambda value: value > 0, "grows")
    row = stage.sql("SELECT read_through IS NULL FROM notification_sources WHERE publisher_id = 3 "
                    "AND environment = 'Production'")
    stage.note(f"`notification_sources`: `read_through` is {'empty' if row == 't' else 'not empty'}")
    path.write_text(json.dumps(publisher | {"apps": [app]}))
    stage.ends("HistoryGap")
    path.unlink()


@trial
def app_silent(stage):
    """App Store Connect has a wrong URL; the last post was three days ago (by SQL)"""
    good = {"urls": [f"http://{stage.configuration.listen['gateway']}/apple/notifications"]}
    stage.simulator("PUT", "notifications", json.dumps({"urls": ["http://127.0.0.1:1/"]}))
    # What was posted before may still be on its way.
    time.sleep(20)
    wait_until("the last post", lambda: stage.sql(
        "SELECT count(*) = 0 FROM notifications WHERE source = 'apple' AND received_at > now() - interval '15 seconds'"
    ) == "t", 60, every=1)
    stage.sql("UPDATE notification_sources SET last_received_at = now() - interval '3 days', "
              "longest_silence = interval '1 hour' WHERE environment = 'Production' AND publisher_id = 1001")
    stage.fires("AppSilent")
    stage.says("test-notification --app com.example.app", r"the URL in App Store Connect does not work: Apple saw \w+")
    stage.simulator("PUT", "notifications", json.dumps(good))
    stage.says("test-notification --app com.example.app", r"ok: Apple posted the test and got a good answer")
    stage.ends("AppSilent")


@trial
def notification_refused(stage):
    """the environment `Production` leaves a publisher's file while a notification waits for the workers"""
    life = stage.life(3)
    stage.kill("worker 1", "worker 2")
    stage.load.expect("POST", "/apple/notifications", minted(stage, life, "DID_RENEW"), (200,))
    waits = ("SELECT publisher_id, bundle_id, environment, count(*) FROM notifications WHERE applied_at IS NULL "
             "GROUP BY 1, 2, 3")
    with stage.file(stage.configuration.folder / "publishers" / "example.json",
                    lambda text: text.replace('"Production",', "")):
        stage.start("worker 1", "worker 2")
        stage.fires("NotificationRefused")
        stage.logs("worker", "a kept notification is not accepted")
        stage.note(f"the ledger's statement: `{stage.sql(waits).replace('|', ', ')}`")
    wait_until("the workers to apply it", lambda: not stage.sql(waits), 300, every=1)
    stage.note("then no row waits")


@trial
def not_passed_on(stage):
    """a URL of `notifications.forwardTo` answers 410"""
    with endpoint(410) as server:
        def change(text):
            return json.dumps(json.loads(text) | {"notifications": {"forwardTo": [{"url": server.url}]}})
        with stage.file(stage.configuration.folder / "publishers" / "example.json", change):
            life = stage.life(4)
            def post():
                stage.load.ask("POST", "/apple/notifications", minted(stage, life, "DID_RENEW"))
                return server.received
            # The gateway must have noticed the file.
            wait_until("a notification at the URL", post, 60, every=2)
            stage.fires("NotificationNotPassedOn")
            line = json.loads(stage.logs("notifier", "a notification was not passed on"))
            if line["endpoint"] != "fwd_" + hashlib.sha256(server.url.encode()).hexdigest()[:24]:
                raise Failure(f"the endpoint of the URL is {line['endpoint']}")
            # The URL works again, and somebody posts the body by hand.
            server.status = 200
            publisher, uuid = line["eventId"].removeprefix("ntf_").split("_", 1)
            sent = server.received[:]
            body = stage.sql(
                "SELECT convert_from(coalesce(posted, convert_to('{\"signedPayload\":\"', 'UTF8') || body || "
                f"convert_to('\"}}', 'UTF8')), 'UTF8') FROM notifications WHERE publisher_id = {publisher} "
                f"AND uuid = '{uuid}'")
            subprocess.run(["curl", "--silent", "--fail", "--noproxy", "*", "--data-binary", "@-", server.url],
                           input=body, text=True, check=True)
            is_same = server.received[-1] in sent
            stage.note(f"the body in the ledger is {'' if is_same else 'not '}what Apple posted")
