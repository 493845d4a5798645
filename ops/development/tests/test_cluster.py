"""Tests of several nodes of each server: their addresses and their settings. They start no server."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from fleet.certificates import Certificates  # noqa: E402
from fleet.postgres import Postgres  # noqa: E402
from fleet.rabbitmq import RabbitMQ  # noqa: E402
from fleet.redis import Redis, Sentinel  # noqa: E402


class Cluster(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.certificates = Certificates(self.folder, ["127.0.0.5"])

    def servers(self, *words):
        return subprocess.run([ROOT / "ops" / "servers", *words], capture_output=True, text=True, env=os.environ)

    def test_a_folder_stays_a_cluster(self):
        run = self.servers("--cluster", "addresses", str(self.folder))
        self.assertEqual(run.returncode, 0, run.stderr)
        nodes = json.loads((self.folder / "addresses.json").read_text())["nodes"]
        self.assertEqual(len(set(nodes.values())), 9)
        self.assertIn("redis+sentinel://", run.stdout)
        self.assertEqual(self.servers("addresses", str(self.folder)).stdout, run.stdout)

    def test_servers_that_are_alone_do_not_become_a_cluster(self):
        alone = self.servers("addresses", str(self.folder))
        self.assertNotIn("sentinel", alone.stdout)
        run = self.servers("--cluster", "addresses", str(self.folder))
        self.assertEqual(run.returncode, 1)
        self.assertIn("use another folder for a cluster", run.stderr)

    def test_a_replica_and_a_sentinel_tell_their_own_address(self):
        first = Redis(self.folder, "redis-1", "127.0.0.5", 1, 2, self.certificates)
        replica = Redis(self.folder, "redis-2", "127.0.0.6", 3, 4, self.certificates)
        sentinel = Sentinel(self.folder, "sentinel-1", "127.0.0.8", 5, 6, self.certificates)
        for node in (first, replica, sentinel):
            node.first = first
        self.assertNotIn("replicaof", [line[0] for line in first.settings()])
        self.assertIn(("replicaof", "127.0.0.5", "1"), replica.settings())
        self.assertIn(("replica-announce-ip", "127.0.0.6"), replica.settings())
        self.assertIn(("sentinel", "announce-ip", "127.0.0.8"), sentinel.settings())

    @unittest.mock.patch.dict(os.environ, {"COUNTERSIGN_TEST_TLS": "1"})
    def test_with_tls_the_first_server_makes_a_certificate_for_all(self):
        postgres = Postgres(self.folder, "postgres", 1, self.certificates)
        postgres.make_folder()
        postgres.cluster.mkdir()
        postgres.tls()
        run = subprocess.run(
            ["openssl", "x509", "-noout", "-checkip", "127.0.0.5", "-in", postgres.cluster / "server.pem"],
            capture_output=True, text=True)
        self.assertIn("does match certificate", run.stdout)

    @unittest.mock.patch.dict(os.environ, {"COUNTERSIGN_TEST_TLS": "1"})
    def test_with_tls_a_replica_and_a_sentinel_are_clients(self):
        for kind in (Redis, Sentinel):
            node = kind(self.folder, "node", "127.0.0.5", 1, 2, self.certificates)
            node.first = node
            self.assertIn(("tls-client-cert-file", self.certificates.path("client.pem")), node.settings())

    def test_the_nodes_of_rabbitmq_know_each_other(self):
        nodes = [RabbitMQ(self.folder, f"rabbitmq-{number}", f"127.0.0.{number}", 10 + number, 20 + number,
                          self.certificates, erlang=30 + number, epmd=40) for number in (2, 3, 4)]
        self.assertEqual(nodes[0].title, "countersign12@localhost")
        self.assertNotIn("pause_minority", nodes[0].configuration())
        for node in nodes:
            node.peers = nodes
        # All three are in one port mapper.
        self.assertEqual(len({node.title.split("@")[0] for node in nodes}), 3)
        self.assertIn("nodes.3 = rabbitmq-4@127.0.0.4", nodes[0].configuration())
        self.assertIn("pause_minority", nodes[0].configuration())
        self.assertEqual(nodes[0].environment()["ERL_EPMD_ADDRESS"], "127.0.0.2,127.0.0.3,127.0.0.4")


if __name__ == "__main__":
    unittest.main()
