"""What code generators need of docs/reference/openapi.yaml beyond a valid file.

Each rule stands for a mistake that generators make otherwise: code that does not compile, a model that is missing, or a
body without a type.
"""

# A schema below these words says when a rule applies, or what a value must not be. Generators write no code for it.
CONDITIONS = {"not", "if", "then", "else"}
# No schema is below these words.
VALUES = {"example", "examples", "enum", "const", "required", "default", "value"}


def mistakes(api):
    """What generators do not understand in an OpenAPI file: a line for each mistake, with its place."""
    found = [f"{place}: {text}" for place, node, is_condition in objects(api.file, "")
             for text in mistakes_of_schema(node, is_condition)]
    for operation in api.operations():
        if operation.name == "registerPurchase":
            found += mistakes_of_body(operation)
    return found


def objects(node, place, is_condition=False):
    """Each object of the file that may be a schema, its place, and whether it belongs to a condition."""
    if isinstance(node, list):
        for number, inner in enumerate(node):
            yield from objects(inner, f"{place}/{number}", is_condition)
    if not isinstance(node, dict):
        return
    # Below it are the names of members, not the words of a schema.
    are_names = place.endswith("/properties")
    if not are_names:
        yield place, node, is_condition
    for name, inner in node.items():
        if are_names or name not in VALUES:
            yield from objects(inner, f"{place}/{name}", is_condition or not are_names and name in CONDITIONS)


def mistakes_of_schema(schema, is_condition=False):
    """What generators do not understand in a schema, without the schemas below it."""
    properties = schema.get("properties", {})
    for name, inner in properties.items():
        if "const" in inner and name not in schema.get("required", []):
            yield f"{name} has a const, but is not required; write an enum with one value"
    for word in ("oneOf", "anyOf"):
        if any("const" in inner for inner in schema.get(word, [])):
            yield f"{word} has a const; write an enum with one value"
        if properties and word in schema:
            yield f"{word} beside properties; write the condition with if, then and else, or with not"
    if "array" in (schema.get("type") or ()) and "items" not in schema:
        yield "an array without items; say what its elements are"
    kinds = sorted({type(choice).__name__ for choice in schema.get("enum", [])})
    if len(kinds) > 1:
        yield f"an enum of {' and '.join(kinds)}; write an enum for each type, in an anyOf"
    elif not is_condition and kinds not in ([], ["int"], ["str"]):
        yield f"an enum of {kinds[0]}; generators take texts and whole numbers only"


def mistakes_of_body(operation):
    """What keeps the body of a request from having a class with a name."""
    for kind, content in operation.content.items():
        if "$ref" not in content["schema"]:
            yield f"{operation.name}: the {kind} has no name; put its schema below components, and refer to it"
