"""Tests of Package.swift: what the image and a release are made of, and what the tests of one layer are."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def targets(folder, **environment):
    """The targets of the package in a folder, each with its own folder."""
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(
            ["swift", "package", "--package-path", folder, "--scratch-path", scratch, "describe", "--type", "json"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ | environment, check=True)
    described = json.loads(run.stdout[run.stdout.index("{"):])
    return {target["name"]: target["path"] for target in described["targets"]}


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


if __name__ == "__main__":
    unittest.main()
