"""A private PostgreSQL of ops/servers: its files, its commands and its processes."""
import base64
import hashlib
import hmac
import json
import os
import pathlib
import pwd
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from fleet.certificates import Certificates, wants_tls
from fleet.sets import installed, within

# The owner of the databases is no superuser, as in production.
OWNER, DATABASE, SUPERUSER = "countersign", "countersign", "postgres"

SETTINGS = {
    "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "on", "shared_buffers": "128MB",
    "max_connections": "200", "wal_keep_size": "64MB", "timezone": "UTC", "log_timezone": "UTC",
    # Nothing is archived before `back_up` makes the folder.
    "archive_mode": "on", "archive_command": "test ! -d ../archive || cp %p ../archive/%f",
}
# What tells a server to replay its archive up to a moment.
RESTORE_SETTINGS = ("restore_command", "recovery_target_time", "recovery_target_action")


def verifier(password):
    """What PostgreSQL keeps of a password for SCRAM-SHA-256 (RFC 5803), after one round instead of 4096.

    The password is random, and lives as long as the data. The 4096 rounds cost a client 4 ms of the processor for each
    connection, and the tests open thousands.
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)

    def mac(text):
        return hmac.digest(salted, text, "sha256")

    parts = [base64.b64encode(part).decode() for part in
             (salt, hashlib.sha256(mac(b"Client Key")).digest(), mac(b"Server Key"))]
    return f"SCRAM-SHA-256$1:{parts[0]}${parts[1]}:{parts[2]}"


class Postgres:
    """One server. It refuses to run as root, so root gives it to another user.

    certificates: those of all servers in the folder; `None` for a server that is alone
    """

    def __init__(self, folder, name, port, certificates=None):
        self.folder, self.name, self.port = folder, name, port
        self.certificates = certificates or Certificates(folder)
        self.data = folder / f"{name}-data"
        # PostgreSQL shows this name in the title of each of its processes.
        self.title = f"countersign{port}"

    @property
    def cluster(self):
        return self.data.resolve() / "cluster"

    # -- names and secrets

    def password(self):
        """The password of all users, made at the first call."""
        path = self.folder / "postgres.password"
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_hex(16) + "\n")
        except FileExistsError:
            pass
        return path.read_text().strip()

    def url(self, database=DATABASE):
        return f"postgresql://{OWNER}:{self.password()}@127.0.0.1:{self.port}/{database}"

    def environment(self):
        # The caller's variables for the machine's own PostgreSQL must not reach this one.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
        return dict(inherited, HOME=str(self.data.resolve()), LC_ALL="C", PGPASSWORD=self.password(),
                    PGCONNECT_TIMEOUT="30")

    @staticmethod
    def tool(name):
        """The newest installed version. Debian has these programs outside of PATH."""
        def version(path):
            return [int(part) for part in re.findall(r"\d+", path)]

        places = sorted(installed(f"/usr/lib/postgresql/*/bin/{name}"), key=version, reverse=True)
        return places[0] if places else shutil.which(name) or name

    @staticmethod
    def account():
        """How to run a program as the user of the server; nothing for a caller who is not root."""
        if os.geteuid() != 0:
            return {}
        for name in ("postgres", "nobody"):
            try:
                user = pwd.getpwnam(name)
                return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            except KeyError:
                continue
        sys.exit("servers: PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody")

    def run(self, command, text="", **options):
        """Runs a program to its end and returns its output."""
        program = command[0]
        command, options = within(command, options)
        try:
            run = subprocess.run(
                command, input=text, capture_output=True, text=True, env=self.environment(), cwd="/", **options)
        except OSError as error:
            sys.exit(f"servers: {program} cannot be started: {error}; ops/install installs it")
        if run.returncode != 0:
            sys.exit(f"servers: {program} ended with status {run.returncode}: {run.stdout}{run.stderr}".rstrip())
        return run.stdout

    def query(self, sql, user=SUPERUSER, database="postgres"):
        """Runs statements of SQL and returns what they answer."""
        return self.run([
            self.tool("psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", user,
            "-d", database, "-f", "-"], sql).strip()

    # -- the files

    def command(self):
        """The command that starts the server, with its environment and its user. Makes the files of a first start."""
        if not self.cluster.exists():
            self.make_folder()
            new = self.cluster.with_name("new")
            shutil.rmtree(new, ignore_errors=True)
            self.fill(new)
            new.rename(self.cluster)
        self.stop(signal.SIGKILL)  # what a process that somebody killed has left running
        # The process that wrote this file has gone. Its number may be somebody else's by now.
        (self.cluster / "postmaster.pid").unlink(missing_ok=True)
        settings = SETTINGS | {"port": str(self.port), "cluster_name": self.title} | self.more_settings() | self.tls()
        settings |= self.tuned()
        words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        return ([self.tool("postgres"), "-D", str(self.cluster), *words], self.environment(),
                {"cwd": self.cluster, **self.account()})

    def make_folder(self):
        """Makes the folder of the data. If its user cannot come to it, a link to a folder in /var/tmp stands for it."""
        if not self.data.exists():
            self.data.unlink(missing_ok=True)  # a link without its target
            account = self.account()
            if account and subprocess.run(["test", "-x", self.folder], cwd="/", **account).returncode != 0:
                self.data.symlink_to(tempfile.mkdtemp(prefix="countersign-postgres-", dir="/var/tmp"))
            else:
                self.data.mkdir(mode=0o700)
            if account:
                os.chown(self.data, account["user"], account["group"])

    def fill(self, new):
        """Makes the files of a first start: a user, who owns a database."""
        password = new.with_name("password")
        password.write_text(self.password() + "\n")
        if account := self.account():
            os.chown(password, account["user"], account["group"])
        self.run([self.tool("initdb"), "-D", str(new), "-U", SUPERUSER, f"--pwfile={password}", "--auth=scram-sha-256",
                  "--encoding=UTF8", "--locale=C", "--no-sync"], **account)
        password.unlink()
        # Without a server: a start that is interrupted leaves no half-made database.
        self.run([self.tool("postgres"), "--single", "-D", str(new), "postgres"],
                 f"CREATE ROLE {OWNER} LOGIN CREATEDB PASSWORD '{verifier(self.password())}'\n"
                 f"CREATE DATABASE {DATABASE} OWNER {OWNER}\n", **account)

    @staticmethod
    def more_settings():
        return {}

    def tune(self, settings):
        """Leaves settings for the next start."""
        (self.folder / f"{self.name}-settings.json").write_text(json.dumps(settings))

    def tuned(self):
        """What a benchmark has set."""
        path = self.folder / f"{self.name}-settings.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def tls(self):
        """The settings for TLS. PostgreSQL wants the key to belong to its own user."""
        if not wants_tls():
            return {}
        for name in ("server.pem", "server.key"):
            copy = self.cluster / name
            shutil.copyfile(self.certificates.path(name), copy)
            copy.chmod(0o600)
            if account := self.account():
                os.chown(copy, account["user"], account["group"])
        return {"ssl": "on", "ssl_cert_file": "server.pem", "ssl_key_file": "server.key"}

    def wait_until(self, what, sql):
        """Waits until a query finds something; `what` it then shows completes a sentence about the server."""
        deadline = time.monotonic() + 60
        while self.query(sql) != "1":
            if time.monotonic() > deadline:
                sys.exit(f"servers: not within 60 seconds: {self.name} {what}; look at its log")
            time.sleep(0.05)

    # -- a base backup, and the archive of the WAL since then

    @property
    def backup(self):
        return self.cluster.with_name("backup")

    @property
    def archive(self):
        return self.cluster.with_name("archive")

    def back_up(self):
        """Makes a base backup, and archives the WAL from now on."""
        for folder in (self.backup, self.archive):
            shutil.rmtree(folder, ignore_errors=True)
        self.archive.mkdir()
        if account := self.account():
            os.chown(self.archive, account["user"], account["group"])
        self.run([
            self.tool("pg_basebackup"), "-D", str(self.backup), "-h", "127.0.0.1", "-p", str(self.port), "-U",
            SUPERUSER, "--checkpoint=fast", "--no-sync"], **account)

    def archive_all(self):
        """Waits until the archive has all that is committed."""
        last = self.query("SELECT pg_walfile_name(pg_switch_wal());")
        self.wait_until(f"has archived {last}", f"SELECT 1 FROM pg_stat_archiver WHERE last_archived_wal >= '{last}';")

    def prepare_restore(self, moment):
        """Puts the base backup in place of the data. The next start replays the archive up to a moment.

        moment: as PostgreSQL reads a time, for example `2026-11-27 10:00:00.123+00`
        """
        shutil.rmtree(self.cluster)
        self.backup.rename(self.cluster)
        (self.cluster / "recovery.signal").touch()
        with open(self.cluster / "postgresql.auto.conf", "a") as file:
            values = ("cp ../archive/%f %p", moment, "promote")
            file.writelines(f"{name} = '{value}'\n" for name, value in zip(RESTORE_SETTINGS, values))
        if account := self.account():
            os.chown(self.cluster / "recovery.signal", account["user"], account["group"])

    def end_restore(self):
        """Waits until the server has replayed the archive and takes writes."""
        self.wait_until("is restored", "SELECT 1 WHERE NOT pg_is_in_recovery();")
        # A standby is a copy with these settings, and would promote itself at the first commit after the moment.
        self.query("\n".join(f"ALTER SYSTEM RESET {name};" for name in RESTORE_SETTINGS) + "\nSELECT pg_reload_conf();")
        shutil.rmtree(self.archive)

    def wipe(self):
        shutil.rmtree(self.data.resolve(), ignore_errors=True)
        self.data.unlink(missing_ok=True)

    # -- the processes

    def pids(self):
        """The processes of the server, the first one first. Each has a session of its own."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
                state = (path / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            is_first = words[0].endswith("postgres") and str(self.cluster) in words
            if state != "Z" and (is_first or words[0].startswith(f"postgres: {self.title}: ")):
                found.append((not is_first, int(path.name)))
        return [pid for _, pid in sorted(found)]

    def pid(self):
        """The first process, which started the others; `None` when the server does not run."""
        try:
            pid = int((self.folder / f"{self.name}.pid").read_text())
        except (OSError, ValueError):
            return None
        return pid if pid in self.pids() else None

    def answers(self):
        """Whether the server takes connections: it then asks a client for its password."""
        words = b"user\0" + OWNER.encode() + b"\0database\0postgres\0\0"
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
                link.sendall(struct.pack("!ii", len(words) + 8, 3 << 16) + words)
                return link.recv(1024)[:1] == b"R"
        except OSError:
            return False

    def signal(self, how):
        """Sends a signal to every process. The first one gets it first, so that it starts no new one."""
        for pid in self.pids():
            self.send(pid, how)

    def stop(self, how):
        """Stops the server, with SIGTERM as fast as it can without a recovery at its next start, and waits."""
        pid = self.pid()
        if how == signal.SIGKILL:
            self.signal(signal.SIGSTOP)  # or the first one would start others while the rest is killed
            self.signal(signal.SIGKILL)
        elif pid:
            self.send(pid, signal.SIGINT)
        deadline = time.monotonic() + 60
        while self.pids():
            if time.monotonic() > deadline or not pid:
                self.signal(signal.SIGKILL)
            time.sleep(0.02)

    @staticmethod
    def send(pid, how):
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            pass  # the process has ended in the meantime


class Standby(Postgres):
    """A copy of another server, which waits for it with each commit."""

    def __init__(self, folder, name, port, primary, certificates=None):
        super().__init__(folder, name, port, certificates)
        self.primary = primary

    def fill(self, new):
        self.run([
            self.tool("pg_basebackup"), "-D", str(new), "-h", "127.0.0.1", "-p", str(self.primary.port), "-U",
            SUPERUSER, "--checkpoint=fast", "--write-recovery-conf", "--no-sync"], **self.account())

    @staticmethod
    def more_settings():
        # Once it is promoted, it waits for nobody.
        # It comes back soon after its primary server does.
        return {"synchronous_standby_names": "", "wal_retrieve_retry_interval": "200ms"}

    def is_promoted(self):
        return self.query("SELECT NOT pg_is_in_recovery()") == "t"

    def join(self):
        """Lets the primary server wait for this one, from now on, with each commit."""
        if self.is_promoted():
            return
        self.wait_for_me(self.title)
        self.primary.wait_until(
            f"is followed by {self.name}",
            f"SELECT 1 FROM pg_stat_replication WHERE application_name = '{self.title}' AND sync_state = 'sync'")

    def leave(self):
        """Lets the primary server wait for no other one, or its commits would wait for ever."""
        if self.primary.pid() and self.primary.answers():
            self.wait_for_me("")

    def wait_for_me(self, names):
        self.primary.query(f"ALTER SYSTEM SET synchronous_standby_names = '{names}';\nSELECT pg_reload_conf();")

    def promote(self):
        """Makes this server a primary one. The old one must be down, or there are two truths."""
        if self.query("SELECT pg_promote(true, 60)") != "t":
            sys.exit(f"servers: {self.name} was not promoted within 60 seconds; look at its log")
