"""Compares the alerts of Prometheus with the metrics and the runbooks.

`python3 -m development.alerts` lists the mistakes.
"""
import re
import sys

from fleet import ROOT

RULES = ROOT / "ops" / "prometheus" / "alerts.yml"
METRICS = ROOT / "docs" / "reference" / "metrics.md"
RUNBOOKS = ROOT / "docs" / "operate" / "runbooks"
SEVERITIES = {"page", "ticket"}
# The sections of a runbook, in this order.
SECTIONS = ["What it means for customers", "How to see it", "What to do", "When it is over"]
# Labels that Prometheus adds to every series, and the bound of a histogram's bucket.
ADDED = {"job", "instance", "le"}
HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def known_metrics(text):
    """The metrics of the reference: type and labels by name. A unit test compares the reference with the code."""
    metrics = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `countersign_") and len(cells) >= 3:
            metrics[cells[0].strip("`")] = (cells[1], set(re.findall(r"`(\w+)`", cells[2])))
    return metrics


def rules_of(text):
    """The rules as dictionaries. Reads only the part of YAML that alerts.yml uses, so it needs no library."""
    rules = []
    for block in re.split(r"^ +- alert: ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = block.partition("\n")
        rule = {"alert": name.strip()}
        expression = re.search(r"^ +expr: (?:\|\n((?: {10,}.*\n)+)|(.*)\n)", rest, flags=re.MULTILINE)
        rule["expr"] = (expression[1] or expression[2]).strip() if expression else ""
        for key, form in (("severity", r"severity: (\w+)"), ("summary", r"^ +summary: (.+)$"),
                          ("runbook", r"^ +runbook: (.+)$")):
            found = re.search(form, rest, flags=re.MULTILINE)
            rule[key] = found[1].strip() if found else ""
        rules.append(rule)
    return rules


def mistakes_of(rule, metrics):
    name, expression = rule["alert"], rule["expr"]
    if not re.fullmatch(r"Countersign[A-Z][A-Za-z]+", name):
        yield f"{name}: expected a name like CountersignRoleDown"
    if not expression:
        yield f"{name}: has no expr"
    if expression.count("(") != expression.count(")"):
        yield f"{name}: expr has unequal brackets"
    # Without a role there is no series, the sum is empty, and a comparison with 0 is never true.
    if re.search(r"\bsum\b.*(?<!or vector\(0\)\)) == 0", expression):
        yield f"{name}: a sum of nothing is not 0; write (sum(…) or vector(0)) == 0"
    # A fleet may have no console.
    if re.search(r'\bup\{(?!job="console")', expression) and "absent(up" not in expression:
        yield f"{name}: a target that is gone has no up; add absent(up{{…}})"
    if rule["severity"] not in SEVERITIES:
        yield f"{name}: severity {rule['severity'] or 'is missing'}; expected one of {', '.join(sorted(SEVERITIES))}"
    if not rule["summary"]:
        yield f"{name}: has no summary"
    yield from mistakes_of_expression(name, expression, metrics)
    yield from mistakes_of_runbook(name, rule["runbook"])


def mistakes_of_expression(name, expression, metrics, targets=frozenset()):
    """Metrics and labels that do not exist.

    targets: labels that every series has too, besides those of Prometheus
    """
    labels = ADDED | targets
    for metric in re.findall(r"\b(?:countersign_\w+)", expression):
        family = metric if metric in metrics else HISTOGRAM.sub("", metric)
        kind, own = metrics.get(family, (None, set()))
        labels = labels | own
        if kind is None:
            yield f"{name}: there is no metric {metric}"
        elif (kind == "histogram") != (metric != family):
            yield f"{name}: {metric} is not a series of the {kind} {family}"
    asked = re.findall(r"[{,]\s*(\w+)\s*[=!]", expression) + [
        label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")]
    for label in sorted(set(asked) - labels):
        yield f"{name}: no metric of its expr has a label {label}"


def mistakes_of_runbook(name, runbook):
    path = ROOT / runbook
    if not runbook or not path.is_file() or path.parent != RUNBOOKS:
        yield f"{name}: there is no runbook {runbook}"
        return
    text = path.read_text()
    if f"`{name}`" not in text:
        yield f"{runbook}: does not name the alert {name}"
    if [line[3:] for line in text.splitlines() if line.startswith("## ")] != SECTIONS:
        yield f"{runbook}: expected the sections {', '.join(SECTIONS)}"


def mistakes(rules=None, reference=None):
    """Every mistake, as a list of texts; empty when all alerts are sound."""
    rules = rules_of(RULES.read_text() if rules is None else rules)
    metrics = known_metrics(METRICS.read_text() if reference is None else reference)
    found = [text for rule in rules for text in mistakes_of(rule, metrics)]
    names = [rule["alert"] for rule in rules]
    found += [f"{name}: is there twice" for name in sorted(set(names)) if names.count(name) > 1]
    known = {rule["runbook"] for rule in rules}
    found += [f"{path.relative_to(ROOT)}: no alert names it" for path in sorted(RUNBOOKS.glob("*.md"))
              if str(path.relative_to(ROOT)) not in known]
    if not rules:
        found.append(f"{RULES.relative_to(ROOT)}: has no alerts")
    return found


def main():
    found = mistakes()
    print("\n".join(found) or "ok: every alert names metrics and a runbook that exist")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
