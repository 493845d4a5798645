"""Starts processes, watches them, and leaves none of them behind."""
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from fleet import ROOT, Failure, shown

PR_SET_CHILD_SUBREAPER = 36
# They ask the command to stop.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The user pressed Ctrl-C, or a signal arrived."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def wait_until(what, condition, seconds, failed=lambda: None, every=0.05):
    """Polls every `every` seconds until `condition()` is true; `failed()` may return a reason to give up earlier."""
    deadline, told = time.monotonic() + seconds, time.monotonic() + 5
    while True:
        result = condition()
        if result:
            return result
        reason = failed()
        if reason:
            raise Failure(reason)
        if time.monotonic() > deadline:
            raise Failure(f"{what}: waited {seconds} seconds in vain")
        if time.monotonic() > told:
            told += 5
            print(f"  still waiting: {what}", flush=True)
        time.sleep(every)


class Process:
    """One process with a log of its own."""

    def __init__(self, name, command, log, environment=None, output=None):
        self.name, self.log, self.address = name, log, None
        with open(log, "ab") as errors, open(output or log, "ab") as out:
            try:
                self.popen = subprocess.Popen(
                    [str(word) for word in command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                    stderr=errors, start_new_session=True)
            except OSError as error:
                raise Failure(f"{name}: {command[0]} cannot be started: {error}") from None
        self.reported = False

    @property
    def pid(self):
        return self.popen.pid

    def ended(self):
        """How the process ended, with the end of its log; `None` while it runs."""
        status = self.popen.poll()
        if status is None:
            return None
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return with_end_of_log(f"{self.name} {how}", self.log)


class Server:
    """A server that ops/servers has started."""

    def __init__(self, name, folder):
        self.name, self.log, self.reported = name, folder / f"{name}.log", False
        self.pid = server_pid(int((folder / f"{name}.pid").read_text()))
        self.start = started(self.pid)

    def ended(self):
        """Says that the server has ended, with the end of its log; `None` while it runs."""
        if self.start and started(self.pid) == self.start:
            return None
        return with_end_of_log(f"{self.name} (pid {self.pid}) has ended", self.log)


def with_end_of_log(what, log):
    last = pathlib.Path(log).read_text(errors="replace").splitlines()[-8:]
    return "\n    ".join([f"{what}; the end of {shown(log)}:"] + last)


class Processes:
    """Every process that a command starts, in a folder with their logs.

    Use it with `with`: at the end of the block, even after an error, it ends every process that the block started. A
    process that a child leaves running becomes a child of this process, and ends as well.
    """

    def __init__(self, folder):
        self.folder = folder
        self.all = []
        self.servers = []

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.folder / "lock", "a")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failure(f"{shown(self.folder)} is in use by another run of this command; stop that first") from None
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.handlers = {number: signal.getsignal(number) for number in SIGNALS}
        self.handle_signals(self.interrupted)
        self.end_leftovers()
        return self

    def __exit__(self, *_):
        self.handle_signals(signal.SIG_IGN)
        self.stop(self.all)
        self.stop_servers()
        self.end_adopted()
        (self.folder / "pids.json").unlink(missing_ok=True)
        self.lock.close()
        # What the command starts later must not inherit that it ignores them.
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    @classmethod
    def interrupted(cls, number, _):
        cls.handle_signals(signal.SIG_IGN)  # one signal is enough: the command already stops
        raise Stopped(number)

    @staticmethod
    def handle_signals(handler):
        for number in SIGNALS:
            signal.signal(number, handler)

    # -- processes

    def start(self, name, command, environment=None, output=None):
        log = self.folder / f"{name.replace(' ', '-')}.log"
        process = Process(name, command, log, environment, output)
        self.all.append(process)
        # The time of its start distinguishes a process from a later one with the same id.
        pids = {str(process.pid): started(process.pid) for process in self.all}
        (self.folder / "pids.json").write_text(json.dumps(pids))
        return process

    @staticmethod
    def stop(processes, grace=10):
        """Asks all of them to end, and kills those that do not."""
        living = [process for process in processes if process.popen.poll() is None]
        for process in living:
            process.popen.terminate()
        deadline = time.monotonic() + grace
        for process in living:
            try:
                process.popen.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                print(f"  {process.name} did not stop within {grace} seconds and is killed", flush=True)
                process.popen.kill()
                process.popen.wait()

    def deaths(self):
        """Yields how each dead process or server ended, once for each."""
        for process in self.servers + self.all:
            reason = None if process.reported else process.ended()
            if reason:
                process.reported = True
                yield reason

    # -- the servers

    def start_servers(self, cluster=False):
        """Starts RabbitMQ, Redis and PostgreSQL, perhaps with several nodes each, and returns their addresses."""
        command = [ROOT / "ops" / "servers", *(["--cluster"] if cluster else []), "start", self.folder]
        with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True) as starter:
            while True:
                try:
                    addresses, errors = starter.communicate(timeout=5)
                    break
                except subprocess.TimeoutExpired:
                    print(f"  still waiting: their logs are {shown(self.folder)}/*.log", flush=True)
                except Stopped:
                    starter.terminate()
                    raise
        if starter.returncode != 0:
            raise Failure(errors.strip() or f"ops/servers start ended with status {starter.returncode}")
        self.servers = [] if cluster else [Server(name, self.folder) for name in ("rabbitmq", "redis", "postgres")]
        return dict(line.split("=", 1) for line in addresses.splitlines())

    def server_addresses(self):
        """The addresses of RabbitMQ, Redis and PostgreSQL, even before they start."""
        return dict(line.split("=", 1) for line in self.tell_servers("addresses").splitlines())

    def tell_servers(self, verb, *names):
        """Runs a command of ops/servers on the servers of this folder; returns what it prints."""
        run = subprocess.run(
            [ROOT / "ops" / "servers", verb, self.folder, *names], stdin=subprocess.DEVNULL, capture_output=True,
            text=True)
        if run.returncode != 0:
            raise Failure(run.stderr.strip())
        return run.stdout

    def forget_servers(self):
        """Deletes the data of stopped servers, so that the next start is a first one."""
        if (self.folder / "ports.json").exists():
            # The data of PostgreSQL may be elsewhere.
            subprocess.run([ROOT / "ops" / "servers", "wipe", self.folder], stdin=subprocess.DEVNULL)
        # A run that was killed leaves the mark of a confined server.
        marks = [path.name for path in self.folder.glob("*.confined")]
        for name in ("ports.json", "addresses.json", "postgres.password", "postgres-settings.json", *marks):
            (self.folder / name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / "tls", ignore_errors=True)

    def stop_servers(self):
        """Stops the servers, even those of an earlier run."""
        self.servers = []
        if (self.folder / "ports.json").exists():
            subprocess.run([ROOT / "ops" / "servers", "stop", self.folder], stdin=subprocess.DEVNULL)

    # -- leftovers

    def end_leftovers(self):
        """Kills the processes of an earlier run that died before it could stop them."""
        with contextlib.suppress(OSError, ValueError):
            for pid, start in json.loads((self.folder / "pids.json").read_text()).items():
                if started(int(pid)) == start:
                    os.kill(int(pid), signal.SIGKILL)
        self.stop_servers()

    @staticmethod
    def end_adopted():
        """Kills and reaps the orphans of our children: they are our children now."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            for pid in children():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.01)


def stat(pid):
    """The fields of /proc/PID/stat from the state on; empty when the process does not exist."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def started(pid):
    fields = stat(pid)
    return fields[19] if fields and fields[0] != "Z" else None


def server_pid(leader):
    """The server in a process group: rabbitmq-server is a shell that waits for Erlang's virtual machine."""
    group = [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*") if stat(path.name)[2:3] == [str(leader)]]
    return next((pid for pid in group if name_of(pid).startswith("beam")), leader)


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def children():
    me = str(os.getpid())
    pids = (int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*"))
    return [pid for pid in pids if stat(pid)[1:2] == [me]]
