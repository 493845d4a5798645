"""Runs the short examples, ops/examples/purchase.py and purchase.mjs, for a customer of a running system."""
import os
import re
import shutil
import subprocess

from fleet import ROOT, Failure, shown

EXAMPLES = ROOT / "ops" / "examples"
# The oldest Node.js that has fetch.
NODE = 18
SECONDS = 120


def programs(node_version):
    """The examples that this machine can run, and why it cannot run the others.

    node_version: what `node --version` prints; `None` if there is no node
    """
    python, javascript = EXAMPLES / "purchase.py", EXAMPLES / "purchase.mjs"
    number = re.match(r"v(\d+)\.", node_version or "")
    if number and int(number[1]) >= NODE:
        return [python, javascript], None
    found = f"node is {node_version.strip()}" if node_version else "node is not installed"
    return [python], f"{shown(javascript)} needs Node.js {NODE} or newer, and {found}"


def node_version():
    if not shutil.which("node"):
        return None
    return subprocess.run(["node", "--version"], capture_output=True, text=True).stdout


def check_purchases(client, customer):
    """Registers a purchase with each example.

    client: the values of a client of the public contract
    customer: one that the publisher has put
    """
    runnable, skipped = programs(node_version())
    for number, program in enumerate(runnable):
        print(f"Registering a purchase with {shown(program)} …", flush=True)
        transaction = f"1000000000036{number:03d}"
        run = purchase(program, client, customer, transaction)
        # The customer may have more offers, by the examples that ran before.
        wanted = {"PURCHASE_SYNCHRONIZED", "S123123123_US may be used"}
        if run.returncode != 0 or not wanted <= set(run.stdout.splitlines()):
            raise Failure(f"{shown(program)} {customer} {transaction} ended with status {run.returncode} and printed\n"
                          f"{run.stdout}{run.stderr}")
    if skipped:
        print(f"  skipped: {skipped}", flush=True)


def purchase(program, client, customer, transaction):
    """Runs an example to its end."""
    # The servers are on this machine: no proxy knows the way to them.
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {name: client[name] for name in ("API_URL", "PUBLISHER_TOKEN")}
    return subprocess.run(
        [program, str(customer), transaction], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=SECONDS)
