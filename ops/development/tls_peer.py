"""A TLS server in front of another server, for tests: it chooses its certificate by the name that a client sends (SNI),
and speaks only one version of TLS if it is told so.

    python3 -m development.tls_peer --to 127.0.0.1:5672 --pem default.pem --named localhost=localhost.pem
    {"port": 41321}
    {"name": "localhost", "version": "TLSv1.3"}

Its output is its port, and then one line for each handshake that has succeeded. A PEM file has a key and a certificate.
With --to-ca, the other server speaks TLS, too.
"""
import argparse
import json
import select
import socket
import ssl
import threading
import warnings


def tell(**members):
    print(json.dumps(members), flush=True)


class Peer:
    def __init__(self, options):
        self.host, port = options.to.rsplit(":", 1)
        self.port = int(port)
        self.tls = ssl.create_default_context(cafile=options.to_ca) if options.to_ca else None
        self.context = self.server_context(options.pem, options.only)
        self.named = {}
        for name, _, pem in (word.partition("=") for word in options.named):
            self.named[name] = self.server_context(pem, options.only)
        self.context.sni_callback = self.choose

    @staticmethod
    def server_context(pem, version):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        if version:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
            # OpenSSL 3 speaks TLS 1.1 only at this level.
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
        return context

    def choose(self, session, name, _):
        """Called in each handshake, with `None` if the client sends no name."""
        session.name = name
        session.context = self.named.get(name, self.context)

    def serve(self):
        listener = socket.create_server(("127.0.0.1", 0))
        tell(port=listener.getsockname()[1])
        while True:
            link, _ = listener.accept()
            threading.Thread(target=self.take, args=[link], daemon=True).start()

    def take(self, link):
        try:
            with self.context.wrap_socket(link, server_side=True) as near:
                tell(name=near.name, version=near.version())
                with socket.create_connection((self.host, self.port)) as plain:
                    pass_on(near, self.tls.wrap_socket(plain, server_hostname=self.host) if self.tls else plain)
        except OSError:
            pass  # a handshake that fails is what a test wants; wrap_socket has told the client why


def pass_on(near, far):
    """Passes bytes on until one side closes."""
    others = {near: far, far: near}
    while True:
        for side in select.select([near, far], [], [])[0]:
            while part := received(side):
                others[side].sendall(part)
            if part is None:
                return


def received(side):
    """What a side has sent: nothing if it is only a part of a TLS record, `None` if the side has closed."""
    side.settimeout(0)
    try:
        return side.recv(1 << 16) or None
    except (BlockingIOError, ssl.SSLWantReadError):
        return b""
    finally:
        side.settimeout(None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", required=True, help="HOST:PORT of the other server")
    parser.add_argument("--to-ca", help="the authorities of the other server")
    parser.add_argument("--pem", required=True, help="key and certificate for a client that sends no known name")
    parser.add_argument("--named", action="append", default=[], help="NAME=PEM for clients that send this name")
    parser.add_argument("--only", help="the only version, for example TLSv1_2")
    Peer(parser.parse_args()).serve()


if __name__ == "__main__":
    main()
