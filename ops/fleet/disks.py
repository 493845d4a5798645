"""Small disks for the private servers: a server that is confined keeps its data on a disk that can be filled.

The disk is a tmpfs in a mount namespace of the server's own, so nothing stays mounted when the server ends. That needs
root. PostgreSQL keeps its WAL elsewhere, as it should: with a full disk of the WAL it stops, and a person must help.
"""
import errno
import os
import pathlib
import signal
import sys

SIZE = "256m"
FILLER = "filler"


class SmallDisks:
    def __init__(self, servers):
        self.servers = servers

    def disk(self, name):
        """Where the disk is mounted, in the server's namespace."""
        if name == "redis":
            return self.servers.folder / "redis-data"
        return pathlib.Path(str(self.servers.postgres[name].data.resolve()) + "-small")

    def flag(self, name):
        return self.servers.folder / f"{name}.confined"

    def is_confined(self, name):
        return self.flag(name).exists()

    def confine(self, name):
        """Starts a server again, empty, with its data on a small disk."""
        if os.geteuid() != 0:
            sys.exit("servers: only root can mount a small disk; run the tests of full disks as root")
        self.servers.stop(name, signal.SIGKILL)
        self.servers.wipe(name)
        self.flag(name).write_text("")
        try:
            self.servers.launch(name)
            self.servers.start(name)
            if name == "postgres":
                self.servers.postgres[name].query(
                    f"CREATE TABLESPACE small OWNER countersign LOCATION '{self.disk(name)}';")
        except BaseException:
            self.flag(name).unlink(missing_ok=True)  # the next start needs no small disk
            raise

    def release(self, name):
        """Starts a server again, empty, without its small disk."""
        self.servers.stop(name, signal.SIGKILL)
        self.servers.wipe(name)
        self.flag(name).unlink(missing_ok=True)
        self.servers.launch(name)
        self.servers.start(name)

    def wrapped(self, name, command, options):
        """The command that mounts the disk and starts the server on it, and its options."""
        disk = self.disk(name)
        disk.mkdir(exist_ok=True)
        options = dict(options)
        user, group = options.pop("user", 0), options.pop("group", 0)
        options.pop("extra_groups", None)
        mount = f"mount -t tmpfs -o size={SIZE},mode=700,uid={user},gid={group} tmpfs \"$0\" && exec \"$@\""
        drop = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"] if user else []
        return ["unshare", "--mount", "sh", "-c", mount, str(disk), *drop, *command], options

    def filler(self, name):
        """The file that takes all room, as this process sees it."""
        return pathlib.Path(f"/proc/{self.servers.running(name)}/root{self.disk(name)}") / FILLER

    def fill(self, name):
        with open(self.filler(name), "ab", buffering=0) as file:
            block = b"\0" * 65536
            while block:
                try:
                    file.write(block)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    block = block[:len(block) // 2]

    def empty(self, name):
        self.filler(name).unlink(missing_ok=True)


def fill_broker(servers, is_full):
    """RabbitMQ counts the free room itself, so it gets another limit."""
    servers.broker().control("set_disk_free_limit", "1000000GB" if is_full else "50MB")


