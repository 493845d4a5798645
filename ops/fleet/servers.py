"""The private servers of ops/servers in one folder: their ports, their processes, and what tests do to them."""
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import time

from fleet.certificates import Certificates, wants_tls
from fleet.disks import SmallDisks
from fleet.network import Network
from fleet.node import group
from fleet.postgres import OWNER, Postgres, Standby, verifier
from fleet.rabbitmq import RabbitMQ
from fleet.redis import PRIMARY, Redis, Sentinel, wait_for_replicas, wait_for_sentinels
from fleet.sets import within

STANDBY = "postgres-standby"
BROKERS = ("rabbitmq-1", "rabbitmq-2", "rabbitmq-3")
STORES = ("redis-1", "redis-2", "redis-3")
SENTINELS = ("sentinel-1", "sentinel-2", "sentinel-3")


def free_ports(count):
    """Free ports below those that the system gives to outgoing connections.

    An outgoing connection could take a higher port while a server restarts on it.
    """
    try:
        limit = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        limit = 32768
    candidates = range(10000, limit) if limit > 11000 else range(20000, 60000)
    ports = []
    for port in random.sample(candidates, len(candidates)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    sys.exit(f"servers: {count} free ports were looked for on 127.0.0.1 and not found; stop something that listens")


class Servers:
    def __init__(self, folder, cluster=False):
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.network = None
        nodes = self.cluster_addresses(cluster)
        self.is_cluster = bool(nodes)
        self.groups = {"redis": (*STORES, *SENTINELS), "rabbitmq": BROKERS} if nodes else {}
        nodes = nodes or {"redis": "127.0.0.1", "rabbitmq": "127.0.0.1"}
        self.choose_ports(nodes)
        self.certificates = Certificates(self.folder, [*nodes.values()])
        postgres = Postgres(self.folder, "postgres", self.ports["postgres"], self.certificates)
        standby = Standby(self.folder, STANDBY, self.ports[STANDBY], postgres, self.certificates)
        self.postgres = {"postgres": postgres, STANDBY: standby}
        self.disks = SmallDisks(self)
        self.nodes = {name: self.node(name, address) for name, address in nodes.items()}
        for name, node in self.nodes.items():
            if isinstance(node, RabbitMQ):
                node.peers = [self.nodes[peer] for peer in BROKERS] if self.is_cluster else []
            else:
                node.first = self.nodes["redis-1"] if self.is_cluster else None
        self.servers = ("postgres", *self.nodes, *([STANDBY] if self.is_cluster else []))

    def cluster_addresses(self, wanted):
        """The addresses of a cluster's nodes; nothing for servers that are alone. The first start decides."""
        path = self.folder / "addresses.json"
        if not path.exists():
            if not wanted:
                return {}
            number = free_ports(1)[0]
            if (self.folder / "ports.json").exists():
                sys.exit(f"servers: {self.folder} has servers that are alone; use another folder for a cluster")
            addresses = {name: f"127.0.0.{number}" for number, name in enumerate((*BROKERS, *STORES, *SENTINELS), 2)}
            if Network.is_possible():
                addresses |= Network(self.folder, BROKERS, number).addresses()
            path.write_text(json.dumps({"network": number, "nodes": addresses}))
        content = json.loads(path.read_text())
        if not content["nodes"]["rabbitmq-1"].startswith("127."):
            self.network = Network(self.folder, BROKERS, content["network"])
        return content["nodes"]

    def choose_ports(self, nodes):
        path = self.folder / "ports.json"
        self.ports = json.loads(path.read_text()) if path.exists() else {}
        brokers = [name for name in nodes if name.startswith("rabbitmq")]
        names = [*nodes, *(f"{name}-tls" for name in nodes), "postgres", STANDBY, "epmd"]
        names += [f"{name}-erlang" for name in brokers]
        missing = [name for name in names if name not in self.ports]
        if missing:
            self.ports |= dict(zip(missing, free_ports(len(missing))))
            path.write_text(json.dumps(self.ports))

    def node(self, name, address):
        place = (self.folder, name, address, self.ports[name], self.ports[f"{name}-tls"], self.certificates)
        if name.startswith("sentinel"):
            return Sentinel(*place)
        if name.startswith("redis"):
            return Redis(*place)
        inside = (lambda: self.network.inside(name)) if self.network else list
        return RabbitMQ(*place, inside=inside, erlang=self.ports[f"{name}-erlang"], epmd=self.ports["epmd"])

    def named(self, names):
        """The servers that the names mean."""
        return [server for name in names for server in self.groups.get(name, (name,))]

    # -- running servers

    def pid(self, name):
        return self.postgres[name].pid() if name in self.postgres else group(self.folder, name)

    def answers(self, name):
        return (self.postgres.get(name) or self.nodes[name]).answers()

    # -- start and stop

    def launch(self, name):
        """Starts a server, if it does not run, and does not wait for it."""
        if self.pid(name):
            return
        if self.network and name in BROKERS:
            self.network.start()
        command, environment, options = (self.postgres.get(name) or self.nodes[name]).command()
        if self.disks.is_confined(name):
            command, options = self.disks.wrapped(name, command, options)
        command, options = within(command, options)
        with open(self.folder / f"{name}.log", "ab") as log:
            try:
                process = subprocess.Popen(
                    command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    start_new_session=True, **options)
            except OSError as error:
                sys.exit(f"servers: {command[0]} cannot be started: {error}; ops/install installs it")
        (self.folder / f"{name}.pid").write_text(str(process.pid))

    def start(self, name):
        """Waits until a launched server answers."""
        deadline = time.monotonic() + 120
        while not self.answers(name):
            # The process mounts what the server needs first, and becomes the server then.
            if not (self.pid(name) or group(self.folder, name)):
                self.fail(name, "ended instead of listening")
            if time.monotonic() > deadline:
                self.fail(name, "does not answer after 120 seconds")
            time.sleep(0.05)
        if name == STANDBY:
            self.postgres[name].join()

    def fail(self, name, what):
        """Kills the half-started server, and exits with the last lines of its log."""
        log = self.folder / f"{name}.log"
        last = "".join(f"\n    {line}" for line in log.read_text(errors="replace").splitlines()[-15:])
        self.stop(name, signal.SIGKILL)
        address = self.nodes[name].address if name in self.nodes else "127.0.0.1"
        sys.exit(f"servers: {name} on {address}:{self.ports[name]} {what}; the last lines of {log}:{last}")

    def settle(self, names):
        """Waits until the nodes of a cluster know each other."""
        stores = [self.nodes[name] for name in STORES if name in names]
        if len(stores) == len(STORES) and all(self.pid(name) for name in SENTINELS):
            wait_for_replicas(stores)
            wait_for_sentinels([self.nodes[name] for name in SENTINELS])

    def set_watermark(self, fraction):
        """Sets the memory watermark. Near 0 it raises the alarm: the broker reads from no publishing connection."""
        self.broker().control("set_vm_memory_high_watermark", fraction)

    def set_queue(self, verb, queue):
        """Stops or starts all raft members of a quorum queue; in a cluster, each node may have one."""
        if not re.fullmatch("[A-Za-z0-9._-]{1,200}", queue):
            sys.exit(f"servers: {queue!r} cannot be the name of a queue; use letters, digits, '.', '_' and '-'")
        call = "stop_server" if verb == "stall" else "restart_server"
        self.broker().control(
            "eval", f"[ra:{call}(quorum_queues, {{'%2F_{queue}', Node}}) || Node <- [node() | nodes()]].")

    def user(self, name, password, configure=".*"):
        """Makes a user who may do what the fleet may, or gives it another password."""
        for text in (name, password):
            if not re.fullmatch("[a-z0-9-]{1,60}", text):
                sys.exit(f"servers: {text!r} cannot be used here; use a-z, 0-9 and -")
        broker, postgres = self.broker(), self.postgres["postgres"]
        known = [each["user"] for each in json.loads(broker.control("--silent", "--formatter", "json", "list_users"))]
        broker.control("change_password" if name in known else "add_user", name, password)
        broker.control("set_permissions", name, configure, ".*", ".*")
        exists = postgres.query(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'")
        if not exists:
            postgres.query(f'CREATE ROLE "{name}" LOGIN IN ROLE {OWNER};')
        postgres.query(f"ALTER ROLE \"{name}\" PASSWORD '{verifier(password)}';")

    def create_vhost(self, name):
        """Makes a virtual host of RabbitMQ, in which the usual user may do everything."""
        broker = self.broker()
        broker.control("add_vhost", name)
        broker.control("set_permissions", "--vhost", name, "guest", ".*", ".*", ".*")

    def delete_vhost(self, name):
        self.broker().control("delete_vhost", name)

    def disconnect(self, name):
        """Closes the connections of a user."""
        self.broker().control("close_all_user_connections", name, "the password was changed")
        self.postgres["postgres"].query(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{name}';")

    def restore(self, moment):
        """Kills the ledger, and brings it back as it was at a moment after its backup, such as 2026-11-27T10:00:00Z."""
        postgres = self.postgres["postgres"]
        postgres.archive_all()
        self.stop("postgres", signal.SIGKILL)
        # PostgreSQL reads its settings before it knows the names of time zones.
        postgres.prepare_restore(moment.replace("T", " ").replace("Z", "+00"))
        self.launch("postgres")
        self.start("postgres")
        postgres.end_restore()

    def broker(self, besides=None):
        """A node of RabbitMQ that runs, and is not the one with the name `besides`."""
        nodes = [node for node in self.nodes.values()
                 if isinstance(node, RabbitMQ) and node.name != besides and node.answers()]
        return nodes[0] if nodes else sys.exit("servers: RabbitMQ is not running")

    def leader(self, queue, besides=None):
        """The node that leads a quorum queue; another node than `besides` is asked."""
        found = {each["name"]: each["leader"] for each in self.broker(besides).queues("name", "leader")}
        titles = {node.title: node.name for node in self.nodes.values() if isinstance(node, RabbitMQ)}
        return titles.get(found.get(queue)) or sys.exit(f"servers: no node leads a queue {queue}")

    def primary(self):
        """The Redis that most sentinels call the primary."""
        named = [self.nodes[name].primary() for name in SENTINELS if self.pid(name)]
        place = max(named, key=named.count) if named else None
        places = {(node.address, node.port): node.name for node in self.nodes.values()}
        return places.get(place) or sys.exit("servers: the sentinels name no primary")

    def stop(self, name, how=signal.SIGTERM):
        pid = self.pid(name)
        if name in self.postgres:
            if name == STANDBY and how == signal.SIGTERM:
                self.postgres[name].leave()
            self.postgres[name].stop(how)
        elif pid:
            # rabbitmq-server is a shell that passes SIGTERM on. Its group holds the shell and the virtual machine.
            self.send(pid, how, os.kill if how == signal.SIGTERM else os.killpg)
            deadline = time.monotonic() + 60
            while self.group_lives(pid):
                if time.monotonic() > deadline:
                    self.send(pid, signal.SIGKILL, os.killpg)
                time.sleep(0.02)
        (self.folder / f"{name}.pid").unlink(missing_ok=True)
        if isinstance(self.nodes.get(name), RabbitMQ) and not (self.network and not self.network.holder(name)):
            self.nodes[name].stop_epmd()

    def pause(self, name):
        self.signal(name, signal.SIGSTOP)

    def resume(self, name):
        self.signal(name, signal.SIGCONT)

    def signal(self, name, how):
        pid = self.running(name)
        if name in self.postgres:
            self.postgres[name].signal(how)
        else:
            self.send(pid, how, os.killpg)

    def running(self, name):
        return self.pid(name) or sys.exit(f"servers: {name} is not running")

    @staticmethod
    def send(pid, how, call):
        try:
            call(pid, how)
        except ProcessLookupError:
            pass  # the process has ended in the meantime

    def group_lives(self, group):
        try:
            os.waitpid(-group, os.WNOHANG)
        except ChildProcessError:
            pass
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                return True
        return False

    def wipe(self, name):
        if self.pid(name):
            sys.exit(f"servers: {name} is running")
        if name == STANDBY:
            self.postgres[name].leave()
        if name in self.postgres:
            self.postgres[name].wipe()
        else:
            self.nodes[name].wipe()

    def database(self, verb, name):
        """Creates a database for a test, or drops one, also if somebody still uses it."""
        if not re.fullmatch("[a-z0-9_-]{1,63}", name):
            sys.exit(f"servers: {name!r} cannot be the name of a database; use a-z, 0-9, _ and -")
        if verb == "drop-database":
            # As the superuser: an autovacuum may be at work in it, which is not the owner's.
            self.postgres["postgres"].query(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE);')
            return
        more = " TABLESPACE small" if self.disks.is_confined("postgres") else ""
        self.postgres["postgres"].query(f'CREATE DATABASE "{name}"{more};', OWNER)

    def addresses(self):
        more = "s" if wants_tls() else ""
        stores = [node for node in self.nodes.values() if type(node) is (Sentinel if self.is_cluster else Redis)]
        hosts = ",".join(f"{node.address}:{node.port}" for node in stores)
        redis = f"redis{more}+sentinel://{hosts}/{PRIMARY}/0" if self.is_cluster else f"redis{more}://{hosts}/0"
        brokers = ",".join(
            f"{node.address}:{node.port}" for node in self.nodes.values() if isinstance(node, RabbitMQ))
        ledger = self.postgres["postgres"].url()
        if self.is_cluster:
            port = self.ports["postgres"]
            ledger = ledger.replace(f":{port}/", f":{port},127.0.0.1:{self.ports[STANDBY]}/")
        addresses = {
            "COUNTERSIGN_RABBITMQ_URL": f"amqp{more}://guest:guest@{brokers}/%2F",
            "COUNTERSIGN_REDIS_URL": redis,
            "COUNTERSIGN_LEDGER_URL": ledger,
            "REDIS_URL": redis,
            "DATABASE_URL": ledger,
        }
        if wants_tls():
            for name in ("RABBITMQ", "REDIS", "LEDGER"):
                addresses[f"COUNTERSIGN_{name}_CA_FILE"] = self.certificates.path("ca.pem")
        return addresses
