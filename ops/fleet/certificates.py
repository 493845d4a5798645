"""The certificates of private servers: an authority of their own, a server's and a client's certificate."""
import os
import shutil
import subprocess
import sys

# Names and addresses of all servers.
NAMES = ["DNS:localhost", "IP:127.0.0.1"]
# RabbitMQ logs a certificate in as the user of its common name.
CLIENT = "guest"

EXTENSIONS = """
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = {names}
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
"""


class Certificates:
    """The folder `tls`, made at the first use: each certificate NAME.pem has its key NAME.key beside it."""

    def __init__(self, folder, addresses=()):
        """addresses: more addresses of the servers"""
        self.folder = folder / "tls"
        self.names = NAMES + [f"IP:{address}" for address in addresses if address != "127.0.0.1"]

    def path(self, name):
        if not self.folder.exists():
            self.make()
        return str(self.folder / name)

    def make(self):
        # An interrupted call leaves no half of it.
        new = self.folder.with_name("tls.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        (new / "extensions").write_text(EXTENSIONS.format(names=", ".join(self.names)))
        self.issue(new, "ca", "Authority of private servers")
        self.issue(new, "server", "localhost", "-CA", "ca.pem", "-CAkey", "ca.key")
        self.issue(new, "client", CLIENT, "-CA", "ca.pem", "-CAkey", "ca.key")
        new.rename(self.folder)

    @staticmethod
    def issue(folder, name, common_name, *options):
        run = subprocess.run(
            ["openssl", "req", "-x509", "-config", "extensions", "-extensions", name, "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "3650",
             "-subj", f"/CN={common_name}", *options],
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"servers: openssl ended with status {run.returncode}: {run.stdout}{run.stderr}".rstrip())


def wants_tls():
    """Whether the usual ports of all servers speak TLS, and nothing else: `ops/test --tls`."""
    return os.environ.get("COUNTERSIGN_TEST_TLS") == "1"
