"""The system of ops/run, with each role in a container of the image."""
import os
import pathlib
import subprocess
import time

from fleet import Failure
from fleet.system import System

IMAGE = "localhost/countersign"
# The user of the image, and of the chart's pods.
USER = 10001
# No capability, no file system to write to, no way to more rights.
CONFINED = ("--read-only", "--read-only-tmpfs=false", "--cap-drop=all", "--security-opt=no-new-privileges")
ROLES = ("simulator", "gateway", "worker 1", "worker 2", "notifier", "console")


class ImageSystem(System):
    def __init__(self, processes, containers, gateway=None):
        super().__init__(processes, gateway=gateway)
        self.containers = containers
        # Seconds from the start of podman to the first answer that a role is ready, and from SIGTERM to its end.
        self.starts, self.stops = {}, {}
        self.began = {}

    def prepare(self):
        # The roles are not root, and the files of ops/run are for their owner only.
        for folder in (self.configuration.folder, self.configuration.simulator):
            for path in (folder, *folder.rglob("*")):
                os.chown(path, USER, USER)

    def migrate(self):
        command, environment = self.command(
            "migrate", ["migrate", "--config", self.configuration.file], self.configuration.environment({}))
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        if run.returncode != 0:
            raise Failure(f"the migration ended with status {run.returncode}:\n{run.stdout}{run.stderr}".rstrip())

    def command(self, name, words, environment):
        """Runs the image, with the folders of the configuration in the same places as outside."""
        folders = {self.configuration.folder: "ro", self.configuration.simulator: "rw" if name == "simulator" else "ro"}
        variables = [key for key in environment if key.startswith("COUNTERSIGN_")]
        self.began[name] = time.monotonic()
        return [
            "podman", "run", "--rm", "--name", container(name), "--network=host", *CONFINED,
            *(f"--volume={folder}:{folder}:{mode}" for folder, mode in folders.items()),
            *(word for key in variables for word in ("--env", key)), IMAGE, *words,
        ], self.containers.environment | {key: environment[key] for key in variables}

    def wait(self, process, is_ready):
        super().wait(process, is_ready)
        if process.name in self.began:
            self.starts[process.name] = time.monotonic() - self.began[process.name]

    # -- what only a container shows

    def check_processes(self):
        """Looks at the processes of all roles from outside: who they are, and what they may do."""
        for name in ROLES:
            pid = self.containers.run(["podman", "inspect", "--format", "{{.State.Pid}}", container(name)]).strip()
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            found = dict(line.split(":\t", 1) for line in status.splitlines())
            wanted = {"Uid": "\t".join([str(USER)] * 4), "Gid": "\t".join([str(USER)] * 4), "NoNewPrivs": "1",
                      "CapEff": "0" * 16, "CapBnd": "0" * 16}
            wrong = {key: found.get(key) for key, value in wanted.items() if found.get(key) != value}
            if wrong:
                raise Failure(f"the process of {name} should have {wanted}, but differs in {wrong}")
            self.check_health(name)

    def check_health(self, name):
        """Asks a role as a health check does: with the image's own command, in its container."""
        told = self.containers.run(["podman", "exec", container(name), "countersign", "health", name.split()[0],
                                    "--config", self.configuration.file])
        if told != "ready\n":
            raise Failure(f"countersign health {name} printed {told!r}")

    def end_roles(self, grace):
        """SIGTERM for each role in turn, as an engine sends it; each must end by itself, and with status 0."""
        # The simulator comes last: Apple stays while a role ends.
        for process in [each for each in reversed(self.processes.all) if each.name in ROLES]:
            began = time.monotonic()
            process.popen.terminate()
            try:
                status = process.popen.wait(grace)
            except subprocess.TimeoutExpired:
                raise Failure(f"{process.name} did not end within its grace of {grace} seconds") from None
            if status != 0:
                raise Failure(f"{process.name} ended with status {status} after SIGTERM")
            process.reported = True
            self.stops[process.name] = time.monotonic() - began


def container(name):
    return f"countersign-{name.replace(' ', '-')}"


class Contents:
    """What an unpacked image has."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = sorted(path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink())

    @property
    def size(self):
        return sum(path.stat().st_size for path in self.files)

    def sizes(self):
        """The bytes of its parts."""
        parts = {"executable": 0, "libraries": 0, "rest": 0}
        for path in self.files:
            name = "executable" if path.parent.name == "bin" else "libraries" if ".so" in path.name else "rest"
            parts[name] += path.stat().st_size
        return parts

    def programs(self):
        """What can be executed, but for libraries and the loader."""
        return [f"/{path.relative_to(self.root)}" for path in self.files
                if path.stat().st_mode & 0o111 and ".so" not in path.name]

    def privileged(self):
        """Files that give their caller another user or group."""
        return [f"/{path.relative_to(self.root)}" for path in self.files if path.stat().st_mode & 0o6000]

    def foreign(self, allowed=("/var/lib/countersign",)):
        """Files and folders that do not belong to root."""
        found = [f"/{path.relative_to(self.root)}" for path in self.root.rglob("*") if path.lstat().st_uid != 0]
        return [path for path in found if not path.startswith(allowed)]

    def packages(self):
        """The packages of Debian that a scanner finds, each with its version."""
        found = {}
        for path in sorted((self.root / "var" / "lib" / "dpkg" / "status.d").iterdir()):
            fields = dict(line.split(": ", 1) for line in path.read_text().splitlines() if ": " in line)
            found[fields["Package"]] = fields["Version"]
        return found
