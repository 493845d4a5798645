"""All dashboards, their files, and what of the metrics and alerts they must show.

    PYTHONPATH=ops python3 -B -m development.grafana.catalog

writes ops/grafana and the copy of the chart. With `--docs URL --folder FOLDER` it writes them elsewhere, with links to
the runbooks that begin with this address.
"""
import argparse
import json
import pathlib
import re

from development.alerts import METRICS, RUNBOOKS, known_metrics, mistakes_of_expression
from development.grafana import apple, gateway, model, notifier, purchases, worker
from fleet import ROOT

FOLDER = ROOT / "ops" / "grafana"
# Helm reads no file outside of its chart.
COPY = ROOT / "ops" / "kubernetes" / "countersign" / "files" / "dashboards"
DASHBOARDS = [each.DASHBOARD for each in (gateway, worker, notifier, apple, purchases)]
# Metrics that are on no dashboard, and why.
NOT_SHOWN = {
    "countersign_analyzed_tables_total": "nobody has to act on it, and the worker's log names the tables",
    "countersign_console_requests_total": "few people use the console, and none of a fleet's work depends on it",
    "countersign_console_sign_ins_total": "the audit log has each sign-in",
    "countersign_console_users_file_mistakes": "an operator sees it in the log right after the change of the file",
    "countersign_console_openid_sign_ins_total": "the audit log has each sign-in",
    "countersign_console_proxy_requests_total": "the proxy before the console has its own picture",
    "countersign_console_roles_file_mistakes": "an operator sees it in the log right after the change of the file",
    "countersign_simulator_calls_total": "the simulator is for development",
    "countersign_simulator_posts_total": "the simulator is for development",
    "countersign_simulator_posts_waiting": "the simulator is for development",
    "countersign_simulator_lives": "the simulator is for development",
}
# Alerts that no panel names, and why.
NOT_NAMED = {"CountersignConsoleDown": "no dashboard is about the console"}


def texts(docs=model.DOCS):
    """The JSON of each dashboard, by the name of its file."""
    return {f"{each.name}.json": json.dumps(each.json(), indent=1, ensure_ascii=False).replace(model.DOCS, docs) + "\n"
            for each in DASHBOARDS}


def metrics_of(expression, metrics):
    """The metrics of an expression, without the ends that a histogram's series have."""
    found = re.findall(r"\bcountersign_\w+", expression)
    return {name if name in metrics else re.sub(r"_(bucket|sum|count)$", "", name) for name in found}


def mistakes():
    """What is wrong with the descriptions, as a list of texts; it needs no fleet and no Prometheus."""
    metrics = known_metrics(METRICS.read_text())
    found, shown, told = [], set(), set()
    for dashboard in DASHBOARDS:
        for panel, query, expression in dashboard.expressions():
            name = f"{dashboard.name}: {panel.title}"
            shown |= metrics_of(expression, metrics)
            # Labels of Kubernetes are those of the targets.
            found += mistakes_of_expression(name, expression, metrics, {"namespace"})
            found += [f"{name}: the legend has a label {label} that the expression lacks"
                      for label in re.findall(r"{{(\w+)}}", query.legend) if label not in expression]
        for panel in dashboard.panels():
            told |= set(panel.alerts())
            found += [f"{dashboard.name}: {panel.title}: there is no runbook {page}"
                      for page in panel.pages() if not (RUNBOOKS / f"{page}.md").is_file()]
        titles = [panel.title for panel in dashboard.panels()]
        found += [f"{dashboard.name}: {title}: is there twice" for title in set(titles) if titles.count(title) > 1]
    found += [f"{name}: is on no dashboard; show it, or say why not in NOT_SHOWN"
              for name in sorted(metrics.keys() - shown - NOT_SHOWN.keys())]
    found += [f"{name}: is in NOT_SHOWN, and is shown or does not exist"
              for name in sorted(NOT_SHOWN.keys() - (metrics.keys() - shown))]
    found += [f"{name}: no panel names this alert" for name in sorted(model.ALERTS.keys() - told - NOT_NAMED.keys())]
    return found


def write(folder, docs=model.DOCS):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for name, text in texts(docs).items():
        (folder / name).write_text(text)


def main():
    parser = argparse.ArgumentParser(description="Writes the dashboards.")
    parser.add_argument("--docs", default=model.DOCS, help="where the folder docs is to be read")
    parser.add_argument("--folder", type=pathlib.Path, help="a folder in place of the repository's")
    options = parser.parse_args()
    for folder in [options.folder] if options.folder else [FOLDER, COPY]:
        write(folder, options.docs)


if __name__ == "__main__":
    main()
