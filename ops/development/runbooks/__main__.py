"""Starts the fleet and Prometheus, runs the trials, and prints their table."""
import re
import sys

from development.alerts import RULES
from development.grafana import evaluation
from development.grafana.load import Load
from development.grafana.prometheus import Prometheus, scraping
from development.runbooks import (
    apple, aside, gateway, jobs, key_sets, notifications, publishers, refunds, roles, servers, subscribers, timers,
    webhooks)
from development.runbooks.fleet import Fleet
from development.runbooks.stage import SCRAPE, SECONDS, Stage
from fleet import ROOT, Failure
from fleet.processes import Processes, wait_until
from fleet.run import put_customer

# In an order in which each finds a fleet that is whole.
TOPICS = (roles, apple, jobs, servers, publishers, webhooks, notifications, refunds, timers, subscribers, aside,
          gateway, key_sets)
# Those that Prometheus asks.
ROLES = (*evaluation.ROLES, "console")


def trials(names):
    """The chosen trials, those first that need a fleet that has done little."""
    found = [each for topic in TOPICS for each in vars(topic).values() if getattr(each, "is_trial", False)]
    unknown = set(names) - {each.__name__ for each in found}
    if unknown:
        raise Failure(f"there is no trial {', '.join(sorted(unknown))}; there are "
                      f"{', '.join(each.__name__ for each in found)}")
    return [each for each in found if each.__name__ in names or not names]


def rules(folder):
    """The alerts, which fire two seconds after their expression is true."""
    path = folder / "alerts.yml"
    path.write_text(re.sub(r"for: \w+", f"for: {SCRAPE}s", RULES.read_text()))
    return path


def main(names):
    chosen = trials(names)
    with Processes(ROOT / ".countersign" / "runbooks") as processes:
        system = Fleet(processes)
        try:
            system.start()
            system.start_console()
            put_customer(system.configuration)
            settings = scraping(system, ROLES, SCRAPE, [rules(processes.folder)])
            with Prometheus(processes, settings=settings) as prometheus:
                load = Load(system, rate=3, scenarios=(100, 110))
                stage = Stage(system, prometheus, load)
                load.put_customers()
                # An increase needs a sample from before.
                wait_until("a sample of each role", lambda: len(prometheus.now("up == 1")) == len(ROLES), SECONDS)
                stage.play([each for each in chosen if each.is_first])
                with load:
                    stage.play([each for each in chosen if not each.is_first])
        finally:
            system.stop()
            system.forget()
    print("\n".join(["", "| what was broken | alerts that fired | what the operator saw |", "| --- | --- | --- |",
                     *stage.rows]))
    if any("**" in row for row in stage.rows):
        raise Failure("not everything was as the runbooks say")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Failure as failure:
        sys.exit(f"\nrunbooks: {failure}")
