"""Tests of ops/release: the tarball's bytes, the bill of materials, the signature. They build nothing."""
import gzip
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development import release as module  # noqa: E402
from development.bill import Package, document, libraries, linked, needed, owner, swift_version  # noqa: E402
from development.release import (  # noqa: E402
    COPIED, DOCKERFILE, FOLDERS, Release, build_options, check_version, differences, packed, write)
from fleet import Failure  # noqa: E402

RELEASE = Release("0.1.0", "a" * 40, 1_700_000_000, "x86_64")
FILES = {"bin/countersign": (True, b"program"), "share/doc/countersign/LICENSE": (False, b"text")}


class Tarball(unittest.TestCase):
    def opened(self, data):
        return tarfile.open(fileobj=io.BytesIO(gzip.decompress(data)))

    def test_the_bytes_depend_on_the_files_only(self):
        backwards = dict(reversed(FILES.items()))
        self.assertEqual(packed(RELEASE, FILES), packed(RELEASE, backwards))
        self.assertNotEqual(packed(RELEASE, FILES), packed(RELEASE, FILES | {"a": (False, b"")}))

    def test_times_owners_and_modes_are_said(self):
        entries = self.opened(packed(RELEASE, FILES)).getmembers()
        self.assertEqual({entry.mtime for entry in entries}, {RELEASE.time})
        self.assertEqual({(entry.uid, entry.gid, entry.uname) for entry in entries}, {(0, 0, "root")})
        modes = {entry.name: entry.mode for entry in entries if entry.isfile()}
        top = "countersign-0.1.0-linux-x86_64"
        self.assertEqual(modes, {f"{top}/bin/countersign": 0o755, f"{top}/share/doc/countersign/LICENSE": 0o644})

    def test_the_folders_of_usr_local_stay_as_they_are(self):
        self.assertEqual([entry.name for entry in self.opened(packed(RELEASE, FILES)) if entry.isdir()], [])

    def test_what_goes_along_exists(self):
        for path in (*COPIED, *FOLDERS):
            self.assertTrue((ROOT / path).exists(), path)

    def test_different_files_are_named(self):
        self.assertEqual(differences({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3", "c": b""}), ["b", "c"])


class Version(unittest.TestCase):
    def test_it_stands_in_three_places(self):
        check_version("0.1.0")
        for version in ("0.1.1", "0.1", "v0.1.0", "1.0.0; rm"):
            with self.subTest(version), self.assertRaises(Failure):
                check_version(version)

    def test_a_version_without_a_date_is_not_released(self):
        places = ("Sources/Countersign/BuildVersion.swift", "ops/kubernetes/countersign/Chart.yaml", "CHANGELOG.md")
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for place in places:
                (root / place).parent.mkdir(parents=True, exist_ok=True)
                (root / place).write_bytes((ROOT / place).read_bytes())
            check_version("0.1.0", root)
            changes = (root / "CHANGELOG.md").read_text()
            dated = re.search(r"(?m)^## 0\.1\.0 \(.*\)$", changes)[0]
            for heading in ("## 0.1.0 (unreleased)", "## 0.1.0", "## 0.1.0 (soon)"):
                (root / "CHANGELOG.md").write_text(changes.replace(dated, heading))
                with self.subTest(heading), self.assertRaisesRegex(Failure, "CHANGELOG.md"):
                    check_version("0.1.0", root)

    def test_the_options_are_those_of_the_image(self):
        options = build_options(DOCKERFILE.read_text())
        self.assertEqual(options[:3], ["-c", "release", "--static-swift-stdlib"])
        self.assertEqual(options[-2:], ["-Xlinker", "-s"])
        with self.assertRaises(Failure):
            build_options("RUN make\n")


class Signature(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.enterContext(unittest.mock.patch.object(module, "FOLDER", self.folder / "release"))

    def test_the_sums_fit_the_files(self):
        folder = write(RELEASE, {"b.tar.gz": b"b", "a.json": b"a"}, None)
        run = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=folder, capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (0, "a.json: OK\nb.tar.gz: OK\n"))
        self.assertFalse((folder / "SHA256SUMS.minisig").exists())

    def test_a_missing_key_is_told(self):
        if shutil.which("minisign"):
            with self.assertRaises(Failure) as caught:
                write(RELEASE, {"a": b"a"}, str(self.folder / "none.key"))
            self.assertIn("minisign -G", str(caught.exception))

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
    def test_a_key_of_the_operators_signs_the_same_each_time(self):
        public, secret = self.folder / "minisign.pub", self.folder / "minisign.key"
        subprocess.run(["minisign", "-G", "-W", "-p", public, "-s", secret], check=True, capture_output=True)
        signatures = []
        for _ in range(2):
            folder = write(RELEASE, {"a": b"a"}, str(secret))
            signatures.append((folder / "SHA256SUMS.minisig").read_bytes())
            verify = ["minisign", "-V", "-p", public, "-m", folder / "SHA256SUMS"]
            self.assertEqual(subprocess.run(verify, capture_output=True).returncode, 0)
        self.assertEqual(*signatures)
        (folder / "SHA256SUMS").write_text("other\n")
        self.assertNotEqual(subprocess.run(verify, capture_output=True).returncode, 0)


class Bill(unittest.TestCase):
    LDD = ("\tlinux-vdso.so.1 (0x00007f)\n\tlibssl.so.3 => /lib/x86_64-linux-gnu/libssl.so.3 (0x00007f)\n"
           "\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n")

    def test_the_loader_and_each_library_are_found(self):
        self.assertEqual(libraries(self.LDD), ["/lib/x86_64-linux-gnu/libssl.so.3", "/lib64/ld-linux-x86-64.so.2"])

    def test_a_library_that_is_away_is_told(self):
        with self.assertRaises(Failure) as caught:
            libraries(self.LDD + "\tlibpq.so.5 => not found\n")
        self.assertIn("libpq.so.5", str(caught.exception))

    def test_what_the_executable_names_itself(self):
        line = " 0x0000000000000001 (NEEDED)             Shared library: [libssl.so.3]\n"
        self.assertEqual(needed(line + " 0x1 (SONAME) Library soname: [x]\n"), ["libssl.so.3"])

    def test_a_package_is_found_by_either_path(self):
        file = "/lib/x86_64-linux-gnu/libssl.so.3"
        self.assertEqual(owner(file, f"libssl3:amd64: /usr{file}\n"), "libssl3:amd64")
        self.assertEqual(owner(file, f"diversion by x from: {file}\nlibssl3:amd64, other: {file}\n"), "libssl3:amd64")
        with self.assertRaises(Failure):
            owner(file, f"libssl3:amd64: /usr{file}.1\n")

    def test_the_version_of_swift(self):
        self.assertEqual(swift_version("Swift version 6.3.1 (swift-6.3.1-RELEASE)\nTarget: x\n"), "6.3.1")
        with self.assertRaises(Failure):
            swift_version("clang version 17")

    def test_a_real_program(self):
        packages, direct = linked("/bin/bash")
        names = {package.name for package in packages}
        self.assertIn("libc6", names)
        self.assertTrue(direct <= packages.keys())

    def test_the_document(self):
        ssl = Package("libssl3", "3.0.1-1+deb12u1", "amd64", "openssl")
        zlib = Package("zlib1g", "1:1.2.13", "amd64", "zlib")
        packages = {zlib: ["/lib/libz.so.1"], ssl: ["/lib/libssl.so.3"]}
        sums = {"/lib/libz.so.1": "c" * 64, "/lib/libssl.so.3": "d" * 64}
        found = document(RELEASE, packages, {ssl}, "b" * 64, "6.3.1", sums)
        self.assertEqual(json.dumps(found), json.dumps(document(
            RELEASE, dict(reversed(packages.items())), {ssl}, "b" * 64, "6.3.1", sums)))
        self.assertEqual(found["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        kinds = {(each["relatedSpdxElement"], each["relationshipType"]) for each in found["relationships"]}
        self.assertEqual(kinds, {
            ("SPDXRef-countersign", "DESCRIBES"), ("SPDXRef-swift-runtime", "STATIC_LINK"),
            ("SPDXRef-deb-libssl3", "DYNAMIC_LINK"), ("SPDXRef-deb-zlib1g", "DEPENDS_ON")})
        identifiers = [each["SPDXID"] for each in found["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for each in found["packages"]:
            self.assertRegex(each["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
        locators = [each["externalRefs"][0]["referenceLocator"] for each in found["packages"][2:]]
        self.assertEqual(locators[0], "pkg:deb/debian/libssl3@3.0.1-1%2Bdeb12u1?arch=amd64")


if __name__ == "__main__":
    unittest.main()
