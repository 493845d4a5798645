"""Checks that every text of a request has a limit in docs/reference/openapi.yaml. It needs no server and no library."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.limits import EXEMPT, sample  # noqa: E402
from development.openapi import OpenAPI  # noqa: E402

# Formats that no long text has.
BOUNDED = {"uuid", "date-time", "ipv4", "ipv6"}


class OpenAPITests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = OpenAPI()
        cls.texts = [text for operation in cls.api.operations() for text in operation.texts()]

    def test_the_file_is_read(self):
        file = self.api.file
        self.assertGreater(len(file["paths"]), 40)
        purchase = file["components"]["schemas"]["Purchase"]
        self.assertEqual(purchase["required"], ["transactionId"])
        self.assertEqual(purchase["oneOf"], [{"required": ["cleengCustomerId"]}, {"required": ["customerId"]}])
        self.assertEqual(file["components"]["schemas"]["TransactionId"]["pattern"], "^[0-9]{1,32}$")
        self.assertEqual(file["components"]["schemas"]["WebhookEnvironment"]["enum"], ["Production", "Sandbox", None])

    def test_every_text_of_a_request_has_a_limit(self):
        self.assertGreater(len(self.texts), 120)
        unbounded = {
            str(text) for text in self.texts
            if not (text.most or text.choices or text.form in BOUNDED) and text.members[-1] not in EXEMPT}
        self.assertEqual(sorted(unbounded), [])

    def test_every_limit_can_be_tried(self):
        """ops/test --contract sends a text at the limit and one beyond it to a gateway (development/limits.py)."""
        for text in self.texts:
            if text.most:
                with self.subTest(str(text)):
                    most = sample(text, text.most)
                    self.assertEqual(len(most), text.most)
                    if not most.startswith("whsk_"):
                        self.assertRegex(most, text.pattern or "^")
                    self.assertEqual(len(sample(text, text.most + 1)), text.most + 1)


if __name__ == "__main__":
    unittest.main()
