"""The whole system on this machine: servers, simulator, roles, receiver."""
import http.client
import shlex
import shutil
import signal
import socket
import subprocess
import time

from fleet import COUNTERSIGN, ROOT, Failure, shown
from fleet.configuration import Configuration
from fleet.processes import wait_until

GATEWAY_PORT = 8080
READY_SECONDS = 60


class System:
    def __init__(self, processes):
        self.processes = processes
        self.folder = processes.folder
        self.received = self.folder / "webhooks.jsonl"
        self.client_file = self.folder / "env"
        self.configuration = None

    # -- start

    def start(self):
        self.forget()
        for log in self.folder.glob("*.log"):
            log.unlink()
        with Step("RabbitMQ and Redis"):
            servers = self.processes.start_servers()
        self.configuration = Configuration(self.folder / "config", servers, choose_ports())
        self.configuration.write()
        self.client_file.write_text("".join(
            f"{key}={shlex.quote(value)}\n" for key, value in self.configuration.client(self.received).items()))
        self.client_file.chmod(0o600)
        with Step("the simulator and the webhook receiver"):
            simulator = self.role("simulator")
            receiver = self.receiver()
            self.wait(simulator, lambda: simulator_is_ready(self.configuration))
            self.wait(receiver, lambda: self.answers("receiver", "/livez"))
        with Step("one gateway, two workers and one notifier"):
            roles = [self.role(name) for name in ("gateway", "worker 1", "worker 2", "notifier")]
            for role in roles:
                self.wait(role, lambda role=role: self.answers(role.name, "/readyz"))

    def role(self, name):
        role, listen = name.split()[0], self.configuration.listen[name]
        process = self.processes.start(
            name, [COUNTERSIGN, role, "--config", self.configuration.file],
            self.configuration.environment({f"COUNTERSIGN_{role.upper()}_LISTEN": listen}))
        process.address = f"{'https' if role == 'simulator' else 'http'}://{listen}"
        return process

    def receiver(self):
        listen = self.configuration.listen["receiver"]
        process = self.processes.start("receiver", [
            ROOT / "ops" / "receiver", "--listen", listen, "--secret-file", self.configuration.webhook_secret_file,
            "--received", self.received])
        process.address = f"http://{listen}"
        return process

    def wait(self, process, is_ready):
        wait_until(
            f"{process.name} at {process.address} (its log is {shown(process.log)})", is_ready, READY_SECONDS,
            failed=process.ended)

    def answers(self, name, path):
        # Without urllib, which would ask a proxy from the environment for 127.0.0.1.
        host, _, port = self.configuration.listen[name].rpartition(":")
        link = http.client.HTTPConnection(host, int(port), timeout=2)
        try:
            link.request("GET", path)
            return link.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            link.close()

    # -- stop

    def stop(self):
        """Stops in the order of the data's way, so that work in hand can be finished."""
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

    # -- what runs where

    def table(self):
        rows = [("what", "address", "pid", "log")]
        for name, address in (("rabbitmq", self.configuration.rabbitmq), ("redis", self.configuration.redis)):
            pid = (self.folder / f"{name}.pid").read_text().strip()
            rows.append((name, address, pid, shown(self.folder / f"{name}.log")))
        rows += [(each.name, each.address, str(each.pid), shown(each.log)) for each in self.processes.all]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(
            "  " + "  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[3]]) for row in rows)


class Step:
    """Says what is being done and how long it took."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        print(f"Starting {self.what} …", flush=True)
        self.start = time.monotonic()

    def __exit__(self, kind, *_):
        if kind is None:
            print(f"  ready after {time.monotonic() - self.start:.1f} s", flush=True)


def simulator_is_ready(configuration):
    # It speaks HTTP/2 only, as Apple's servers are used; Python's library does not.
    authority = configuration.tls_authority
    return authority.exists() and subprocess.run(
        ["curl", "--silent", "--fail", "--http2", "--noproxy", "*", "--max-time", "2", "--cacert", authority,
         "--output", "/dev/null", f"https://{configuration.listen['simulator']}/livez"]).returncode == 0


def choose_ports():
    """A port for each; the gateway's is the usual one when nobody has it."""
    names = ("gateway", "worker 1", "worker 2", "notifier", "simulator", "receiver")
    probes = {}
    try:
        for name in names:
            probes[name] = socket.socket()
            # As servers do: a port whose connections of before are only waiting to be forgotten is free.
            probes[name].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probes[name].bind(("127.0.0.1", GATEWAY_PORT if name == "gateway" else 0))
            except OSError:
                probes[name].bind(("127.0.0.1", 0))
        return {name: probe.getsockname()[1] for name, probe in probes.items()}
    except OSError as error:
        raise Failure(f"free ports on 127.0.0.1 were looked for and not found: {error}") from None
    finally:
        for probe in probes.values():
            probe.close()
