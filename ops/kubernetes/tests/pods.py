"""Renders the chart, and lays the files of each pod out as the kubelet would mount them.

    pods.py VALUES SECRETS FOLDER

VALUES is a JSON file. SECRETS has a folder for each Secret, with its files. A pod's files come to FOLDER/NAME. It
prints what a kubelet needs to know of each pod, its whole description, and the query of the autoscaler, as JSON.
"""
import json
import pathlib
import shutil
import sys

import helm_python

from charts import named, pods, rendered


def lay_out(volume, objects, secrets, folder):
    """Puts the files of one volume into a folder."""
    folder.mkdir(parents=True)
    if "configMap" in volume:
        for name, text in named(objects, "ConfigMap", volume["configMap"]["name"])["data"].items():
            (folder / name).write_text(text)
    for source in volume.get("projected", {}).get("sources", []):
        shutil.copytree(secrets / source["secret"]["name"], folder, dirs_exist_ok=True)


def main(values, secrets, folder):
    helm_python.disable_logging()
    objects = rendered(json.loads(pathlib.Path(values).read_text()))
    told = {}
    for pod in pods(objects).values():
        container, = pod["spec"]["containers"]
        root = pathlib.Path(folder) / container["name"]
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        for mount in container["volumeMounts"]:
            lay_out(volumes[mount["name"]], objects, pathlib.Path(secrets), root / mount["mountPath"].lstrip("/"))
        told[container["name"]] = {
            "root": str(root), "args": container["args"], "spec": pod["spec"],
            "probes": [container[name]["httpGet"]["path"]
                       for name in ("startupProbe", "livenessProbe", "readinessProbe") if name in container],
            "grace": pod["spec"].get("terminationGracePeriodSeconds", 30),
            "pause": container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)}
    scaled = named(objects, "ScaledObject")["spec"]
    print(json.dumps({"pods": told, "query": scaled["triggers"][0]["metadata"]["query"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
