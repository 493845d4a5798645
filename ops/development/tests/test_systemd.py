"""The unit of systemd: systemd-analyze finds no mistake, and it shuts the roles in. No systemd needs to run."""
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
UNIT = ROOT / "ops" / "systemd" / "countersign@.service"
# Tenths, as `--threshold` counts: 1.2 with systemd 252, and some more for what newer ones ask. It is the network.
EXPOSURE = 15


class Systemd(unittest.TestCase):
    def analyzed(self, text, *command):
        """Lets systemd-analyze judge a unit whose program is there."""
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / UNIT.name
            unit.write_text(text.replace("/usr/local/bin/countersign", "/bin/true"))
            return subprocess.run(["systemd-analyze", *command, unit], capture_output=True, text=True)

    def test_the_unit_has_no_mistake(self):
        run = self.analyzed(UNIT.read_text(), "verify", "--man=no")
        self.assertEqual((run.returncode, run.stdout + run.stderr), (0, ""))

    def test_a_mistake_is_found(self):
        run = self.analyzed(UNIT.read_text() + "\n[Service]\nProtectSystems=strict\n", "verify", "--man=no")
        self.assertIn("ProtectSystems", run.stdout + run.stderr)

    def test_the_exposure_is_low(self):
        command = ("security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE}")
        run = self.analyzed(UNIT.read_text(), *command)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        open_wide = UNIT.read_text().replace("NoNewPrivileges=yes\n", "").replace("CapabilityBoundingSet=\n", "")
        self.assertNotEqual(self.analyzed(open_wide, *command).returncode, 0)

    def test_systemd_waits_longer_than_a_role_drains(self):
        reference = (ROOT / "docs" / "reference" / "configuration.md").read_text()
        drain = int(re.search(r"`shutdownGraceSeconds` \| [^|]*\| `(\d+)`", reference)[1])
        self.assertEqual(int(re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)[1]), drain + 10)

    def test_the_variables_of_credentials_are_known(self):
        reference = (ROOT / "docs" / "reference" / "configuration.md").read_text()
        found = re.findall(r"^Environment=(\w+)=%d/(\S+)$", UNIT.read_text(), re.MULTILINE)
        loaded = re.findall(r"^LoadCredential=([^:]+):", UNIT.read_text(), re.MULTILINE)
        self.assertEqual([name for _, name in found], loaded)
        self.assertTrue(found)
        for variable, _ in found:
            self.assertIn(f"`{variable}`", reference)


if __name__ == "__main__":
    unittest.main()
