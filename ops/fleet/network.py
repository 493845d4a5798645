"""Networks of their own for the nodes of a cluster, so that one node can be cut off from the others."""
import ipaddress
import os
import shutil
import signal
import subprocess
import sys
import time

from fleet.node import group


class Network:
    """A network namespace for each node, and one for the bridge that joins them.

        this machine ── bridge ─┬─ rabbitmq-1
           10.211.7.1           ├─ rabbitmq-2
                                └─ rabbitmq-3

    A process holds each namespace. When the processes end, the kernel takes everything down.
    """

    def __init__(self, folder, names, number):
        """number: different for each folder; it names the network"""
        self.folder, self.names = folder, names
        self.subnet = f"10.{200 + number // 256 % 50}.{number % 256}"
        self.link = f"cs{number}"

    @staticmethod
    def is_possible():
        """Whether this process may make namespaces and links."""
        if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("ip", "nsenter", "unshare")):
            return False
        return subprocess.run(
            ["unshare", "--net", "ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"],
            capture_output=True).returncode == 0

    def addresses(self):
        return {name: f"{self.subnet}.{11 + number}" for number, name in enumerate(self.names)}

    def holder(self, name):
        return group(self.folder, f"network-{name}")

    def inside(self, name):
        """The beginning of a command that runs in a node's network."""
        pid = self.holder(name) or sys.exit(f"servers: the network of {name} is down")
        return ["nsenter", f"--net=/proc/{pid}/ns/net"]

    def ip(self, name, *words):
        run = subprocess.run([*(self.inside(name) if name else []), "ip", *words], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"servers: ip {' '.join(words)} failed: {run.stderr.strip()}")
        return run.stdout

    def start(self):
        if all(self.holder(name) for name in ("hub", *self.names)):
            return
        self.stop()
        for name in ("hub", *self.names):
            process = subprocess.Popen(
                ["unshare", "--net", "sleep", "infinity"], cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            (self.folder / f"network-{name}.pid").write_text(str(process.pid))
            self.wait_for(process.pid)
            self.ip(name, "link", "set", "lo", "up")
        self.ip("hub", "link", "add", "bridge", "type", "bridge")
        self.ip("hub", "link", "set", "bridge", "up")
        self.join(self.link, None, f"{self.subnet}.1")
        for number, (name, address) in enumerate(self.addresses().items(), 1):
            self.join("eth0", name, address, f"port{number}")

    @staticmethod
    def wait_for(pid):
        """Waits until the process has a network of its own."""
        deadline = time.monotonic() + 10
        while os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            if time.monotonic() > deadline:
                sys.exit("servers: no network namespace came in 10 seconds")
            time.sleep(0.01)

    def join(self, device, name, address, port="machine"):
        """Connects a node, or this machine, to the bridge."""
        place = str(self.holder(name) if name else os.getpid())
        self.ip("hub", "link", "add", port, "type", "veth", "peer", "name", device, "netns", place)
        self.ip("hub", "link", "set", port, "master", "bridge", "up")
        self.ip(name, "address", "add", f"{ipaddress.ip_address(address)}/24", "dev", device)
        self.ip(name, "link", "set", device, "up")

    def stop(self):
        for name in ("hub", *self.names):
            if pid := self.holder(name):
                os.kill(pid, signal.SIGKILL)
            (self.folder / f"network-{name}.pid").unlink(missing_ok=True)

    def cut(self, name):
        """Cuts a node off from the others. This machine still reaches all of them."""
        addresses = self.addresses()
        for other in self.names:
            if other != name:
                self.ip(name, "route", "replace", "blackhole", f"{addresses[other]}/32")
                self.ip(other, "route", "replace", "blackhole", f"{addresses[name]}/32")

    def mend(self):
        for name in self.names:
            self.ip(name, "route", "flush", "type", "blackhole")
