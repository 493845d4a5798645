"""A gateway that strangers fill."""
import socket
import subprocess
import threading
import time

from development.runbooks import trial

ADDRESSES = [f"127.0.0.{number}" for number in (2, 3, 4, 5)]
EACH = 1024


def half_heads(port, address, until):
    """Holds as many connections of one address as it may have, each with half a head."""
    links = []
    while not until.is_set():
        while len(links) < EACH:
            link = socket.socket()
            link.bind((address, 0))
            link.settimeout(5)
            try:
                link.connect(("127.0.0.1", port))
                link.sendall(b"GET / HTTP/1.1\r\nHost:")
            except OSError:
                pass
            links.append(link)
        # After ten seconds the gateway closes them.
        until.wait(8)
        for link in links:
            link.close()
        links = []


@trial
def gateway_full(stage):
    """somebody opens 4,096 connections from four addresses, and sends half a head on each"""
    port = int(stage.configuration.listen["gateway"].rpartition(":")[2])
    until = threading.Event()
    threads = [threading.Thread(target=half_heads, args=(port, address, until)) for address in ADDRESSES]
    for thread in threads:
        thread.start()
    try:
        stage.fires("GatewayFull")
        time.sleep(2)
        command = (f"ss -Htn state established sport = :{port} | awk '{{print $4}}' | sed 's/:[0-9]*$//' | sort "
                   "| uniq -c | sort -n | tail -4")
        run = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        stage.note(f"`ss`: `{'; '.join(' '.join(line.split()) for line in run.stdout.splitlines())}`")
        stage.metric('sum by (instance, cause) (increase(countersign_http_connections_cut_total{cause="places"}[5m]))',
                     lambda value: value > 0, "is above 0")
        status, text = stage.load.ask("GET", "/customers/load-0/entitlements")
        stage.note(f"a client from elsewhere gets {status}")
    finally:
        until.set()
        for thread in threads:
            thread.join()
    stage.metric("countersign_http_connections", lambda value: value < 400, "is below 400 again")
