"""The folders of the tests' servers, in memory where the machine has room: a commit then waits for no disk.

The servers are the same and sync as before. What a killed server wrote is there when it starts again; only a machine
that stops loses it, and no test stops a machine.
"""
import os
import pathlib
import shutil
import zlib

from fleet import ROOT, shown
from fleet.processes import Processes

MEMORY = pathlib.Path("/dev/shm")
# A lane needs 200 MB, and two to three lanes run at a time. A container's /dev/shm often has 64 MB.
ROOM = 4 << 30
ON_DISK = "COUNTERSIGN_TEST_ON_DISK"


def has_room(free, available, environment):
    """Whether a folder goes into memory.

    free: bytes that may be written there
    available: bytes of memory that the machine can give
    """
    return not environment.get(ON_DISK) and min(free, available) >= ROOM


def available():
    """The bytes of memory that the machine can give; 0 where it does not say."""
    try:
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), 0)


def place(folder):
    """Makes the folder a link into memory, or a folder on the disk; returns it. What an earlier run left there goes."""
    target = MEMORY / f"countersign-{os.geteuid()}-{zlib.crc32(str(ROOT).encode()):08x}-{folder.name}"
    if folder.exists():
        with Processes(folder) as processes:
            processes.forget_servers()
    if folder.is_symlink():
        folder.unlink()
    shutil.rmtree(target, ignore_errors=True)
    try:
        status = os.statvfs(MEMORY)
        free = status.f_bavail * status.f_frsize if os.access(MEMORY, os.W_OK) else 0
    except OSError:
        free = 0
    if not has_room(free, available(), os.environ):
        print(f"{shown(folder)} is on the disk", flush=True)
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    target.mkdir(mode=0o755)
    folder.symlink_to(target)
    return folder
