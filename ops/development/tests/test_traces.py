"""The collector of traces keeps whole documents only."""
import os
import pathlib
import socket
import tempfile
import unittest
import urllib.request
from urllib.parse import urlsplit

from development.traces import Collector


class TracesTests(unittest.TestCase):
    def test_a_body_that_breaks_off_is_no_document(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "traces.jsonl"
            with Collector(path):
                url = os.environ["COUNTERSIGN_TRACES_URL"]
                with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)) as role:
                    role.sendall(b"POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\n"
                                 b"Content-Length: 100\r\n\r\n{\"resourceSpans\":")
                    role.shutdown(socket.SHUT_WR)
                    # It hangs up without an answer, and has decided by then.
                    self.assertEqual(role.recv(1), b"")
                whole = urllib.request.Request(url, b"{}", {"Content-Type": "application/json"})
                with urllib.request.urlopen(whole) as answer:
                    self.assertEqual(answer.status, 200)
            self.assertEqual(path.read_text(), "{}\n")


if __name__ == "__main__":
    unittest.main()
