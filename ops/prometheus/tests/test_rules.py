"""Evaluates each alert on made-up series of Prometheus: it fires, it does not, and it says nothing without data.

promtool of Debian's prometheus does it. A series is `name{labels}`, with its values of one minute each.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

import yaml

RULES = pathlib.Path(__file__).resolve().parent.parent / "alerts.yml"
# The longest window and the longest `for` of an alert together.
MINUTES = 45


def always(value):
    """A gauge, or a counter that stands still."""
    return f"{value}x{MINUTES + 5}"


def grows(each):
    """A counter that grows by so much in a minute."""
    return f"0+{each}x{MINUTES + 5}"


def histogram(name, counts):
    """The buckets of a histogram, whose values come at these rates. The last one is `+Inf`."""
    return {f'{name}_bucket{{le="{bound}"}}': grows(each) for bound, each in counts.items()}


def up(**down):
    return {f'up{{job="{job}"}}': always(down.get(job, 1)) for job in ("gateway", "worker", "notifier")}


def counter(name, labels=""):
    """An alert of a counter that grows, and not of one that has grown once."""
    series = f"{name}{{{labels}}}"
    return {series: grows(4)}, {series: always(7)}


def one_of(name, bad, good):
    """An alert of a counter with one label, and not with another."""
    return {f"{name}{{{bad}}}": grows(4)}, {f"{name}{{{good}}}": grows(4)}


def gauge(name, bad, good, labels=""):
    series = f"{name}{{{labels}}}"
    return {series: always(bad)}, {series: always(good)}


def apple(retries, looks, history, refused=0):
    return {"countersign_apple_refused_apps": always(refused),
            'countersign_job_retries_total{cause="unauthorized"}': grows(retries),
            'countersign_timer_looks_total{outcome="unauthorized"}': grows(looks),
            'countersign_history_readings_total{outcome="unauthorized"}': grows(history)}


def calls(failures, all_of_them):
    return {'countersign_job_retries_total{cause="timeout"}': grows(failures),
            'countersign_timer_looks_total{outcome="timeout"}': always(0),
            "countersign_refund_answer_failures_total": always(0),
            'countersign_apple_call_duration_seconds_count{outcome="ok"}': grows(all_of_them)}


def requests(errors, others, route="register"):
    return {f'countersign_http_requests_total{{route="{route}",status="503"}}': grows(errors),
            'countersign_http_requests_total{route="register",status="202"}': grows(others)}


def full(cause, refused):
    return {'countersign_http_connections_cut_total{instance="a",cause="places"}': always(0),
            f'countersign_http_connections_cut_total{{instance="a",cause="{cause}"}}': grows(4),
            f'countersign_http_bodies_refused_total{{instance="a",cause="room"}}': grows(refused)}


def results(rejected, others):
    return {'countersign_results_total{result="APP_MISMATCH"}': grows(rejected),
            'countersign_results_total{result="PURCHASE_SYNCHRONIZED"}': grows(others)}


# For each alert: series with which it fires, and series with which it does not.
ACCEPTED = 'countersign_registrations_total{code="accepted"}'
SLOW = {"60": 1, "300": 10, "+Inf": 10}
ALERTS = {
    "RoleDown": [(up(worker=0), up()), ({key: value for key, value in up().items() if "notifier" not in key}, up())],
    # A console that is gone for good is missed by nobody; a gateway that is away is another alert.
    "ConsoleDown": [({'up{job="console"}': always(0)}, {'up{job="console"}': always(1)}),
                    ({'up{job="console"}': always(0)}, up(gateway=0))],
    "LedgerAway": [gauge("countersign_connection_up", 0, 1, 'connection="ledger"')],
    "ConnectionDown": [({'countersign_connection_up{connection="redis"}': always(0)},
                        {'countersign_connection_up{connection="subscriber billing"}': always(0),
                         'countersign_connection_up{connection="ledger"}': always(0)})],
    "RedisRefusesWrites": [gauge("countersign_redis_writes_refused", 1, 0, 'error="OOM"')],
    "RedisEvicts": [gauge("countersign_redis_evicts", 1, 0)],
    "ProcessesDie": [({"countersign_redeliveries_total": grows(4)}, {"countersign_redeliveries_total": grows(2)})],
    "LogLinesDropped": [counter("countersign_log_lines_dropped_total")],
    "LoopStalls": [
        counter("countersign_loop_stalls_total"),
        (histogram("countersign_loop_turn_seconds", {"0.1": 90, "0.25": 100, "+Inf": 100}),
         histogram("countersign_loop_turn_seconds", {"0.1": 100, "0.25": 100, "+Inf": 100}))],
    "GatewayErrors": [(requests(4, 40), requests(4, 4000)), (requests(4, 40), requests(40, 40, route="health"))],
    "GatewayFull": [(full("places", 0), full("head", 0)), (full("head", 4), full("head", 0))],
    "KeySetOverdue": [gauge("countersign_jwks_overdue_seconds", 901, 900)],
    "NothingFinalized": [
        ({ACCEPTED: grows(4), "countersign_events_published_total": always(9)},
         {ACCEPTED: grows(4), "countersign_events_published_total": grows(1)}),
        ({'countersign_transfers_total{code="accepted"}': grows(4)},
         {'countersign_registrations_total{code="SK2C0101"}': grows(4)})],
    "SynchronizationsSlow": [(histogram("countersign_synchronization_age_seconds", SLOW),
                              histogram("countersign_synchronization_age_seconds", SLOW | {"60": 10}))],
    "JobsWait": [(histogram("countersign_job_queue_wait_seconds", {"30": 1, "60": 10, "+Inf": 10}),
                  histogram("countersign_job_queue_wait_seconds", {"30": 10, "60": 10, "+Inf": 10}))],
    "GaveUp": [one_of("countersign_results_total", 'result="INTERNAL_ERROR"', 'result="PURCHASE_SYNCHRONIZED"')],
    "DeadJobs": [counter("countersign_dead_jobs_total")],
    "DeadQueueFills": [gauge("countersign_dead_messages", 10001, 10000, 'queue="countersign.jobs.dead"')],
    "NotificationPutAside": [gauge("countersign_notifications_put_aside", 1, 0)],
    "DeliveryPutAside": [one_of("countersign_dead_deliveries_total", 'reason="crashed"', 'reason="gone"')],
    "RowHeldBack": [counter("countersign_suspect_rows_held_back_total", 'kind="timer"')],
    "SweptJobs": [counter("countersign_swept_jobs_total")],
    "AppleRefusesKey": [(apple(0, 0, 0, refused=1), apple(0, 0, 0)), (apple(4, 0, 0), apple(0, 0, 0)),
                        (apple(0, 4, 0), apple(0, 0, 0)), (apple(0, 0, 4), apple(0, 0, 0))],
    "AppleFails": [(calls(4, 20), calls(4, 400))],
    "TimersLate": [gauge("countersign_timer_backlog_seconds", 3601, 3600)],
    "BudgetUsedUp": [({"countersign_budget_waits_total": grows(120)}, {"countersign_budget_waits_total": grows(30)})],
    "RejectedData": [counter("countersign_rejections_total", 'reason="signature"')],
    # A few of very few are no mistake of ours.
    "RejectsMany": [(results(4, 4), results(4, 40)), (results(4, 4), results(0.5, 0.5))],
    "HistoryGap": [gauge("countersign_history_gap_seconds", 21601, 21600)],
    "AppSilent": [({'countersign_silent_apps{environment="Production"}': always(1)},
                   {'countersign_silent_apps{environment="Sandbox"}': always(1)})],
    "RefundRequestDue": [gauge("countersign_refund_deadline_seconds", 10799, 10800)],
    "RefundRequestMissed": [
        one_of("countersign_refund_requests_ended_total", 'outcome="expired"', 'outcome="answered"'),
        one_of("countersign_refund_requests_ended_total", 'outcome="refused"', 'outcome="answered"')],
    "UnknownNotification": [counter("countersign_unknown_notifications_total")],
    "NotificationRefused": [
        one_of("countersign_notifications_applied_total", 'outcome="refused"', 'outcome="applied"')],
    "NotificationPostersHeldUp": [one_of("countersign_notifications_total", 'outcome="too_fast"', 'outcome="stored"')],
    "NotificationNotPassedOn": [
        one_of("countersign_notification_forwards_total", 'outcome="dropped"', 'outcome="delivered"')],
    "ConfigurationRefused": [gauge("countersign_configuration_current", 0, 1)],
    "PublisherAbsent": [gauge("countersign_publishers_broken", 1, 0, 'state="absent"')],
    "PublisherFileBroken": [gauge("countersign_publishers_broken", 1, 0, 'state="kept"')],
    "SubscriberBehind": [gauge("countersign_subscriber_oldest_owed_seconds", 601, 600, 'subscriber="billing"')],
    "EventReduced": [counter("countersign_reduced_events_total", 'topic="purchaseUpdated"')],
    "SubscriberEventsGivenUp": [counter("countersign_subscriber_events_given_up_total", 'subscriber="billing"')],
    "WebhooksLate": [
        (histogram("countersign_webhook_first_attempt_delay_seconds", {"10": 1, "30": 10, "+Inf": 10}),
         histogram("countersign_webhook_first_attempt_delay_seconds", {"10": 10, "30": 10, "+Inf": 10}))],
    "DeadDeliveries": [counter("countersign_dead_deliveries_total", 'reason="gone"')],
    "SecretsUnreadable": [counter("countersign_secrets_unreadable_total", 'cause="no_key"')],
    "SecretKeyMissing": [gauge("countersign_webhook_secrets", 1, 0, 'state="missing"')],
    "EndpointDisabled": [counter("countersign_webhook_endpoints_disabled_total", 'reason="gone"')],
    "AttemptsUnrecorded": [gauge("countersign_webhook_records_waiting", 1, 0)],
}


def expected(alert, fires):
    """A question for promtool: whether an alert fires at the end."""
    expression = f'(count(ALERTS{{alertname="Countersign{alert}",alertstate="firing"}}) > bool 0) or vector(0)'
    return {"expr": expression, "eval_time": f"{MINUTES}m",
            "exp_samples": [{"labels": "{}", "value": 1 if fires else 0}]}


def case(series, *questions):
    return {"interval": "1m", "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": list(questions)}


def groups(name=None):
    """The groups of the rules; with a name, only that alert is in them."""
    found = yaml.safe_load(RULES.read_text())["groups"]
    for group in found:
        group["rules"] = [rule for rule in group["rules"] if name in (None, rule["alert"].removeprefix("Countersign"))]
    return found


def said(cases):
    """What promtool says of cases, each a list for the name of an alert or for all of them; nothing if they hold."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, tests in cases.items():
            rules, path = (pathlib.Path(folder) / f"{name}.{kind}.yml" for kind in ("rules", "test"))
            rules.write_text(yaml.safe_dump({"groups": groups(name)}, width=1000))
            path.write_text(yaml.safe_dump(
                {"evaluation_interval": "1m", "rule_files": [str(rules)], "tests": tests}, width=1000))
            paths.append(path)
        run = subprocess.run([os.environ["PROMTOOL"], "test", "rules", *paths], capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout + run.stderr


class Rules(unittest.TestCase):
    def test_each_alert_is_here(self):
        rules = [rule["alert"] for group in groups() for rule in group["rules"]]
        self.assertEqual(sorted(rules), sorted(f"Countersign{alert}" for alert in ALERTS))

    def test_each_alert_fires_with_its_cause_only(self):
        self.assertEqual(said({
            alert: [case(series, expected(alert, fires)) for bad, good in pairs
                    for series, fires in ((bad, True), (good, False))]
            for alert, pairs in ALERTS.items()}), "")

    def test_without_data_only_the_roles_are_missed(self):
        self.assertEqual(said({None: [case({}, *(expected(alert, alert == "RoleDown") for alert in ALERTS))]}), "")

    def test_promtool_takes_the_file_with_its_texts(self):
        run = subprocess.run([os.environ["PROMTOOL"], "check", "rules", RULES], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_each_alert_has_its_three_kinds_of_series(self):
        """It fires with the first of a pair, and not with the second; the third kind is no series at all."""
        for alert, pairs in ALERTS.items():
            with self.subTest(alert):
                self.assertTrue(pairs)
                for bad, good in pairs:
                    self.assertTrue(bad and good)
                    self.assertNotEqual(bad, good)

    def test_a_wrong_answer_is_found(self):
        self.assertIn("got:", said({"DeadJobs": [case({}, expected("DeadJobs", True))]}))


if __name__ == "__main__":
    unittest.main()
