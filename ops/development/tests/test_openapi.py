"""Checks that every text of a request has a limit in docs/reference/openapi.yaml. It needs no server and no library."""
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
OPENAPI = ROOT / "docs" / "reference" / "openapi.yaml"

KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s'"{}\[\],#][^{}\[\],]*?)\s*:(?:\s+|$)""")
# A key of a block may be a path, with braces.
BLOCK_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s'"#\[][^:]*?)\s*:(?:\s+|$)""")
# Formats that no long text has.
BOUNDED = {"uuid", "date-time", "ipv4", "ipv6"}
# Fields that nobody refuses: a proxy writes them, or they are hints. The room for the whole head bounds them (431).
HEAD_ONLY = {"traceparent", "X-Forwarded-For", "Priority"}
METHODS = {"get", "put", "post", "patch", "delete"}


def scalar(text):
    """The value of a scalar, as far as this file has them."""
    if text.startswith('"'):
        return json.loads(text)
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    return int(text) if re.fullmatch(r"-?\d+", text) else text


class Flow:
    """Reads `{a: 1, b: [c, "d"]}`."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def read(self):
        value = self.value()
        if self.text[self.at:].strip():
            raise ValueError(f"more behind a value: {self.text}")
        return value

    def skip(self, character=""):
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1
        found = character and self.text[self.at:self.at + 1] == character
        self.at += 1 if found else 0
        return found

    def value(self):
        if self.skip("{"):
            members = {}
            while not self.skip("}"):
                match = KEY.match(self.text, self.at)
                if not match:
                    raise ValueError(f"no key, or a text with a comma without quotation marks: {self.text}")
                self.at = match.end()
                members[scalar(match[1])] = self.value()
                self.skip(",")
            return members
        if self.skip("["):
            elements = []
            while not self.skip("]"):
                elements.append(self.value())
                self.skip(",")
            return elements
        match = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,}\]]*)""").match(self.text, self.at)
        self.at = match.end()
        return scalar(match[1].strip())


class Blocks:
    """Reads the file's subset of YAML: blocks by indentation, and flows within a line."""

    def __init__(self, text):
        self.lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines()]
        self.at = 0

    def skip(self):
        while self.at < len(self.lines) and (not self.lines[self.at][1] or self.lines[self.at][1].startswith("#")):
            self.at += 1
        return self.lines[self.at] if self.at < len(self.lines) else (-1, "")

    def block(self, indentation):
        found = {}
        elements = []
        while True:
            depth, line = self.skip()
            if depth != indentation:
                return elements or found
            if line.startswith("- "):
                # The element stands in the place of its dash.
                self.lines[self.at] = (depth + 2, line[2:].strip())
                elements.append(self.element(depth + 2))
                continue
            match = BLOCK_KEY.match(line)
            self.at += 1
            found[scalar(match[1])] = self.behind(line[match.end():], depth)

    def element(self, depth):
        line = self.lines[self.at][1]
        if line[0] not in "{[" and BLOCK_KEY.match(line):
            return self.block(depth)
        self.at += 1
        return Flow(line).read() if line[0] in "{[" else scalar(line)

    def behind(self, text, depth):
        if text in ("|", ">", "|-", ">-"):
            start = self.at
            while self.at < len(self.lines) and (not self.lines[self.at][1] or self.lines[self.at][0] > depth):
                self.at += 1
            return " ".join(line for _, line in self.lines[start:self.at])
        if text:
            return Flow(text).read() if text[0] in "{[" else scalar(text)
        return self.block(self.skip()[0]) if self.skip()[0] > depth else None


class OpenAPI(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = Blocks(OPENAPI.read_text()).block(0)

    def resolved(self, node):
        while isinstance(node, dict) and "$ref" in node:
            target = self.file
            for name in node["$ref"].removeprefix("#/").split("/"):
                target = target[name]
            node = target
        return node

    def texts(self, schema, place, bounded=False):
        """The places of the texts below a schema, each with whether it has a bound."""
        schema = self.resolved(schema)
        kinds = schema.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        bounded = bounded or bool(
            schema.get("maxLength") or schema.get("enum") or "const" in schema or schema.get("format") in BOUNDED)
        if "string" in kinds:
            yield place, bounded
        for word in ("oneOf", "anyOf", "allOf"):
            for part in schema.get(word, []):
                yield from self.texts(part, place)
        for name, part in schema.get("properties", {}).items():
            yield from self.texts(part, f"{place}.{name}")
        for word in ("items", "additionalProperties"):
            if isinstance(schema.get(word), dict):
                yield from self.texts(schema[word], f"{place}[]")

    def requests(self):
        for path, operations in self.file["paths"].items():
            common = operations.get("parameters", [])
            for method in METHODS & set(operations):
                operation = operations[method]
                for parameter in map(self.resolved, common + operation.get("parameters", [])):
                    if parameter["name"] in HEAD_ONLY:
                        continue
                    yield from self.texts(parameter["schema"], f"{method} {path} {parameter['in']} {parameter['name']}")
                body = self.resolved(operation.get("requestBody", {}))
                for content in body.get("content", {}).values():
                    yield from self.texts(content["schema"], f"{method} {path} body")

    def test_the_file_is_read(self):
        self.assertGreater(len(self.file["paths"]), 40)
        purchase = self.file["components"]["schemas"]["Purchase"]
        self.assertEqual(purchase["required"], ["transactionId"])
        self.assertEqual(purchase["oneOf"], [{"required": ["cleengCustomerId"]}, {"required": ["customerId"]}])
        self.assertEqual(self.file["components"]["schemas"]["TransactionId"]["pattern"], "^[0-9]{1,32}$")
        self.assertEqual(
            self.file["components"]["schemas"]["WebhookEnvironment"]["enum"], ["Production", "Sandbox", None])

    def test_every_text_of_a_request_has_a_limit(self):
        found = list(self.requests())
        self.assertGreater(len(found), 80)
        self.assertEqual(sorted({place for place, bounded in found if not bounded}), [])


if __name__ == "__main__":
    unittest.main()
