"""Tests of ops/image without a container: what it reads of the recipe and of an unpacked image."""
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development import containers  # noqa: E402
from development.base_image import DOCKERFILE, base_name, check_machine  # noqa: E402
from development.compose_run import CONSOLE, PASSWORD, PERSON, PUBLISHER, roles, services  # noqa: E402
from development.containers import mounts_below, remove  # noqa: E402
from development.image_pods import playable  # noqa: E402
from development.image_system import ROLES, USER, Contents, container  # noqa: E402
from development.server_images import COMPOSE, IMAGES, foreign_images  # noqa: E402
from fleet import Failure  # noqa: E402


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, path, text="", mode=0o644):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file


class Recipe(Scratch):
    """What ops/image reads in the Dockerfile."""

    def test_the_base_of_the_real_recipe(self):
        self.assertEqual(base_name(DOCKERFILE.read_text()), "swift:6.3-bookworm")

    def test_a_recipe_with_another_base_is_refused(self):
        for recipe in ("FROM scratch\n", "FROM a:1 AS build\nFROM b:2\n"):
            with self.assertRaises(Failure):
                base_name(recipe)

    def test_the_user_is_that_of_the_chart(self):
        self.assertIn(f"\nUSER {USER}:{USER}\n", DOCKERFILE.read_text())
        self.assertRegex((ROOT / "ops/kubernetes/countersign/values.yaml").read_text(), rf"(?m)^userId: {USER}$")

    def test_nothing_in_it_is_of_one_processor(self):
        self.assertEqual(re.findall(r"x86|amd64|aarch64|arm64", DOCKERFILE.read_text()), [])

    def test_another_release_of_debian_is_refused(self):
        check_machine(self.write("one", "ID=debian\nVERSION_CODENAME=bookworm\n"))
        with self.assertRaises(Failure) as caught:
            check_machine(self.write("other", "VERSION_CODENAME=trixie\n"))
        self.assertIn("docker build", str(caught.exception))

    def test_the_compose_file_asks_with_what_the_image_has(self):
        text = (ROOT / "docker-compose.yml").read_text()
        asked = re.findall(r"test: \[CMD, countersign, health, (\w+)", text)
        self.assertEqual(sorted(asked), ["console", "gateway", "notifier", "simulator", "worker"])
        self.assertNotIn("CMD, curl", text)


class UnpackedImage(Scratch):
    """What ops/image says of the files of an image."""

    def setUp(self):
        super().setUp()
        self.write("usr/local/bin/countersign", "x" * 100, 0o755)
        self.write("lib/x86_64-linux-gnu/libssl.so.3", "x" * 30, 0o755)
        self.write("etc/passwd", "x" * 7)
        (self.folder / "lib" / "link").symlink_to("/nowhere")
        self.write("var/lib/dpkg/status.d/libssl3",
                   "Package: libssl3\nVersion: 3.0.1-1+deb12u1\nDescription: a\n more: of it\n")

    def test_the_size_is_that_of_the_files(self):
        contents = Contents(self.folder)
        rest = contents.size - 130
        self.assertEqual(contents.sizes(), {"executable": 100, "libraries": 30, "rest": rest})

    def test_libraries_are_no_programs(self):
        self.assertEqual(Contents(self.folder).programs(), ["/usr/local/bin/countersign"])
        self.write("bin/sh", mode=0o755)
        self.assertEqual(Contents(self.folder).programs(), ["/bin/sh", "/usr/local/bin/countersign"])

    def test_a_program_of_another_user_is_found(self):
        self.assertEqual(Contents(self.folder).privileged(), [])
        self.write("usr/bin/su", mode=0o4755)
        self.assertEqual(Contents(self.folder).privileged(), ["/usr/bin/su"])

    def test_the_packages_are_those_that_a_scanner_reads(self):
        self.assertEqual(Contents(self.folder).packages(), {"libssl3": "3.0.1-1+deb12u1"})

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_files_of_others_are_found(self):
        owned = self.write("var/lib/countersign/simulator/x")
        os.chown(owned, USER, USER)
        self.assertEqual(Contents(self.folder).foreign(), [])
        os.chown(self.folder / "etc" / "passwd", USER, USER)
        self.assertEqual(Contents(self.folder).foreign(), ["/etc/passwd"])

    def test_names_of_containers_have_no_space(self):
        self.assertEqual(container("worker 1"), "countersign-worker-1")


class Removing(Scratch):
    """`ops/image remove` deletes through no mount."""

    def table(self, *places):
        return self.write("table", "".join(f"/dev/vda {place} ext4 rw 0 0\n" for place in places))

    def test_the_innermost_mount_comes_first(self):
        folder = pathlib.Path("/a/b")
        table = self.table("/", "/a/b/c", "/a/b/c/d", "/a/bc", "/a/b/with\\040space")
        self.assertEqual(mounts_below(folder, table), ["/a/b/with space", "/a/b/c/d", "/a/b/c"])

    def test_what_stays_mounted_keeps_everything(self):
        kept = self.write("image/base/opt/swift/usr/bin/swift")
        with unittest.mock.patch.object(containers, "mounts_below", return_value=["/a"]), \
                unittest.mock.patch.object(containers.shutil, "which", return_value=None), \
                unittest.mock.patch.object(containers.subprocess, "run"), self.assertRaises(Failure):
            remove(self.folder / "image")
        self.assertTrue(kept.exists())

    def test_without_mounts_all_is_removed(self):
        self.write("image/storage/x")
        with unittest.mock.patch.object(containers.shutil, "which", return_value=None):
            remove(self.folder / "image")
        self.assertFalse((self.folder / "image").exists())
        remove(self.folder / "image")


class ComposeFile(unittest.TestCase):
    """What ops/image reads in docker-compose.yml."""

    def test_the_services_of_the_real_file(self):
        found = services(COMPOSE.read_text())
        self.assertEqual(list(found), ["rabbitmq", "redis", "postgres", "migrate", "simulator", "gateway", "worker",
                                       "notifier", "console", "receiver"])
        self.assertEqual([name for name, has_check in found.items() if not has_check], ["migrate", "receiver"])

    def test_the_roles_of_the_real_file(self):
        found = roles(COMPOSE.read_text())
        self.assertEqual(found, ["gateway", "worker", "notifier", "console"])
        self.assertEqual({name.split()[0] for name in ROLES}, {"simulator", *found})

    def test_the_person_who_signs_in_is_that_of_the_file(self):
        text, config = COMPOSE.read_text(), ROOT / "ops" / "config"
        self.assertIn(f"- {CONSOLE}:8090\n", text)
        self.assertIn(f"as {PERSON} with the password {PASSWORD}", text)
        users = (config / "secrets" / "example-console-users").read_text().splitlines()
        self.assertIn(PERSON, [line.split()[0] for line in users])
        publisher, = (config / "compose" / "publishers").glob("*.json")
        self.assertEqual(json.loads(publisher.read_text())["publisherId"], PUBLISHER)

    def test_something_stands_in_for_each_foreign_image(self):
        names = foreign_images(COMPOSE.read_text())
        self.assertIn("postgres:17", names)
        self.assertNotIn("countersign", names)
        for name in names:
            self.assertIn(name.partition(":")[0], IMAGES)


class Pod(unittest.TestCase):
    """A pod of the chart, as podman takes it."""

    SPEC = {
        "volumes": [{"name": "config", "configMap": {"name": "c"}}, {"name": "secrets", "projected": {}}],
        "terminationGracePeriodSeconds": 35,
        "containers": [{
            "name": "worker", "readinessProbe": {"httpGet": {}}, "securityContext": {"readOnlyRootFilesystem": True},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/c", "readOnly": True},
                             {"name": "secrets", "mountPath": "/etc/s", "readOnly": True}]}]}

    def test_its_files_come_from_folders(self):
        pod = playable("countersign-worker", self.SPEC, "/root")
        self.assertEqual(pod["spec"]["volumes"], [
            {"name": "config", "hostPath": {"path": "/root/etc/c", "type": "Directory"}},
            {"name": "secrets", "hostPath": {"path": "/root/etc/s", "type": "Directory"}}])

    def test_the_rest_stays(self):
        pod = playable("countersign-worker", self.SPEC, "/root")
        container, = pod["spec"]["containers"]
        self.assertEqual(container["securityContext"], {"readOnlyRootFilesystem": True})
        self.assertNotIn("readinessProbe", container)
        self.assertEqual(pod["spec"]["terminationGracePeriodSeconds"], 35)
        self.assertIn("readinessProbe", self.SPEC["containers"][0])


if __name__ == "__main__":
    unittest.main()
