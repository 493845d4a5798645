"""Lets generators write clients from docs/reference/openapi.yaml, and registers a purchase with each of them."""
import json
import os
import shutil

from development.commands import output
from development.openapi import OPENAPI
from development.packages import PrivatePython
from fleet import ROOT, shown
from fleet.configuration import CUSTOMER

FOLDER = ROOT / "ops" / "development" / "generated"
PYTHON = PrivatePython(
    "generators-python", FOLDER / "requirements.txt", "generates clients from the API's description", least="3.11")
SECONDS = 120
ADVICE = ("If it does not understand the file, add the rule that it needs to ops/development/generators.py, "
          "and change the file.")


def check_generated_clients(system, gateway):
    """Generates each client and uses it at a gateway of a running system."""
    print(f"Generating clients from {shown(OPENAPI)} …", flush=True)
    folder = system.folder / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")} | {
        "API_URL": gateway.address, "PUBLISHER_TOKEN": system.configuration.publisher_token,
        "CUSTOMER_ID": str(CUSTOMER), "PYTHONDONTWRITEBYTECODE": "1"}
    for generator, command in commands(folder).items():
        output(command, environment, folder=folder, seconds=SECONDS,
               failure=f"{generator} cannot generate a client from {shown(OPENAPI)}. {ADVICE}")
        told = output(
            [PYTHON.python, FOLDER / "register.py", generator, folder], environment, folder=folder, seconds=SECONDS,
            failure=f"The client of {generator} in {shown(folder)} cannot register a purchase. {ADVICE}")
        print(told, end="", flush=True)


def commands(folder):
    """How each generator is started. A warning is a failure: it leaves a model or an operation out."""
    programs = PYTHON.folder / "bin"
    settings = folder / "openapi-python-client.json"
    # It would format the code otherwise, and it does not know lines of JSON.
    overrides = {"application/jsonl": "text/plain"}
    settings.write_text(json.dumps({"post_hooks": [], "content_type_overrides": overrides}))
    return {
        "openapi-python-client": [
            programs / "openapi-python-client", "generate", "--path", OPENAPI, "--config", settings, "--meta", "none",
            "--output-path", folder / "countersign_client", "--fail-on-warning"],
        "datamodel-code-generator": [
            programs / "datamodel-codegen", "--input", OPENAPI, "--input-file-type", "openapi",
            "--output", folder / "countersign_models.py", "--output-model-type", "pydantic_v2.BaseModel",
            "--formatters", "builtin", "--disable-timestamp"],
    }
