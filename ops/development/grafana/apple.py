"""Apple: whether it answers, how much of its budget the fleet uses, and for what."""
from development.grafana.model import Dashboard, Panel, Query, Row, Stat, quantile, rate

CALLS = "countersign_apple_call_duration_seconds"
FAILURES = "network|timeout|tls|apple_error|malformed_answer"

DASHBOARD = Dashboard(
    name="apple", title="Apple's budget",
    says="Whether Apple answers, how much of its budget the fleet uses, and what the calls are for.",
    rows=[
        Row("Does Apple answer?", [
            Stat("Calls a second", "Of all workers. An app has 50 a second at each of the two endpoints that verify "
                                   "purchases, in production.", [Query(rate(CALLS + "_count"))], unit="reqps"),
            Stat("Calls that fail", "The part of the calls that did not get through, or got an error of Apple's own.", [
                Query(f'(sum(rate(countersign_job_retries_total{{@,cause=~"{FAILURES}"}}[10m]))\n'
                      f'  + sum(rate(countersign_timer_looks_total{{@,outcome=~"{FAILURES}"}}[10m]))\n'
                      "  + sum(rate(countersign_refund_answer_failures_total{@}[10m])))\n"
                      f"  / sum(rate({CALLS}_count{{@}}[10m]))")], unit="percentunit",
                alert="CountersignAppleFails"),
            Stat("Apps whose key Apple refuses", "New customers of these apps get no access. Their jobs wait.", [
                Query("max(countersign_apple_refused_apps{@})")], alert="CountersignAppleRefusesKey"),
            Stat("A call takes, 90 of 100", "Apple's own time, most of what a customer waits for.", [
                Query(quantile(0.9, CALLS))], unit="s", bound=5, runbook="apple-fails"),
            Stat("Waits for the budget a second", "More than one: more purchases come than Apple lets us ask about.", [
                Query("sum(rate(countersign_budget_waits_total{@}[10m]))")], unit="ops",
                alert="CountersignBudgetUsedUp"),
            Stat("Calls for a result", "How much of the budget a finalized synchronization costs. An active purchase "
                                       "costs one.", [
                Query(rate(CALLS + "_count") + " / " + rate("countersign_results_total"))]),
            Panel("Calls by outcome",
                  "`ok`, or Apple's error. `TransactionIdNotFound` is an answer, not a failure.", [
                      Query(rate(CALLS + "_count", "outcome"), "{{outcome}}")], unit="reqps", stacked=True,
                  runbook="apple-fails"),
            Panel("Time of a call, 90 of 100, by endpoint", "Slow in one environment only: it is Apple. In both: the "
                                                            "network, or a proxy.", [
                Query(quantile(0.9, CALLS, "endpoint, environment"), "{{endpoint}} {{environment}}")],
                unit="s", runbook="apple-fails"),
            Panel("Jobs that Apple put off, by cause",
                  "`unauthorized` is a wrong or revoked key. `tls` is a proxy or `appStore.caFile`. The others pass "
                  "by themselves when Apple is back.", [
                      Query(rate("countersign_job_retries_total", "cause", f'cause=~"{FAILURES}|unauthorized|'
                                 'rate_limited|not_found_yet|try_later"'), "{{cause}}")], unit="ops",
                  others=("CountersignAppleRefusesKey",)),
        ]),
        Row("The budget", [
            Panel("Jobs in the line for a call",
                  "`bulk` may be long: it yields to everything else. If `usual` is long, customers wait. More workers "
                  "do not help.", [
                      Query("max by (lane) (countersign_line_jobs{@})", "{{lane}}")], runbook="budget-used-up"),
            Panel("Time in the line",
                  "Only jobs that were in the line count.", [
                      Query(quantile(part, "countersign_line_wait_seconds"), text, "no job was in the line")
                      for part, text in ((0.5, "half"), (0.9, "90 %"))], unit="s", runbook="budget-used-up"),
            Panel("Waits for the budget",
                  "`joined or met`: a job found the budget used up, or others before it. `rate_limited`: Apple said "
                  "429, so others use the same key.", [
                      Query(rate("countersign_budget_waits_total"), "joined or met the line"),
                      Query(rate("countersign_job_retries_total", "cause", 'cause=~"budget|rate_limited"'),
                            "{{cause}}")],
                  unit="ops", alert="CountersignBudgetUsedUp"),
            Panel("Calls by endpoint", "Each endpoint has a budget of its own, for each app and environment.", [
                Query(rate(CALLS + "_count", "endpoint, environment"), "{{endpoint}} {{environment}}")],
                unit="reqps", stacked=True),
            Panel("Calls that were saved", "A verified answer was a moment old. Many: a client registers again and "
                                           "again.", [
                Query(rate("countersign_covered_runs_total"), "saved")], unit="ops", runbook="budget-used-up"),
            Panel("What else asks Apple",
                  "Looks at purchases whose timers are due. `budget`: registrations left no call.", [
                      Query(rate("countersign_timer_looks_total", "outcome"), "look: {{outcome}}"),
                      Query(rate("countersign_history_readings_total", "outcome"), "history: {{outcome}}")],
                  unit="ops", runbook="timers-late"),
        ]),
    ])
