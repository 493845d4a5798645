"""The gateways: what callers ask, and what they are answered."""
from development.grafana.model import Dashboard, Panel, Query, Row, Stat, grown, quantile, quantiles, rate
from development.grafana.parts import alive, configuration, leans_on, process

REQUESTS = "countersign_http_requests_total"
# As the alert does: whoever asks for its health is no caller.
ASKED = 'route!="health"'
FULL = 'cause=~"places|room|answer_room"'
MIB = 1024 * 1024

DASHBOARD = Dashboard(
    name="gateway", title="Gateway", job="countersign_evidence_waiting",
    publishers="countersign_publisher_registrations_total",
    says="Whether callers get their answers, who is limited, and what a gateway has room for.",
    rows=[
        Row("Are callers served?", [
            alive("Gateways", "the others take their callers. None: no app can register a purchase."),
            Stat("Requests a second", "Answered requests, without those that ask for the health.", [
                Query(rate(REQUESTS, only=ASKED))], unit="reqps"),
            Stat("Answers with 5xx", "The part of the requests that got 5xx. These callers must try again.", [
                Query(f'(sum(rate({REQUESTS}{{@,{ASKED},status=~"5.."}}[5m])) or vector(0))\n'
                      f"  / sum(rate({REQUESTS}{{@,{ASKED}}}[5m]))")],
                unit="percentunit", alert="CountersignGatewayErrors"),
            Stat("Accepted a second", "Each one is finalized, whatever happens to the gateway.", [
                Query(rate("countersign_registrations_total", only='code="accepted"'))], unit="reqps"),
            Stat("Time to register, 99 of 100", "The gateway answers 202 when Redis and RabbitMQ have the job.", [
                Query(quantile(0.99, "countersign_http_request_duration_seconds", only='route="register"'))],
                unit="s", bound=1, runbook="gateway-errors"),
            Stat("Refused with 429 a second", "A publisher or a customer has reached a limit.", [
                Query(rate("countersign_limited_total"))], unit="reqps"),
            Panel("Answers by status", "Only 5xx are the fleet's fault. Many 401 or 403: a token was changed.", [
                Query(rate(REQUESTS, "status", ASKED), "{{status}}")], unit="reqps", stacked=True),
            Panel("Answers with 5xx, by route",
                  "503 means that Redis, RabbitMQ or PostgreSQL did not answer in time, or that there was no room.", [
                      Query(rate(REQUESTS, "route, status", f'{ASKED},status=~"5.."'), "{{route}} {{status}}",
                            "before the first 503, this series does not exist")],
                  unit="reqps", runbook="gateway-errors"),
            Panel("Time to register",
                  "Redis and RabbitMQ write to their disks before the answer. Slow: look at these disks first.",
                  quantiles("countersign_http_request_duration_seconds", 'route="register"'), unit="s"),
            Panel("Requests by route", "What the callers do.", [
                Query(rate(REQUESTS, "route", ASKED), "{{route}}")], unit="reqps", stacked=True),
            Panel("Time to answer, 90 of 100, by route",
                  "Reads ask PostgreSQL, or a copy in Redis. Doors wait for Apple, so they take longer.", [
                      Query(quantile(0.9, "countersign_http_request_duration_seconds", "route", ASKED), "{{route}}")],
                  unit="s"),
            Panel("Registrations and transfers, by answer",
                  "`accepted`, or the code of the refusal. Many SK2C0101: a client registers in a loop, while the "
                  "first registration still runs.", [
                      Query(rate("countersign_registrations_total", "code"), "{{code}}"),
                      Query(rate("countersign_transfers_total", "code"), "transfer: {{code}}")], unit="reqps"),
        ]),
        Row("Who asks, and who is limited", [
            Panel("Registrations by publisher",
                  "The 20 busiest publishers. They change places, so compare these lines, and do not add them up.", [
                      Query(rate("countersign_publisher_registrations_total", "publisher",
                                 'publisher=~"$publisher"'), "{{publisher}}")], unit="reqps"),
            Panel("429 by limit",
                  "`customer_*`: an app registers in a loop. `publisher_open`: jobs do not end. `publisher_rate`: a "
                  "publisher grows.", [Query(rate("countersign_limited_total", "limit"), "{{limit}}")], unit="reqps"),
            Panel("429 by publisher", "Talk to that publisher, or raise its limit.", [
                Query(rate("countersign_publisher_limited_total", "publisher", 'publisher=~"$publisher"'),
                      "{{publisher}}")], unit="reqps"),
            Panel("Doors, by answer", "Requests in the form of another vendor.", [
                Query(rate("countersign_door_requests_total", "door, status"), "{{door}} {{status}}")],
                unit="reqps", runbook="gateway-errors"),
            Panel("Doors: what waits",
                  "Callers that wait for a result, and receipts that wait to be read. Thousands of callers: jobs are "
                  "slow. Hundreds of receipts: somebody sends too many.", [
                      Query("sum(countersign_door_requests_waiting{@})", "callers"),
                      Query("sum(countersign_evidence_waiting{@})", "receipts")], runbook="synchronizations-slow"),
            Panel("Doors: receipts refused, and provisional access",
                  "Refused receipts had no place in the line. Provisional access is given while Apple is away.", [
                      Query(rate("countersign_evidence_refused_total", "cause"), "refused: {{cause}}"),
                      Query(rate("countersign_door_provisions_total", "outcome"), "provisional: {{outcome}}")],
                  unit="reqps"),
            Panel("Events by pull",
                  "Events that publishers read, and requests that wait for the next one.", [
                      Query("sum(rate(countersign_events_pulled_total{@}[$__rate_interval]))", "events per second"),
                      Query("sum(countersign_event_reads_waiting{@})", "requests that wait")]),
            Panel("Exports",
                  "Exports that run, and how those of the last hour ended. Each holds a moment of the ledger.", [
                      Query("sum(countersign_exports_running{@})", "running"),
                      Query(grown("countersign_exports_total", "1h", "outcome"), "{{outcome}}")]),
            Panel("Apple's posts, by what became of them",
                  "`foreign`: no publisher's file has the app. `unavailable`: answered 503, so Apple repeats it. "
                  "`too_fast`: the address posts too much that is not Apple's.", [
                      Query(rate("countersign_notifications_total", "outcome"), "{{outcome}}")], unit="reqps",
                  others=("CountersignNotificationPostersHeldUp",)),
            Panel("Identity providers",
                  "The age of the oldest key set, and how much it is overdue. Overdue for long: customers' tokens are "
                  "refused soon.", [
                      Query("max(countersign_jwks_age_seconds{@})", "age"),
                      Query("max(countersign_jwks_overdue_seconds{@})", "overdue")],
                  unit="s", alert="CountersignKeySetOverdue"),
            Panel("Fetches of key sets, a minute", "All but `fetched` failed.", [
                Query("60 * " + rate("countersign_jwks_fetches_total", "outcome"), "{{outcome}}")],
                runbook="key-set-overdue"),
        ]),
        Row("Places and room", [
            Stat("Cut for want of room, 5 minutes",
                 "The gateway is full, and took a place or room from whoever had most.", [
                     Query(grown("countersign_http_connections_cut_total", "5m", only=FULL)
                           + " + " + grown("countersign_http_bodies_refused_total", "5m", only='cause="room"'))],
                 alert="CountersignGatewayFull", width=6, height=7),
            Panel("Connections", "A gateway takes 4,096 by default (`gateway.maxConnections`).", [
                Query("countersign_http_connections{@}", "{{instance}}")], bound=3686, runbook="gateway-full",
                width=6),
            Panel("Connections cut, by cause",
                  "`slow_*` and `stalled` are clients that do not go on. `address_share` is one address with too much: "
                  "perhaps your proxy, if it is not listed.", [
                      Query(rate("countersign_http_connections_cut_total", "cause"), "{{cause}}")], unit="reqps",
                  runbook="gateway-full", width=6),
            Panel("Bodies refused, by cause",
                  "Bodies that the gateway did not take, and answers that it did not send.", [
                      Query(rate("countersign_http_bodies_refused_total", "cause"), "{{cause}}")], unit="reqps",
                runbook="gateway-full", width=6),
            Panel("Room for bodies", "The fullest gateway, of 256 MiB. Full: large receipts get 503.", [
                Query("max(countersign_http_body_bytes{@})", "bodies")], unit="bytes", bound=230 * MIB,
                runbook="gateway-full", width=6),
            Panel("Room for Apple's posts", "The fullest gateway, of 64 MiB. Full: Apple gets 503, and repeats.", [
                Query("max(countersign_http_anonymous_body_bytes{@})", "posts")], unit="bytes", bound=57 * MIB,
                runbook="gateway-full", width=6),
            Panel("Room for unread answers", "The fullest gateway, of 256 MiB. Full: clients do not read.", [
                Query("max(countersign_http_unread_answer_bytes{@})", "answers")], unit="bytes", bound=230 * MIB,
                runbook="gateway-full", width=6),
            Panel("Through proxies that are not listed",
                  "Grows with your traffic: all its clients share one place, one room and one pace. List the proxy in "
                  "`gateway.trustedProxies`.", [Query(rate("countersign_unlisted_proxy_requests_total"), "requests")],
                  unit="reqps", width=6),
        ]),
        leans_on(*configuration(), Panel(
            "Secrets of webhook endpoints, by key",
            "`missing`: this process lacks their key. `old` and `plain`: run `countersign rekey`.", [
                Query("max by (state) (countersign_webhook_secrets{@})", "{{state}}")],
            alert="CountersignSecretKeyMissing")),
        process(),
    ])
