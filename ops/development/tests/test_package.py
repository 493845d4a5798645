"""Tests of Package.swift: what the image, a release and the tests of one layer are, and what depends on what."""
import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


@functools.cache
def described(folder, **environment):
    """The targets of the package in a folder, as SwiftPM describes them."""
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(
            ["swift", "package", "--package-path", folder, "--scratch-path", scratch, "describe", "--type", "json"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ | environment, check=True)
    return json.loads(run.stdout[run.stdout.index("{"):])["targets"]


def targets(folder, **environment):
    """The targets of the package in a folder, each with its own folder."""
    return {target["name"]: target["path"] for target in described(folder, **environment)}


# The C libraries, as the page names them.
LIBRARIES = {
    "CUV": "libuv", "CJemalloc": "jemalloc", "COpenSSL": "OpenSSL", "CRabbitMQ": "librabbitmq", "CHiredis": "hiredis",
    "CPQ": "libpq", "CCurl": "libcurl", "CMicroHTTPD": "libmicrohttpd", "CNGHTTP2": "nghttp2",
    "CLinux": "Linux headers", "CBuild": "the commit",
}


class Package(unittest.TestCase):
    def test_the_product_needs_nothing_of_the_tests(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            for name in ("Package.swift", "Sources"):
                (folder / name).symlink_to(ROOT / name)
            found = targets(folder)
        self.assertIn("Countersign", found)
        self.assertEqual([path for path in found.values() if not path.startswith("Sources/")], [])
        recipe = (ROOT / "ops" / "Dockerfile").read_text()
        copied = [line.split()[1] for line in recipe.splitlines() if line.startswith("COPY") and "--from" not in line]
        self.assertEqual(copied, ["Package.swift", "Sources"])
        self.assertIn("Tests", (ROOT / "ops" / "Dockerfile.dockerignore").read_text().split())

    def test_a_layer_has_no_server(self):
        found = targets(ROOT, COUNTERSIGN_LAYER="Domain")
        self.assertIn("DomainTests", found)
        servers = {"HTTPServer", "Gateway", "Doors", "Worker", "Notifier", "Simulator", "Fleets"}
        self.assertEqual(servers & found.keys(), set())

    def test_each_module_depends_on_what_the_page_says(self):
        modules = [target for target in described(ROOT) if target["path"].startswith("Sources/")]
        needs = {target["name"]: {LIBRARIES.get(name, name) for name in target.get("target_dependencies", [])}
                 for target in modules if not target["path"].startswith("Sources/C/")}
        platform = {target["name"] for target in modules if target["path"].startswith("Sources/Platform/")}
        page = (ROOT / "docs" / "internals" / "architecture.md").read_text()
        rows = re.findall(r"^\| `(\w+)` \| `([\w/]+)` \| .* \|(.*)\|$", page, re.MULTILINE)
        rows = {name: dependencies.strip() for name, folder, dependencies in rows if name in needs}
        self.assertEqual(needs.keys(), rows.keys())
        for name, row in rows.items():
            listed, found = row, needs[name]
            if row.endswith(" and platform"):
                listed, found = row.removesuffix(" and platform"), found - platform
                self.assertTrue(needs[name] & platform, name)
            self.assertEqual(set(filter(None, listed.split(", "))), found, name)

        # The picture: each arrow is a dependency, and each dependency is an arrow or a way along arrows.
        arrows = {name: set() for name in needs}
        for line in re.findall(r"^  (.+-->.+)$", page[page.index("flowchart TD"):], re.MULTILINE):
            stations = [re.findall(r"\w+", re.sub(r"\[.*?\]", "", part)) for part in line.split("-->")]
            for sources, goals in zip(stations, stations[1:]):
                for source in sources:
                    arrows.setdefault(source, set()).update(goals)
        outside = platform | set(LIBRARIES.values())
        for name in needs.keys() - platform:
            self.assertLessEqual(arrows[name] - {"Platform"}, needs[name], name)
            reached, waiting = set(), [name]
            while waiting:
                waiting += arrows.get(waiting.pop(), set()) - reached
                reached.update(waiting)
            self.assertLessEqual(needs[name] - outside, reached, name)

    def test_each_target_declares_what_it_imports_and_nothing_else(self):
        # SwiftPM's own check lets a target import what its dependencies depend on.
        targets_of_all = described(ROOT, COUNTERSIGN_FUZZ="1")
        names = {target["name"] for target in targets_of_all}
        statement = re.compile(
            r"^ *(?:@\w+ )*(?:public |package |internal |private |fileprivate )?import (?:\w+ )?(\w+)", re.MULTILINE)
        for target in targets_of_all:
            folder = ROOT / target["path"]
            files = [folder / name for name in target["sources"] if name.endswith(".swift")]
            imported = {name for file in files for name in statement.findall(file.read_text())} & names
            declared = set(target.get("target_dependencies", [])) if files else set()
            with self.subTest(target["name"]):
                self.assertEqual(imported - {target["name"]}, declared)

    def test_the_ledger_is_postgresql_and_coordination_is_redis(self):
        needs = {target["name"]: set(target.get("target_dependencies", [])) for target in described(ROOT)}
        drivers = {"AMQP", "Postgres", "Redis", "HTTPClient", "HTTPServer", "HTTP2"}
        self.assertEqual(needs["Ledger"] & drivers, {"Postgres"})
        self.assertEqual(needs["Coordination"] & drivers, {"Redis"})
        self.assertEqual(needs["Messaging"] & drivers, {"AMQP"})
        self.assertEqual(needs["Domain"] & drivers, set())
        parts = {"Coordination", "Ledger", "Messaging"}
        for part in parts:
            self.assertEqual(needs[part] & parts, set(), part)


if __name__ == "__main__":
    unittest.main()
