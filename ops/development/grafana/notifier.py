"""The notifiers: from an event to the publishers' endpoints."""
from development.grafana.model import Dashboard, Panel, Query, Row, Stat, grown, quantile, quantiles, rate
from development.grafana.parts import alive, configuration, given_out_again, leans_on, process

ATTEMPTS = "countersign_webhook_attempts_total"

DASHBOARD = Dashboard(
    name="notifier", title="Notifier", job="countersign_deliveries_in_flight",
    publishers="countersign_publisher_webhook_attempts_total",
    says="Whether webhooks arrive in time, who keeps them waiting, and what was not delivered.",
    rows=[
        Row("Do webhooks arrive?", [
            alive("Notifiers", "the others deliver. None: webhooks wait in RabbitMQ."),
            Stat("Attempts a second", "At all endpoints.", [Query(rate(ATTEMPTS))], unit="ops"),
            Stat("Attempts that succeed", "Of those that were made. A failed one is made again, for three days.", [
                Query(rate(ATTEMPTS, only='outcome="delivered"') + " / " + rate(ATTEMPTS, only='outcome!="skipped"'))],
                unit="percentunit"),
            Stat("Time to webhook, 90 of 100", "Without the time for which the endpoint itself kept it.", [
                Query(quantile(0.9, "countersign_webhook_first_attempt_delay_seconds", window="10m"))], unit="s",
                alert="CountersignWebhooksLate"),
            Stat("Dead deliveries, 15 minutes", "Each is an event that an endpoint did not get.", [
                Query(grown("countersign_dead_deliveries_total", "15m"))], alert="CountersignDeadDeliveries"),
            Stat("Endpoints disabled, 15 minutes", "They answered 410, or failed for days.", [
                Query(grown("countersign_webhook_endpoints_disabled_total", "15m"))],
                alert="CountersignEndpointDisabled"),
            Panel("Attempts by outcome",
                  "`failed`: another one follows. `abandoned`: none follows. `skipped`: the endpoint is disabled, "
                  "or the publisher is in shadow mode.", [
                      Query(rate(ATTEMPTS, "outcome"), "{{outcome}}")], unit="ops", stacked=True,
                  runbook="dead-deliveries"),
            Panel("From event to first attempt", "Grows: notifiers have too much to do, or wait for a server.",
                  quantiles("countersign_webhook_first_attempt_delay_seconds"), unit="s", runbook="webhooks-late"),
            Panel("Time of an attempt", "The endpoints' own slowness. A slow endpoint keeps only itself waiting.",
                  quantiles("countersign_webhook_attempt_duration_seconds"), unit="s"),
        ]),
        Row("Who keeps whom waiting", [
            Panel("Deliveries in hand", "In flight at `notifier.concurrency` all the time: start another notifier.", [
                Query("sum(countersign_deliveries_in_flight{@})", "in flight"),
                Query("sum(countersign_deliveries_waiting{@})", "wait for their publisher's turn")],
                runbook="webhooks-late"),
            Panel("Rests of bursts",
                  "Bursts rest in a notifier, while others have few events. All the time: a burst does not end. More "
                  "notifiers shorten it.",
                  [Query(rate("countersign_delivery_rests_total"), "rests")], unit="ops", runbook="webhooks-late"),
            Panel("Deliveries put off, by cause",
                  "`busy`, `rate`, `concurrency`: the endpoint's own limits. `share`: its publisher's. `store`: Redis "
                  "or the ledger is away. `secret`: see below.", [
                      Query(rate("countersign_webhook_deliveries_put_off_total", "cause"), "{{cause}}")], unit="ops",
                  runbook="webhooks-late"),
            Panel("How long endpoints kept first attempts",
                  "Only attempts that had to wait. More notifiers do not help.",
                  [Query(each.expr, each.legend, "no endpoint is slow or has a limit") for each in
                   quantiles("countersign_webhook_endpoint_wait_seconds")], unit="s"),
            Panel("Attempts by publisher",
                  "The 20 busiest. They change places, so compare these lines, and do not add them up.", [
                      Query(rate("countersign_publisher_webhook_attempts_total", "publisher",
                                 'publisher=~"$publisher"'), "{{publisher}}")], unit="ops"),
            Panel("Apple's notifications that are passed on",
                  "`abandoned` and `dropped` never reach the URL in `forwardTo`.", [
                      Query(rate("countersign_notification_forwards_total", "outcome"), "{{outcome}}")], unit="ops",
                  others=("CountersignNotificationNotPassedOn",)),
            Panel("Messages that wait in queues", "Grow for minutes: start more notifiers.", [
                Query("max by (queue) (countersign_queue_messages{@})", "{{queue}}")], runbook="webhooks-late"),
            Panel("Ends of attempts that wait for the ledger",
                  "More than 0 for minutes: the ledger is away. At `notifier.concurrency`, webhooks stand still.", [
                      Query("sum(countersign_webhook_records_waiting{@})", "records")],
                  alert="CountersignAttemptsUnrecorded"),
        ]),
        Row("What was not delivered", [
            Panel("Dead deliveries, by reason", "`crashed`: notifiers died while they had it.", [
                Query(rate("countersign_dead_deliveries_total", "reason"), "{{reason}}")], unit="ops",
                others=("CountersignDeliveryPutAside",)),
            Panel("Messages in the dead queue", "At 100,000 the oldest give way.", [
                Query("max by (queue) (countersign_dead_messages{@})", "{{queue}}")],
                alert="CountersignDeadQueueFills"),
            Panel("Overdue deliveries",
                  "`again`: no queue seemed to hold them; expected after RabbitMQ was wiped. `dropped`: the ledger has "
                  "forgotten their event.", [
                      Query(rate("countersign_deliveries_enqueued_again_total"), "again"),
                      Query(rate("countersign_deliveries_dropped_total"), "dropped")], unit="ops",
                  runbook="dead-deliveries"),
            Panel("Secrets that cannot be read",
                  "Deliveries that were put off, by cause. None is lost, and none is sent unsigned.", [
                      Query(rate("countersign_secrets_unreadable_total", "cause"), "{{cause}}")], unit="ops",
                  others=("CountersignSecretsUnreadable",)),
            Panel("Secrets of webhook endpoints, by key",
                  "`missing`: this process lacks their key. `old` and `plain`: run `countersign rekey`.", [
                      Query("max by (state) (countersign_webhook_secrets{@})", "{{state}}")],
                  alert="CountersignSecretKeyMissing"),
            Panel("Endpoints disabled, an hour", "Tell the publisher.", [
                Query("3600 * " + rate("countersign_webhook_endpoints_disabled_total", "reason"), "{{reason}}")],
                runbook="endpoint-disabled"),
        ]),
        leans_on(*configuration()),
        process(given_out_again()),
    ])
