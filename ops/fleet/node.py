"""What a server of ops/servers is for the others: a name, an address, a port, and a folder with its data."""
import os
import pathlib
import shutil
import socket
import ssl

from fleet.certificates import wants_tls


class Node:
    """A server of RabbitMQ or Redis. `inside` begins each command that runs in the server's network."""

    def __init__(self, folder, name, address, port, tls_port, certificates, inside=lambda: []):
        self.folder, self.name, self.address, self.port, self.tls_port = folder, name, address, port, tls_port
        self.certificates, self.inside = certificates, inside
        self.data = folder / f"{name}-data"

    def answers(self):
        try:
            with self.connection() as link:
                return self.greets(link)
        except OSError:
            return False

    def connection(self):
        link = socket.create_connection((self.address, self.port), timeout=1)
        if not wants_tls():
            return link
        with link:
            context = ssl.create_default_context(cafile=self.certificates.path("ca.pem"))
            return context.wrap_socket(link, server_hostname=self.address)

    def group(self):
        """The group of processes that the server's file names; `None` when it does not run."""
        return group(self.folder, self.name)

    def wipe(self):
        shutil.rmtree(self.data, ignore_errors=True)


def group(folder, name):
    try:
        pid = int((folder / f"{name}.pid").read_text())
        # A pid of another program, or of a zombie, is not our server.
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        place = pathlib.Path(os.readlink(f"/proc/{pid}/cwd"))
        return pid if state != "Z" and (place == folder or folder in place.parents) else None
    except (OSError, ValueError):
        return None
