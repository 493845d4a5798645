"""Compares a gateway with docs/reference/openapi.yaml.

Generators write clients from the file that work, the gateway refuses each text beyond its limit, and Schemathesis sends
requests that fit the file, and others.
"""
import json
import os
import shutil
import subprocess

from development.generated_clients import check_generated_clients
from development.limits import SHARED_SECRET, Limits
from development.openapi import OPENAPI
from development.packages import PrivatePython
from fleet import COUNTERSIGN, ROOT, Failure, shown
from fleet.configuration import sha256
from fleet.system import Step, free_ports

REQUIREMENTS = ROOT / "ops" / "development" / "schemathesis" / "requirements.txt"
PYTHON = PrivatePython("contract-python", REQUIREMENTS, "checks the HTTP API with Schemathesis")
SEED = 17
EXAMPLES = 50
SECONDS = 900


def check_contract(system):
    """Checks a gateway of its own beside a running system, whose servers it shares."""
    with Step("a gateway for Schemathesis"):
        gateway = start_gateway(system)
    check_generated_clients(system, gateway)
    client = system.configuration.client(system.received)
    # The hooks need the doors' credentials, and let the simulator mint receipts.
    client["IAPTIC_CREDENTIAL"] = system.configuration.iaptic_credential
    print(f"Sending texts that are too long for {shown(OPENAPI)} …", flush=True)
    count = Limits(gateway.address.removeprefix("http://"), client).check()
    print(f"  {count} texts are refused beyond their limits", flush=True)
    print(f"Checking the gateway against {shown(OPENAPI)} …", flush=True)
    command = [
        PYTHON.folder / "bin" / "schemathesis", "run", OPENAPI, "--url", gateway.address,
        "--header", f"X-Publisher-Token: {client['PUBLISHER_TOKEN']}",
        "--header", f"X-Authorization: {client['PLAYFAB_SESSION_TICKET']}",
        # The run brings its own credential, and two at once are refused.
        "--generation-with-security-parameters", "false",
        # What every role serves for its operator has no inputs, and /readyz answers 503 where it should.
        "--exclude-tag", "operations",
        "--mode", "all", "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES), "--seed", str(SEED),
        "--generation-database", "none", "--request-timeout", "20", "--suppress-health-check", "all", "--no-color",
        "--warnings", "off",
    ]
    # Without a proxy, and from a folder where it finds no configuration of somebody else's.
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment |= client
    environment["SCHEMATHESIS_HOOKS"] = "hooks"
    environment["PYTHONPATH"] = str(ROOT / "ops" / "development" / "schemathesis")
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    log = system.folder / "schemathesis.log"
    with log.open("w") as output:
        try:
            status = subprocess.run(
                [str(word) for word in command], cwd=system.folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            raise Failure(f"Schemathesis did not end within {SECONDS} seconds; its output is {shown(log)}") from None
    text = log.read_text(errors="replace")
    if status != 0:
        start = text.find("= FAILURES =")
        raise Failure(f"{text[max(start, 0):][:20_000]}\nSchemathesis ended with status {status}; all of its output is "
                      f"{shown(log)}")
    print("".join(f"  {line}\n" for line in text.splitlines() if "generated" in line), end="", flush=True)


def start_gateway(system):
    """A gateway as the contract describes it, whatever this machine's is configured for."""
    configuration = system.configuration
    folder = configuration.folder.parent / "contract-config"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(configuration.folder, folder)
    settings = configuration.settings()
    # A list of 1,000 endpoints must come through, or the limit of the list would never be seen.
    settings["gateway"] = {
        "listen": "127.0.0.1:0", "maxBodyBytes": 1 << 20, "refusedNotificationsPerSecond": 100_000}
    # Schemathesis asks about more order ids than Apple allows, and a 429 is no answer to a good request.
    settings["appStore"] = settings.get("appStore", {}) | {"budgetScale": 10_000}
    (folder / configuration.file.name).write_text(json.dumps(settings))
    # Any customer is taken: Schemathesis makes the numbers up.
    publisher = configuration.publisher() | {
        "customers": "open", "notifications": {"sharedSecretHashes": [sha256(SHARED_SECRET)]}}
    (folder / "publishers" / "example.json").write_text(json.dumps(publisher))
    listen = configuration.listen["gateway contract"] = f"127.0.0.1:{free_ports(1)[0]}"
    process = system.processes.start(
        "gateway contract", [COUNTERSIGN, "gateway", "--config", folder / configuration.file.name],
        configuration.environment({"COUNTERSIGN_GATEWAY_LISTEN": listen}))
    process.address = f"http://{listen}"
    system.wait(process, lambda: system.answers(process.name, "/readyz"))
    return process
