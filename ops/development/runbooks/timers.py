"""Purchases that nobody looks at."""
from development.runbooks import trial


@trial
def timers_late(stage):
    """`worker.timerConcurrency` is 0 in both workers, and timers are two hours late (by SQL)"""
    life = stage.life(8)
    with stage.variables({"COUNTERSIGN_WORKER_TIMER_CONCURRENCY": "0"}, "worker 1", "worker 2"):
        stage.sql("UPDATE purchases SET due_at = now() - interval '2 hours' "
                  f"WHERE original_transaction_id = '{life}'")
        stage.fires("TimersLate")
        stage.metric("sum(countersign_timer_looks_running)", lambda value: value == 0, "is 0")
        stage.metric("sum(rate(countersign_timer_looks_total[10s]))", lambda value: value == 0, "is 0")
    stage.ends("TimersLate")
    stage.metric("max(countersign_timer_backlog_seconds)", lambda value: value < 60, "is below a minute")
