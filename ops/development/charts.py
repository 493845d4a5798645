"""Checks the Helm chart without a cluster, evaluates the alerts, and reads the dashboards as Grafana does."""
import os
import shutil
import subprocess

from development.packages import PrivatePython
from fleet import ROOT, Failure, shown

KUBERNETES = ROOT / "ops" / "kubernetes"
PROMETHEUS = ROOT / "ops" / "prometheus"
# What the tests render for `countersign check-config`, which needs the executable.
RENDERED = ROOT / ".countersign" / "chart" / "etc"
# The same with the files and values of docs/operate/kubernetes.md.
OF_PAGE = ROOT / ".countersign" / "chart" / "page"
PYTHON = PrivatePython(
    "chart-python", KUBERNETES / "requirements.txt", "checks the Helm chart with Helm and the schemas of Kubernetes")
PROMTOOL = ROOT / ".countersign" / "promtool"
GRAFANA = ROOT / "ops" / "grafana"


def promtool():
    return prometheus_tool("promtool")


def prometheus_tool(name):
    """The path of `promtool` or `prometheus`: the machine's own, or Debian's package, unpacked and not installed."""
    own = shutil.which(name)
    if own:
        return own
    path = PROMTOOL / "usr" / "bin" / name
    if path.exists():
        return str(path)
    print(f"Unpacking {name} into {shown(PROMTOOL)} …", flush=True)
    shutil.rmtree(PROMTOOL, ignore_errors=True)
    PROMTOOL.mkdir(parents=True)
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    download = ["apt-get", "download", "--quiet", "prometheus"]
    said = run(download)
    if not list(PROMTOOL.glob("*.deb")):
        # A new machine has no lists of packages yet.
        said = run([*as_root, "apt-get", "update", "--quiet"]) + run(download)
    for package in PROMTOOL.glob("*.deb"):
        said += run(["dpkg-deb", "--extract", package.name, "."])
        package.unlink()
    if not path.exists():
        raise Failure(f"{said.strip()}\n\nops/test evaluates alerts and dashboards, and could not get {name} out of "
                      "the Debian package\nprometheus. Install the package, or put promtool and prometheus into PATH.")
    return str(path)


def run(command):
    """Runs a command in the folder of promtool; returns what it said."""
    return subprocess.run(
        command, cwd=PROMTOOL, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}).stdout


def check_chart():
    """Runs the tests of the chart, and of the alerts and dashboards that it brings along.

    They leave the files of a pod's /etc/countersign in ``RENDERED`` and in ``OF_PAGE``.
    """
    PYTHON.prepare()
    # promtool and kubectl must not find anything of this machine's.
    environment = os.environ | {"PROMTOOL": promtool(), "KUBECONFIG": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}
    for folder, what in ((KUBERNETES, "the chart"), (PROMETHEUS, "the alerts"), (GRAFANA, "the dashboards")):
        print(f"Checking {shown(folder)} …", flush=True)
        status = subprocess.run(
            [PYTHON.python, "-m", "unittest", "discover", "--start-directory", folder / "tests"], cwd=ROOT,
            stdin=subprocess.DEVNULL, env=environment).returncode
        if status != 0:
            raise Failure(f"the tests of {what} failed; their messages are above")
