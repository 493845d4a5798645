"""A private RabbitMQ of ops/servers: alone, or a node of a cluster."""
import json
import os
import pathlib
import signal
import subprocess
import sys

from fleet.certificates import wants_tls
from fleet.node import Node
from fleet.sets import installed, within

COOKIE = "countersign"


class RabbitMQ(Node):
    """One node.

    peers: all nodes of its cluster; empty for a RabbitMQ that is alone
    """

    def __init__(self, *arguments, erlang, epmd, **more):
        super().__init__(*arguments, **more)
        self.erlang, self.epmd = erlang, epmd
        self.peers = []

    @property
    def title(self):
        """The node's name in Erlang. Nodes without networks of their own share a port mapper, which knows no hosts."""
        return f"{self.name}@{self.address}" if self.peers else f"countersign{self.port}@localhost"

    def command(self):
        self.stop_epmd()  # the port mapper of a crashed run would answer for nodes that are gone
        return [*self.inside(), self.server()], self.environment(), {"cwd": self.folder}

    def configuration(self):
        lines = (
            f"listeners.{'ssl' if wants_tls() else 'tcp'}.1 = {self.address}:{self.port}\n"
            + ("listeners.tcp = none\n" if wants_tls() else "")
            + f"listeners.ssl.2 = {self.address}:{self.tls_port}\n"
            f"ssl_options.cacertfile = {self.certificates.path('ca.pem')}\n"
            f"ssl_options.certfile = {self.certificates.path('server.pem')}\n"
            f"ssl_options.keyfile = {self.certificates.path('server.key')}\n"
            "ssl_options.verify = verify_peer\n"
            "ssl_options.fail_if_no_peer_cert = false\n"
            "auth_mechanisms.1 = PLAIN\n"
            "auth_mechanisms.2 = AMQPLAIN\n"
            "auth_mechanisms.3 = EXTERNAL\n"
            "ssl_cert_login_from = common_name\n"
            # The clients of tests share a few cores: a late one has not met a failure.
            "handshake_timeout = 60000\n"
            "ssl_handshake_timeout = 60000\n"
            "log.file.level = info\n"
            "disk_free_limit.absolute = 50MB\n"
            "vm_memory_high_watermark.relative = 0.3\n")
        if not self.peers:
            return lines
        nodes = "".join(
            f"cluster_formation.classic_config.nodes.{number} = {peer.title}\n"
            for number, peer in enumerate(self.peers, 1))
        # By default a node notices only after a minute that another one does not answer.
        return lines + nodes + (
            "cluster_formation.peer_discovery_backend = classic_config\n"
            "cluster_partition_handling = pause_minority\n"
            "net_ticktime = 5\n"
            "loopback_users = none\n"
            "mnesia_table_loading_retry_timeout = 10000\n"
            "mnesia_table_loading_retry_limit = 30\n")

    def environment(self):
        home = self.data
        home.mkdir(exist_ok=True)
        (home / "enabled_plugins").write_text("[rabbitmq_auth_mechanism_ssl].\n")
        (home / "env.conf").write_text("")
        (home / "rabbitmq.conf").write_text(self.configuration())
        if self.peers:
            # A job that waits for its next try may be passed on to a leader that has just died. By default RabbitMQ
            # passes it on again after 3 minutes.
            (home / "advanced.config").write_text(
                "[{rabbit, [{dead_letter_worker_publisher_confirm_timeout, 10000}]}].\n")
        # The caller's variables for the machine's own broker must not reach this one.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("RABBITMQ_", "ERL_"))}
        interface = self.address.replace(".", ",")
        environment = dict(
            inherited,
            HOME=str(home),
            RABBITMQ_CONF_ENV_FILE=str(home / "env.conf"),
            RABBITMQ_NODENAME=self.title,
            RABBITMQ_CONFIG_FILE=str(home / "rabbitmq.conf"),
            RABBITMQ_CONFIG_FILES=str(home / "conf.d/*.conf"),
            RABBITMQ_ADVANCED_CONFIG_FILE=str(home / "advanced.config"),
            RABBITMQ_ENABLED_PLUGINS_FILE=str(home / "enabled_plugins"),
            RABBITMQ_MNESIA_BASE=str(home / "mnesia"),
            RABBITMQ_LOG_BASE=str(home / "log"),
            RABBITMQ_DIST_PORT=str(self.erlang),
            RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none "
            f"-kernel inet_dist_use_interface {{{interface}}}",
            ERL_EPMD_PORT=str(self.epmd),
            ERL_EPMD_ADDRESS=",".join(peer.address for peer in self.peers if self.shares_network(peer)) or self.address,
            ERL_CRASH_DUMP=str(home / "erl_crash.dump"),
            LC_ALL="C.UTF-8",
        )
        if self.peers:
            environment["RABBITMQ_USE_LONGNAME"] = "true"
            cookie = home / ".erlang.cookie"
            if not cookie.exists():
                cookie.write_text(COOKIE)
                cookie.chmod(0o400)
        return environment

    def shares_network(self, peer):
        return peer is self or not self.inside()

    @staticmethod
    def server():
        # This is the server itself: the rabbitmq-server in PATH demands root or the user rabbitmq.
        usual = "/usr/lib/rabbitmq/bin/rabbitmq-server"
        places = installed(usual)
        places += sorted(installed("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server"), reverse=True)
        return places[0] if places else usual

    def control(self, *words):
        """Runs rabbitmqctl for this node, and returns what it prints."""
        tool = str(pathlib.Path(self.server()).with_name("rabbitmqctl"))
        more = ["--longnames"] if self.peers else []
        command, _ = within([*self.inside(), tool, "-n", self.title, *more, *words])
        run = subprocess.run(
            command, env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"servers: {tool} failed: {run.stdout}{run.stderr}")
        return run.stdout

    def queues(self, *columns):
        """All queues of the cluster that answer."""
        return json.loads(self.control("--silent", "--formatter", "json", "list_queues", "--online", *columns))

    def greets(self, link):
        link.sendall(b"AMQP\x00\x00\x09\x01")
        return link.recv(1) == b"\x01"

    def stop_epmd(self):
        """Kills our port mapper: Erlang starts it as a daemon, on a port that only we use."""
        if any(peer is not self and self.shares_network(peer) and peer.group() for peer in self.peers):
            return  # the other nodes use it, too
        mine = self.network()
        for cmdline in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if b"epmd" not in cmdline.read_bytes():
                    continue
                environment = (cmdline.parent / "environ").read_bytes()
                if f"ERL_EPMD_PORT={self.epmd}".encode() in environment.split(b"\0") and (
                        not mine or os.readlink(cmdline.parent / "ns" / "net") == mine):
                    os.kill(int(cmdline.parent.name), signal.SIGKILL)
            except OSError:
                continue

    def network(self):
        """The network namespace of the node; `None` for the machine's own."""
        inside = self.inside()
        return os.readlink(inside[1].split("=", 1)[1]) if inside else None
