"""The JSON and YAML that docs/operate/kubernetes.md shows: the chart takes it, and `countersign check-config` too."""
import json
import pathlib
import re
import shutil
import sys
import unittest

import helm_python
import kubernetes_validate
import yaml

from charts import ROOT, named, pods, rendered

sys.path.insert(0, str(ROOT / "ops"))

from development.pages import blocks  # noqa: E402

PAGE = ROOT / "docs" / "operate" / "kubernetes.md"
TRACES = ROOT / "docs" / "operate" / "traces.md"
EXAMPLES = ROOT / "ops" / "config" / "secrets"
PROGRAMS = ("helm", "docker", "kubectl")
# What a reader makes, by its name on the page, and what stands in for it here.
STAND_INS = {
    "rabbitmq.password": "example-rabbitmq.password", "ledger.password": "example-ledger.password",
    "AuthKey_ACMEKEY001.p8": "example-AuthKey.p8", "ledger-keys.json": "example-ledger-keys.json",
}
CONSOLE = {"console-roles": "viewer * groups staff\n", "client-secret": "example\n"}
VERSION = "1.30"


def paragraphs(path):
    """The paragraphs of a page's blocks. Some blocks have commands, and then values."""
    return [part for _, block, _ in blocks(path.read_text()) for part in block.split("\n\n")]


def values_of(path):
    """The blocks that are neither commands nor a publisher's file: values of the chart."""
    return [yaml.safe_load(part) for part in paragraphs(path)
            if not part.startswith((*PROGRAMS, "curl", "{"))]


def merged(first, second):
    """Two files of values, as Helm merges them."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second
    return first | {key: merged(first.get(key), value) for key, value in second.items()}


def secrets():
    """For each Secret that the page makes: the names of its files, each with the file that it is made of."""
    made = {}
    for part in paragraphs(PAGE):
        for name, rest in re.findall(r"create secret generic (\S+)((?:[^\n]*\\\n)*[^\n]*)", part):
            files = [file.rpartition("=") for file in re.findall(r"--from-file=(\S+)", rest)]
            made.setdefault(name, {}).update({key or source: source for key, _, source in files})
    return made


def open_ports(values, role):
    egress = named(rendered(values), "NetworkPolicy", f"-{role}")["spec"]["egress"]
    return {each["port"] for rule in egress for each in rule["ports"]}


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        helm_python.disable_logging()
        cls.publisher, = [json.loads(part) for part in paragraphs(PAGE) if part.startswith("{")]
        cls.values = values_of(PAGE)
        # What the page says to write first, and install with.
        cls.main, = [each for each in cls.values if "image" in each]

    def test_each_block_is_a_command_or_json_or_values(self):
        self.assertEqual([sorted(each) for each in self.values], [
            ["config", "image", "ledgerKeys"], ["config", "console", "networkPolicy"], ["migration"],
            ["monitoring", "worker"]])

    def test_the_chart_takes_each_of_them(self):
        everything = self.main
        for each in self.values:
            everything = merged(everything, each)
            for values in (each, merged(self.main, each), everything):
                for item in rendered(values):
                    if "monitoring.coreos.com" not in item["apiVersion"] and "keda" not in item["apiVersion"]:
                        kubernetes_validate.validate(item, VERSION, strict=True)

    def test_pods_mount_only_secrets_that_the_page_makes(self):
        everything = self.main
        for each in self.values:
            everything = merged(everything, each)
        mounted = {source["secret"]["name"] for pod in pods(rendered(everything)).values()
                   for volume in pod["spec"]["volumes"] for source in volume.get("projected", {}).get("sources", [])}
        self.assertEqual(mounted, set(secrets()))

    def test_a_configuration_without_traces_opens_no_way_to_a_collector(self):
        for configuration in ({"traces": None}, {"traces": {"url": None}}):
            self.assertNotIn(4318, open_ports({"config": configuration}, "worker"))

    def test_the_pages_of_traces_open_the_way_to_a_collector(self):
        configuration = next(json.loads(part) for part in paragraphs(TRACES) if part.startswith("{"))
        port = int(re.search(r":(\d+)/", configuration["traces"]["url"])[1])
        for role in ("gateway", "worker", "notifier"):
            self.assertNotIn(port, open_ports({}, role))
            self.assertIn(port, open_ports({"config": configuration}, role))
            other = open_ports({"config": configuration, "networkPolicy": {"collectorPorts": [4999]}}, role)
            self.assertIn(4999, other)
            self.assertNotIn(port, other)
        # It records no spans.
        self.assertNotIn(port, open_ports({"config": configuration}, "migrate"))
        for wrong in ([0], ["otlp"], 4318):
            with self.assertRaises(helm_python.HelmError):
                rendered({"networkPolicy": {"collectorPorts": wrong}})

    def test_prometheus_finds_the_pods_of_each_role(self):
        """Every alert and dashboard calls a role by its job, the console's too."""
        values = merged(merged(self.main, {"monitoring": {"enabled": True}}),
                        next(each for each in self.values if "console" in each))
        objects = rendered(values)
        selector = named(objects, "PodMonitor")["spec"]["selector"]["matchLabels"]
        found = {pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in pods(objects).values()
                 if selector.items() <= pod["metadata"]["labels"].items()}
        self.assertLessEqual({"gateway", "worker", "notifier", "console"}, found)
        rules = named(objects, "PrometheusRule")["spec"]["groups"][0]["rules"]
        self.assertIn('up{job="console"} == 0', [rule["expr"] for rule in rules])

    def test_the_files_of_the_page_are_written_for_check_config(self):
        """ops/test lets `countersign check-config` read them, once it has the executable."""
        etc = ROOT / ".countersign" / "chart" / "page"
        shutil.rmtree(etc, ignore_errors=True)
        values = merged(self.main, next(each for each in self.values if "console" in each))
        objects, made = rendered(values), secrets()
        for role in ("gateway", "console"):
            spec = named(objects, "Deployment", f"-{role}")["spec"]["template"]["spec"]
            volumes = {volume["name"]: volume for volume in spec["volumes"]}
            for mount in spec["containers"][0]["volumeMounts"]:
                folder = etc / pathlib.Path(mount["mountPath"]).name
                folder.mkdir(parents=True, exist_ok=True)
                for source in volumes[mount["name"]].get("projected", {}).get("sources", []):
                    for name, origin in made[source["secret"]["name"]].items():
                        (folder / name).write_text(self.content(origin))
        text = named(objects, "ConfigMap", "countersign")["data"]["countersign.json"]
        (etc / "config" / "countersign.json").write_text(text)
        self.assertEqual({path.name for path in etc.iterdir()}, {"config", "publishers", "secrets", "keys", "people"})

    def content(self, name):
        """What a reader has in a file of this name."""
        if name in CONSOLE:
            return CONSOLE[name]
        if name in STAND_INS:
            return (EXAMPLES / STAND_INS[name]).read_text()
        number = int(name.removesuffix(".json"))
        # The page's second publisher has another number, and nothing else of its own.
        own = {} if number == self.publisher["publisherId"] else {"publisherId": number, "tokenHashes": ["0" * 64]}
        return json.dumps(self.publisher | own)


if __name__ == "__main__":
    unittest.main()
