"""Tests of servers on small disks: the mark of one must not outlive it. They start no server."""
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from fleet import Failure, disks, processes  # noqa: E402
from fleet.disks import SmallDisks  # noqa: E402
from fleet.processes import Processes  # noqa: E402


class Confined(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.servers = unittest.mock.Mock(folder=self.folder)
        self.disks = SmallDisks(self.servers)
        root = unittest.mock.patch.object(disks.os, "geteuid", return_value=0)
        root.start()
        self.addCleanup(root.stop)

    def test_a_server_that_starts_keeps_its_mark_until_its_release(self):
        self.servers.launch.side_effect = lambda name: self.assertTrue(self.disks.is_confined(name))
        self.disks.confine("redis")
        self.assertTrue(self.disks.is_confined("redis"))
        self.assertFalse(self.disks.is_confined("postgres"))
        self.servers.launch.side_effect = lambda name: self.assertFalse(self.disks.is_confined(name))
        self.disks.release("redis")
        self.assertFalse(self.disks.is_confined("redis"))

    def test_a_server_that_does_not_start_leaves_no_mark(self):
        for failing, failure in (("launch", SystemExit("unshare cannot be started")), ("start", Failure("no answer")),
                                 ("start", KeyboardInterrupt())):
            with unittest.mock.patch.object(self.servers, failing, side_effect=failure), \
                    self.assertRaises(type(failure)):
                self.disks.confine("redis")
            self.assertFalse(self.disks.is_confined("redis"), failing)

    def test_a_tablespace_that_cannot_be_made_leaves_no_mark(self):
        postgres = unittest.mock.Mock(data=self.folder / "postgres-data")
        postgres.query.side_effect = Failure("no tablespace")
        self.servers.postgres = {"postgres": postgres}
        with self.assertRaises(Failure):
            self.disks.confine("postgres")
        self.assertFalse(self.disks.is_confined("postgres"))

    def test_only_root_makes_a_mark(self):
        with unittest.mock.patch.object(disks.os, "geteuid", return_value=1), self.assertRaises(SystemExit):
            self.disks.confine("redis")
        self.assertFalse(self.disks.is_confined("redis"))
        self.servers.stop.assert_not_called()


class Forgotten(unittest.TestCase):
    """`forget_servers` after a run that was killed while a server was confined."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def forget(self):
        with unittest.mock.patch.object(processes.subprocess, "run") as run:
            # It asks for nothing but the folder: to make `Processes` would take signals and a lock.
            Processes.forget_servers(unittest.mock.Mock(folder=self.folder))
        return run

    def test_marks_go_and_the_rest_stays(self):
        for name in ("redis.confined", "postgres.confined", "ports.json", "addresses.json", "postgres.password",
                     "gateway.log"):
            (self.folder / name).write_text("")
        (self.folder / "tls").mkdir()
        run = self.forget()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["gateway.log"])
        self.assertEqual(run.call_args.args[0][1:], ["wipe", self.folder])

    def test_a_mark_alone_goes_too(self):
        (self.folder / "redis.confined").write_text("")
        self.forget().assert_not_called()
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
