"""What a dashboard consists of, and its form as JSON of Grafana.

In an expression, `@` stands for the labels that the variables of the dashboard choose. So `rate(x{@,code="a"}[…])`
becomes `rate(x{namespace=~"$namespace",job=~"$job",instance=~"$instance",code="a"}[…])`.
"""
import dataclasses
import re

from development.alerts import RULES, rules_of

# Grafana 10.4 writes it. Newer ones read it.
SCHEMA = 39
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Where the pages of docs/ are to be read. Each dashboard has it as a variable.
DOCS = "https://git.example.com/countersign/blob/main/docs"
# The grid of Grafana has 24 columns.
COLUMNS = 24
ALERTS = {rule["alert"]: rule for rule in rules_of(RULES.read_text())}


@dataclasses.dataclass
class Query:
    """One expression of a panel.

    legend: the text for a series, with labels as `{{name}}`
    empty: why the expression gives nothing in a healthy fleet; `None` if it always gives something
    """
    expr: str
    legend: str = ""
    empty: str | None = None


@dataclasses.dataclass
class Panel:
    """A picture of numbers over time.

    says: what the reader sees, and what a bad picture means
    alert: the alert whose bound is the threshold
    others: more alerts about these numbers, which compare something else, such as a sum of some hours
    which: the place of that bound among those of the alert
    bound: a threshold where no alert has one; the picture is bad from there on
    runbook: the runbook, if no alert names it
    """
    title: str
    says: str
    queries: list
    unit: str = "short"
    alert: str | None = None
    which: int = -1
    others: tuple = ()
    bound: float | None = None
    runbook: str | None = None
    stacked: bool = False
    most: float | None = None
    width: int = 8
    height: int = 7
    kind = "timeseries"

    def threshold(self):
        """The bound, and whether numbers below it are the bad ones; `None` without a bound."""
        if self.bound is not None:
            return self.bound, False
        return bound_of(ALERTS[self.alert]["expr"], self.which) if self.alert else None

    def alerts(self):
        return [*([self.alert] if self.alert else []), *self.others]

    def pages(self):
        """The runbooks, those of the alerts first."""
        found = [ALERTS[name]["runbook"].rsplit("/", 1)[1].removesuffix(".md") for name in self.alerts()]
        return list(dict.fromkeys(found + ([self.runbook] if self.runbook else [])))

    def description(self):
        parts = [self.says]
        if self.alerts():
            parts.append("Alert: " + ", ".join(f"`{name}`" for name in self.alerts()) + ".")
        if self.pages():
            links = ", ".join(f"[{page}](${{docs}}/operate/runbooks/{page}.md)" for page in self.pages())
            parts.append(f"Runbook: {links}.")
        return "\n\n".join(parts)

    def steps(self):
        """The colours from each number on."""
        threshold = self.threshold()
        if threshold is None:
            return [{"color": "blue" if self.kind == "stat" else "green", "value": None}]
        bound, is_below = threshold
        if is_below:
            return [{"color": "red", "value": None}, {"color": "green", "value": bound or 0.001}]
        # A step begins at its number, and the alert behind it. Of things that are counted, the first one is bad.
        return [{"color": "green", "value": None}, {"color": "red", "value": bound or 0.001}]

    def has_line(self):
        """Whether the threshold is drawn: a line at the bottom would say nothing."""
        threshold = self.threshold()
        return threshold is not None and threshold[0] > 0

    def custom(self):
        return {
            "drawStyle": "line", "lineWidth": 1, "fillOpacity": 25 if self.stacked else 8, "showPoints": "never",
            "spanNulls": False, "axisSoftMin": 0,
            "stacking": {"mode": "normal" if self.stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "dashed" if self.has_line() else "off"}}

    def options(self):
        return {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                "tooltip": {"mode": "multi", "sort": "desc"}}

    def defaults(self):
        found = {"unit": self.unit, "color": {"mode": "palette-classic"}, "custom": self.custom(),
                 "thresholds": {"mode": "absolute", "steps": self.steps()}, "min": 0}
        return found | ({} if self.most is None else {"max": self.most})

    def json(self, number, x, y, labels):
        return {
            "id": number, "type": self.kind, "title": self.title, "description": self.description(),
            "datasource": SOURCE, "gridPos": {"h": self.height, "w": self.width, "x": x, "y": y},
            "links": [{"title": f"Runbook: {page}", "url": f"${{docs}}/operate/runbooks/{page}.md",
                       "targetBlank": True} for page in self.pages()],
            "fieldConfig": {"defaults": self.defaults(), "overrides": []}, "options": self.options(),
            "targets": [{
                "refId": chr(ord("A") + index), "datasource": SOURCE, "editorMode": "code", "range": True,
                "instant": False, "expr": query.expr.replace("@", labels), "legendFormat": query.legend or "__auto",
            } for index, query in enumerate(self.queries)]}


@dataclasses.dataclass
class Stat(Panel):
    """One number of now, with its colour."""
    width: int = 4
    height: int = 4
    kind = "stat"

    def defaults(self):
        found = super().defaults()
        del found["custom"], found["min"]
        return found | {"color": {"mode": "thresholds"}, "noValue": "–"}

    def options(self):
        return {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}, "colorMode": "background",
                "graphMode": "area", "justifyMode": "auto", "orientation": "auto", "textMode": "value",
                "wideLayout": True}


@dataclasses.dataclass
class Row:
    """Panels under a heading, from left to right.

    closed: whether a reader must open it: it is about causes
    """
    title: str
    panels: list
    closed: bool = False


@dataclasses.dataclass
class Dashboard:
    """
    name: the name of its file
    job: a metric that only the processes of the role have; without one, the dashboard is about the whole fleet
    publishers: a metric with the label `publisher`, if the dashboard has panels by publisher
    """
    name: str
    title: str
    says: str
    rows: list
    job: str | None = None
    publishers: str | None = None

    @property
    def labels(self):
        fleet = 'namespace=~"$namespace"'
        return f'{fleet},job=~"$job",instance=~"$instance"' if self.job else fleet

    def panels(self):
        return [panel for row in self.rows for panel in row.panels]

    def expressions(self):
        """Each query with its panel, and with the labels in place of `@`."""
        return [(panel, query, query.expr.replace("@", self.labels))
                for panel in self.panels() for query in panel.queries]

    def placed(self):
        """Each row or panel with its place: the column, the line."""
        y = 0
        for row in self.rows:
            yield row, 0, y
            y, x, tallest = y + 1, 0, 0
            for panel in row.panels:
                if x + panel.width > COLUMNS:
                    x, y, tallest = 0, y + tallest, 0
                yield panel, x, y
                x, tallest = x + panel.width, max(tallest, panel.height)
            y += tallest

    def json(self):
        panels = []
        # Where the next panel goes: a closed row holds its own.
        place = panels
        for number, (each, x, y) in enumerate(self.placed(), 1):
            if isinstance(each, Row):
                panels.append({"id": number, "type": "row", "title": each.title, "collapsed": each.closed, "panels": [],
                               "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": y}})
                place = panels[-1]["panels"] if each.closed else panels
            else:
                place.append(each.json(number, x, y, self.labels))
        return {
            "uid": f"countersign-{self.name}", "title": f"Countersign / {self.title}", "description": self.says,
            "tags": ["countersign"], "schemaVersion": SCHEMA, "editable": True, "graphTooltip": 1,
            "timezone": "browser", "refresh": "1m", "time": {"from": "now-3h", "to": "now"},
            "links": [{"title": "Countersign", "type": "dashboards", "tags": ["countersign"], "icon": "dashboard",
                       "tooltip": "", "url": "", "asDropdown": False, "includeVars": True, "keepTime": True,
                       "targetBlank": False}],
            "annotations": {"list": [{
                "name": "Alerts that page", "datasource": SOURCE, "enable": True, "iconColor": "red",
                "expr": 'ALERTS{alertname=~"Countersign.+",alertstate="firing",severity="page"}'}]},
            "templating": {"list": self.variables()}, "panels": panels}

    def variables(self):
        found = [
            {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0,
             "current": {}, "refresh": 1},
            chooser("namespace", "Namespace", "label_values(countersign_configuration_current, namespace)",
                    "Of Kubernetes. Elsewhere there is none, and All is right.")]
        if self.job:
            of_fleet = 'namespace=~"$namespace"'
            found.append(chooser("job", "Job", f"label_values({self.job}{{{of_fleet}}}, job)",
                                 "The name of the role in Prometheus.", every=None))
            found.append(chooser("instance", "Process", f'label_values({self.job}{{{of_fleet},job=~"$job"}}, instance)',
                                 "One process of the role, or some."))
        if self.publishers:
            found.append(chooser(
                "publisher", "Publisher", f'label_values({self.publishers}{{namespace=~"$namespace"}}, publisher)',
                "The 20 busiest ones have series of their own."))
        return found + [{
            "name": "docs", "label": "Pages at", "type": "textbox", "query": DOCS, "hide": 0,
            "description": "Where the folder docs of Countersign is to be read. The links to runbooks begin with it.",
            "current": {"text": DOCS, "value": DOCS}}]


def chooser(name, label, query, says, every=".*"):
    """A variable for the values of a label. `every` is the pattern that stands for all of them."""
    found = {
        "name": name, "label": label, "type": "query", "datasource": SOURCE, "query": query, "description": says,
        "refresh": 2, "sort": 1, "multi": True, "includeAll": True, "hide": 0,
        "current": {"text": "All", "value": "$__all"}}
    return found | ({"allValue": every} if every else {})


def bound_of(expression, which=-1):
    """A number that an alert compares with, by default the last one, and whether it is about numbers below it."""
    found = re.findall(r"(<|>|==)\s*([0-9.]+)", expression)
    if not found:
        raise ValueError(f"an alert compares with nothing: {expression}")
    sign, number = found[which]
    bound = float(number)
    # `== 0` is about something that should be 1, and `== 1` about something that should be 0.
    return (0.0 if sign == "==" and bound == 1 else bound), sign == "<" or (sign == "==" and bound == 0)


def rate(metric, by="", only=""):
    """Events a second."""
    labels = f"@,{only}" if only else "@"
    return f"sum{f' by ({by})' if by else ''} (rate({metric}{{{labels}}}[$__rate_interval]))"


def grown(metric, window, by="", only=""):
    """Events in a window, such as 15m."""
    labels = f"@,{only}" if only else "@"
    return f"sum{f' by ({by})' if by else ''} (increase({metric}{{{labels}}}[{window}]))"


def quantile(part, histogram, by="", only="", window="$__rate_interval"):
    """The time that so large a part of the observations did not exceed."""
    labels = f"@,{only}" if only else "@"
    group = f"le, {by}" if by else "le"
    return f"histogram_quantile({part}, sum by ({group}) (rate({histogram}_bucket{{{labels}}}[{window}])))"


def quantiles(histogram, only=""):
    """Three lines: half, nine of ten, and 99 of 100."""
    return [Query(quantile(part, histogram, only=only), text)
            for part, text in ((0.5, "half"), (0.9, "90 %"), (0.99, "99 %"))]
