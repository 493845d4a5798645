"""ops/image: builds the image of ops/Dockerfile, runs each role from it, and says how large and how fast it is."""
import argparse
import ctypes
import os
import subprocess
import sys
import time

from development.base_image import DOCKERFILE, MOUNTED, check_machine, make_base, toolchain
from development.charts import PYTHON as CHART_PYTHON
from development.compose_run import Composed
from development.containers import FOLDER, Containers, remove
from development.image_pods import ImagePods
from development.image_system import IMAGE, ROLES, USER, Contents, ImageSystem
from fleet import ROOT, Failure, shown
from fleet.check import Check
from fleet.processes import Processes, Stopped
from fleet.run import check_its_console
from fleet.system import Step

# The most that an unpacked image may take, in bytes.
LIMIT = 120_000_000
PROGRAM = "/usr/local/bin/countersign"
# `shutdownGraceSeconds` of ops/run, and the chart's margin.
GRACE = 2 + 10
CLONE_NEWNET = 0x40000000


def commit():
    """The commit that the executable is built of: the last one that changed a source. Without one, nothing is said.

    Another commit would build it again, with nothing new in it.
    """
    def git(*words):
        return subprocess.run(["git", *words, "--", "Package.swift", "Sources"], cwd=ROOT, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True).stdout.strip()
    return "" if git("status", "--porcelain") else git("log", "-1", "--format=%H")


def build(containers):
    make_base(containers)
    check_machine()
    print(f"Building {shown(DOCKERFILE)} …", flush=True)
    began = time.monotonic()
    containers.show(
        ["buildah", "bud", "--isolation", "chroot", "--format", "docker", "--pull-never", "--layers", "--tag", IMAGE,
         "--file", DOCKERFILE, "--ignorefile", DOCKERFILE.with_name("Dockerfile.dockerignore"),
         "--volume", f"{toolchain()}:{MOUNTED}:ro", "--build-arg", f"COMMIT={commit()}", ROOT],
        containers.folder / "build.log")
    print(f"  built after {time.monotonic() - began:.0f} s", flush=True)


def look(containers):
    """Checks what the image has; returns rows for the table."""
    about = containers.inspect(IMAGE)
    contents = Contents(containers.files(IMAGE))
    size = contents.size
    parts = ", ".join(f"{name} {megabytes(part)}" for name, part in contents.sizes().items())
    for what, found, wanted in (
            ("programs", contents.programs(), [PROGRAM]), ("programs of other users", contents.privileged(), []),
            ("files that are not root's", contents.foreign(), []), ("the user", about["User"], f"{USER}:{USER}")):
        if found != wanted:
            raise Failure(f"{what} of the image should be {wanted}, but {found} was found")
    if size > LIMIT:
        raise Failure(f"the image takes {megabytes(size)} unpacked, and {megabytes(LIMIT)} is the most: {parts}")
    return [("image", f"{IMAGE}, {about['Os']}/{about['Architecture']}"),
            ("unpacked", f"{megabytes(size)} (at most {megabytes(LIMIT)}): {parts}"),
            ("programs in it", ", ".join(contents.programs())), ("packages of Debian", str(len(contents.packages())))]


def megabytes(count):
    return f"{count / 1e6:.1f} MB"


def run(containers):
    """Runs every role from the image, and plays one purchase."""
    rows = look(containers)
    with Processes(containers.folder / "run") as processes:
        system = ImageSystem(processes, containers)
        try:
            system.start()
            system.start_console()
            version = containers.run(["podman", "run", "--rm", "--network=none", "--read-only", IMAGE, "--version"])
            with Step("a look at the processes"):
                system.check_processes()
            Check(system).run()
            check_its_console(system.configuration)
            system.end_roles(GRACE)
        finally:
            system.stop()
            system.forget()
    words = version.split()
    rows += [("version", f"{words[1]}, commit {words[3]}")]
    rows += [(name, f"ready after {system.starts[name]:.1f} s, ended {system.stops[name]:.1f} s after SIGTERM")
             for name in ROLES]
    show(rows)


def pods(containers):
    """Lets podman run the chart's pods, beside a system of the same image."""
    CHART_PYTHON.prepare()
    own_network()
    with Processes(containers.folder / "run") as processes:
        # The pods listen where the chart says.
        system = ImageSystem(processes, containers, gateway="127.0.0.1:18080")
        try:
            system.start()
            chart = ImagePods(system)
            chart.play()
        finally:
            system.stop()
            system.forget()
    show([(name, f"ready after {chart.starts[name]:.1f} s, ended {chart.stops[name]:.1f} s after SIGTERM")
          for name in chart.starts])


def compose(containers):
    composed = Composed(containers)
    composed.prepare()
    own_network()
    show(composed.play())


def own_network(unshare=ctypes.CDLL(None, use_errno=True).unshare):
    """From now on, this process and its children have a network of their own: no port is taken, and none is left."""
    if unshare(CLONE_NEWNET) != 0:
        raise Failure("this process may make no network of its own: " + os.strerror(ctypes.get_errno()))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def show(rows):
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"  {name.ljust(width)}  {text}" for name, text in rows), flush=True)


def built(containers):
    if not containers.has_image(IMAGE):
        raise Failure(f"{IMAGE} is not there; ops/image build builds it")
    return containers


def main():
    parser = argparse.ArgumentParser(prog="ops/image", description="Builds the image, and runs each role from it.")
    parser.add_argument("what", nargs="?", choices=("build", "run", "compose", "pods", "remove"))
    what = parser.parse_args().what
    try:
        if what == "remove":
            remove()
            print(f"{shown(FOLDER)} is gone. The packages buildah, podman, runc, catatonit and debootstrap stay.")
            return 0
        with Containers() as containers:
            if what in (None, "build"):
                build(containers)
            if what in (None, "run"):
                run(built(containers))
            if what == "compose":
                compose(built(containers))
            if what == "pods":
                pods(built(containers))
    except Failure as failure:
        print(f"\nops/image: {failure}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        return 130
    except Stopped as stopped:
        return 128 + stopped.number
    return 0


if __name__ == "__main__":
    sys.exit(main())
