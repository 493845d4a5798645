"""Makes the base image that ops/Dockerfile names, from Debian's packages and this machine's Swift toolchain.

It stands in for `swift:6.3-bookworm` where no registry can be reached. The toolchain itself is not copied: a build has
it mounted.
"""
import pathlib
import re
import shutil
import subprocess

from development.containers import delete
from fleet import ROOT, Failure, shown
from fleet.sets import KEYRING, mirror

DOCKERFILE = ROOT / "ops" / "Dockerfile"
SUITE = "bookworm"
# The packages of swift.org's image for Debian 12, but for its debugger.
PACKAGES = (
    "binutils", "ca-certificates", "git", "gnupg", "libc6-dev", "libcurl4-openssl-dev", "libedit2", "libgcc-12-dev",
    "libncurses6", "libpython3.11", "libsqlite3-0", "libstdc++-12-dev", "libxml2", "pkg-config", "tzdata", "unzip",
    "zlib1g-dev")
# Where a build has the toolchain.
MOUNTED = "/opt/swift/usr"


def base_name(recipe):
    """The image from which a Dockerfile builds."""
    names = re.findall(r"^FROM (\S+)", recipe, re.MULTILINE)
    foreign = [name for name in names if name != "scratch"]
    if len(foreign) != 1:
        raise Failure(f"{shown(DOCKERFILE)} names {len(foreign)} base images, and ops/image makes one")
    return foreign[0]


def toolchain():
    """The folder `usr` of the Swift toolchain in PATH."""
    swift = shutil.which("swift")
    if not swift:
        raise Failure("swift is not in PATH, and ops/image builds with this machine's toolchain")
    return pathlib.Path(swift).resolve().parent.parent


def check_machine(release=pathlib.Path("/etc/os-release")):
    if f"VERSION_CODENAME={SUITE}" not in release.read_text().split("\n"):
        raise Failure(f"ops/image builds with this machine's Swift toolchain, in an image of Debian {SUITE}. So the "
                      f"machine must be one, too. With Docker, use docker build -f ops/Dockerfile")


def sources():
    """The lists of packages from which the machine gets its own, for this release of Debian."""
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(CODENAME) main", "Created-By: Packages",
         "Origin: Debian", "Component: main"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    lines = [line for line in found.splitlines() if line.split()[2].startswith(SUITE)]
    return "".join(f"{line}\n" for line in dict.fromkeys(lines)) or f"deb {mirror()} {SUITE} main\n"


def make_base(containers):
    """Makes the base image, if it is not there."""
    name = base_name(DOCKERFILE.read_text())
    if containers.has_image(f"localhost/{name}"):
        return
    check_machine()
    print(f"Making {name} from Debian's packages …", flush=True)
    root = containers.folder / "base"
    delete(root)
    containers.show(
        ["debootstrap", "--variant=minbase", f"--keyring={KEYRING}", f"--include={','.join(PACKAGES)}", SUITE, root,
         mirror()], containers.folder / "base.log")
    (root / "etc" / "apt" / "sources.list").write_text(sources())
    shutil.rmtree(root / "var" / "cache" / "apt", ignore_errors=True)
    (root / MOUNTED.lstrip("/")).mkdir(parents=True)
    tar = containers.folder / "base.tar"
    containers.run(["tar", "--create", "--file", tar, "--one-file-system", "--directory", root, "."])
    delete(root)
    path = f"{MOUNTED}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    containers.run(["podman", "import", "--change", f"ENV PATH={path}", tar, f"localhost/{name}"])
    tar.unlink()
