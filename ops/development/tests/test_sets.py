"""Tests of the sets of servers: their commands, and what is left of one that cannot be fetched. They start none."""
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.test import Parts, with_servers  # noqa: E402
from fleet import Failure, sets  # noqa: E402
from fleet.postgres import Postgres  # noqa: E402
from fleet.rabbitmq import RabbitMQ  # noqa: E402


class Sets(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for patch in (unittest.mock.patch.object(sets, "FOLDER", self.folder),
                      unittest.mock.patch.dict(os.environ)):
            patch.start()
            self.addCleanup(patch.stop)
        os.environ.pop(sets.VARIABLE, None)

    def put(self, path):
        program = self.folder / "debian13" / path
        program.parent.mkdir(parents=True)
        program.write_text("")

    def test_without_a_set_a_command_stays_as_it_is(self):
        self.assertEqual(sets.within(["redis-cli", "ping"], {"cwd": "/"}), (["redis-cli", "ping"], {"cwd": "/"}))
        self.assertEqual(sets.store("redis-server"), "redis-server")

    def test_a_command_of_a_set_runs_in_its_root(self):
        os.environ[sets.VARIABLE] = "debian13"
        command, options = sets.within(["redis-cli", "ping"], {"cwd": "/"})
        self.assertEqual(command[:2], ["unshare", "--mount"])
        self.assertEqual(command[-3:], [str(self.folder / "debian13"), "redis-cli", "ping"])
        self.assertEqual(options, {"cwd": "/"})

    def test_a_user_comes_after_the_mounts(self):
        os.environ[sets.VARIABLE] = "debian13"
        command, options = sets.within(["postgres"], {"user": 7, "group": 8, "extra_groups": [], "cwd": "/"})
        self.assertEqual(command[-5:-1], ["setpriv", "--reuid=7", "--regid=8", "--clear-groups"])
        self.assertEqual(options, {"cwd": "/"})

    def test_programs_are_those_of_the_root(self):
        os.environ[sets.VARIABLE] = "debian13"
        self.put("usr/lib/postgresql/17/bin/psql")
        self.put("usr/lib/rabbitmq/lib/rabbitmq_server-4.0.5/sbin/rabbitmq-server")
        self.assertEqual(Postgres.tool("psql"), "/usr/lib/postgresql/17/bin/psql")
        self.assertEqual(RabbitMQ.server(), "/usr/lib/rabbitmq/lib/rabbitmq_server-4.0.5/sbin/rabbitmq-server")

    def test_valkey_stands_for_redis(self):
        os.environ[sets.VARIABLE] = "debian13-valkey"
        self.assertEqual(sets.store("redis-cli"), "valkey-cli")
        self.assertEqual(sets.chosen().root, self.folder / "debian13")

    def test_arguments(self):
        (self.folder / "debian13").mkdir()
        self.assertEqual(with_servers(["--filter", "X"], Parts()), (False, ["--filter", "X"]))
        self.assertNotIn(sets.VARIABLE, os.environ)
        self.assertEqual(with_servers(["--servers", "debian13", "--tls"], Parts()), (True, ["--tls"]))
        self.assertEqual(os.environ[sets.VARIABLE], "debian13")
        for wrong in (["--servers"], ["--servers", "debian2"]):
            with self.assertRaisesRegex(Failure, "takes one of debian13, "):
                with_servers(wrong, Parts())

    def test_a_set_that_cannot_be_fetched_is_fetched_again(self):
        with unittest.mock.patch.object(sets.ServerSet, "check_machine"), \
                unittest.mock.patch.object(sets, "mirror", return_value="http://127.0.0.1:9"), \
                unittest.mock.patch.object(sets, "run", side_effect=Failure("no network")), \
                unittest.mock.patch("builtins.print"):
            for _ in range(2):
                with self.assertRaisesRegex(Failure, "no network"):
                    sets.ServerSet("debian13").fetch()
        self.assertFalse((self.folder / "debian13").exists())


if __name__ == "__main__":
    unittest.main()
