"""The life of purchases: from the shop to access, and what changes it later."""
from development.grafana.model import Dashboard, Panel, Query, Row, Stat, grown, quantile, rate

RESULTS = "countersign_results_total"
REJECTED = 'result=~"VERIFICATION_FAILED|APP_MISMATCH"'

DASHBOARD = Dashboard(
    name="purchases", title="Purchases",
    says="The way of a purchase through the whole fleet: registered, verified, told, and followed for its life.",
    rows=[
        Row("From the shop to access", [
            Stat("Accepted a second", "Registrations that were answered with 202.", [
                Query(rate("countersign_registrations_total", only='code="accepted"'))], unit="ops"),
            Stat("Events published a second", "0 while registrations are accepted: customers get nothing.", [
                Query("sum(rate(countersign_events_published_total{@}[10m])) or vector(0)")], unit="ops",
                alert="CountersignNothingFinalized"),
            Stat("Results that give access", "Of all results. Compare it with your usual share.", [
                Query(rate(RESULTS, only='result="PURCHASE_SYNCHRONIZED"') + " / " + rate(RESULTS))],
                unit="percentunit"),
            Stat("Results with rejected data", "Many: a wrong app in a publisher's file, or not Apple who answers.", [
                Query(f"sum(increase({RESULTS}{{@,{REJECTED}}}[15m])) / sum(increase({RESULTS}{{@}}[15m]))")],
                unit="percentunit", alert="CountersignRejectsMany", which=0),
            Stat("Time to access, 90 of 100", "How long a customer waits for access.", [
                Query(quantile(0.9, "countersign_synchronization_age_seconds", window="10m"))], unit="s",
                alert="CountersignSynchronizationsSlow"),
            Stat("Time to webhook, 90 of 100", "How long a backend waits for its first attempt.", [
                Query(quantile(0.9, "countersign_webhook_first_attempt_delay_seconds", window="10m"))], unit="s",
                alert="CountersignWebhooksLate"),
            Panel("The way of a purchase",
                  "Lines that should rise and fall together. An import adds to `finalized`. Another gap between "
                  "`accepted` and `finalized`: workers, Apple or the ledger. Webhooks that stay behind: notifiers or "
                  "endpoints. Each endpoint counts.", [
                      Query(rate("countersign_registrations_total", only='code="accepted"'), "accepted"),
                      Query(rate("countersign_imported_rows_total"), "imported"),
                      Query(rate(RESULTS), "finalized"),
                      Query(rate("countersign_webhook_attempts_total", only='outcome="delivered"'),
                            "webhooks delivered")], unit="ops", runbook="nothing-finalized", width=12),
            Panel("Results", "What synchronizations ended with. Only `PURCHASE_SYNCHRONIZED` gives access.", [
                Query(rate(RESULTS, "result"), "{{result}}")], unit="ops", stacked=True, runbook="rejected-data",
                width=12),
        ]),
        Row("What Apple tells later", [
            Stat("Silent apps in production", "Apple tells nothing about them, for longer than is their habit.", [
                Query('max(countersign_silent_apps{@,environment="Production"})')], alert="CountersignAppSilent"),
            Stat("Oldest history", "Since the Notification History of each app was read to its end. It finds what "
                                   "Apple's posts missed.", [
                Query("max(countersign_history_gap_seconds{@})")], unit="s", alert="CountersignHistoryGap"),
            Stat("Put aside", "Workers died while they had these notifications.", [
                Query("max(countersign_notifications_put_aside{@})")], alert="CountersignNotificationPutAside"),
            Stat("Of an unknown type, 1 day", "Their evidence counts all the same.", [
                Query(grown("countersign_unknown_notifications_total", "1d"))],
                alert="CountersignUnknownNotification"),
            Stat("Refused by workers, 2 hours", "The publisher or the app is in no file any more.", [
                Query(grown("countersign_notifications_applied_total", "2h", only='outcome="refused"'))],
                alert="CountersignNotificationRefused"),
            Stat("Not passed on, 15 minutes", "They never reach the URL in `forwardTo`.", [
                Query(grown("countersign_notification_forwards_total", "15m", only='outcome=~"abandoned|dropped"'))],
                alert="CountersignNotificationNotPassedOn"),
            Panel("Apple's posts", "What became of them at the gateways. `stored` is new.", [
                Query(rate("countersign_notifications_total", "outcome"), "{{outcome}}")], unit="ops",
                runbook="notifications"),
            Panel("Notifications applied",
                  "`told` changed something. `silent` was stale, or changed nothing that is visible.", [
                      Query(rate("countersign_notifications_applied_total", "outcome"), "{{outcome}}"),
                      Query(rate("countersign_notifications_deleted_total"), "forgotten, since old")], unit="ops",
                  stacked=True, runbook="notifications"),
            Panel("From Apple's signature to the commit", "Minutes: Apple repeats what was not answered 200.", [
                Query(quantile(part, "countersign_notification_delay_seconds"), text)
                for part, text in ((0.5, "half"), (0.9, "90 %"))], unit="s", runbook="notifications"),
            Panel("What the history had",
                  "`new`: Apple's post had not arrived. Many: the URL in App Store Connect is wrong, or closed.", [
                      Query(rate("countersign_history_notifications_total", "outcome"), "{{outcome}}")], unit="ops",
                  runbook="notifications"),
            Panel("Age of the oldest reading of a history", "It should fall back each hour.", [
                Query("max(countersign_history_gap_seconds{@})", "oldest")], unit="s",
                alert="CountersignHistoryGap"),
            Panel("Silent apps", "Each worker counts all apps.", [
                Query("max by (environment) (countersign_silent_apps{@})", "{{environment}}")],
                runbook="notifications"),
        ]),
        Row("What the clock tells", [
            Panel("The oldest timer that is due",
                  "Hours: an end, or a renewal whose notification was lost, is told late. After an outage it drains at "
                  "the pace of Apple's budget.", [
                      Query("max(countersign_timer_backlog_seconds{@})", "backlog")], unit="s",
                  alert="CountersignTimersLate", width=6),
            Panel("Looks at purchases, by what they found", "They take half of Apple's budget at most.", [
                Query(rate("countersign_timer_looks_total", "outcome"), "{{outcome}}")], unit="ops",
                runbook="timers-late", width=6),
            Panel("Looks that run now", "Always `worker.timerConcurrency` in every worker: a backlog.", [
                Query("sum(countersign_timer_looks_running{@})", "running")], runbook="timers-late", width=6),
            Panel("From a timer's time to its look", "Hours after an outage are normal.", [
                Query(quantile(part, "countersign_timer_lag_seconds"), text, "no timer was due")
                for part, text in ((0.5, "half"), (0.9, "90 %"))], unit="s", runbook="timers-late", width=6),
        ]),
        Row("Access by hand", [
            Panel("Grants, an hour", "Given and withdrawn by publishers' people, without a purchase.", [
                Query("3600 * " + rate("countersign_grants_total", "action"), "{{action}}")]),
            Panel("From a grant's end to its event", "Answers show the end on time, whatever this says.", [
                Query(quantile(part, "countersign_grant_lag_seconds"), text, "no grant ended")
                for part, text in ((0.5, "half"), (0.9, "90 %"))], unit="s"),
            Panel("Sandbox access, an hour", "Set and withdrawn by publishers' people, for one customer each.", [
                Query("3600 * " + rate("countersign_sandbox_access_total", "action"), "{{action}}")]),
            Panel("From its end to its event", "Answers show the end on time, whatever this says.", [
                Query(quantile(part, "countersign_sandbox_access_lag_seconds"), text, "none ended")
                for part, text in ((0.5, "half"), (0.9, "90 %"))], unit="s"),
        ]),
        Row("Imports over HTTP", [
            Panel("Imports that run now", "A worker runs two at a time.", [
                Query("sum(countersign_imports_running{@})", "running")]),
            Panel("Runs that ended, an hour", "After `yielded`, `busy`, `lost` and `unfinished` a run goes on.", [
                Query("3600 * " + rate("countersign_import_runs_total", "outcome"), "{{outcome}}")]),
        ]),
        Row("Refunds", [
            Stat("Requests without an answer", "Apple asks for the publisher's view, and waits for 12 hours.", [
                Query("max(countersign_refund_requests_pending{@})")], runbook="refund-requests", height=7),
            Stat("Nearest deadline", "12 hours if there is none.", [
                Query("min(countersign_refund_deadline_seconds{@})")], unit="s", alert="CountersignRefundRequestDue",
                height=7),
            Panel("Requests that ended, an hour", "`expired` and `refused`: Apple decides without the publisher.", [
                Query("3600 * " + rate("countersign_refund_requests_ended_total", "outcome"), "{{outcome}}")],
                others=("CountersignRefundRequestMissed",)),
            Panel("Answers that Apple did not take, a minute", "They are made again.", [
                Query("60 * " + rate("countersign_refund_answer_failures_total"), "failures")],
                runbook="apple-fails"),
        ]),
        Row("Who is told", [
            Panel("Events to subscribers", "Confirmed by the broker, by workers, gateways and notifiers.", [
                Query(rate("countersign_subscriber_events_total", "subscriber"), "{{subscriber}}")], unit="ops",
                runbook="subscriber-behind"),
            Panel("Webhook attempts", "`failed` ones are made again, for three days.", [
                Query(rate("countersign_webhook_attempts_total", "outcome"), "{{outcome}}")], unit="ops", stacked=True,
                runbook="webhooks-late"),
            Panel("Events that tell less", "They would have had more than 64 KiB.", [
                Query(rate("countersign_reduced_events_total", "topic"), "{{topic}}")], unit="ops",
                others=("CountersignEventReduced",)),
            Panel("Events that nobody is told", "Their publishers are in shadow mode.", [
                Query(rate("countersign_shadow_events_total"), "kept")], unit="ops"),
        ]),
    ])
