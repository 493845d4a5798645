"""The dashboards show every metric and alert, and their files are what the descriptions say."""
import dataclasses
import pathlib
import sys
import unittest
import xml.etree.ElementTree
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.grafana import catalog, drawing, model  # noqa: E402
from development.grafana.evaluation import filled_in  # noqa: E402
from development.grafana.model import Dashboard, Panel, Query, Row, Stat  # noqa: E402
from development.grafana.prometheus import Recording  # noqa: E402
from fleet import Failure  # noqa: E402


def dashboard(*panels):
    return Dashboard("made-up", "Made up", "", [Row("One", list(panels))], job="countersign_job_slots")


def mistakes(*panels):
    with mock.patch.object(catalog, "DASHBOARDS", [*catalog.DASHBOARDS, dashboard(*panels)]):
        return catalog.mistakes()


class Dashboards(unittest.TestCase):
    def test_every_metric_and_every_alert_is_shown(self):
        self.assertEqual(catalog.mistakes(), [])

    def test_the_files_are_what_the_descriptions_say(self):
        for folder in (catalog.FOLDER, catalog.COPY):
            found = {path.name: path.read_text() for path in folder.glob("*.json")}
            self.assertTrue(found == catalog.texts(), "PYTHONPATH=ops python3 -B -m development.grafana.catalog")

    def test_what_does_not_exist_is_found(self):
        for panel, wrong in (
                (Panel("A", "", [Query("countersign_made_up{@}")]), "there is no metric countersign_made_up"),
                (Panel("A", "", [Query("countersign_loop_turn_seconds{@}")]), "is not a series of the histogram"),
                (Panel("A", "", [Query('countersign_results_total{@,cause="a"}')]), "has a label cause"),
                (Panel("A", "", [Query("countersign_job_slots{@}", "{{made}}")]), "the legend has a label made"),
                (Panel("A", "", [Query("countersign_job_slots{@}")], runbook="none"), "there is no runbook none")):
            with self.subTest(wrong):
                self.assertTrue(any(wrong in text for text in mistakes(panel)), mistakes(panel))
        twice = Panel("A", "", [Query("countersign_job_slots{@}")])
        self.assertTrue(any("is there twice" in text for text in mistakes(twice, dataclasses.replace(twice))))

    def test_a_metric_or_an_alert_that_nobody_shows_is_found(self):
        with mock.patch.object(catalog, "DASHBOARDS", catalog.DASHBOARDS[1:]):
            found = catalog.mistakes()
        self.assertTrue(any("countersign_http_body_bytes: is on no dashboard" in text for text in found))
        self.assertTrue(any("CountersignGatewayFull: no panel names this alert" in text for text in found))

    def test_thresholds_are_those_of_the_alerts(self):
        for expression, which, bound in (
                ("max(a) > 3600", -1, (3600, False)), ("min(a) < 10800", -1, (10800, True)),
                ("a == 0", -1, (0, True)), ("a == 1", -1, (0, False)), ("a > 0 or b > 0.1", -1, (0.1, False)),
                ('a{b=~"x"} / c > 0.2 and d > 10', 0, (0.2, False))):
            self.assertEqual(model.bound_of(expression, which), bound)
        with self.assertRaises(ValueError):
            model.bound_of("absent(a)")
        slow = Stat("A", "", [], alert="CountersignSynchronizationsSlow")
        self.assertEqual(slow.steps(), [{"color": "green", "value": None}, {"color": "red", "value": 60}])
        due = Stat("A", "", [], alert="CountersignRefundRequestDue")
        self.assertEqual(due.steps(), [{"color": "red", "value": None}, {"color": "green", "value": 10800}])

    def test_panels_do_not_overlap(self):
        for each in catalog.DASHBOARDS:
            taken = set()
            for panel, x, y in each.placed():
                width, height = (24, 1) if isinstance(panel, Row) else (panel.width, panel.height)
                cells = {(column, line) for column in range(x, x + width) for line in range(y, y + height)}
                self.assertFalse(cells & taken, f"{each.name}: {panel.title}")
                self.assertLessEqual(x + width, model.COLUMNS)
                taken |= cells

    def test_a_closed_row_holds_its_panels(self):
        found = catalog.DASHBOARDS[0].json()["panels"]
        closed = [panel for panel in found if panel.get("collapsed")]
        self.assertEqual([panel["title"] for panel in closed], ["What it leans on", "Its processes"])
        self.assertTrue(all(panel["panels"] for panel in closed))
        self.assertFalse([panel for panel in found if panel["type"] == "row" and not panel["collapsed"]
                          and panel["panels"]])

    def test_each_panel_says_what_a_bad_picture_means(self):
        for each in catalog.DASHBOARDS:
            for panel in each.panels():
                self.assertRegex(panel.says, r"\.$", f"{each.name}: {panel.title}")


class Evaluating(unittest.TestCase):
    def test_a_sample_has_the_labels_of_its_process(self):
        recording = Recording(100)
        recording.take([("worker", "a:1", '# HELP x y\ncountersign_a 3\ncountersign_b{le="+Inf"} 4\n'),
                        ("notifier", "b:2", None)], 115)
        self.assertEqual(recording.lines, [
            'up{job="worker",instance="a:1"} 1 115.000', 'countersign_a{job="worker",instance="a:1"} 3 115.000',
            'countersign_b{job="worker",instance="a:1",le="+Inf"} 4 115.000',
            'up{job="notifier",instance="b:2"} 0 115.000'])
        self.assertEqual(recording.names, {"up", "countersign_a", "countersign_b"})
        self.assertEqual((recording.begin, recording.end), (100, 115))

    def test_each_variable_has_a_value(self):
        self.assertEqual(filled_in('a{job=~"$job",publisher=~"$publisher"}[$__rate_interval]', {"b", "a"}),
                         'a{job=~"a|b",publisher=~".*"}[1m]')
        with self.assertRaises(Failure):
            filled_in('a{b="$other"}', set())


class Drawing(unittest.TestCase):
    def test_numbers_are_short(self):
        for value, unit, shown in (
                (0.0123, "s", "12.3 ms"), (90, "s", "1.5 min"), (7200, "s", "2 h"), (0, "s", "0 s"),
                (3 * 2**20, "bytes", "3 MiB"), (0.5, "percentunit", "50 %"), (12.34, "reqps", "12.3 req/s"),
                (4096, "short", "4096"), (23_000, "short", "23k"), (0.004, "short", "0.004"), (None, "s", "–")):
            self.assertEqual(drawing.number(value, unit), shown)

    def test_an_axis_has_few_round_numbers(self):
        self.assertEqual(drawing.ticks(0), [0, 1])
        self.assertEqual(drawing.ticks(8), [0, 2, 4, 6, 8])
        self.assertEqual(drawing.ticks(100, "s"), [0, 30, 60, 90, 120])
        for top in (0.0007, 0.9, 1, 3, 47, 999, 12345):
            for unit in ("short", "s", "bytes"):
                found = drawing.ticks(top, unit)
                self.assertGreaterEqual(found[-1], top)
                self.assertLessEqual(len(found), 6, (top, unit))

    def test_a_missing_sample_is_a_gap(self):
        values = [(0, 1), (10, 1), (40, 2), (50, 2)]
        self.assertEqual(drawing.stretches(values), [values[:2], values[2:]])
        self.assertEqual(drawing.stretches([(5, 1)]), [[(5, 1)]])

    def test_a_picture_of_each_dashboard_is_an_image(self):
        for each in catalog.DASHBOARDS:
            picture = drawing.Drawing(0, 600, [(60, 120, "a < b")])
            for series in ([], [("one & two", [(0, 1), (300, 0), (600, 2e9)]), ("zero", [(0, 0), (600, 0)])]):
                root = xml.etree.ElementTree.fromstring(picture.draw(each, lambda query, series=series: series))
                words = "\n".join(text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text"))
                self.assertIn("a: a < b", words)
                self.assertIn("one & two" if series else "no data", words)


if __name__ == "__main__":
    unittest.main()
