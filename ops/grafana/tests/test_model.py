"""Reads each dashboard with the models of Grafana 11.6, which know every field of a dashboard, a panel and a query."""
import copy
import json
import pathlib
import unittest

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

FILES = sorted(pathlib.Path(__file__).resolve().parent.parent.glob("*.json"))


def lost(given, kept, path=()):
    """The paths of what a model does not keep: it drops what it has no field for."""
    if isinstance(given, dict):
        for key, value in given.items():
            if not isinstance(kept, dict) or key not in kept:
                yield (*path, key)
            else:
                yield from lost(value, kept[key], (*path, key))
    elif isinstance(given, list):
        for index, value in enumerate(given):
            yield from lost(value, kept[index], (*path, index))
    elif given != kept:
        yield path


def read(dashboard):
    return json.loads(JSONEncoder().encode(Dashboard.from_json(copy.deepcopy(dashboard))))


class Model(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        register_default_plugins()
        cls.dashboards = [json.loads(path.read_text()) for path in FILES]

    def test_grafana_knows_every_field(self):
        self.assertEqual(len(self.dashboards), 5)
        for dashboard in self.dashboards:
            with self.subTest(dashboard["uid"]):
                self.assertEqual(list(lost(dashboard, read(dashboard))), [])

    def test_a_field_that_grafana_does_not_know_is_found(self):
        for path, name in ((("panels", 1), "titel"), (("panels", 1, "targets", 0), "expression"),
                           (("panels", 1, "fieldConfig", "defaults"), "units"), (("templating", "list", 0), "values")):
            broken = copy.deepcopy(self.dashboards[0])
            place = broken
            for key in path:
                place = place[key]
            place[name] = "a"
            self.assertEqual(list(lost(broken, read(broken))), [(*path, name)])

    def test_ids_are_there_once(self):
        for dashboard in self.dashboards:
            panels = [inner for panel in dashboard["panels"] for inner in [panel, *panel.get("panels", [])]]
            ids = [panel["id"] for panel in panels]
            self.assertEqual(len(ids), len(set(ids)))
        uids = [dashboard["uid"] for dashboard in self.dashboards]
        self.assertEqual(len(uids), len(set(uids)))


if __name__ == "__main__":
    unittest.main()
