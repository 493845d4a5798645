"""The benchmarks of the doors: how many callers can wait, what waiting costs, and Cleeng's rule for polling."""
import asyncio
import http.client
import json
import pathlib
import statistics
import tempfile
import time

from development.benchmarks import UNLIMITED
from development.measured import Measured, median_of, output
from development.table import Row
from fleet import Failure

# Transactions of active subscriptions, which the simulator knows.
FIRST = 10_050_000_000_000
WAITING = 10_000


def mint(measured, kind, first, count, folder):
    """Lets the simulator mint what apps would hold, one file for each transaction."""
    output(["curl", "--silent", "--show-error", "--fail", "--http2", "--noproxy", "*", "--parallel", "--cacert",
            measured.configuration.tls_authority,
            f"https://{measured.configuration.listen['simulator']}/simulator/{kind}/[{first}-{first + count - 1}]",
            "--output", f"{folder}/#1"])
    return [(folder / str(number)).read_text().strip() for number in range(first, first + count)]


def validation(measured, transaction, jws):
    """A validation as iaptic's Swift client sends it."""
    values = measured.configuration.client("")
    body = json.dumps({
        "id": "com.example.app", "type": "application", "additionalData": {"applicationUsername": f"u{transaction}"},
        "transaction": {"type": "apple-sk2", "id": "com.example.app.monthly", "jwsRepresentation": jws}})
    path = f"/v1/validate?appName={values['IAPTIC_APP_NAME']}&apiKey={values['IAPTIC_API_KEY']}"
    return path, body


async def ask(address, path, body, headers=""):
    """Sends one POST of text or bytes on a connection of its own, and returns the answer's status and body."""
    body = body if isinstance(body, bytes) else body.encode()
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write((f"POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}"
                      f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode() + body)
        head, _, rest = (await reader.read()).partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), rest
    finally:
        writer.close()


async def wait_together(measured, gateway, requests):
    """Lets all requests wait at once without a worker, then starts one; returns the memory that each took."""
    before = measured.resident_now(gateway)
    tasks = [asyncio.create_task(ask(measured.configuration.listen["gateway"], *request)) for request in requests]
    for _ in range(600):
        await asyncio.sleep(0.1)
        waiting = await asyncio.to_thread(measured.metric, "gateway", "countersign_door_requests_waiting")
        if waiting >= len(requests):
            break
    else:
        raise Failure(f"only {waiting:.0f} of {len(requests)} requests wait")
    memory = measured.resident_now(gateway) - before
    await asyncio.to_thread(measured.start, "worker 1", UNLIMITED)
    answers = await asyncio.gather(*tasks)
    bad = [answer for answer in answers if answer[0] != 200 or b'"ok":true' not in answer[1]]
    if bad:
        raise Failure(f"{len(bad)} of {len(answers)} waiting requests were answered with {bad[0]}")
    return memory


def sequential(measured, requests, headers):
    """The times of requests one after the other on one connection, in milliseconds."""
    link = http.client.HTTPConnection(measured.configuration.listen["gateway"], timeout=60)
    times = []
    for path, body in requests:
        start = time.monotonic()
        link.request("POST", path, body, {"Content-Type": "application/json"} | headers)
        answer = link.getresponse()
        content = answer.read()
        times.append((time.monotonic() - start) * 1000)
        if answer.status not in (200, 202):
            raise Failure(f"{path} was answered with {answer.status}: {content[:300]}")
    return times[len(times) // 10:]


def doors(options):
    """Callers that wait in one gateway, and what a door's waiting adds to a registration and its event."""
    with Measured(has_doors=True) as measured, tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        measured.simulator(0)
        limits = {"COUNTERSIGN_GATEWAY_MAX_CONNECTIONS": str(WAITING * 3),
                  "COUNTERSIGN_GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": str(WAITING * 3),
                  "COUNTERSIGN_GATEWAY_DOORS_MAX_WAITING": str(WAITING * 3 // 2),
                  "COUNTERSIGN_GATEWAY_DOORS_IAPTIC_WAIT_SECONDS": "60"}
        gateway = measured.start("gateway", limits)
        print(f"doors: {WAITING:,} callers wait in one gateway, then answers one after the other", flush=True)
        tokens = mint(measured, "jws", FIRST, WAITING, folder)
        memory = asyncio.run(wait_together(
            measured, gateway, [validation(measured, FIRST + number, jws) for number, jws in enumerate(tokens)]))
        added, doors_, registrations, events = [], [], [], []
        for run in range(options.runs):
            first = FIRST + WAITING + run * 300
            tokens = mint(measured, "jws", first, 300, folder)
            door = statistics.median(sequential(
                measured, [validation(measured, first + number, jws) for number, jws in enumerate(tokens)], {}))
            numbers = measured.numbers(300)
            registration = statistics.median(sequential(
                measured,
                [("/storekit2/purchases",
                  json.dumps({"cleengCustomerId": 1 + number, "transactionId": str(10_060_000_000_000 + number)}))
                 for number in range(numbers, numbers + 300)],
                {"X-Publisher-Token": measured.configuration.publisher_token}))
            event = measured.benchmark(
                "latency", "--count", 300, "--from", measured.numbers(320), *measured.gateway_arguments())["p50"]
            for values, value in zip((added, doors_, registrations, events),
                                     (door - registration - event, door, registration, event)):
                values.append(value)
            print(f"{run + 1:3}   door {door:.2f} ms   202 {registration:.2f} ms and event {event:.2f} ms   "
                  f"added {door - registration - event:.2f} ms", flush=True)
    [middle] = median_of([[value] for value in added])
    return [Row(f"memory for {WAITING:,} waiting callers", f"{memory:.0f} MiB", goal="100 MiB", holds=memory < 100),
            Row("what waiting adds, p50", f"{middle:.2f} ms", goal="5 ms", holds=middle < 5)]


async def pay(measured, number, receipt, start, polls):
    """One payment at its time, and the polls of its app: every 5 s, for at most 60 s."""
    address, token = measured.configuration.listen["gateway"], measured.configuration.publisher_token
    await asyncio.sleep(max(0, start - time.monotonic()))
    transaction, email = FIRST + 1_000_000 + number, f"p{number}@example.com"
    body = json.dumps({"customerEmail": email, "offerId": "S123123123_US",
                       "receipt": {"transactionId": str(transaction), "receiptData": receipt}})
    status, answer = await ask(address, "/apple/payment", body, f"X-Publisher-Token: {token}\r\n")
    if status != 200:
        raise Failure(f"a payment was answered with {status}: {answer[:300]}")
    paid = time.monotonic()
    for _ in range(12):
        await asyncio.sleep(5)
        answer = await asyncio.to_thread(
            measured_get, address, f"/3.1/entitlements/customer_id/{email}/offer_id/S123123123_US", token)
        if answer.get("accessGranted"):
            break
    polls.append(time.monotonic() - paid if answer.get("accessGranted") else float("inf"))


def measured_get(address, path, token):
    link = http.client.HTTPConnection(address, timeout=30)
    try:
        link.request("GET", path, headers={"X-Publisher-Token": token})
        return json.loads(link.getresponse().read())
    finally:
        link.close()


def payments(options):
    """Cleeng's rule: poll every 5 s, give up after 60 s; 50 payments a second."""
    seconds = options.seconds
    count = 50 * seconds
    with Measured(has_doors=True) as measured, tempfile.TemporaryDirectory() as folder:
        measured.simulator(0.2)
        measured.start("gateway")
        measured.start("worker 1", UNLIMITED)
        print(f"payments: 50 a second for {seconds} s, Apple at 200 ms", flush=True)
        receipts = mint(measured, "receipt", FIRST + 1_000_000, count, pathlib.Path(folder))
        polls = []

        async def all_payments():
            start = time.monotonic() + 1
            await asyncio.gather(*(
                pay(measured, number, receipt, start + number / 50, polls) for number, receipt in enumerate(receipts)))

        asyncio.run(all_payments())
    # A poll takes some milliseconds, so the first one ends a little after 5 s.
    share = sum(wait < 9 for wait in polls) / count
    return [Row("payments with access at the first poll", f"{share * 100:.2f} %", goal="99 %", holds=share >= 0.99),
            Row("the slowest payment", f"{max(polls):.1f} s", goal="60 s", holds=max(polls) < 60)]
