"""What the certificates of private servers are good for."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from fleet.certificates import Certificates  # noqa: E402


class CertificatesTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.certificates = Certificates(pathlib.Path(cls.scratch.name))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def verifies(self, name, *options):
        return subprocess.run(
            ["openssl", "verify", "-CAfile", self.certificates.path("ca.pem"), *options, self.certificates.path(name)],
            capture_output=True).returncode == 0

    def test_the_server_has_its_names_and_no_other(self):
        for name in (["-verify_ip", "127.0.0.1"], ["-verify_hostname", "localhost"]):
            self.assertTrue(self.verifies("server.pem", "-purpose", "sslserver", *name))
        self.assertFalse(self.verifies("server.pem", "-verify_hostname", "example.com"))

    def test_each_certificate_has_one_purpose(self):
        self.assertTrue(self.verifies("client.pem", "-purpose", "sslclient"))
        self.assertFalse(self.verifies("client.pem", "-purpose", "sslserver"))
        self.assertFalse(self.verifies("server.pem", "-purpose", "sslclient"))

    def test_they_are_made_once(self):
        path = pathlib.Path(self.certificates.path("server.key"))
        before = path.read_bytes()
        self.assertEqual(pathlib.Path(Certificates(path.parent.parent).path("server.key")).read_bytes(), before)
        self.assertEqual(path.parent.stat().st_mode & 0o077, 0)


if __name__ == "__main__":
    unittest.main()
