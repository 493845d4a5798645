"""Breaks a fleet once for each runbook that it can, and looks for what the page says.

    PYTHONPATH=ops python3 -B -m development.runbooks [NAME …]

A Prometheus scrapes the fleet every two seconds and has the rules of ops/prometheus/alerts.yml. Only their `for` is two
seconds. A trial breaks something, waits until its alerts fire, reads /readyz and the logs as the runbook says, mends it
as the runbook says, and waits until the alerts end. The last output is the table of docs/operate/alerts.md.

Each module of trials is about one topic. A trial is a function; its docstring says what is broken.
"""


def trial(function):
    """Marks a function of a topic as a trial."""
    function.is_trial, function.is_first = True, False
    return function


def first(function):
    """Marks a trial that needs a fleet that has done little."""
    function.is_trial, function.is_first = True, True
    return function
