"""An HTTP server of a trial: an endpoint whose answer the trial chooses, and that keeps what it got."""
import contextlib
import http.server
import threading


class Endpoint(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.received.append(body)
        text = self.server.body.encode()
        self.send_response(self.server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def endpoint(status, body="", port=0):
    """Answers every request with a status; its `url` leads to it, and `received` has the bodies."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Endpoint)
    server.status, server.body, server.received = status, body, []
    server.url = f"http://127.0.0.1:{server.server_port}/"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
