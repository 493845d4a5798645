"""Tests of the scripts of ops: all that they do besides starting a fleet. ops/test runs them; they need no server."""
import contextlib
import http.server
import io
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "ops"))

from development.commands import output  # noqa: E402
from fleet import Failure  # noqa: E402
from fleet.processes import Processes, Server, server_pid  # noqa: E402
from fleet.requests import exchange  # noqa: E402
from fleet.system import choose_addresses, free_ports, split_address  # noqa: E402


class Help(unittest.TestCase):
    """--help prints help, and neither installs nor builds."""

    def test_every_script(self):
        for name in ("run", "test", "bench", "chaos", "fuzz", "image", "install", "release", "servers", "receiver"):
            with self.subTest(name), tempfile.TemporaryDirectory() as scratch:
                folder, marker = pathlib.Path(scratch), pathlib.Path(scratch) / "called"
                for tool in ("swift", "dpkg-query", "apt-get"):
                    (folder / tool).write_text(f"#!/bin/sh\necho $0 >> {marker}\nexit 1\n")
                    (folder / tool).chmod(0o755)
                run = subprocess.run(
                    [ROOT / "ops" / name, "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                    env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"})
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertGreater(len(run.stdout.splitlines()), 1)
                self.assertFalse(marker.exists(), "it looked for packages or built")


class Addresses(unittest.TestCase):
    """The address of the gateway, and the message when its port is taken."""

    def setUp(self):
        self.other = socket.socket()
        self.addCleanup(self.other.close)
        self.other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.other.bind(("127.0.0.1", 0))
        self.other.listen()
        self.taken = f"127.0.0.1:{self.other.getsockname()[1]}"

    def test_a_chosen_port_that_is_taken(self):
        for may_move in (True, False):
            with self.assertRaises(Failure) as caught:
                choose_addresses({"COUNTERSIGN_GATEWAY_LISTEN": self.taken}, may_move)
            self.assertIn(f"port {self.taken.split(':')[1]} on 127.0.0.1 is taken", str(caught.exception))
            self.assertIn("set COUNTERSIGN_GATEWAY_LISTEN, for example to 127.0.0.1:", str(caught.exception))

    def test_a_chosen_port(self):
        chosen = f"127.0.0.1:{free_ports(1)[0]}"
        listen = choose_addresses({"COUNTERSIGN_GATEWAY_LISTEN": chosen}, False)
        self.assertEqual(listen["gateway"], chosen)
        self.assertEqual(len(set(listen.values())), 7)

    def test_the_usual_port_that_is_taken(self):
        with contextlib.ExitStack() as stack:
            usual = stack.enter_context(socket.socket())
            # Connections that have just ended would otherwise keep the port from us, and not from the others.
            usual.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):  # or another program has it
                usual.bind(("127.0.0.1", 8080))
                usual.listen()
            with self.assertRaises(Failure) as caught:
                choose_addresses({}, False)
            self.assertIn("port 8080 on 127.0.0.1 is taken", str(caught.exception))
            with contextlib.redirect_stdout(io.StringIO()) as told:
                listen = choose_addresses({}, True)
            self.assertNotEqual(listen["gateway"], "127.0.0.1:8080")
            port = listen["gateway"].split(":")[1]
            self.assertIn(f"Port 8080 is taken, so the gateway listens on {port}.", told.getvalue())

    def test_what_is_no_address(self):
        for text in ("8081", "localhost:8081", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", ":8081", "127.0.0.1:x"):
            with self.subTest(text), self.assertRaises(Failure):
                split_address(text)
        self.assertEqual(split_address("[::1]:8081"), ("[::1]", 8081))


class Servers(unittest.TestCase):
    """A server of ops/servers: its process, and the single report of its end."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        # RabbitMQ starts like this: a shell starts Erlang's virtual machine and waits for it.
        (self.folder / "beam.smp").symlink_to(shutil.which("cat"))
        self.shell = subprocess.Popen(
            ["bash", "-c", f"{self.folder}/beam.smp 0<&3 & echo $! && wait"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True,
            preexec_fn=lambda: os.dup2(0, 3), close_fds=False)
        self.machine = int(self.shell.stdout.readline())
        # The child is a copy of the shell until it has its own name.
        while pathlib.Path(f"/proc/{self.machine}/comm").read_text().strip() != "beam.smp":
            os.sched_yield()
        (self.folder / "rabbitmq.pid").write_text(str(self.shell.pid))
        (self.folder / "rabbitmq.log").write_text("one\nthe last line\n")

    def tearDown(self):
        self.shell.stdin.close()
        self.shell.stdout.close()
        self.shell.wait()

    def test_the_process_itself_is_named(self):
        self.assertEqual(server_pid(self.shell.pid), self.machine)
        self.assertEqual(Server("rabbitmq", self.folder).pid, self.machine)
        self.assertEqual(server_pid(os.getpid()), os.getpid())

    def test_an_end_is_told_once(self):
        processes = Processes(self.folder)
        processes.servers = [Server("rabbitmq", self.folder)]
        self.assertEqual(list(processes.deaths()), [])
        self.shell.stdin.close()
        self.shell.wait()
        told = list(processes.deaths())
        self.assertEqual(len(told), 1)
        self.assertIn(f"rabbitmq (pid {self.machine}) has ended", told[0])
        self.assertIn("the last line", told[0])
        self.assertEqual(list(processes.deaths()), [])


class Answers(http.server.BaseHTTPRequestHandler):
    """Repeats a request's body. /broken gets something else than HTTP."""

    def do_POST(self):
        if self.path == "/broken":
            self.wfile.write(b"no HTTP\r\n\r\n")
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(303)
        self.send_header("Set-Cookie", self.headers["X-Wanted"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Requests(unittest.TestCase):
    """A request to a process of a running system, and what takes the place of an answer."""

    def setUp(self):
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
        self.address = f"127.0.0.1:{self.server.server_port}"
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        for last in (self.server.server_close, thread.join, self.server.shutdown):
            self.addCleanup(last)

    def test_an_answer(self):
        status, text, headers = exchange(self.address, "POST", "/", "a \xe9", {"X-Wanted": "session=1"})
        # A text goes out as Latin-1, as Python's library does it; what is no UTF-8 does not end the script.
        self.assertEqual((status, text, headers["set-cookie"]), (303, "a \ufffd", "session=1"))

    def test_an_answer_that_is_no_HTTP(self):
        status, text, headers = exchange(self.address, "POST", "/broken", "")
        self.assertEqual((status, headers), (0, {}))
        self.assertIn("no HTTP", text)

    def test_nobody_answers(self):
        status, text, headers = exchange(f"127.0.0.1:{free_ports(1)[0]}", "GET", "/")
        self.assertEqual((status, headers), (0, {}))
        self.assertIn("refused", text)


class Commands(unittest.TestCase):
    """The output of a program, and what a failure tells."""

    def test_the_standard_output(self):
        code = "import os, sys; print(os.getcwd()); print('a warning', file=sys.stderr)"
        self.assertEqual(output([sys.executable, "-c", code], {}, folder=ROOT, seconds=10), f"{ROOT}\n")

    def test_a_program_that_fails_is_named_with_what_it_said(self):
        command = [sys.executable, "-c", "print('Unsupported enum'); raise SystemExit(3)"]
        for failure, end in ((None, ""), ("it cannot generate a client", "\nit cannot generate a client")):
            with self.assertRaises(Failure) as caught:
                output(command, {}, failure=failure, seconds=10)
            self.assertEqual(
                str(caught.exception), f"Unsupported enum\n\n{' '.join(command)} ended with status 3{end}")

    def test_a_program_that_does_not_end(self):
        with self.assertRaisesRegex(Failure, "did not end within 0.1 seconds\nit hangs"):
            output(["sleep", "30"], os.environ, failure="it hangs", seconds=0.1)


if __name__ == "__main__":
    unittest.main()
