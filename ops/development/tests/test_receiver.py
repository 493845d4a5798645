"""Tests of ops/receiver: what it verifies, and by which secret."""
import base64
import hashlib
import hmac
import importlib.machinery
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
NOW = 1_795_376_588
SECRETS = {"webhooks": b"0" * 32, "mbaasy": b"an-hmac-key-of-the-console", "iaptic": b"an-account-secret-key"}


def load():
    loader = importlib.machinery.SourceFileLoader("receiver", str(ROOT / "ops" / "receiver"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("receiver", loader))
    loader.exec_module(module)
    return module


class Verified(unittest.TestCase):
    receiver = load()

    def check(self, headers, body, without=()):
        secrets = {name: secret for name, secret in SECRETS.items() if name not in without}
        return self.receiver.verified(secrets, headers, body, NOW)

    def signed(self, body, secret=SECRETS["webhooks"]):
        text = f"evt_1.{NOW}.".encode() + body
        value = base64.b64encode(hmac.digest(secret, text, hashlib.sha256)).decode()
        return {"webhook-id": "evt_1", "webhook-timestamp": str(NOW), "webhook-signature": f"v1,{value}"}

    def digest(self, body, secret=SECRETS["mbaasy"]):
        return {"x-sha256-digest": hmac.new(secret, body, hashlib.sha256).hexdigest()}

    def test_standard_webhooks(self):
        self.assertEqual(self.check(self.signed(b"{}"), b"{}"), ("webhook-signature", None))
        checked, wrong = self.check(self.signed(b"{}"), b"{ }")
        self.assertEqual(checked, "webhook-signature")
        self.assertIsNotNone(wrong)

    def test_mbaasy(self):
        self.assertEqual(self.check(self.digest(b"{}"), b"{}"), ("X-SHA256-Digest", None))
        self.assertEqual(
            self.check(self.digest(b"{}", b"another"), b"{}"), ("X-SHA256-Digest", "X-SHA256-Digest does not fit"))
        # Without the key, nobody can say anything about the digest.
        checked, wrong = self.check(self.digest(b"{}"), b"{}", without=["mbaasy"])
        self.assertEqual(checked, "webhook-signature")
        self.assertIsNotNone(wrong)

    def test_iaptic(self):
        self.assertEqual(self.check({}, b'{"password":"an-account-secret-key"}'), ("password", None))
        self.assertEqual(self.check({}, b'{"password":"other"}'), ("password", "password is not the secret"))
        for body in (b'{"password":7}', b'["password"]', b"{", b"{}"):
            checked, wrong = self.check({}, body)
            self.assertEqual(checked, "webhook-signature")
            self.assertIsNotNone(wrong)
        checked, _ = self.check({}, b'{"password":"an-account-secret-key"}', without=["iaptic"])
        self.assertEqual(checked, "webhook-signature")


if __name__ == "__main__":
    unittest.main()
