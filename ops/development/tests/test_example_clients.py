"""The short examples, against a server whose answers are written down: what they repeat, and where they stop."""
import http.server
import json
import pathlib
import sys
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.example_clients import node_version, programs, purchase  # noqa: E402

REGISTER, STATUS = "POST /storekit2/purchases", "GET /status/1"
ENTITLEMENTS = "GET /customers/jo%20%2F/entitlements"
LOCATION = {"Location": "/status/1"}
BUSY = (503, {"Retry-After": "0"}, {"code": "S0503"})
LIMITED = (429, {"Retry-After": "0"}, {"code": "LIM0001"})
# The server closes the connection and says nothing.
SILENCE = None
RUNNING = (200, {"Retry-After": "0"}, {"status": "processing"})
FINALIZED = (200, {}, {"status": "finalized", "result": "PURCHASE_SYNCHRONIZED"})
ACCESS = (200, {}, {"entitlements": [
    {"offerId": "S1", "accessGranted": True}, {"offerId": "S2", "accessGranted": False}]})


class Server(http.server.ThreadingHTTPServer):
    """Answers each request with the next of its answers; keeps the requests."""
    daemon_threads = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests = answers, []
        threading.Thread(target=self.serve_forever, args=[0.01], daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        request = f"{self.command} {self.path}"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((request, self.headers, body))
        answer = self.server.answers[request].pop(0)
        self.close_connection = True
        if answer is SILENCE:
            return
        status, headers, value = answer
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class ExampleClientTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs, cls.skipped = programs(node_version())
        if cls.skipped:
            print(f"skipped: {cls.skipped}", file=sys.stderr)

    def play(self, program, answers):
        with Server({request: list(each) for request, each in answers.items()}) as server:
            try:
                client = {"API_URL": f"http://127.0.0.1:{server.server_port}", "PUBLISHER_TOKEN": "token"}
                return purchase(program, client, "jo /", "42"), server
            finally:
                server.shutdown()

    def each(self, answers, check):
        for program in self.programs:
            with self.subTest(program.name):
                check(*self.play(program, answers))

    def test_a_purchase(self):
        def check(run, server):
            self.assertEqual(run.stderr, "")
            self.assertEqual(run.stdout, "PURCHASE_SYNCHRONIZED\nS1 may be used\nS2 may not be used\n")
            self.assertEqual([request for request, _, _ in server.requests], [REGISTER, STATUS, STATUS, ENTITLEMENTS])
            self.assertEqual(json.loads(server.requests[0][2]), {"customerId": "jo /", "transactionId": "42"})
            self.assertEqual({headers["X-Publisher-Token"] for _, headers, _ in server.requests}, {"token"})
        self.each(
            {REGISTER: [(202, LOCATION, {})], STATUS: [RUNNING, FINALIZED], ENTITLEMENTS: [ACCESS]}, check)

    def test_the_same_registration_is_repeated_until_it_is_answered(self):
        def check(run, server):
            self.assertEqual(run.returncode, 0, run.stderr)
            registrations = [(headers["Correlation-Id"], body) for request, headers, body in server.requests
                             if request == REGISTER]
            self.assertEqual(len(registrations), 4)
            self.assertEqual(len(set(registrations)), 1)
            self.assertRegex(registrations[0][0], "^[0-9a-f-]{36}$")
        self.each({REGISTER: [BUSY, SILENCE, LIMITED, (202, LOCATION, {})], STATUS: [LIMITED, FINALIZED],
                   ENTITLEMENTS: [BUSY, ACCESS]}, check)

    def test_it_waits_for_a_registration_that_runs_already(self):
        def check(run, _):
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("PURCHASE_SYNCHRONIZED", run.stdout)
        conflict = (409, {"Retry-After": "1"}, {"code": "SK2C0101", "instance": "/status/1"})
        self.each({REGISTER: [conflict], STATUS: [FINALIZED], ENTITLEMENTS: [ACCESS]}, check)

    def test_a_refusal_ends_it_and_is_shown(self):
        def check(run, server):
            self.assertEqual(run.returncode, 1)
            self.assertIn("SK2C0100", run.stderr)
            self.assertEqual(len(server.requests), 1)
        self.each({REGISTER: [(422, {}, {"code": "SK2C0100", "message": "Unable to find customer"})]}, check)

    def test_node_is_needed_for_one_of_them_only(self):
        self.assertEqual([path.name for path in programs("v18.0.0\n")[0]], ["purchase.py", "purchase.mjs"])
        for version, reason in ((None, "is not installed"), ("v16.20.2\n", "is v16.20.2"), ("what", "is what")):
            found, skipped = programs(version)
            self.assertEqual([path.name for path in found], ["purchase.py"])
            self.assertIn(reason, skipped)

    def test_they_are_short(self):
        for path in programs("v20.0.0")[0]:
            self.assertLessEqual(len(path.read_text().splitlines()), 33, path)


if __name__ == "__main__":
    unittest.main()
