"""The alert rules name metrics that exist, and each one names a runbook."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
TRIALS = ROOT / "ops" / "development" / "runbooks"
sys.path.insert(0, str(ROOT / "ops"))

from development import alerts  # noqa: E402


class Alerts(unittest.TestCase):
    def test_every_alert_has_its_metrics_and_its_runbook(self):
        self.assertEqual(alerts.mistakes(), [])

    def test_the_chart_has_the_same_alerts(self):
        # Helm reads no file outside of its chart.
        copy = ROOT / "ops" / "kubernetes" / "countersign" / "files" / "alerts.yml"
        self.assertTrue(copy.read_bytes() == alerts.RULES.read_bytes(), f"cp {alerts.RULES} {copy}")

    def test_the_page_says_of_each_alert_whether_it_was_tried(self):
        page = (ROOT / "docs" / "operate" / "alerts.md").read_text()
        table = page[page.index("| what was broken"):]
        tried, rest = re.split("Every alert was tried|These alerts were not tried", table)
        names = {name for row in tried.splitlines()[2:] if row.startswith("|")
                 for name in re.findall(r"`(\w+)`", row.split(" | ")[1])}
        others = set(re.findall(r"`Countersign(\w+)`", rest))
        self.assertEqual(names & others, set())
        known = {rule["alert"].removeprefix("Countersign") for rule in alerts.rules_of(alerts.RULES.read_text())}
        self.assertEqual(names | others, known)
        trials = "".join(path.read_text() for path in TRIALS.glob("*.py"))
        fired = set(re.findall(r'"(\w+)"', " ".join(re.findall(r"stage\.fires\((.*)\)", trials))))
        self.assertEqual(names, fired)

    def test_the_page_lists_each_alert_under_its_severity(self):
        page = (ROOT / "docs" / "operate" / "alerts.md").read_text()
        rules = alerts.rules_of(alerts.RULES.read_text())
        for severity, heading in (("page", "## Alerts that page"), ("ticket", "## Alerts that open a ticket")):
            section = page[page.index(heading):].split("\n## ", 1)[0]
            listed = re.findall(r"^\| `(\w+)` \|.*\((runbooks/[\w-]+\.md)", section, flags=re.MULTILINE)
            self.assertEqual(sorted(listed), sorted(
                (rule["alert"], rule["runbook"].removeprefix("docs/operate/"))
                for rule in rules if rule["severity"] == severity))

    def test_an_unknown_metric_is_found(self):
        rules = "groups:\n- name: made-up\n  rules:\n  - alert: CountersignMadeUp\n    expr: countersign_made_up > 0\n"
        self.assertNotEqual(alerts.mistakes(rules=rules), [])

    def test_a_condition_that_nobody_exports_is_found(self):
        form = "groups:\n- name: made-up\n  rules:\n  - alert: CountersignMadeUp\n    expr: {}\n"
        silent = form.format("sum(increase(countersign_events_published_total[10m])) == 0")
        sound = form.format("(sum(increase(countersign_events_published_total[10m])) or vector(0)) == 0")
        self.assertTrue(any("a sum of nothing" in text for text in alerts.mistakes(rules=silent)))
        self.assertFalse(any("a sum of nothing" in text for text in alerts.mistakes(rules=sound)))
        gone = form.format('up{job="worker"} == 0')
        self.assertTrue(any("has no up" in text for text in alerts.mistakes(rules=gone)))
        # A fleet may have no console, so its alert must not miss one.
        optional = form.format('up{job="console"} == 0')
        self.assertFalse(any("has no up" in text for text in alerts.mistakes(rules=optional)))

    def test_the_example_scrapes_each_role_under_the_name_that_alerts_expect(self):
        scraped = set(re.findall(r"job_name: (\w+)", (alerts.RULES.parent / "prometheus.yml").read_text()))
        asked = set(re.findall(r'up\{job="(\w+)"\}', alerts.RULES.read_text()))
        self.assertEqual(scraped, asked)


if __name__ == "__main__":
    unittest.main()
