"""The workers: from a job to its result, the ledger, and what they repair."""
from development.grafana.model import Dashboard, Panel, Query, Row, Stat, grown, quantile, quantiles, rate
from development.grafana.parts import alive, configuration, given_out_again, leans_on, process

DASHBOARD = Dashboard(
    name="worker", title="Worker", job="countersign_job_slots",
    says="Whether purchases get through, what holds jobs up, and what workers had to repair.",
    rows=[
        Row("Do purchases get through?", [
            alive("Workers", "the others take their jobs. None: registrations stay `processing`."),
            Stat("Finalized a second", "Synchronizations that came to their end.", [
                Query(rate("countersign_results_total"))], unit="ops"),
            Stat("Time to access, 90 of 100", "How long a customer waits for access.", [
                Query(quantile(0.9, "countersign_synchronization_age_seconds", window="10m"))], unit="s",
                alert="CountersignSynchronizationsSlow"),
            Stat("Wait for a worker, 90 of 100", "How long a job waits for a worker.", [
                Query(quantile(0.9, "countersign_job_queue_wait_seconds", window="10m"))], unit="s",
                alert="CountersignJobsWait"),
            Stat("Given up, 1 hour", "Ended as `INTERNAL_ERROR`: these customers have paid, and get nothing.", [
                Query(grown("countersign_results_total", "1h", only='result="INTERNAL_ERROR"'))],
                alert="CountersignGaveUp"),
            Stat("Places taken", "Of all workers. Above three quarters for long: start workers, unless Apple hangs.", [
                Query("sum(countersign_jobs_in_flight{@}) / sum(countersign_job_slots{@})")], unit="percentunit",
                bound=0.75, runbook="jobs-wait"),
            Panel("Results", "All but `PURCHASE_SYNCHRONIZED` give no access. Compare with the usual mixture.", [
                Query(rate("countersign_results_total", "result"), "{{result}}")], unit="ops", stacked=True,
                others=("CountersignRejectsMany", "CountersignGaveUp")),
            Panel("From registration to event",
                  "Without trouble, half take some hundred milliseconds, most of it Apple's. If this grows and the "
                  "next picture does not, Apple or the ledger is slow.",
                  quantiles("countersign_synchronization_age_seconds"), unit="s", runbook="synchronizations-slow"),
            Panel("From registration to first attempt", "Grows: jobs wait for a worker.",
                  quantiles("countersign_job_queue_wait_seconds"), unit="s", runbook="jobs-wait"),
        ]),
        Row("Work in hand", [
            Panel("Places", "A job that waits for Apple's budget holds none. KEDA scales by this quotient.", [
                Query("sum(countersign_jobs_in_flight{@})", "taken"),
                Query("sum(countersign_job_slots{@})", "all")], runbook="jobs-wait"),
            Panel("Jobs put off, by cause",
                  "Each waits, and runs again by itself. The cause says where to look: Apple (`network`, `timeout`, "
                  "`apple_error`), its budget, a server of yours, or a publisher's file.", [
                      Query(rate("countersign_job_retries_total", "cause"), "{{cause}}")], unit="ops",
                  runbook="synchronizations-slow"),
            Panel("Deliveries of a job until it is finalized",
                  "More than 3 for most jobs, while Apple does not fail, is a fault of ours: report it.", [
                      Query(quantile(0.5, "countersign_job_deliveries"), "half"),
                      Query(quantile(0.9, "countersign_job_deliveries"), "90 %")]),
        ]),
        Row("The ledger and the events", [
            Panel("Commits a second", "One commit finalizes what has come together.", [
                Query(rate("countersign_commit_synchronizations_count"), "commits"),
                Query(rate("countersign_commit_failures_total"), "failed")], unit="ops", runbook="ledger-away"),
            Panel("Synchronizations in a commit, the mean",
                  "Grows with the load. 1 under load: the ledger has more connections than it needs.", [
                      Query(rate("countersign_commit_synchronizations_sum") + " / "
                            + rate("countersign_commit_synchronizations_count"), "mean")]),
            Panel("Time until a commit begins, 99 of 100",
                  "`background` (bulk, timers) and `crowded` (much of one customer at once) may wait for seconds: they "
                  "yield. If `awaited` grows, the ledger is slow.", [
                      Query(quantile(0.99, "countersign_commit_wait_seconds", "work"), "{{work}}")], unit="s",
                  runbook="ledger-away"),
            Panel("Events published a second",
                  "0 while registrations are accepted: nothing is finalized. `late` were found in the outbox, "
                  "because the worker died or the broker did not confirm.", [
                      Query(rate("countersign_events_published_total"), "published"),
                      Query(rate("countersign_outbox_events_total"), "late")], unit="ops",
                  others=("CountersignNothingFinalized",)),
            Panel("Subscribers: events confirmed a second", "`shared` is the exchange that everybody may bind to.", [
                Query(rate("countersign_subscriber_events_total", "subscriber"), "{{subscriber}}")], unit="ops"),
            Panel("Subscribers: how long they have missed an event",
                  "The oldest event that the ledger owes. Ten minutes: that service knows old states only.", [
                      Query("max by (subscriber) (countersign_subscriber_oldest_owed_seconds{@})", "{{subscriber}}")],
                  unit="s", alert="CountersignSubscriberBehind"),
            Panel("Subscribers: events that the ledger owes them", "At most 100,000 are counted.", [
                Query("max by (subscriber) (countersign_subscriber_owed_events{@})", "{{subscriber}}")],
                runbook="subscriber-behind"),
            Panel("Messages that wait in queues", "Jobs grow: the workers have too few places, or none runs.", [
                Query("max by (queue) (countersign_queue_messages{@})", "{{queue}}")], runbook="jobs-wait"),
            Panel("Subscribers: missed, and given up, a second",
                  "Missed events come later. Events that are given up never come.", [
                      Query(rate("countersign_subscriber_misses_total", "subscriber"), "{{subscriber}}: missed"),
                      Query(rate("countersign_subscriber_events_given_up_total", "subscriber"),
                            "{{subscriber}}: given up")],
                  unit="ops", others=("CountersignSubscriberEventsGivenUp",)),
        ]),
        Row("What was repaired, and what was put aside", [
            Stat("Dead jobs, 15 minutes", "Messages that are no jobs, or whose runs crashed their worker.", [
                Query(grown("countersign_dead_jobs_total", "15m"))], alert="CountersignDeadJobs"),
            Stat("In the queue of dead jobs", "At 100,000 the oldest give way.", [
                Query("max(countersign_dead_messages{@})")], alert="CountersignDeadQueueFills"),
            Stat("Swept jobs, 15 minutes", "Jobs that no queue held. Thousands: RabbitMQ has lost its data.", [
                Query(grown("countersign_swept_jobs_total", "15m"))], alert="CountersignSweptJobs"),
            Stat("Notifications put aside", "Workers died while they had them. One may be a refund or a renewal.", [
                Query("max(countersign_notifications_put_aside{@})")], alert="CountersignNotificationPutAside"),
            Stat("Rows left alone, 15 minutes", "Timers, refund requests or histories that seem to kill workers.", [
                Query(grown("countersign_suspect_rows_held_back_total", "15m"))], alert="CountersignRowHeldBack"),
            Stat("Events that tell less, 1 hour", "They would have had more than 64 KiB.", [
                Query(grown("countersign_reduced_events_total", "1h"))], alert="CountersignEventReduced"),
            Panel("Runs that were not the usual one",
                  "`stale`: the lease had ended, so a worker was starved. `superseded`: a later message came. "
                  "`hurried`: a person asked. `put aside`: since workers died.", [
                      Query(rate("countersign_stale_runs_total"), "stale"),
                      Query(rate("countersign_superseded_jobs_total"), "superseded"),
                      Query(rate("countersign_hurried_jobs_total"), "hurried"),
                      Query(rate("countersign_notifications_put_aside_total"), "notifications put aside")],
                  unit="ops", runbook="processes-die"),
            Panel("Signed data that was rejected, by reason",
                  "Single cases are forged, or of another app. For every purchase: somebody answers in Apple's place, "
                  "or a publisher's file has a wrong app.", [
                      Query(rate("countersign_rejections_total", "reason"), "{{reason}}")], unit="ops",
                  others=("CountersignRejectedData",)),
            Panel("Messages in the queue of dead jobs", "Look into it, and empty it.", [
                Query("max by (queue) (countersign_dead_messages{@})", "{{queue}}")], runbook="dead-jobs"),
        ]),
        leans_on(*configuration()),
        process(given_out_again()),
    ])
