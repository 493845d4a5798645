"""A collector of traces for a fleet of ops/test, and the check of what it got."""
import http.server
import os
import subprocess
import threading

from development.packages import PrivatePython
from fleet import ROOT, Failure

FOLDER = ROOT / "ops" / "development" / "otlp"
PYTHON = PrivatePython("otlp-python", FOLDER / "requirements.txt", "reads traces with OpenTelemetry's messages")


class Collector:
    """Takes OTLP/HTTP on a free port, and keeps each body as a line. The roles that start meanwhile send it all."""

    def __init__(self, path):
        self.path = path
        path.unlink(missing_ok=True)
        lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    # A role sends its last spans for two seconds when it stops, and then breaks off. Part of a body is
                    # no document, and nobody waits for an answer.
                    self.close_connection = True
                    return
                good = self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
                if good:
                    with lock, path.open("ab") as file:
                        file.write(body.replace(b"\n", b" ") + b"\n")
                self.send_response(200 if good else 400)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        os.environ["COUNTERSIGN_TRACES_URL"] = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        os.environ["COUNTERSIGN_TRACES_RATIO"] = "1"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        for name in ("URL", "RATIO"):
            del os.environ[f"COUNTERSIGN_TRACES_{name}"]

    def check(self):
        """Fails if what came is no OTLP, or if a purchase's way is not whole in it."""
        print("Checking the traces of the examples with opentelemetry-proto …", flush=True)
        run = subprocess.run([PYTHON.python, "-B", FOLDER / "check.py", self.path], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(run.stdout, end="", flush=True)
        if run.returncode != 0:
            raise Failure(f"the traces in {self.path} are not what a collector expects")
