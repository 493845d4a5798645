"""Sets of servers of other versions than the machine's, each in a root of its own that no system starts from.

    ops/test --servers debian13     fetches the set once, into .countersign/servers/debian13
    rm -r .countersign/servers      removes all of them

The root holds unpacked packages of Debian. Nothing in it is installed, and the machine stays as it is. A server runs in
a mount namespace in which the root's /usr stands in for the machine's. So its process, its files and its addresses are
where every test looks for them.
"""
import os
import pathlib
import shutil
import subprocess

from fleet import ROOT, Failure, shown

# ops/test sets it, and ops/servers and its callers inherit it. It is not the name of a setting.
VARIABLE = "COUNTERSIGN_TEST_SET"
FOLDER = ROOT / ".countersign" / "servers"
KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# The release of Debian, and the server that stands for Redis.
SETS = {
    "debian13": ("trixie", "redis"), "debian13-valkey": ("trixie", "valkey"),
    "testing": ("testing", "valkey"), "testing-redis": ("testing", "redis"),
}
# The servers, and what their scripts and ours call.
PACKAGES = ("rabbitmq-server", "redis-server", "valkey-server", "postgresql", "base-files", "bash", "coreutils", "dash",
            "findutils", "grep", "hostname", "iproute2", "libc-bin", "mawk", "mount", "procps", "sed", "util-linux")
# The machine's and the root's folders that are links into /usr.
LINKS = ("bin", "sbin", "lib", "lib64")


class ServerSet:
    def __init__(self, name):
        if name not in SETS:
            raise Failure(f"--servers takes one of {', '.join(SETS)}")
        self.name = name
        self.suite, self.store = SETS[name]
        # The sets of one release differ only in what they start.
        self.root = FOLDER / name.split("-")[0]

    def within(self, command, options):
        """The command that runs in the root, and its options. It begins as root, since it mounts."""
        options = dict(options)
        user, group = options.pop("user", 0), options.pop("group", 0)
        options.pop("extra_groups", None)
        drop = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"] if user else []
        mount = ('mount --bind "$0/etc/ld.so.cache" /etc/ld.so.cache && mount --bind "$0/usr" /usr && exec "$@"')
        return ["unshare", "--mount", "sh", "-c", mount, str(self.root), *drop, *map(str, command)], options

    # -- fetching

    def fetch(self):
        """Fetches the packages, with all that they need, and unpacks them."""
        if self.root.exists():
            return
        self.check_machine()
        print(f"Fetching the servers of Debian {self.suite} into {shown(self.root)} …", flush=True)
        unpack(self.suite, PACKAGES, self.root)

    @staticmethod
    def check_machine():
        if os.geteuid() != 0:
            raise Failure("--servers mounts folders, which only root may do")
        if not all(os.path.islink(f"/{link}") for link in LINKS if os.path.lexists(f"/{link}")):
            raise Failure("--servers puts another /usr in place, and /bin or /lib of this machine lies outside of it")


def unpack(suite, packages, root):
    """Fetches packages of a release of Debian, with all that they need, and unpacks them into a folder."""
    if not KEYRING.exists():
        raise Failure(f"{KEYRING} is missing; install the package debian-archive-keyring")
    new = root.with_name(f"{root.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    apt = new / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").write_text("")  # nothing is installed: every dependency is fetched, too
    (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n")
    command = ["apt-get", "--yes", "--quiet", *(word for setting in settings(apt) for word in ("-o", setting))]
    run([*command, "update"])
    run([*command, "--download-only", "install", *packages])
    for link in LINKS:
        (new / "usr" / link).mkdir(parents=True)
        (new / link).symlink_to(f"usr/{link}")
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        run(["dpkg-deb", "--extract", package, new])
    run(["ldconfig", "-r", new])
    shutil.rmtree(apt)
    new.rename(root)


def settings(apt):
    """What keeps apt away from the machine's own lists and packages."""
    return [f"Dir::Etc::sourcelist={apt}/sources.list", "Dir::Etc::sourceparts=/dev/null", f"Dir::State={apt}",
            f"Dir::State::Lists={apt}/lists", f"Dir::State::status={apt}/status", f"Dir::Cache={apt}/cache",
            "APT::Install-Recommends=false", "APT::Sandbox::User=root"]


def mirror():
    """Where the machine gets Debian's packages from, or what COUNTERSIGN_DEBIAN_MIRROR says."""
    if named := os.environ.get("COUNTERSIGN_DEBIAN_MIRROR"):
        return named
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian",
         "Component: main"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.split()
    if not found:
        raise Failure("this machine gets no packages from Debian; run apt-get update, or name a mirror of Debian in "
                      "COUNTERSIGN_DEBIAN_MIRROR")
    return found[0]


def run(command):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    if done.returncode != 0:
        raise Failure(f"{done.stdout.strip()}\n\nthe packages of the servers could not be fetched: {command[0]} ended "
                      f"with status {done.returncode}")


def chosen():
    """The set that ops/test has chosen; `None` for the machine's own servers."""
    name = os.environ.get(VARIABLE)
    return ServerSet(name) if name else None


def within(command, options=()):
    """A command with its options, as it runs beside the servers: in the chosen root, or on the machine itself."""
    root = chosen()
    return root.within(command, dict(options)) if root else (command, dict(options))


def installed(pattern):
    """The programs that match a pattern of paths, as the servers see them."""
    root = chosen()
    top = root.root if root else pathlib.Path("/")
    return [f"/{path.relative_to(top)}" for path in top.glob(pattern.lstrip("/"))]


def store(program):
    """The name of a program of Redis, such as `redis-cli`: Valkey calls it `valkey-cli`."""
    root = chosen()
    return program.replace("redis", root.store) if root else program
