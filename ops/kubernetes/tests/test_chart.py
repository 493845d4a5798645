"""What the chart renders, without a cluster. Helm and the schemas are libraries of ops/kubernetes/requirements.txt."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import helm_python
import kubernetes_validate
import yaml
from cloudcoil.models.keda import v1alpha1 as keda
from cloudcoil.models.prometheus_operator import v1 as monitoring

from charts import CHART, FORMS, ROOT, named, pods, rendered

# Its oldest version by Chart.yaml, and the newest one of kubernetes-validate.
VERSIONS = ("1.30", "1.37")
MODELS = {"ScaledObject": keda.ScaledObject, "PodMonitor": monitoring.PodMonitor,
          "PrometheusRule": monitoring.PrometheusRule}
# Known to KEDA since 2.17; the models are of 2.16.
NEWER = {("spec", "fallback", "behavior")}
ROLES = {"gateway": 8080, "worker": 9101, "notifier": 9102}
CONSOLE = {"console": 8090}


def lost(given, kept, path=()):
    """The paths of what a model does not know: it drops what it has no field for."""
    if isinstance(given, dict):
        for key, value in given.items():
            if not isinstance(kept, dict) or key not in kept:
                yield (*path, key)
            else:
                yield from lost(value, kept[key], (*path, key))
    elif isinstance(given, list):
        for index, value in enumerate(given):
            yield from lost(value, kept[index], (*path, index))


def fits(selector, labels):
    return all(labels.get(key) == value for key, value in selector["matchLabels"].items())


class Chart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        helm_python.disable_logging()
        cls.forms = {name: rendered(values) for name, values in FORMS.items()}

    def test_helm_lint_finds_nothing(self):
        for name, values in FORMS.items():
            with self.subTest(form=name):
                report = helm_python.chart.lint(CHART, values, strict=True)
                # 1 is what is recommended: an icon.
                self.assertEqual([found for found in report["messages"] if found["severity"] > 1], [])
                self.assertEqual(report["errors"], [])

    def test_every_object_is_one_of_kubernetes(self):
        for objects in self.forms.values():
            for item in objects:
                for version in VERSIONS if item["kind"] not in MODELS else ():
                    kubernetes_validate.validate(item, version, strict=True)

    def test_every_other_object_is_one_of_keda_or_of_the_prometheus_operator(self):
        others = [item for item in self.forms["everything"] if item["kind"] in MODELS]
        self.assertEqual({item["kind"] for item in others}, set(MODELS))
        for item in others:
            model = MODELS[item["kind"]].model_validate(item)
            kept = model.model_dump(mode="json", by_alias=True, exclude_none=True)
            self.assertEqual(set(lost(item, kept)) - NEWER, set())

    def test_a_mistake_in_an_object_is_found(self):
        broken = named(rendered({}), "Deployment", "-worker")
        broken["spec"]["template"]["spec"]["terminationGracePeriod"] = 1
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(broken, VERSIONS[0], strict=True)
        self.assertEqual(list(lost({"spec": {"triggerz": []}}, {"spec": {}})), [("spec", "triggerz")])

    def test_the_schema_refuses_values_that_nobody_reads(self):
        for values in ({"workers": {}}, {"worker": {"replica": 3}}, {"config": {"shutdownGraceSeconds": 9}},
                       {"config": {"gateway": {"listen": "0.0.0.0:1"}}}, {"config": {"ledger": {"url": "mysql://a"}}},
                       {"publishers": []}, {"secrets": [{"secret": "a", "configMap": "b"}]}, {"userId": 0},
                       {"image": {"digest": "latest"}}, {"monitoring": {"dashboards": {"docs": "docs"}}},
                       {"worker": {"autoscaling": {"busy": 0.9}}}, {"console": {"replica": 1}},
                       # Nobody could sign in.
                       {"console": {"enabled": True}}, {"console": {"enabled": True}, "config": {"console": {}}},
                       {"config": {"console": {"listen": "0.0.0.0:1"}}}):
            with self.subTest(values=values), self.assertRaises(helm_python.HelmError):
                rendered(values)

    def test_kustomize_takes_what_the_chart_renders_for_gitops(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "all.yaml").write_text(yaml.safe_dump_all(self.forms["GitOps"]))
            (pathlib.Path(folder) / "kustomization.yaml").write_text("resources: [all.yaml]\n")
            kubectl = pathlib.Path(sys.executable).parent / "kubectl"
            built = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True)
            self.assertEqual(built.returncode, 0, built.stderr)
            self.assertEqual(len(list(yaml.safe_load_all(built.stdout))), len(self.forms["GitOps"]))

    def test_pods_are_restricted(self):
        """The profile `restricted` of the Pod Security Standards, a root that cannot be written, and no token."""
        for objects in self.forms.values():
            for name, pod in pods(objects).items():
                spec, (container,) = pod["spec"], pod["spec"]["containers"]
                self.assertTrue(spec["securityContext"]["runAsNonRoot"], name)
                self.assertGreater(spec["securityContext"]["runAsUser"], 0)
                self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertEqual(container["securityContext"], {
                    "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]}})
                self.assertIs(spec["automountServiceAccountToken"], False)
                self.assertFalse({"hostNetwork", "hostPID", "hostIPC"} & set(spec))
                self.assertLessEqual({kind for volume in spec["volumes"] for kind in set(volume) - {"name"}},
                                     {"configMap", "projected"})

    def test_folders_are_mounted_and_no_single_files(self):
        for objects in self.forms.values():
            for pod in pods(objects).values():
                volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
                mounts = pod["spec"]["containers"][0]["volumeMounts"]
                self.assertEqual({mount["name"] for mount in mounts}, volumes)
                self.assertFalse([mount for mount in mounts if "subPath" in mount or not mount["readOnly"]])

    def test_only_roles_that_see_secrets_get_the_keys_of_the_ledger(self):
        holders = {name for name, pod in pods(self.forms["everything"]).items()
                   if any(volume["name"] == "keys" for volume in pod["spec"]["volumes"])}
        self.assertEqual(holders, {f"acme-countersign-{role}" for role in ("gateway", "notifier", "console")})

    def test_only_consoles_get_the_files_of_people(self):
        holders = {name for name, pod in pods(self.forms["everything"]).items()
                   if any(volume["name"] == "people" for volume in pod["spec"]["volumes"])}
        self.assertEqual(holders, {"acme-countersign-console"})

    def test_there_is_no_console_unless_somebody_wants_one(self):
        self.assertFalse([item for item in self.forms["defaults"] if "console" in json.dumps(item)])

    def test_a_console_has_a_service_and_an_ingress_for_its_path_only(self):
        objects = self.forms["everything"]
        service = named(objects, "Service", "-console")["spec"]
        self.assertEqual(service["ports"], [
            {"name": "http", "port": 80, "targetPort": "http", "appProtocol": "http"}])
        ingress = named(objects, "Ingress")
        self.assertEqual(ingress["metadata"]["annotations"], {"example.com/b": "2"})
        rule, = ingress["spec"]["rules"]
        self.assertEqual(rule["host"], "support.acme.example")
        path, = rule["http"]["paths"]
        self.assertEqual((path["path"], path["pathType"]), ("/countersign", "Prefix"))
        self.assertEqual(path["backend"]["service"]["name"], "acme-countersign-console")
        self.assertEqual(ingress["spec"]["tls"], [{"hosts": ["support.acme.example"], "secretName": "support-tls"}])
        # /metrics is at the root, and needs no credential.
        for url in ("https://support.acme.example", "https://support.acme.example/", ""):
            config = {"console": {"usersFile": "../people/users"} | ({"publicUrl": url} if url else {})}
            with self.subTest(url=url), self.assertRaises(helm_python.HelmError):
                rendered({"config": config, "console": {"enabled": True, "ingress": {"enabled": True}}})
        port = {"console": {"usersFile": "../people/users", "publicUrl": "http://a.example:8443/c"}}
        rule, = named(rendered({"config": port, "console": {"enabled": True, "ingress": {"enabled": True}}}),
                      "Ingress")["spec"]["rules"]
        self.assertEqual(rule["host"], "a.example")

    def test_a_proxy_may_be_the_only_way_to_sign_in(self):
        config = {"console": {"proxy": {"addresses": ["10.1.0.7"], "rolesFile": "../people/roles"}}}
        objects = rendered({"config": config, "console": {"enabled": True}})
        self.assertEqual(named(objects, "Service", "-console")["spec"]["type"], "ClusterIP")

    def test_the_grace_period_is_pause_and_drain_and_margin(self):
        for values, pause in (({}, {"gateway": 10}), ({"drainSeconds": 90, "worker": {"pauseSeconds": 5}},
                                                      {"gateway": 10, "worker": 5})):
            objects = rendered(values)
            drain = json.loads(named(objects, "ConfigMap", "sign")["data"]["countersign.json"])["shutdownGraceSeconds"]
            self.assertEqual(drain, values.get("drainSeconds", 25))
            for role in ROLES:
                spec = named(objects, "Deployment", role)["spec"]["template"]["spec"]
                self.assertEqual(spec["terminationGracePeriodSeconds"], pause.get(role, 0) + drain + 10)
                hook = spec["containers"][0].get("lifecycle")
                expected = {"preStop": {"sleep": {"seconds": pause[role]}}} if role in pause else None
                self.assertEqual(hook, expected)

    def test_probes_ask_the_paths_and_ports_that_roles_have(self):
        server = (ROOT / "Sources" / "Service").rglob("*.swift")
        paths = next(found[1] for file in server
                     if (found := re.search(r'paths: Set<String> = \[(.*)\]', file.read_text())))
        for objects in self.forms.values():
            settings = json.loads(named(objects, "ConfigMap", "sign")["data"]["countersign.json"])
            has_console = any("console" in name for name in pods(objects))
            for role, port in (ROLES | (CONSOLE if has_console else {})).items():
                container = named(objects, "Deployment", role)["spec"]["template"]["spec"]["containers"][0]
                self.assertEqual(settings[role]["listen"], f"0.0.0.0:{port}")
                self.assertEqual(container["ports"], [{"name": "http", "containerPort": port}])
                asked = {probe: container[probe]["httpGet"]
                         for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
                self.assertLessEqual({f'"{get["path"]}"' for get in asked.values()}, set(paths.split(", ")))
                # What restarts a process asks no other server.
                self.assertEqual(asked["livenessProbe"]["path"], "/livez")
                self.assertEqual(asked["readinessProbe"]["path"], "/readyz")

    def test_selectors_find_the_pods_of_one_role(self):
        for objects in self.forms.values():
            labels = {name: pod["metadata"]["labels"] for name, pod in pods(objects).items()}
            for item in objects:
                selector = {"Service": lambda spec: {"matchLabels": spec["selector"]},
                            "PodDisruptionBudget": lambda spec: spec["selector"],
                            "Deployment": lambda spec: spec["selector"],
                            "NetworkPolicy": lambda spec: spec["podSelector"]}.get(item["kind"])
                if selector:
                    found = [name for name in labels if fits(selector(item["spec"]), labels[name])]
                    self.assertEqual(len(found), 1, item["metadata"]["name"])
                    self.assertEqual(labels[found[0]]["app.kubernetes.io/component"],
                                     item["metadata"]["labels"]["app.kubernetes.io/component"])

    def test_two_releases_in_a_namespace_do_not_meet(self):
        first, second = rendered({}, "a"), rendered({}, "b")
        names = [{(item["kind"], item["metadata"]["name"]) for item in objects} for objects in (first, second)]
        self.assertEqual(names[0] & names[1], set())
        selector = named(first, "Deployment", "-worker")["spec"]["selector"]
        self.assertFalse(any(fits(selector, pod["metadata"]["labels"]) for pod in pods(second).values()))

    def test_long_names_fit(self):
        for item in rendered({"migration": {"hooks": False}}, "a" * 53):
            self.assertLessEqual(len(item["metadata"]["name"]), 63)

    def test_nobody_but_prometheus_reaches_workers_and_notifiers(self):
        objects = self.forms["everything"]
        for role in ("worker", "notifier"):
            rule, = named(objects, "NetworkPolicy", role)["spec"]["ingress"]
            self.assertEqual(rule["from"], [
                {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}])
        self.assertNotIn("ingress", named(objects, "NetworkPolicy", "migrate")["spec"])
        rule, = named(objects, "NetworkPolicy", "console")["spec"]["ingress"]
        self.assertEqual(len(rule["from"]), 2)
        # Without a word about it, nobody else than Prometheus reaches a console either.
        config = {"console": {"usersFile": "../people/users"}}
        alone = rendered({"console": {"enabled": True}, "config": config})
        rule, = named(alone, "NetworkPolicy", "console")["spec"]["ingress"]
        self.assertEqual(rule["from"], named(alone, "NetworkPolicy", "worker")["spec"]["ingress"][0]["from"])
        # Callers are limited, and Prometheus still gets in.
        self.assertEqual(len(named(objects, "NetworkPolicy", "gateway")["spec"]["ingress"][0]["from"]), 2)

    def test_a_scaled_deployment_has_no_number_of_its_own(self):
        scaled = named(self.forms["everything"], "ScaledObject")["spec"]["scaleTargetRef"]["name"]
        for name, has in ((scaled, False), ("acme-countersign-gateway", True)):
            self.assertIs("replicas" in named(self.forms["everything"], "Deployment", name)["spec"], has)
        self.assertEqual(named(self.forms["defaults"], "Deployment", "worker")["spec"]["replicas"], 2)

    def test_a_hook_needs_nothing_that_comes_later(self):
        for name in ("defaults", "everything"):
            objects = self.forms[name]
            job = named(objects, "Job")
            self.assertEqual(job["metadata"]["annotations"]["helm.sh/hook"], "pre-install,pre-upgrade")
            spec = job["spec"]["template"]["spec"]
            self.assertEqual(spec["serviceAccountName"], "default")
            own = next(volume["configMap"]["name"] for volume in spec["volumes"] if volume["name"] == "config")
            for kind in ("ConfigMap", "NetworkPolicy"):
                needed = named(objects, kind, own if kind == "ConfigMap" else "migrate")["metadata"]["annotations"]
                self.assertEqual(needed["helm.sh/hook"], "pre-install,pre-upgrade")
                self.assertLess(int(needed["helm.sh/hook-weight"]),
                                int(job["metadata"]["annotations"]["helm.sh/hook-weight"]))

    def test_without_hooks_a_change_makes_another_job(self):
        for item in self.forms["GitOps"]:
            self.assertFalse([key for key in item["metadata"].get("annotations", {}) if key.startswith("helm.sh/hook")])
        names = {named(rendered({"migration": {"hooks": False}, **more}), "Job")["metadata"]["name"]
                 for more in ({}, {"image": {"tag": "9"}}, {"config": {"ledger": {"connections": 3}}})}
        self.assertEqual(len(names), 3)
        again = named(rendered({"migration": {"hooks": False}}), "Job")["metadata"]["name"]
        self.assertIn(again, names)

    def test_a_changed_configuration_starts_pods_anew(self):
        def sums(values):
            return {pod["metadata"]["annotations"]["checksum/config"]
                    for name, pod in pods(rendered(values)).items() if "migrate" not in name}
        before, after = sums({}), sums({"config": {"worker": {"concurrency": 9}}})
        self.assertEqual((len(before), len(after), len(before | after)), (1, 1, 2))

    def test_the_alerts_are_those_of_ops_prometheus(self):
        alerts = yaml.safe_load((ROOT / "ops" / "prometheus" / "alerts.yml").read_text())
        self.assertEqual(named(self.forms["everything"], "PrometheusRule")["spec"], alerts)
        relabeling, = named(self.forms["everything"], "PodMonitor")["spec"]["podMetricsEndpoints"][0]["relabelings"]
        # The alerts call a role by its label job.
        self.assertEqual(relabeling["targetLabel"], "job")
        self.assertEqual(relabeling["sourceLabels"], ["__meta_kubernetes_pod_label_app_kubernetes_io_component"])

    def test_the_dashboards_are_those_of_ops_grafana(self):
        found = {name: text for item in self.forms["everything"] if item["kind"] == "ConfigMap"
                 and item["metadata"]["labels"].get("grafana_dashboard") == "1"
                 for name, text in item["data"].items()}
        files = {f"countersign-{path.name}": path.read_text() for path in (ROOT / "ops" / "grafana").glob("*.json")}
        self.assertEqual(set(found), set(files))
        for name, text in files.items():
            dashboard, original = json.loads(found[name]), json.loads(text)
            pages, = [each for each in dashboard["templating"]["list"] if each["name"] == "docs"]
            self.assertEqual(pages["query"], "https://git.acme.example/docs")
            self.assertNotIn("git.example.com", found[name])
            self.assertEqual(dashboard["panels"], original["panels"])
        self.assertFalse([item for item in self.forms["defaults"] if "dashboard" in item["metadata"]["name"]])

    def test_the_page_explains_every_value(self):
        page = (ROOT / "docs" / "operate" / "kubernetes.md").read_text()
        values = yaml.safe_load((CHART / "values.yaml").read_text())
        names = set(values) | {f"worker.autoscaling.{name}" for name in values["worker"]["autoscaling"]}
        self.assertEqual([name for name in sorted(names) if not re.search(rf"`{re.escape(name)}[`.]", page)], [])

    def test_the_files_of_a_pod_are_written_for_check_config(self):
        """ops/test lets `countersign check-config` read them, once it has the executable."""
        etc = ROOT / ".countersign" / "chart" / "etc"
        shutil.rmtree(etc, ignore_errors=True)
        examples = ROOT / "ops" / "config"
        shutil.copytree(examples / "publishers", etc / "publishers")
        shutil.copytree(examples / "secrets", etc / "secrets")
        (etc / "keys").mkdir()
        (etc / "people").mkdir()
        (etc / "people" / "client-secret").write_text("example\n")
        (etc / "people" / "roles").write_text("viewer * groups staff\n")
        (etc / "config").mkdir()
        shutil.copy(examples / "secrets" / "example-ledger-keys.json", etc / "keys" / "ledger-keys.json")
        for server in ("rabbitmq", "ledger"):
            shutil.copy(examples / "secrets" / f"example-{server}.password", etc / "secrets" / f"{server}.password")
        mounted = set()
        for role in ("console", "gateway"):
            container, = named(self.forms["everything"], "Deployment", role)["spec"]["template"]["spec"]["containers"]
            mounted |= {mount["mountPath"] for mount in container["volumeMounts"]}
        self.assertEqual(mounted, {f"/etc/countersign/{path.name}" for path in etc.iterdir()})
        self.assertEqual(container["args"], ["gateway", "--config", "/etc/countersign/config/countersign.json"])
        text = named(self.forms["everything"], "ConfigMap", "countersign")["data"]["countersign.json"]
        (etc / "config" / "countersign.json").write_text(text)


if __name__ == "__main__":
    unittest.main()
