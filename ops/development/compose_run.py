"""ops/image compose: starts docker-compose.yml with podman-compose, and buys through it as its comment says."""
import json
import re
import time

from development.packages import PrivatePython
from development.server_images import COMPOSE, STARTERS, make_server_images
from fleet import Failure
from fleet.console import check_console
from fleet.processes import wait_until
from fleet.requests import exchange

PYTHON = PrivatePython(
    "image/python", STARTERS / "requirements.txt", "starts docker-compose.yml with podman-compose", by="ops/image")
API = "127.0.0.1:8080"
CONSOLE = "127.0.0.1:8090"
# As in ops/config/secrets/example-console-users.
PERSON, PASSWORD = "ada", "example-console-password"
PUBLISHER = 1001
TOKEN = "example-publisher-token"
CUSTOMER, TRANSACTION = 987654321, "1000000000000001"
SECONDS = 180
WORKERS = 3


def services(text):
    """The services that start without a profile, and whether each has a health check."""
    body = text[text.index("\nservices:\n"):text.index("\nvolumes:\n")]
    found = {}
    for part in re.split(r"\n(?=  \w+:)", body)[1:]:
        if "profiles:" not in part:
            found[part.split(":", 1)[0].strip()] = "\n    healthcheck:" in part
    return found


def roles(text):
    """The services that are a role of Countersign, but for the simulator."""
    return re.findall(r"^  (\w+):.*\n    <<: \*role", text, re.MULTILINE)


class Composed:
    def __init__(self, containers):
        self.containers = containers
        self.stops = {}

    def compose(self, *words):
        """Runs podman-compose; what it prints is of use only if it fails."""
        return self.containers.run(
            [PYTHON.python, "-m", "podman_compose", "--file", COMPOSE, "--project-name", "countersign", *words])

    def prepare(self):
        """Fetches what is missing, which needs the machine's network."""
        PYTHON.prepare()
        make_server_images(self.containers)

    def play(self):
        began = time.monotonic()
        print("Starting docker-compose.yml …", flush=True)
        try:
            self.start()
            wait_until(f"the gateway at {API}", lambda: self.call("GET", "/readyz")[0] == 200, SECONDS,
                       failed=self.failed)
            print(f"  the gateway is ready after {time.monotonic() - began:.1f} s", flush=True)
            self.check_health()
            self.buy()
            self.stop()
        except Failure as failure:
            raise Failure(f"{self.told()}\n\n{failure}") from None
        finally:
            self.compose("down", "--volumes", "--timeout", "40")
        return [("services", ", ".join(services(COMPOSE.read_text()))),
                *((name, f"ended {seconds:.1f} s after `podman stop`") for name, seconds in self.stops.items())]

    def start(self):
        """Starts the services as their `depends_on` says.

        podman-compose would leave out what waits for a health check, and podman 4.3 cannot start a container that
        requires one that requires others.
        """
        text = COMPOSE.read_text()
        first = [name for name in services(text) if name not in (*roles(text), "migrate")]
        for names in (first, ["migrate"], roles(text)):
            # Its image is built already: podman-compose knows nothing of the toolchain that a build has mounted.
            self.compose("up", "--detach", "--no-build", "--no-deps", "--scale", f"worker={WORKERS}", *names)
            if names == first:
                for each in (f"countersign_{name}_1" for name in names if services(text)[name]):
                    wait_until(f"the health check of {each}", lambda each=each: self.is_healthy(each), SECONDS)
            elif names == ["migrate"]:
                wait_until("the end of the migration",
                           lambda: self.names()["countersign_migrate_1"] == ("exited", 0), SECONDS)

    def names(self):
        """Each container with its state and how it ended."""
        found = json.loads(self.containers.run(["podman", "ps", "--all", "--format", "json"]))
        return {each["Names"][0]: (each["State"], each["ExitCode"]) for each in found}

    def failed(self):
        broken = [name for name, (state, _) in self.names().items() if state == "dead"]
        return f"{', '.join(broken)} cannot run" if broken else None

    def told(self):
        """The last lines of each container."""
        return "\n".join(
            f"{name} {state}:\n" + self.containers.run(["podman", "logs", "--tail", "5", name], check=False)
            for name, state in self.names().items())

    def check_health(self):
        """Runs the health checks of the file. podman itself would let systemd run them, which may not be there."""
        found = self.names()
        for service, has_check in services(COMPOSE.read_text()).items():
            names = [name for name in found if re.fullmatch(rf"countersign[_-]{service}[_-]\d+", name)]
            if len(names) != (WORKERS if service == "worker" else 1):
                raise Failure(f"{service} has the containers {names}")
            for name in names if has_check else ():
                wait_until(f"the health check of {name}", lambda name=name: self.is_healthy(name), SECONDS)
        if (ended := found.get("countersign_migrate_1")) != ("exited", 0):
            raise Failure(f"the migration should have ended with 0, but is {ended}")
        print("  every health check of the file passes", flush=True)

    def is_healthy(self, name):
        try:
            self.containers.run(["podman", "healthcheck", "run", name])
        except Failure:
            return False
        return True

    def buy(self):
        self.expect("PUT", f"/customers/{CUSTOMER}", {}, (200, 201))
        answer = self.expect("POST", "/storekit2/purchases",
                             {"cleengCustomerId": CUSTOMER, "transactionId": TRANSACTION}, (202,))
        path = f"/storekit2/purchases/synchronizations/{answer['synchronizationId']}"

        def finalized():
            found = self.expect("GET", path, None, (200,))
            return found if found["status"] == "finalized" else None

        found = wait_until("the synchronization to be finalized", finalized, SECONDS)
        if found.get("accessGranted") is not True:
            raise Failure(f"the purchase should give access, but is {found}")
        print(f"  a purchase: {found['result']}, offer {found['offerId']}", flush=True)
        wait_until("a verified webhook", self.has_webhook, SECONDS)
        print("  its webhook is in the receiver's log, and its signature is good", flush=True)
        check_console(CONSOLE, PERSON, PASSWORD, PUBLISHER, CUSTOMER)
        print(f"  {PERSON} signs in to the console, which says why the customer has access", flush=True)

    def has_webhook(self):
        for line in self.containers.run(["podman", "logs", "countersign_receiver_1"]).splitlines():
            if line.startswith("{") and TRANSACTION in line and json.loads(line)["verified"]:
                return True
        return False

    def stop(self):
        """Stops the roles, each within the grace that the file gives it."""
        text = COMPOSE.read_text()
        grace = re.search(r"^  stop_grace_period: (\d+)s", text, re.MULTILINE)[1]
        for name in sorted(self.names()):
            if not re.search(rf"_({'|'.join(roles(text))})_", name):
                continue
            began = time.monotonic()
            self.containers.run(["podman", "stop", "--time", grace, name])
            self.stops[name] = time.monotonic() - began
            if (ended := self.names()[name]) != ("exited", 0):
                raise Failure(f"{name} should have ended with 0 within {grace} seconds, but is {ended}")

    def call(self, method, path, body=None):
        return exchange(API, method, path, None if body is None else json.dumps(body),
                        {"X-Publisher-Token": TOKEN, "Content-Type": "application/json"})[:2]

    def expect(self, method, path, body, statuses):
        status, text = self.call(method, path, body)
        if status not in statuses:
            raise Failure(f"{method} {path} was answered {status} {text}")
        return json.loads(text) if text else {}
