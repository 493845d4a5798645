"""Checks that every text of a request has a limit in docs/reference/openapi.yaml. It needs no server and no library."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.generators import mistakes, mistakes_of_schema  # noqa: E402
from development.limits import EXEMPT, sample  # noqa: E402
from development.openapi import OpenAPI  # noqa: E402

# Formats that no long text has.
BOUNDED = {"uuid", "date-time", "ipv4", "ipv6"}
# A body that is not JSON has the limit of its path.
BINARY = "binary"


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
        self.assertEqual(purchase["if"], {"required": ["customerId"]})
        self.assertEqual(purchase["then"], {"not": {"required": ["cleengCustomerId"]}})
        self.assertEqual(file["components"]["schemas"]["TransactionId"]["pattern"], "^[0-9]{1,32}$")
        self.assertEqual(file["components"]["schemas"]["WebhookEnvironment"]["anyOf"], [
            {"type": "string", "enum": ["Production", "Sandbox"]}, {"type": "null"}])

    def test_every_text_of_a_request_has_a_limit(self):
        self.assertGreater(len(self.texts), 120)
        unbounded = {
            str(text) for text in self.texts
            if text.form != BINARY and not (text.most or text.choices or text.form in BOUNDED)
            and text.members[-1] not in EXEMPT}
        self.assertEqual(sorted(unbounded), [])

    def test_a_condition_tells_the_limit_of_a_secret(self):
        secrets = {tuple(text.beside.items()): text.most for text in self.texts
                   if text.operation.name == "createWebhookEndpoint" and text.members == ("secret",)}
        self.assertEqual(secrets, {
            ((("format",), "fovea"), (("signature",), "v1")): 64,
            ((("acceptsSelfSigned",), False), (("format",), "mbaasy"), (("signature",), "v1")): 64,
            ((("acceptsSelfSigned",), False), (("signature",), "v1a")): 93,
            ((("acceptsSelfSigned",), False),): 94,
        })

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


class GeneratorTests(unittest.TestCase):
    def test_generators_understand_the_file(self):
        self.assertEqual(mistakes(OpenAPI()), [])

    def test_what_generators_understand(self):
        for schema in (
                {"required": ["a"], "properties": {"a": {"const": True}, "b": {"enum": ["x"]}}},
                {"type": ["array", "null"], "items": {}}, {"type": "string", "enum": ["a"]},
                {"enum": [1, 2]}, {"anyOf": [{"enum": [1]}, {"enum": ["1"]}]}, {"type": None}):
            self.assertEqual(list(mistakes_of_schema(schema)), [], schema)

    def test_what_they_do_not_understand(self):
        for schema, wanted in (
                ({"properties": {"a": {"const": True}}}, "a has a const, but is not required"),
                ({"required": ["b"], "properties": {"a": {"const": 1}, "b": {}}}, "a has a const"),
                ({"anyOf": [{"type": "null"}, {"const": ""}]}, "anyOf has a const"),
                ({"type": "array"}, "an array without items"), ({"type": ["array", "null"]}, "an array without items"),
                ({"enum": [1, "1"]}, "an enum of int and str"),
                ({"enum": ["a", None]}, "an enum of NoneType and str"), ({"enum": [True]}, "an enum of bool"),
                ({"properties": {"a": {}}, "oneOf": [{"required": ["a"]}]}, "oneOf beside properties")):
            found = list(mistakes_of_schema(schema))
            self.assertEqual(len(found), 1, (schema, found))
            self.assertIn(wanted, found[0])

    def test_a_condition_may_have_an_enum_of_booleans_but_no_other_mistake(self):
        self.assertEqual(list(mistakes_of_schema({"enum": [False]}, is_condition=True)), [])
        self.assertEqual(len(list(mistakes_of_schema({"type": "array"}, is_condition=True))), 1)

    def test_mistakes_are_found_at_any_depth(self):
        file = FILE.replace("BODY", "$ref: '#/components/schemas/Purchase'")
        self.assertEqual(mistakes(OpenAPI(file)), [
            "/components/schemas/Purchase/properties/enum/items: an array without items; say what its elements are",
            "/components/schemas/Purchase/then: oneOf beside properties; write the condition with if, then and else, or"
            " with not",
        ])

    def test_the_body_of_a_registration_has_a_name(self):
        found = mistakes(OpenAPI(FILE.replace("BODY", "type: object")))
        self.assertEqual([text for text in found if text.startswith("registerPurchase")], [
            "registerPurchase: the application/json has no name; put its schema below components, and refer to it"])


FILE = """
security: []
paths:
  /purchases:
    post:
      operationId: registerPurchase
      requestBody:
        content:
          application/json:
            schema:
              BODY
            example: {type: array}
components:
  schemas:
    Purchase:
      properties:
        enum: {type: array, items: {type: array}}
      then: {properties: {a: {enum: [true]}}, oneOf: [{required: [a]}]}
"""


if __name__ == "__main__":
    unittest.main()
