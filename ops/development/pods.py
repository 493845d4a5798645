"""Plays the pods of the Helm chart on this machine: their files, arguments, probes and ends, without containers."""
import json
import pathlib
import re
import shutil
import subprocess
import time
from urllib.parse import unquote

from development.charts import KUBERNETES, PYTHON
from fleet import COUNTERSIGN, Failure
from fleet.configuration import OFFERS, SIMULATED_APP, sha256
from fleet.processes import wait_until
from fleet.requests import exchange
from fleet.system import Step, free_ports

PUBLISHER = 1077
TOKEN = "token-of-the-chart"
TRANSACTION = "1000000000000777"
SECONDS = 120


def without_password(url):
    """An address without its password, and the password."""
    found = re.fullmatch(r"(\w+://[^:@/]*):([^@]*)(@.*)", url)
    return found[1] + found[3], unquote(found[2])


class Pods:
    """A release of the chart beside a running system, whose servers, simulator and receiver it shares."""

    def __init__(self, system, config=None, values=None):
        """
        config: sections of the configuration file, besides those that name what the system shares
        values: more values of the chart
        """
        self.system = system
        self.folder = system.folder / "chart"
        self.config = config or {}
        self.values = values or {}
        self.pods = {}
        self.listen = {}
        # What KEDA asks Prometheus.
        self.query = None

    def play(self):
        """One purchase, from the rendered chart to the webhook."""
        with Step("the pods of the chart"):
            self.prepare()
            for role in ("gateway", "worker", "notifier"):
                self.start(role)
        self.buy()
        for role in ("gateway", "worker", "notifier"):
            self.end(role)
        self.remove()

    def prepare(self):
        self.remove()
        self.render()
        self.migrate()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def render(self):
        configuration = self.system.configuration
        own = configuration.settings()
        rabbitmq, rabbitmq_password = without_password(own["rabbitmq"]["url"])
        ledger, ledger_password = without_password(own["ledger"]["url"])
        values = {
            "config": {
                # Names of its own, so that no role of the other fleet takes its work.
                "rabbitmq": {"url": rabbitmq, "prefix": "chart"},
                "redis": {"url": own["redis"]["url"], "prefix": "chart:"},
                "ledger": {"url": ledger, "keysFile": "../keys/ledger-keys.json"},
                "appStore": own["appStore"] | {
                    "rootFiles": ["../secrets/root.der"], "caFile": f"../secrets/{configuration.tls_authority.name}"},
                "notifier": {"allowsInsecureEndpoints": True, "allowedNetworks": ["127.0.0.0/8"]},
            } | self.config,
            "worker": {"autoscaling": {"enabled": True}},
            "ledgerKeys": [{"secret": "countersign-ledger-keys"}],
        } | self.values
        publisher = {
            "publisherId": PUBLISHER, "customers": "open", "tokenHashes": [sha256(TOKEN)], "offers": OFFERS,
            "apps": [SIMULATED_APP | {"privateKeyFile": f"../secrets/AuthKey_{SIMULATED_APP['keyId']}.p8"}],
            "webhooks": [{"id": "backend", "url": f"http://{configuration.listen['receiver']}/webhooks",
                          "secretFile": "../secrets/webhook.secret", "topics": ["inappPurchaseSyncResult"]}],
        }
        key = configuration.simulator / f"AuthKey_{SIMULATED_APP['keyId']}.p8"
        secrets = {
            "countersign-publishers": {"acme.json": json.dumps(publisher)},
            "countersign-secrets": {
                "rabbitmq.password": rabbitmq_password, "ledger.password": ledger_password,
                "webhook.secret": configuration.webhook_secret} | {
                    path.name: path.read_bytes() for path in (
                        key, configuration.tls_authority, configuration.simulator / "root.der")},
            "countersign-ledger-keys": {
                "ledger-keys.json": (configuration.folder / "ledger-keys.json").read_text()},
        }
        for name, files in secrets.items():
            folder = self.folder / "secrets" / name
            folder.mkdir(parents=True)
            for file, content in files.items():
                (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        path = self.folder / "values.json"
        path.write_text(json.dumps(values))
        run = subprocess.run(
            [PYTHON.python, "-B", KUBERNETES / "tests" / "pods.py", path, self.folder / "secrets",
             self.folder / "pods"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if run.returncode != 0:
            raise Failure(f"the chart could not be laid out:\n{run.stdout}{run.stderr}")
        told = json.loads(run.stdout)
        self.pods, self.query = told["pods"], told["query"]

    def command(self, role):
        """The command of a pod, with its paths where they are on this machine."""
        pod = self.pods[role]
        return [COUNTERSIGN, *(pod["root"] + word if word.startswith("/") else word for word in pod["args"])]

    def migrate(self):
        run = subprocess.run(
            self.command("migrate"), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env=self.system.configuration.environment({}))
        if run.returncode != 0:
            raise Failure(f"the migration of the chart ended with status {run.returncode}:\n{run.stderr}")

    def start(self, name):
        """Starts a pod: `worker`, or another one, such as `worker 2`."""
        role = name.split()[0]
        pod = self.pods[name] = dict(self.pods[role])
        listen = self.listen[name] = f"127.0.0.1:{free_ports(1)[0]}"
        process = pod["process"] = self.system.processes.start(
            f"chart {name}", self.command(role),
            self.system.configuration.environment({f"COUNTERSIGN_{role.upper()}_LISTEN": listen}))
        process.address = f"http://{listen}"
        for path in pod["probes"]:
            wait_until(f"{path} of the chart's {name}", lambda path=path: self.ask(name, "GET", path)[0] == 200,
                       SECONDS, failed=process.ended)

    def ask(self, name, method, path, body=None, headers={}):
        """The status and the body of an answer; status 0 without one."""
        return exchange(self.listen[name], method, path, body,
                        {"X-Publisher-Token": TOKEN, "Content-Type": "application/json"} | headers)[:2]

    def register(self, customer, transaction):
        """Registers a purchase; returns the path of its synchronization.

        customer: each registers one purchase

        A gateway whose servers were too slow answers 503, and may have registered the purchase all the same. The same
        request with the same id settles that.
        """
        name = f"chart-{customer}"
        path = f"/storekit2/purchases/synchronizations/{name}"
        body = json.dumps({"customerId": customer, "transactionId": transaction})
        deadline = time.monotonic() + SECONDS
        while True:
            status, text = self.ask("gateway", "POST", "/storekit2/purchases", body, {"Correlation-Id": name})
            if status == 202 or status == 409 and json.loads(text).get("instance") == path:
                return path
            if status not in (0, 503) or time.monotonic() > deadline:
                raise Failure(f"the chart's gateway answered {status} {text}")
            time.sleep(0.1)

    def buy(self):
        self.register("7", TRANSACTION)
        wait_until("access by the chart's worker", lambda: '"accessGranted":true' in self.ask(
            "gateway", "GET", "/customers/7/entitlements")[1], SECONDS)
        received = pathlib.Path(self.system.received)
        wait_until("a webhook of the chart's notifier",
                   lambda: received.exists() and TRANSACTION in received.read_text(), SECONDS)
        # The webhook may come before the worker is done with the job.
        for metric in ("countersign_job_slots 266", "countersign_jobs_in_flight 0"):
            wait_until(f"{metric} in the metrics of the chart's worker",
                       lambda metric=metric: f"\n{metric}\n" in self.ask("worker", "GET", "/metrics")[1], SECONDS)

    def end(self, name, is_told=False):
        """SIGTERM, after the pause. The kubelet would kill it at the end of its grace period.

        is_told: whether it has the signal already
        """
        pod = self.pods[name]
        process = pod["process"]
        if not is_told:
            process.popen.terminate()
        try:
            status = process.popen.wait(pod["grace"] - pod["pause"])
        except subprocess.TimeoutExpired:
            raise Failure(f"the chart's {name} did not end in its grace period") from None
        if status != 0:
            raise Failure(f"the chart's {name} ended with status {status}")
        process.reported = True
