"""buildah and podman, with everything that they keep in one folder of the checkout.

The machine's own images and containers, and the settings of its engines, stay out of sight and as they are.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess

from fleet import ROOT, Failure, shown
from fleet.processes import Processes

FOLDER = ROOT / ".countersign" / "image"
# Each program with the package of Debian that has it.
PROGRAMS = {
    "buildah": "buildah", "podman": "podman", "runc": "runc", "catatonit": "catatonit", "debootstrap": "debootstrap",
    "/usr/lib/podman/netavark": "netavark", "/usr/lib/podman/aardvark-dns": "aardvark-dns",
    # netavark starts it, and its package does not depend on it.
    "/usr/sbin/iptables": "iptables"}
# They need little of the host: no systemd, no unified groups of processes, no filter of system calls, and no limit is
# raised above this process' own.
SETTINGS = """[containers]
default_ulimits = ["nofile={descriptors}:{descriptors}", "nproc=1000:1000"]
seccomp_profile = "unconfined"
netns = "host"
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{folder}/engine"
image_copy_tmp_dir = "storage"
[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
"""
STORAGE = """[storage]
driver = "vfs"
graphroot = "{folder}/storage"
runroot = "{folder}/running"
"""


class Containers:
    """The engines. Use it with `with`: at the end, no container is left."""

    def __init__(self, folder=FOLDER):
        self.folder = folder

    @property
    def environment(self):
        """The variables with which buildah, podman and what calls them find the folder and nothing else."""
        return os.environ | {
            "CONTAINERS_CONF": str(self.folder / "containers.conf"), "TMPDIR": str(self.folder / "scratch"),
            "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf")}

    def __enter__(self):
        if os.geteuid() != 0:
            raise Failure("ops/image makes containers, which it can do as root only")
        # A signal ends the block, and so the containers.
        Processes.handle_signals(Processes.interrupted)
        install_programs()
        (self.folder / "scratch").mkdir(parents=True, exist_ok=True)
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        for name, text in (("containers.conf", SETTINGS), ("storage.conf", STORAGE)):
            (self.folder / name).write_text(text.format(
                folder=self.folder, descriptors=min(descriptors, 1 << 20)))
        self.end_containers()
        return self

    def __exit__(self, *_):
        self.end_containers()

    def end_containers(self):
        """Ends the containers and pods, also those of a run that was killed."""
        self.run(["podman", "pod", "rm", "--force", "--all", "--time", "0"], check=False)
        self.run(["podman", "rm", "--force", "--all", "--time", "0", "--volumes"], check=False)

    def run(self, command, check=True, **options):
        """Runs a command of an engine, and returns what it printed."""
        run = subprocess.run(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=self.environment, cwd=ROOT, **options)
        if check and run.returncode != 0:
            raise Failure(f"{run.stdout}{run.stderr}".rstrip()
                          + f"\n\n{' '.join(str(word) for word in command[:3])} … ended with status {run.returncode}")
        return run.stdout

    def show(self, command, log):
        """Runs a command that takes long; what it prints goes to a file, and its end to the reader of a failure."""
        print(f"  its output is in {shown(log)}", flush=True)
        with open(log, "wb") as output:
            status = subprocess.run(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=self.environment, cwd=ROOT).returncode
        if status != 0:
            last = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
            raise Failure(f"{last}\n\n{command[0]} {command[1]} ended with status {status}")

    def has_image(self, name):
        return subprocess.run(
            ["podman", "image", "exists", name], env=self.environment, stdin=subprocess.DEVNULL).returncode == 0

    def inspect(self, image):
        return json.loads(self.run(["podman", "image", "inspect", image]))[0]

    def files(self, image):
        """The folder in which the files of an image lie. Nothing may be changed there."""
        return pathlib.Path(self.run(["podman", "image", "mount", image]).strip())


def install_programs():
    """Installs the packages of the missing programs."""
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if not missing:
        return
    command = ["apt-get", "--yes", "--quiet", "install", "--no-install-recommends", *missing]
    print(f"Installing {' '.join(missing)} …", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment).returncode != 0:
        # A new machine has no lists of packages yet.
        subprocess.run(["apt-get", "--quiet", "update"], stdin=subprocess.DEVNULL, capture_output=True)
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        if run.returncode != 0:
            raise Failure(f"{run.stdout}{run.stderr}".rstrip() + f"\n\n{' '.join(command)} failed; install them")


def mounts_below(folder, table=pathlib.Path("/proc/self/mounts")):
    """What is mounted in a folder, the innermost first."""
    places = [line.split()[1].replace("\\040", " ") for line in table.read_text().splitlines()]
    return sorted((place for place in places if pathlib.Path(place).is_relative_to(folder)), key=len, reverse=True)


def delete(folder):
    """Deletes a folder, and nothing that is mounted in it."""
    for place in mounts_below(folder):
        subprocess.run(["umount", place], stdin=subprocess.DEVNULL)
    # Whatever is still mounted belongs to somebody else, and must not be deleted through the mount.
    if left := mounts_below(folder):
        raise Failure(f"{', '.join(left)} cannot be unmounted, so nothing is removed; look at what uses it")
    if folder.exists():
        shutil.rmtree(folder)


def remove(folder=FOLDER):
    """Removes the images, the containers and all other files. The packages of Debian stay."""
    if folder.exists() and shutil.which("podman"):
        containers = Containers(folder)
        containers.end_containers()
        containers.run(["podman", "image", "umount", "--all"], check=False)
    delete(folder)
