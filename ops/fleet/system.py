"""The whole system on this machine: servers, simulator, roles, receiver."""
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from fleet import COUNTERSIGN, ROOT, Failure, shown
from fleet.configuration import Configuration
from fleet.processes import wait_until
from fleet.requests import exchange

GATEWAY_PORT = 8080
READY_SECONDS = 120


class System:
    # What writes the configuration of the roles.
    settings = Configuration

    def __init__(self, processes, may_move=True, gateway=None):
        """
        may_move: whether the gateway may use another port if its usual port is taken
        gateway: its address, in place of the usual one and of COUNTERSIGN_GATEWAY_LISTEN
        """
        self.gateway = gateway
        self.processes = processes
        self.may_move = may_move
        self.folder = processes.folder
        self.received = self.folder / "webhooks.jsonl"
        self.client_file = self.folder / "env"
        self.configuration = None

    # -- start

    def start(self):
        self.forget()
        for log in self.folder.glob("*.log"):
            log.unlink()
        # A mistake in the caller's settings ends the command before it starts a process.
        chosen = {"COUNTERSIGN_GATEWAY_LISTEN": self.gateway} if self.gateway else os.environ
        listen = choose_addresses(chosen, self.may_move)
        self.configuration = self.settings(self.folder / "config", self.processes.server_addresses(), listen)
        self.configuration.write()
        self.prepare()
        with Step("RabbitMQ, Redis and PostgreSQL"):
            self.processes.start_servers()
        self.client_file.write_text("".join(
            f"{key}={shlex.quote(value)}\n" for key, value in self.configuration.client(self.received).items()))
        self.client_file.chmod(0o600)
        with Step("the ledger's schema", "Creating"):
            self.migrate()
        with Step("the simulator and the webhook receiver"):
            simulator = self.role("simulator")
            receiver = self.receiver()
            self.wait(simulator, lambda: simulator_is_ready(self.configuration))
            self.wait(receiver, lambda: self.answers("receiver", "/livez"))
        with Step("one gateway, two workers and one notifier"):
            roles = [self.role(name) for name in ("gateway", "worker 1", "worker 2", "notifier")]
            for role in roles:
                self.wait(role, lambda role=role: self.answers(role.name, "/readyz"))

    def start_console(self):
        """Starts the console, which only people need."""
        with Step("the console"):
            console = self.role("console")
            self.wait(console, lambda: self.answers("console", "/readyz"))

    def prepare(self):
        """Checks the settings before anything starts."""
        check_variables(self.configuration)

    def migrate(self):
        migrate(COUNTERSIGN, self.configuration)

    def command(self, _, words, environment):
        """How a command of Countersign runs for a role: what is started, and with which variables."""
        return [COUNTERSIGN, *words], environment

    def role(self, name):
        role, listen = name.split()[0], self.configuration.listen[name]
        command, environment = self.command(
            name, [role, "--config", self.configuration.file],
            self.configuration.environment({f"COUNTERSIGN_{role.upper()}_LISTEN": listen}))
        process = self.processes.start(name, command, environment)
        process.address = f"{'https' if role == 'simulator' else 'http'}://{listen}"
        return process

    def receiver(self):
        listen = self.configuration.listen["receiver"]
        process = self.processes.start("receiver", [
            ROOT / "ops" / "receiver", "--listen", listen, "--secret-file", self.configuration.webhook_secret_file,
            "--mbaasy-secret-file", self.configuration.mbaasy_hmac_key_file,
            "--iaptic-secret-file", self.configuration.iaptic_password_file, "--received", self.received])
        process.address = f"http://{listen}"
        return process

    def wait(self, process, is_ready):
        wait_until(
            f"{process.name} at {process.address} (its log is {shown(process.log)})", is_ready, READY_SECONDS,
            failed=process.ended)

    def answers(self, name, path):
        return self.get(name, path)[0] == 200

    def get(self, name, path, timeout=2):
        """The status and the text of a process's answer; status 0 without one."""
        return exchange(self.configuration.listen[name], "GET", path, timeout=timeout)[:2]

    # -- stop

    def stop(self):
        """Stops the roles before the servers, so that the roles can finish their work in hand."""
        self.processes.handle_signals(signal.SIG_IGN)
        roles = [process for process in self.processes.all if process.name not in ("simulator", "receiver")]
        self.processes.stop(roles)
        self.processes.stop(self.processes.all)
        self.processes.stop_servers()

    def forget(self):
        """Deletes data and secrets; the logs stay."""
        self.processes.forget_servers()
        for name in ("config", "simulator"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for path in (self.client_file, self.received):
            path.unlink(missing_ok=True)

    # -- the table of addresses

    def table(self):
        rows = [("what", "address", "pid", "log")]
        addresses = {"rabbitmq": self.configuration.rabbitmq, "redis": self.configuration.redis,
                     "postgres": re.sub(r"//.*@", "//", self.configuration.ledger)}
        rows += [(each.name, addresses[each.name], str(each.pid), shown(each.log)) for each in self.processes.servers]
        rows += [(each.name, each.address, str(each.pid), shown(each.log)) for each in self.processes.all]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(
            "  " + "  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[3]]) for row in rows)


class Step:
    """Prints the step and its duration."""

    def __init__(self, what, verb="Starting"):
        self.what, self.verb = what, verb

    def __enter__(self):
        print(f"{self.verb} {self.what} …", flush=True)
        self.start = time.monotonic()

    def __exit__(self, kind, *_):
        if kind is None:
            print(f"  ready after {time.monotonic() - self.start:.1f} s", flush=True)


def simulator_is_ready(configuration):
    # The simulator speaks HTTP/2 only, because clients use Apple's servers so. Python's library does not speak it.
    authority = configuration.tls_authority
    return authority.exists() and subprocess.run(
        ["curl", "--silent", "--fail", "--http2", "--noproxy", "*", "--max-time", "2", "--cacert", authority,
         "--output", "/dev/null", f"https://{configuration.listen['simulator']}/livez"]).returncode == 0


def migrate(program, configuration):
    """Brings the ledger's schema up to the build of a program."""
    run = subprocess.run(
        [program, "migrate", "--config", configuration.file], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=configuration.environment({}))
    if run.returncode != 0:
        raise Failure(f"countersign migrate ended with status {run.returncode}:\n{run.stdout}{run.stderr}".rstrip())


def choose_addresses(environment, may_move):
    """The address of each role. The gateway's is the usual one, or that of COUNTERSIGN_GATEWAY_LISTEN."""
    chosen = environment.get("COUNTERSIGN_GATEWAY_LISTEN")
    host, port = split_address(chosen) if chosen else ("127.0.0.1", GATEWAY_PORT)
    if not is_free(host, port):
        advice = f"set COUNTERSIGN_GATEWAY_LISTEN, for example to 127.0.0.1:{free_ports(1)[0]}"
        if chosen or not may_move:
            raise Failure(f"port {port} on {host} is taken, or not this machine's. To choose another one, {advice}")
        port = free_ports(1)[0]
        print(f"Port {GATEWAY_PORT} is taken, so the gateway listens on {port}. To choose it, {advice}.", flush=True)
    names = ("worker 1", "worker 2", "notifier", "console", "simulator", "receiver")
    ports = dict(zip(names, free_ports(len(names), but=port)))
    return {"gateway": f"{host}:{port}"} | {name: f"127.0.0.1:{ports[name]}" for name in names}


def split_address(text):
    """The host and the port of ADDRESS:PORT."""
    host, _, port = text.rpartition(":")
    is_host = re.fullmatch(r"[0-9.]+|\[[0-9a-fA-F:]+\]", host)
    if not is_host or not re.fullmatch(r"[1-9][0-9]{0,4}", port) or int(port) > 65535:
        raise Failure(f"COUNTERSIGN_GATEWAY_LISTEN is {text!r}, expected an address and a port such as 127.0.0.1:8081")
    return host, int(port)


def is_free(host, port):
    """Whether a server can listen there. A port whose old connections only wait in TIME_WAIT is free."""
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
            # Another program may have bound the port with the same option: then only `listen` fails.
            probe.listen()
        except OSError:
            return False
    return True


def free_ports(count, but=None):
    """Free ports of 127.0.0.1. It holds each one until it has chosen all of them."""
    with contextlib.ExitStack() as stack:
        ports = []
        while len(ports) < count:
            probe = stack.enter_context(socket.socket())
            try:
                probe.bind(("127.0.0.1", 0))
            except OSError as error:
                raise Failure(f"free ports on 127.0.0.1 were looked for and not found: {error}") from None
            if probe.getsockname()[1] != but:
                ports.append(probe.getsockname()[1])
        return ports


def check_variables(configuration):
    """Reports a wrong COUNTERSIGN_ variable, as each role does when it starts."""
    ignored = configuration.ignored()
    if ignored:
        print(f"Not used, since everything here is private: {', '.join(ignored)}", flush=True)
    # The publisher's file names a key that the simulator has not made yet. Any publisher suffices for this check.
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "publishers").mkdir()
        (folder / "publishers" / "any.json").write_text('{"publisherId": 1}')
        (folder / "countersign.json").write_text(json.dumps({"ledger": {"url": configuration.ledger}}))
        run = subprocess.run(
            [COUNTERSIGN, "check-config", "--config", folder / "countersign.json"], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, env=configuration.environment({}))
    if run.returncode != 0:
        raise Failure(f"a variable is wrong:\n{run.stderr.strip()}")
