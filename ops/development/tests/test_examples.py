"""The example configurations: what operators copy, and what is for trying Countersign."""
import json
import pathlib
import unittest

CONFIG = pathlib.Path(__file__).resolve().parent.parent.parent / "config"


class SandboxAccess(unittest.TestCase):
    def test_the_example_for_operators_gives_nobody_access_from_the_sandbox(self):
        self.assertEqual(sandbox_access(CONFIG / "publishers"), {"example.json": "nobody"})

    def test_the_containers_for_a_first_try_give_everybody_access(self):
        self.assertEqual(sandbox_access(CONFIG / "compose" / "publishers"), {"example.json": "everybody"})


def sandbox_access(folder):
    """The value of each publisher's file in a folder, by the name of the file."""
    return {path.name: json.loads(path.read_text()).get("sandboxAccess") for path in sorted(folder.glob("*.json"))}


if __name__ == "__main__":
    unittest.main()
