"""ops/release: a tarball that is the same bytes each time, with its bill of materials, checksums and signature."""
import argparse
import dataclasses
import gzip
import io
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time

from development.bill import document, linked, output, sha256, swift_version
from fleet import ROOT, Failure, shown

FOLDER = ROOT / ".countersign" / "release"
DOCKERFILE = ROOT / "ops" / "Dockerfile"
# The name of a variable that the tests of fleets know nothing of; roles do not read it.
KEY = "COUNTERSIGN_RELEASE_KEY"
# What of the sources goes along, with its place in the tarball. The tarball is unpacked into /usr/local.
COPIED = {
    "ops/systemd/countersign@.service": "lib/systemd/system/countersign@.service",
    "LICENSE": "share/doc/countersign/LICENSE",
    "CHANGELOG.md": "share/doc/countersign/CHANGELOG.md",
}
# Of these folders, all files but those in some.
FOLDERS = {"ops/config": "share/doc/countersign/examples", "ops/prometheus": "share/doc/countersign/prometheus"}
LEFT_OUT = {"compose", "tests", "__pycache__"}
MADE = {
    "manual": ("share/man/man1/countersign.1", ["manual"]),
    "completion": ("share/bash-completion/completions/countersign", ["completion", "bash"]),
}


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    commit: str
    # When the commit was made: the time of all files.
    time: int
    machine: str = platform.machine()

    @property
    def name(self):
        return f"countersign-{self.version}-linux-{self.machine}"


def check_version(version, root=ROOT):
    """The version stands in the executable, in the chart and, with its date, in the list of changes."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Failure(f"a version is three numbers, such as 0.1.0, and not {version}")
    places = {
        "Sources/Countersign/BuildVersion.swift": rf'static let number = "{re.escape(version)}"',
        "ops/kubernetes/countersign/Chart.yaml": rf'(?m)^appVersion: "?{re.escape(version)}"?$',
        # Its day, which is the tag's.
        "CHANGELOG.md": rf"(?m)^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$",
    }
    wrong = [path for path, pattern in places.items() if not re.search(pattern, (root / path).read_text())]
    if wrong:
        raise Failure(f"{version} is not the version in {', '.join(wrong)}")


def checked_out(version):
    """The release of the commit that is checked out."""
    if output("git", "-C", ROOT, "status", "--porcelain"):
        raise Failure("the checkout has changes, and a release is made of a commit; git status shows them")
    commit, moment = output("git", "-C", ROOT, "log", "-1", "--format=%H %ct").split()
    return Release(version, commit, int(moment))


def build_options(recipe):
    """The words behind `swift build` in the Dockerfile: image and release have the same executable."""
    found = re.search(r"swift build ((?:.*\\\n)*.*)", recipe)
    if not found:
        raise Failure(f"{shown(DOCKERFILE)} does not build with swift build")
    return shlex.split(found[1].replace("\\\n", " "))


def compile_at(place, release):
    """Builds the commit in a folder of its own; returns the executable."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", release.commit, "Package.swift", "Sources"], check=True, capture_output=True)
    subprocess.run(["tar", "--extract", "--directory", place], input=archive.stdout, check=True)
    print(f"Building {release.name} in {shown(place)} …", flush=True)
    began, log = time.monotonic(), place / "build.log"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COUNTERSIGN_")}
    environment |= {"COUNTERSIGN_COMMIT": release.commit, "SOURCE_DATE_EPOCH": str(release.time)}
    with open(log, "wb") as told:
        status = subprocess.run(
            ["swift", "build", *build_options(DOCKERFILE.read_text())], cwd=place, stdin=subprocess.DEVNULL,
            stdout=told, stderr=told, env=environment).returncode
    if status != 0:
        raise Failure(log.read_text(errors="replace")[-4000:] + f"\n\nswift build ended with status {status}")
    print(f"  built after {time.monotonic() - began:.0f} s", flush=True)
    return place / ".build" / "release" / "countersign"


def made_by(executable, words):
    return output(executable, *words).encode()


def contents(executable, bill):
    """The files of the tarball: their paths, whether they can be executed, and their bytes."""
    files = {"bin/countersign": (True, executable.read_bytes())}
    for path, words in MADE.values():
        files[path] = (False, made_by(executable, words))
    for path, place in COPIED.items():
        files[place] = (False, (ROOT / path).read_bytes())
    for folder, place in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT / folder)
            if path.is_file() and not LEFT_OUT & set(name.parts):
                files[f"{place}/{name}"] = (False, path.read_bytes())
    files["share/doc/countersign/countersign.spdx.json"] = (False, bill)
    return files


def packed(release, files):
    """The tarball: its bytes depend on the files, and on nothing else."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        # Without entries for folders: those of /usr/local stay as they are when it is unpacked there.
        for path in sorted(files):
            is_program, data = files[path]
            entry = tarfile.TarInfo(f"{release.name}/{path}")
            entry.mtime = release.time
            entry.uname = entry.gname = "root"
            entry.mode, entry.size = 0o755 if is_program else 0o644, len(data)
            tar.addfile(entry, io.BytesIO(data))
    # Without a name and a time in its head.
    return gzip.compress(plain.getvalue(), compresslevel=9, mtime=0)


def made(release, executable):
    """The files of a release, by name."""
    packages, direct = linked(executable)
    checksums = {file: sha256(file) for found in packages.values() for file in found}
    swift = swift_version(output("swiftc", "--version"))
    bill = json.dumps(
        document(release, packages, direct, sha256(executable), swift, checksums), indent=2).encode() + b"\n"
    return {f"{release.name}.tar.gz": packed(release, contents(executable, bill)),
            f"{release.name}.spdx.json": bill}


def write(release, files, key):
    """Writes the files with their checksums; returns the folder."""
    folder = FOLDER / release.version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    sums = folder / "SHA256SUMS"
    sums.write_text("".join(f"{sha256(folder / name)}  {name}\n" for name in sorted(files)))
    if key:
        sign(release, sums, key)
    return folder


def sign(release, sums, key):
    """Signs with a key of the operator's. It asks at the terminal for the password of a key that has one."""
    if not shutil.which("minisign"):
        raise Failure("minisign signs the checksums, and is not installed; Debian has it as the package minisign")
    if not pathlib.Path(key).is_file():
        raise Failure(f"{key} does not exist; minisign -G -p minisign.pub -s minisign.key makes a key")
    # Its usual comment has the time of the signature.
    run = subprocess.run(
        ["minisign", "-S", "-s", key, "-m", sums, "-t", f"countersign {release.version} {release.commit}"])
    if run.returncode != 0:
        raise Failure(f"minisign could not sign with {key}")


def differences(one, other):
    """Which of two builds' files differ."""
    return [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]


def release_it(options):
    check_version(options.version)
    release = checked_out(options.version)
    executable = compile_at(FOLDER / "build", release)
    if options.executable:
        same = sha256(executable) == sha256(options.executable)
        print(f"  {options.executable} is {'the same' if same else 'another'} executable", flush=True)
        if not same:
            raise Failure(f"{shown(executable)} differs from {options.executable}")
    files = made(release, executable)
    if options.twice:
        # In the same folder: the length of its path is in the executable.
        again = made(release, compile_at(FOLDER / "build", release))
        if different := differences(files, again):
            raise Failure(f"a second build made other bytes: {', '.join(different)}")
        print("  a second build made the same bytes", flush=True)
    folder = write(release, files, options.key)
    print((folder / "SHA256SUMS").read_text(), end="")
    print(f"{shown(folder)} is the release of {release.commit}"
          + ("." if options.key else ", not signed: --key names a key of minisign."), flush=True)


def main():
    if sys.argv[1:] == ["remove"]:
        shutil.rmtree(FOLDER, ignore_errors=True)
        return 0
    parser = argparse.ArgumentParser(prog="ops/release", description="Makes the files of a release.")
    parser.add_argument("version")
    parser.add_argument("--key", default=os.environ.get(KEY), help=f"a secret key of minisign; or {KEY}")
    parser.add_argument("--twice", action="store_true", help="build a second time, and compare the bytes")
    parser.add_argument("--executable", type=pathlib.Path, help="an executable that must be the same")
    try:
        release_it(parser.parse_args())
    except Failure as failure:
        print(f"\nops/release: {failure}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
