"""PostgreSQL, Redis and RabbitMQ."""
import os
import re
import signal
import time

from development.runbooks import trial
from development.runbooks.stage import SECONDS
from fleet.processes import wait_until


@trial
def ledger_away(stage):
    """PostgreSQL is stopped"""
    with stage.broken(lambda: stage.servers("stop", "postgres"), lambda: stage.servers("start", "postgres")):
        stage.fires("LedgerAway", "GatewayErrors")
        stage.ready("worker", r"not ready: ledger")
        stage.ready("gateway", r"degraded: ledger")
        stage.logs("worker", "connection lost")
    stage.ends("LedgerAway")
    stage.ready("worker", r"ok: ledger")


@trial
def attempts_unrecorded(stage):
    """PostgreSQL is stopped for more than two minutes while events wait for the notifier; its `concurrency` is 20"""
    with stage.variables({"COUNTERSIGN_NOTIFIER_CONCURRENCY": "20"}, "notifier"):
        # It goes on with the endpoints that it knows.
        stage.register(100, 3)
        delivered = re.compile(r'attempts_total\{outcome="delivered"\} [1-9]')
        wait_until("a webhook", lambda: delivered.search(stage.system.get("notifier", "/metrics")[1]), SECONDS)
        pid = stage.process("notifier").pid
        with stage.broken(lambda: os.kill(pid, signal.SIGSTOP), lambda: os.kill(pid, signal.SIGCONT)):
            stage.register(100, 100)
            time.sleep(5)
            stage.servers("stop", "postgres")
        with stage.broken(lambda: None, lambda: stage.servers("start", "postgres")):
            stage.ready("notifier", r"not ready: records: \d+ wait for the ledger")
            stage.ready("notifier", r"\w+: ledger[^\n]{0,40}")
            stage.fires("AttemptsUnrecorded", seconds=240)
        stage.ends("AttemptsUnrecorded")
        stage.metric("countersign_webhook_records_waiting", lambda value: value == 0, "is 0")


@trial
def redis_down(stage):
    """Redis is killed"""
    with stage.broken(lambda: stage.servers("kill", "redis"), lambda: stage.servers("start", "redis")):
        stage.fires("ConnectionDown", "GatewayErrors")
        stage.ready("gateway", r"not ready: redis")
    stage.ends("ConnectionDown")


@trial
def broker_alarm(stage):
    """RabbitMQ raises its memory alarm"""
    with stage.broken(lambda: stage.servers("alarm"), lambda: stage.servers("calm")):
        stage.fires("ConnectionDown", "GatewayErrors")
        stage.logs("gateway", "broker alarm")
    stage.ends("ConnectionDown")


@trial
def redis_full(stage):
    """`maxmemory` of Redis is 1 MB"""
    with stage.broken(lambda: stage.redis("config", "set", "maxmemory", "1mb"),
                      lambda: stage.redis("config", "set", "maxmemory", "0")):
        stage.fires("RedisRefusesWrites")
        stage.ready("gateway", r"not ready: redis: OOM")
        stage.logs("gateway", "Redis refuses writes")
    stage.ends("RedisRefusesWrites")
    stage.logs("gateway", "Redis accepts writes again")


@trial
def redis_evicts(stage):
    """the `maxmemory-policy` of Redis is `allkeys-lru`"""
    with stage.broken(lambda: stage.redis("config", "set", "maxmemory-policy", "allkeys-lru"),
                      lambda: stage.redis("config", "set", "maxmemory-policy", "noeviction")):
        stage.fires("RedisEvicts")
        stage.logs("worker", "Redis may delete keys")
    stage.ends("RedisEvicts")
