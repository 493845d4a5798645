"""A subscriber that takes nothing."""
import contextlib
import shlex

from development.runbooks import trial
from development.runbooks.stage import SECONDS
from fleet.processes import wait_until

ROLES = ("gateway", "worker 1", "worker 2")
QUEUE, EXCHANGE = "search.events", "countersign.events.search"
# It has one message in hand, and does not end it before the file is there.
SERVICE = "#!/bin/sh\nuntil test -e {}; do sleep 0.2; done; cat > /dev/null\n"


@contextlib.contextmanager
def hanging_service(stage, **more):
    """A subscriber with a queue for 200 messages, whose service hangs. What is given lets it consume."""
    go = stage.system.folder / "search.go"
    go.unlink(missing_ok=True)
    program = stage.system.folder / "search.service"
    program.write_text(SERVICE.format(shlex.quote(str(go))))
    program.chmod(0o755)
    with stage.variables({"COUNTERSIGN_EVENTS_SUBSCRIBERS": "search"} | more, *ROLES):
        stage.rabbitmqctl("set_policy", "--apply-to", "queues", "search", "^search\\.",
                          '{"max-length": 200, "overflow": "reject-publish"}')
        service = stage.system.processes.start("search", [
            "amqp-consume", f"--url={stage.configuration.rabbitmq}", "--exclusive", f"--queue={QUEUE}",
            f"--exchange={EXCHANGE}", "--routing-key=#", "--prefetch-count=1", program])
        try:
            wait_until("the queue of the service", lambda: EXCHANGE in bindings(stage), SECONDS, failed=service.ended,
                       every=1)
            yield go
        finally:
            go.write_text("")
            service.reported = True
            stage.system.processes.stop([service])
            stage.rabbitmqctl("clear_policy", "search")


def bindings(stage):
    return stage.rabbitmqctl("--silent", "list_bindings", "source_name", "destination_name")


@trial
def subscriber_behind(stage):
    """the queue of a subscriber is full, because its service hangs; it has missed events for 11 minutes (by SQL)"""
    with hanging_service(stage) as go:
        stage.register(100, 100)
        wait_until("events that are owed", lambda: stage.sql("SELECT count(*) > 10 FROM owed_events") == "t", SECONDS,
                   every=1)
        stage.sql("UPDATE owed_events SET owed_since = now() - interval '11 minutes' WHERE subscriber = 'search'")
        stage.fires("SubscriberBehind")
        stage.logs("worker", "a subscriber does not accept its events")
        stage.says("subscribers", r'"cause":"a queue refuses it')
        row = next(row for row in bindings(stage).splitlines() if EXCHANGE in row)
        stage.note(f"`rabbitmqctl list_bindings source_name destination_name`: `{row.replace(chr(9), ' ')}`")
        go.write_text("")
        stage.ends("SubscriberBehind")
        stage.says("subscribers", r"\A\Z")
        stage.metric('countersign_subscriber_owed_events{subscriber="search"}', lambda value: value == 0, "is 0")


@trial
def events_given_up(stage):
    """the same for longer than `notifier.logRetentionSeconds`, which is 60"""
    with hanging_service(stage, COUNTERSIGN_NOTIFIER_LOG_RETENTION_SECONDS="60"):
        purchase = stage.registered(stage.transaction(100))
        stage.register(100, 100)
        stage.fires("SubscriberEventsGivenUp", seconds=300)
        stage.logs("worker", "a subscriber has not accepted events for too long; they are given up")
        stage.load.expect("GET", f"/purchases/{purchase}", None, (200,))
        stage.note("`GET /purchases/{originalTransactionId}` answers 200")
