"""A private Redis of ops/servers: alone, or a primary with two replicas and three sentinels."""
import os
import subprocess
import sys
import time

from fleet.certificates import wants_tls
from fleet.node import Node
from fleet.sets import store, within

# The name under which the sentinels watch the primary.
PRIMARY = "mymaster"


class Redis(Node):
    """One Redis.

    first: the node that is the primary at the first start; `None` for a Redis that is alone
    """
    first = None

    def command(self):
        self.data.mkdir(exist_ok=True)
        if not self.first:
            words = [word for key, *values in self.settings() for word in (f"--{key}", *values)]
            return [store("redis-server"), *words], dict(os.environ), {"cwd": self.folder}
        command = [*self.inside(), store("redis-server"), self.file(), *self.mode()]
        return command, dict(os.environ), {"cwd": self.folder}

    @staticmethod
    def mode():
        return []

    def file(self):
        """The file of settings. Redis and the sentinels write into it, so only a first start makes it."""
        path = self.data / "redis.conf"
        if not path.exists():
            path.write_text("".join(
                " ".join(f'"{value}"' if not value else value for value in line) + "\n" for line in self.settings()))
        return str(path)

    def listen(self):
        port, tls_port = (0, self.port) if wants_tls() else (self.port, self.tls_port)
        settings = [
            ("bind", self.address), ("port", str(port)), ("tls-port", str(tls_port)),
            ("tls-cert-file", self.certificates.path("server.pem")),
            ("tls-key-file", self.certificates.path("server.key")),
            ("tls-ca-cert-file", self.certificates.path("ca.pem")), ("tls-auth-clients", "optional"),
            ("dir", str(self.data)), ("daemonize", "no"),
        ]
        if wants_tls():
            # A replica and a sentinel are clients of others, which refuse the certificate of a server.
            settings += [
                ("tls-replication", "yes"), ("tls-client-cert-file", self.certificates.path("client.pem")),
                ("tls-client-key-file", self.certificates.path("client.key"))]
        return settings

    def settings(self):
        settings = self.listen() + [("save", ""), ("appendonly", "yes"), ("appendfsync", "everysec")]
        if self.first:
            # Connections from a loopback address come from 127.0.0.1, which would count as the node's address.
            settings += [("repl-diskless-sync-delay", "0"), ("replica-announce-ip", self.address)]
        if self.first not in (None, self):
            settings += [("replicaof", self.first.address, str(self.first.port))]
        return settings

    def greets(self, link):
        link.sendall(b"PING\r\n")
        return link.recv(7) == b"+PONG\r\n"

    def ask(self, *words):
        """What the node answers, as lines."""
        tls = ["--tls", "--cacert", self.certificates.path("ca.pem")] if wants_tls() else []
        command, _ = within([store("redis-cli"), "-h", self.address, "-p", str(self.port), *tls, *words])
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
        return run.stdout.splitlines()

    def fields(self, *words):
        return dict(line.split(":", 1) for line in self.ask("INFO", *words) if ":" in line)


class Sentinel(Redis):
    """A process that watches the nodes, and chooses a new primary when the present one is away."""

    @staticmethod
    def mode():
        return ["--sentinel"]

    def settings(self):
        return self.listen() + [
            ("sentinel", "announce-ip", self.address),
            ("sentinel", "monitor", PRIMARY, self.first.address, str(self.first.port), "2"),
            ("sentinel", "down-after-milliseconds", PRIMARY, "1000"),
            ("sentinel", "failover-timeout", PRIMARY, "5000"),
            ("sentinel", "parallel-syncs", PRIMARY, "2"),
        ]

    def primary(self):
        """The address of the primary, as this sentinel knows it."""
        words = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", PRIMARY)
        return (words[0], int(words[1])) if len(words) == 2 else None

    def knows_all(self, others):
        words = self.ask("SENTINEL", "MASTER", PRIMARY)
        known = dict(zip(words[::2], words[1::2]))
        if known.get("flags") != "master" or known.get("num-slaves") != str(others):
            return False
        replicas = self.ask("SENTINEL", "REPLICAS", PRIMARY)
        if [replicas[place + 1] for place, word in enumerate(replicas) if word == "flags"] != ["slave"] * others:
            return False  # it sees one of them as down
        # It reaches the others.
        return self.ask("SENTINEL", "CKQUORUM", PRIMARY)[:1] == [
            f"OK {others + 1} usable Sentinels. Quorum and failover authorization can be reached"]


def wait_for_replicas(nodes, seconds=60):
    """Waits until one node is the primary of all others."""
    wait("no Redis has all replicas", seconds, lambda: any(
        fields.get("role") == "master" and fields.get("connected_slaves") == str(len(nodes) - 1)
        for fields in (node.fields("replication") for node in nodes)))


def wait_for_sentinels(sentinels, seconds=60):
    """Waits until every sentinel knows every other one, and every replica."""
    wait("the sentinels do not know each other", seconds,
         lambda: all(sentinel.knows_all(len(sentinels) - 1) for sentinel in sentinels))


def wait(what, seconds, condition):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"servers: {what} after {seconds} seconds; look at the logs")
        time.sleep(0.1)
