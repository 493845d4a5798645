"""Evaluates every expression of the dashboards, and every alert, on what a fleet under load tells.

    PYTHONPATH=ops python3 -B -m development.grafana.evaluation

starts a fleet of its own. ops/test does the same beside its other clients.
"""
import re
import sys
import time

from development.alerts import RULES, rules_of
from development.grafana.catalog import DASHBOARDS
from development.grafana.load import Load
from development.grafana.prometheus import Prometheus, Recording
from fleet import ROOT, Failure
from fleet.processes import Processes
from fleet.run import put_customer
from fleet.system import System

ROLES = ("gateway", "worker 1", "worker 2", "notifier")
# Seconds between two samples, as Prometheus counts them here. The load is that much faster than its clock.
INTERVAL = 15
SAMPLES = 24
# So often it takes that many samples at most: it takes more while something is wrong that may pass. A slow fleet needs
# more of them until every series is there. A mistake in an expression stays.
ROUNDS = 4
# How long a process may take to tell its metrics.
SECONDS = 120
# What the variables of a dashboard stand for.
EVERY = {"$namespace": ".*", "$instance": ".*", "$publisher": ".*", "$__rate_interval": "1m"}
# Alerts that a busy machine may bring about: they are about time, and tests run beside this fleet.
OF_TIME = {f"Countersign{name}" for name in ("AppleFails", "JobsWait", "LoopStalls", "SynchronizationsSlow",
                                             "TimersLate", "WebhooksLate")}
# Alerts that a server which stands still for some seconds may bring about, since nothing here waits for the `for` of a
# rule: processes open their connections again, and the gateway answers 503 meanwhile. The next round does not see them.
OF_A_MOMENT = {f"Countersign{name}" for name in ("ConnectionDown", "GatewayErrors", "LedgerAway")}


def scrape(system, roles=ROLES, seconds=2):
    """What each process says: its job, its instance, and the text; `None` if it does not answer in time."""
    found = []
    for name in roles:
        status, text = system.get(name, "/metrics", seconds)
        found.append((name.split()[0], system.configuration.listen[name], text if status == 200 else None))
    return found


def record(system, recording, begin):
    """Takes more samples of a fleet under load. Their times are further apart than they were.

    begin: how many there are already
    """
    for number in range(begin, begin + SAMPLES):
        # A process that is slow to answer is not down.
        recording.take(scrape(system, seconds=SECONDS), recording.begin + INTERVAL * number)
        time.sleep(1)


def filled_in(expression, jobs):
    for name, value in EVERY.items():
        expression = expression.replace(name, value)
    expression = expression.replace("$job", "|".join(sorted(jobs)))
    if "$" in expression:
        raise Failure(f"a variable of this expression is not known: {expression}")
    return expression


def jobs_of(dashboard, prometheus, time=None):
    """The names that the variable `job` has, now or at a time."""
    if not dashboard.job:
        return set()
    return {labels["job"] for labels, _ in prometheus.now(f"group by (job) ({dashboard.job})", time)}


def mistakes(prometheus):
    """What is wrong with the dashboards, and with alerts in a healthy fleet: what may pass, and what may not."""
    recording, found, lasting = prometheus.recording, [], []
    for dashboard in DASHBOARDS:
        jobs = jobs_of(dashboard, prometheus, recording.end)
        if dashboard.job and jobs != {dashboard.name}:
            found.append(f"{dashboard.name}: the variable job is {jobs}")
        if dashboard.publishers and not prometheus.now(
                f"group by (publisher) ({dashboard.publishers})", recording.end):
            found.append(f"{dashboard.name}: the variable publisher has no value")
        for panel, query, expression in dashboard.expressions():
            name = f"{dashboard.name}: {panel.title}"
            unknown = set(re.findall(r"\bcountersign_\w+", expression)) - recording.names
            found += [f"{name}: no process of the fleet has {metric}" for metric in sorted(unknown)]
            expression = filled_in(expression, jobs)
            if not prometheus.range(expression, recording.begin, recording.end, INTERVAL) and not query.empty:
                found.append(f"{name}: gives nothing, and should: {expression}")
    for rule in rules_of(RULES.read_text()):
        fires = prometheus.now(rule["expr"], recording.end)
        if fires and rule["alert"] not in OF_TIME:
            (found if rule["alert"] in OF_A_MOMENT else lasting).append(
                f"{rule['alert']}: would fire in a healthy fleet: {fires[:3]}")
    return found, lasting


def evaluate(system):
    """Records a running system, and asks a Prometheus about it; raises `Failure` for an expression that is wrong."""
    recording = Recording(time.time() - INTERVAL * SAMPLES * ROUNDS)
    with Load(system):
        for number in range(ROUNDS):
            record(system, recording, number * SAMPLES)
            with Prometheus(system.processes, recording) as prometheus:
                passing, lasting = mistakes(prometheus)
            if lasting or not passing:
                break
    if found := passing + lasting:
        raise Failure("\n".join([*found, f"{len(found)} mistakes in the dashboards of ops/grafana, or in the alerts"]))
    count = sum(len(dashboard.expressions()) for dashboard in DASHBOARDS)
    print(f"  {count} expressions of {len(DASHBOARDS)} dashboards give what they should; no alert fires", flush=True)


def main():
    with Processes(ROOT / ".countersign" / "dashboards") as processes:
        system = System(processes)
        try:
            system.start()
            put_customer(system.configuration)
            evaluate(system)
        finally:
            system.stop()
            system.forget()


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"\ndashboards: {failure}")
