"""Reads docs/reference/openapi.yaml: its operations, and each text of their requests. It needs no library."""
import json
import re

from fleet import ROOT

OPENAPI = ROOT / "docs" / "reference" / "openapi.yaml"

KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s'"{}\[\],#][^{}\[\],]*?)\s*:(?:\s+|$)""")
# A key of a block may be a path, with braces.
BLOCK_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s'"#\[][^:]*?)\s*:(?:\s+|$)""")
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


class OpenAPI:
    """The file."""

    def __init__(self, text=None):
        self.file = Blocks(OPENAPI.read_text() if text is None else text).block(0)

    def resolved(self, node):
        while isinstance(node, dict) and "$ref" in node:
            target = self.file
            for name in node["$ref"].removeprefix("#/").split("/"):
                target = target[name]
            node = target
        return node

    def operations(self):
        for path, operations in self.file["paths"].items():
            for method in sorted(METHODS & set(operations)):
                yield Operation(self, method.upper(), path, operations.get("parameters", []), operations[method])


class Operation:
    def __init__(self, api, method, path, common, node):
        self.api, self.method, self.path = api, method, path
        self.name = node["operationId"]
        self.parameters = [api.resolved(each) for each in common + node.get("parameters", [])]
        self.content = api.resolved(node.get("requestBody", {})).get("content", {})
        # The names of the credentials, of which one suffices.
        security = node.get("security", api.file["security"])
        self.credentials = [name for scheme in security for name in scheme]

    def examples(self):
        """The examples of its body."""
        for content in self.content.values():
            if "example" in content:
                yield content["example"]
            yield from (example["value"] for example in content.get("examples", {}).values())

    def texts(self):
        """Each text of its requests."""
        found = []
        for parameter in self.parameters:
            found += self.below(parameter["schema"], parameter["in"], (parameter["name"],), {})
        for content in self.content.values():
            found += self.below(content["schema"], "body", (), {})
        # The conditions of an object may say how long a text is.
        limited = {(text.part, text.members) for text in found if text.most}
        return [text for text in found if text.most or (text.part, text.members) not in limited]

    def below(self, schema, part, members, beside):
        schema = self.api.resolved(schema)
        text = Text(self, part, members, schema, beside)
        if "string" in (schema.get("type") or ()) or text.choices:
            yield text
        for word in ("oneOf", "anyOf", "allOf"):
            for inner in schema.get(word, []):
                yield from self.below(inner, part, members, beside)
        beside = beside | constants(schema, members)
        if "if" in schema:
            yield from self.below(schema.get("then", {}), part, members, beside | constants(schema["if"], members))
            yield from self.below(schema.get("else", {}), part, members, beside)
        for name, inner in schema.get("properties", {}).items():
            yield from self.below(inner, part, (*members, name), beside)
        for word, name in (("items", "[]"), ("additionalProperties", "{}")):
            if isinstance(schema.get(word), dict):
                yield from self.below(schema[word], part, (*members, name), beside)


def constants(schema, members):
    """The members of an object that have only one value, and that value."""
    found = {}
    for name, inner in schema.get("properties", {}).items():
        choices = [inner["const"]] if "const" in inner else inner.get("enum", [])
        if len(choices) == 1:
            found[(*members, name)] = choices[0]
    return found


class Text:
    """A text of a request, such as `putCustomer body email`."""

    def __init__(self, operation, part, members, schema, beside):
        """
        part: path, query, header or body
        members: the names on the way to it; `[]` stands for an element of an array, `{}` for any member of an object
        beside: the constants that the same object has then, by their members
        """
        self.operation, self.part, self.members, self.beside = operation, part, members, beside
        self.most = schema.get("maxLength")
        self.form = schema.get("format")
        self.pattern = schema.get("pattern")
        choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
        self.choices = [choice for choice in choices if isinstance(choice, str)]

    def __str__(self):
        return f"{self.operation.name} {self.part} {'.'.join(self.members)}"
