"""The bill of materials of an executable, as SPDX 2.3: the packages that it is really linked with."""
import dataclasses
import datetime
import hashlib
import pathlib
import re
import subprocess
import urllib.parse

from fleet import Failure

LICENSE = "Apache-2.0"
SWIFT_LICENSE = "Apache-2.0 WITH Swift-exception"


@dataclasses.dataclass(frozen=True)
class Package:
    """A package of Debian."""
    name: str
    version: str
    architecture: str
    source: str


def output(*command):
    run = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode != 0:
        raise Failure(f"{' '.join(str(word) for word in command)} failed:\n{run.stdout}{run.stderr}")
    return run.stdout


def libraries(ldd):
    """The files of the libraries that the loader maps, by the output of ldd."""
    if missing := re.findall(r"^\s*(\S+) => not found", ldd, re.MULTILINE):
        raise Failure(f"the loader does not find {', '.join(missing)}")
    return sorted(set(re.findall(r"(/\S+) \(0x", ldd)))


def needed(readelf):
    """The libraries that the executable itself names, by the output of readelf --dynamic."""
    return sorted(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", readelf))


def owner(file, search):
    """The package that has a file, by what dpkg-query --search prints for it.

    A folder such as /lib is a link into /usr, and the package may name either path.
    """
    for line in search.splitlines():
        names, _, path = line.partition(": ")
        if path in (file, f"/usr{file}") and not names.startswith("diversion"):
            return names.split(",")[0]
    raise Failure(f"no package of Debian has {file}, so the list of packages would not be whole")


def package_of(file):
    # It fails as soon as one of the paths is unknown, which one of them always is.
    search = subprocess.run(["dpkg-query", "--search", file, f"/usr{file}"], capture_output=True, text=True).stdout
    fields = output("dpkg-query", "--show", "--showformat",
                    "${Package}\t${Version}\t${Architecture}\t${source:Package}", owner(file, search))
    return Package(*fields.split("\t"))


def linked(executable):
    """The packages of an executable, each with its files, and those that it names itself."""
    found, direct = {}, set()
    names = needed(output("readelf", "--dynamic", "--wide", executable))
    for file in libraries(output("ldd", executable)):
        package = package_of(file)
        found.setdefault(package, []).append(file)
        if pathlib.Path(file).name in names:
            direct.add(package)
    return found, direct


def swift_version(text):
    """The version of the toolchain, by what swiftc --version prints."""
    found = re.search(r"Swift version (\S+)", text)
    if not found:
        raise Failure(f"swiftc does not tell its version: {text}")
    return found[1]


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def document(release, packages, direct, checksum, swift, checksums):
    """The document.

    release: name, version, commit and time of the release
    packages: each package of Debian with its files
    direct: those that the executable names itself; the others are named by these
    checksum: SHA-256 of the executable
    swift: the version of the toolchain, whose libraries are part of the executable
    checksums: SHA-256 of each file of the packages
    """
    created = datetime.datetime.fromtimestamp(release.time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    own = identifier("countersign")
    runtime = identifier("swift-runtime")
    described = [{
        "SPDXID": own, "name": "countersign", "versionInfo": release.version, "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": LICENSE,
        "licenseDeclared": LICENSE, "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
        "sourceInfo": f"commit {release.commit}",
        "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}],
    }, {
        "SPDXID": runtime, "name": "swift-runtime", "versionInfo": swift, "supplier": "Organization: swift.org",
        "downloadLocation": "https://www.swift.org/install/linux/", "filesAnalyzed": False,
        "licenseConcluded": SWIFT_LICENSE, "licenseDeclared": SWIFT_LICENSE, "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY",
        "comment": "The standard library, Concurrency, Dispatch and FoundationEssentials are part of the executable.",
        "externalRefs": [{"referenceCategory": "SECURITY", "referenceType": "cpe23Type",
                          "referenceLocator": f"cpe:2.3:a:apple:swift:{swift}:*:*:*:*:*:*:*"}],
    }]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own), (own, "STATIC_LINK", runtime)]
    for package in sorted(packages, key=lambda each: each.name):
        reference = identifier(f"deb-{package.name}")
        version = urllib.parse.quote(package.version, safe=":~")
        purl = f"pkg:deb/debian/{package.name}@{version}?arch={package.architecture}"
        files = "; ".join(f"{file} SHA-256 {checksums[file]}" for file in sorted(packages[package]))
        described.append({
            "SPDXID": reference, "name": package.name, "versionInfo": package.version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "primaryPackagePurpose": "LIBRARY", "sourceInfo": f"source package {package.source}",
            "comment": f"Linked: {files}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl}]})
        relations.append((own, "DYNAMIC_LINK" if package in direct else "DEPENDS_ON", reference))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": release.name,
        "documentNamespace": f"urn:sha256:{checksum}:{release.name}",
        "creationInfo": {"created": created, "creators": ["Tool: countersign-ops-release"]},
        "packages": described,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations]}
