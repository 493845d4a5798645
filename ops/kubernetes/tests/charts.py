"""Renders the chart with Helm, in the forms that the tests look at."""
import pathlib

import helm_python
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
CHART = ROOT / "ops" / "kubernetes" / "countersign"

# The forms in which people install it. "everything" switches on what is off.
FORMS = {
    "defaults": {},
    "everything": {
        "worker": {"autoscaling": {"enabled": True}, "pauseSeconds": 3},
        "monitoring": {"enabled": True, "labels": {"release": "prometheus"},
                       "dashboards": {"enabled": True, "docs": "https://git.acme.example/docs"}},
        "ledgerKeys": [{"secret": "countersign-ledger-keys"}],
        "config": {"ledger": {"keysFile": "../keys/ledger-keys.json"}, "worker": {"concurrency": 400},
                   "console": {"publicUrl": "https://support.acme.example/countersign",
                               "openId": {"issuer": "https://id.acme.example", "clientId": "countersign-console",
                                          "clientSecretFile": "../people/client-secret",
                                          "rolesFile": "../people/roles"}}},
        "publishers": [{"secret": "publishers-a"}, {"configMap": "publishers-b"}],
        "image": {"digest": "sha256:" + "0" * 64, "pullSecrets": ["registry"]},
        "podLabels": {"team": "purchases"}, "podAnnotations": {"example.com/a": "1"},
        "nodeSelector": {"kubernetes.io/os": "linux"}, "priorityClassName": "high",
        "tolerations": [{"key": "purchases", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}]}}},
        "networkPolicy": {"gatewayFrom": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}],
                          "consoleFrom": [{"namespaceSelector": {"matchLabels": {"c": "d"}}}]},
        "console": {"enabled": True, "people": [{"secret": "console-people"}],
                    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "support-tls",
                                "annotations": {"example.com/b": "2"}}},
    },
    "GitOps": {"migration": {"hooks": False, "annotations": {"argocd.argoproj.io/sync-wave": "-1"}}},
    "least": {
        "migration": {"enabled": False}, "networkPolicy": {"enabled": False}, "secrets": [],
        "gateway": {"pauseSeconds": 0},
        "config": {"ledger": {"passwordFile": None}, "rabbitmq": {"passwordFile": None}},
    },
}

def rendered(values, name="acme", namespace="shop"):
    """The objects that Helm makes of the chart."""
    with helm_python.Chart.load(CHART) as chart:
        files = chart.render(values, name=name, namespace=namespace)
    texts = [text for path, text in sorted(files.items()) if path.endswith(".yaml")]
    return [item for text in texts for item in yaml.safe_load_all(text) if item]


def named(objects, kind, suffix=""):
    """The one object of a kind whose name ends so."""
    found = [item for item in objects if item["kind"] == kind and item["metadata"]["name"].endswith(suffix)]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} objects {kind} …{suffix}")
    return found[0]


def pods(objects):
    """The templates of pods, each with the name of its object."""
    return {item["metadata"]["name"]: item["spec"]["template"] for item in objects
            if item["kind"] in ("Deployment", "Job")}
