"""Tests of the private PostgreSQL: its secrets, its folder and its processes. They need no server."""
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from fleet.postgres import Postgres  # noqa: E402


class PrivatePostgres(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.server = Postgres(self.folder, "postgres", os.getpid())

    def test_the_password_stays_the_same(self):
        password = self.server.password()
        self.assertGreaterEqual(len(password), 32)
        self.assertEqual(Postgres(self.folder, "postgres-standby", 5433).password(), password)
        self.assertEqual(stat.S_IMODE((self.folder / "postgres.password").stat().st_mode), 0o600)
        self.assertEqual(self.server.url("one"), f"postgresql://countersign:{password}@127.0.0.1:{os.getpid()}/one")

    def test_variables_of_another_server_do_not_reach_it(self):
        os.environ["PGHOST"] = "elsewhere"
        self.addCleanup(os.environ.pop, "PGHOST")
        self.assertNotIn("PGHOST", self.server.environment())

    @unittest.skipIf(os.geteuid() != 0, "only root gives the server to another user")
    def test_data_in_a_closed_folder(self):
        # The folder is closed to others, as mkdtemp makes it.
        self.server.make_folder()
        data = self.server.data.resolve()
        self.assertEqual(data.parent, pathlib.Path("/var/tmp"))
        self.assertEqual(data.stat().st_uid, Postgres.account()["user"])
        self.server.wipe()
        self.assertFalse(data.exists())
        self.assertFalse(os.path.lexists(self.server.data))

    def test_data_in_an_open_folder(self):
        self.folder.chmod(0o755)
        self.server.make_folder()
        self.assertFalse(self.server.data.is_symlink())
        self.assertEqual(stat.S_IMODE(self.server.data.stat().st_mode), 0o700)
        self.server.wipe()
        self.assertFalse(self.server.data.exists())

    def test_a_kill_ends_all_its_processes_and_no_other(self):
        self.folder.chmod(0o755)
        self.server.make_folder()
        first = self.process("postgres", "-D", str(self.server.cluster))
        child = self.process(f"postgres: {self.server.title}: checkpointer ")
        others = [self.process(f"postgres: {self.server.title}1: checkpointer "),
                  self.process("postgres", "-D", "/another/cluster")]
        (self.folder / "postgres.pid").write_text(str(first.pid))
        self.assertEqual(self.server.pids()[0], first.pid)
        self.assertEqual(set(self.server.pids()), {first.pid, child.pid})
        self.assertEqual(self.server.pid(), first.pid)
        self.server.stop(signal.SIGKILL)
        self.assertEqual([process.wait() for process in (first, child)], [-signal.SIGKILL] * 2)
        self.assertIsNone(self.server.pid())
        self.assertEqual([process.poll() for process in others], [None] * 2)

    def process(self, *words):
        """A process that shows these words as its command line, and waits."""
        process = subprocess.Popen(
            [*words[:1], "-c", "import os, sys; print('ready', flush=True); sys.stdin.read()", *words[1:]],
            executable=sys.executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


if __name__ == "__main__":
    unittest.main()
