"""ops/image pods: podman runs the pods of the Helm chart, from the image, as a kubelet would."""
import copy
import json
import os
import pathlib
import time

from development.image_system import IMAGE, USER
from development.pods import SECONDS, Pods
from fleet import Failure
from fleet.processes import wait_until


def playable(name, spec, root):
    """A pod as `podman kube play` takes it: its files come from folders, in place of projected Secrets.

    root: the folder below which the files of each mount lie

    podman knows no projected volumes. It turns a probe of HTTP into a call of curl in the container, where none is.
    """
    spec = copy.deepcopy(spec)
    container, = spec["containers"]
    places = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    spec["volumes"] = [
        {"name": volume["name"], "hostPath": {"path": root + places[volume["name"]], "type": "Directory"}}
        for volume in spec["volumes"]]
    # In the network of its host, a container publishes no port.
    for member in ("startupProbe", "livenessProbe", "readinessProbe", "ports"):
        container.pop(member, None)
    spec["hostNetwork"] = True
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


class ImagePods(Pods):
    def __init__(self, system):
        repository, _, tag = f"{IMAGE}:latest".rpartition(":")
        super().__init__(system, values={"image": {"repository": repository, "tag": tag}})
        self.containers = system.containers
        self.starts, self.stops = {}, {}

    def launch(self, name):
        pod = self.pods[name]
        # As the kubelet does with fsGroup.
        for path in pathlib.Path(pod["root"]).rglob("*"):
            os.chown(path, 0, USER)
            path.chmod(0o750 if path.is_dir() else 0o440)
        file = self.folder / f"{name}.json"  # JSON is YAML
        file.write_text(json.dumps(playable(f"chart-{name}", pod["spec"], pod["root"])))
        self.containers.run(["podman", "kube", "play", "--network", "host", file])

    def migrate(self):
        self.launch("migrate")
        status = self.containers.run(["podman", "wait", self.container("migrate")]).strip()
        if status != "0":
            raise Failure(f"the migration's pod ended with status {status}:\n{self.log('migrate')}")

    def start(self, name):
        began = time.monotonic()
        self.launch(name)
        pod = self.pods[name]
        port = pod["spec"]["containers"][0]["ports"][0]["containerPort"]
        self.listen[name] = f"127.0.0.1:{port}"
        for path in pod["probes"]:
            try:
                wait_until(f"{path} of the pod of the {name}",
                           lambda path=path: self.ask(name, "GET", path)[0] == 200, SECONDS,
                           failed=lambda: self.ended(name))
            except Failure as failure:
                raise Failure(f"{self.log(name)}\n\n{failure}") from None
        self.starts[name] = time.monotonic() - began

    def end(self, name, is_told=False):
        pod, began = self.pods[name], time.monotonic()
        self.containers.run(["podman", "pod", "stop", "--time", pod["grace"] - pod["pause"], f"chart-{name}"])
        self.stops[name] = time.monotonic() - began
        state = self.state(name)
        if state != ("exited", 0):
            raise Failure(f"the {name} of the pod should have ended with 0, but is {state}:\n{self.log(name)}")

    def container(self, name):
        return f"chart-{name}-{name}"

    def state(self, name):
        found = json.loads(self.containers.run(["podman", "inspect", self.container(name)]))[0]["State"]
        return found["Status"], found["ExitCode"]

    def ended(self, name):
        status, code = self.state(name)
        return f"the pod of the {name} ended with {code}" if status == "exited" else None

    def log(self, name):
        return self.containers.run(["podman", "logs", "--tail", "8", self.container(name)], check=False)
