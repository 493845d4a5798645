"""Images that stand in for those of other people in docker-compose.yml, where no registry can be reached.

All are one file system of Debian 13's packages, and differ in what they start. They behave as the official images do
towards docker-compose.yml, and in nothing else.
"""
import pathlib
import re
import shutil

from fleet import ROOT, Failure
from fleet.sets import PACKAGES, unpack

COMPOSE = ROOT / "docker-compose.yml"
STARTERS = pathlib.Path(__file__).resolve().parent / "compose"
SUITE = "trixie"
PATH = ("/usr/lib/rabbitmq/bin:/usr/lib/postgresql/17/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
USERS = "root:x:0:0::/root:/bin/sh\npostgres:x:70:70::/tmp:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n"
GROUPS = "root:x:0:\npostgres:x:70:\nnogroup:x:65534:\n"
# What each name starts; `None` for a service that docker-compose.yml does not start by itself.
IMAGES = {
    "rabbitmq": 'ENV HOME=/var/lib/rabbitmq LC_ALL=C.UTF-8\nCMD ["rabbitmq-server"]\n',
    "redis": 'WORKDIR /data\nENTRYPOINT ["/starters/redis"]\nCMD ["redis-server"]\n',
    "postgres": 'STOPSIGNAL SIGINT\nENTRYPOINT ["/starters/postgres"]\n',
    "python": 'CMD ["python3"]\n',
    "prom/prometheus": None,
}


def foreign_images(text):
    """The images of docker-compose.yml that are not ours, each with its tag."""
    names = re.findall(r"^\s+image: (\S+)$", text, re.MULTILINE)
    return [name for name in dict.fromkeys(names) if name != "countersign"]


def make_server_images(containers):
    """Makes those that are not there."""
    wanted = {}
    for name in foreign_images(COMPOSE.read_text()):
        repository = name.partition(":")[0]
        if repository not in IMAGES:
            raise Failure(f"docker-compose.yml uses {name}, and ops/image knows nothing that could stand in for it")
        if IMAGES[repository]:
            wanted[name] = IMAGES[repository]
    if all(containers.has_image(f"localhost/{name}") for name in wanted):
        return
    print(f"Making {', '.join(wanted)} from Debian's packages …", flush=True)
    root = containers.folder / "servers"
    shutil.rmtree(root, ignore_errors=True)
    unpack(SUITE, (*PACKAGES, "python3"), root)
    for name, text in (("passwd", USERS), ("group", GROUPS)):
        (root / "etc" / name).write_text(text)
    for folder in ("tmp", "run", "proc", "sys", "dev", "data", "var/lib/postgresql/data", "var/lib/rabbitmq", "root"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    shutil.copytree(STARTERS, root / "starters")
    tar = containers.folder / "servers.tar"
    containers.run(["tar", "--create", "--file", tar, "--owner=0", "--group=0", "--directory", root, "."])
    shutil.rmtree(root)
    base = "localhost/stand-in"
    containers.run(["podman", "import", "--change", f"ENV PATH={PATH}", tar, base])
    tar.unlink()
    recipe = containers.folder / "recipe"
    for name, text in wanted.items():
        recipe.write_text(f"FROM {base}\n{text}")
        containers.run(["buildah", "bud", "--isolation", "chroot", "--format", "docker", "--pull-never", "--tag",
                        f"localhost/{name}", "--file", recipe, containers.folder / "scratch"])
    recipe.unlink()
