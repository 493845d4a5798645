"""The benchmark of an import: how fast it is while it is killed again and again, and a purchase beside it."""
import json
import signal
import threading
import time

from development.isolation_benchmark import Caller, Times
from development.measured import PRODUCTS, Measured, resident_mib
from development.table import Row
from fleet import Failure
from fleet.configuration import PUBLISHER

# How often the import is killed before it may end.
KILLS = 5
# The quiet customer's registrations before the import, one after the other.
QUIET = 200
# Active subscriptions of the simulator (docs/how-to/simulate.md): the first ones of the file and of the quiet customer.
FIRST = 100 * 10 ** 12 + 5 * 10 ** 9
QUIET_FIRST = 100 * 10 ** 12 + 9 * 10 ** 9
# The budget is scaled to the machine: at Apple's 50 calls a second, a million rows would take a day. With SHARE, this
# is 525 rows a second, and two cores that also run the servers can do 770.
SCALE = 35
SHARE = 0.3
# Jobs in bulk get a tenth of a worker's places, and each waits 50 ms for Apple.
PLACES = 2000
# As docs/operate/backup-and-sizes.md advises for millions of purchases.
POSTGRES = {"shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "15min"}


class Quiet:
    """Quiet customers of the same app: each registers one purchase, one after the other, until somebody stops it.

    One customer would have thousands of purchases in the end. Each commit reads all purchases of its customer.
    """

    def __init__(self, measured):
        self.caller = Caller(measured, measured.configuration.publisher_token, "quiet")
        self.used, self.times, self.stopped, self.failure = 0, [], threading.Event(), None

    def register(self, count):
        times = []
        for _ in range(count):
            self.used += 1
            self.caller.customer = f"quiet-{self.used}"
            times.append(self.caller.milliseconds_to_end(QUIET_FIRST + self.used))
        return Times(times)

    def since(self, count):
        """The times of the purchases after the first so many, while it goes on."""
        return Times(self.times[count:])

    def go_on(self):
        try:
            while not self.stopped.wait(0.05):
                self.times.append(self.register(1).part(0))
        except (Failure, OSError) as failure:
            self.failure = failure


def imports(options):
    """So many rows, with kills at equal steps; each purchase of the quiet customer counts until the import ends."""
    count = options.rows or 1_000_000
    with Measured() as measured:
        folder = measured.processes.folder
        measured.ledger.server.tune(POSTGRES)
        for verb in ("stop", "start"):
            measured.processes.tell_servers(verb, "postgres")
        settings = measured.configuration.settings()
        settings["appStore"] = settings.get("appStore", {}) | {"budgetScale": SCALE}
        measured.configuration.file.write_text(json.dumps(settings, indent=2) + "\n")
        measured.simulator(0.05)
        measured.start("gateway")
        measured.start("worker 1", {"COUNTERSIGN_WORKER_CONCURRENCY": str(PLACES)})
        quiet = Quiet(measured)
        alone = quiet.register(QUIET)
        print(f"import: a quiet customer alone: {alone}; writing {count:,} rows …", flush=True)
        file, report = folder / "rows.csv", folder / "report.jsonl"
        with file.open("w") as rows:
            rows.write("customer_id,transaction_id\n")
            rows.writelines(f"import-{number},{FIRST + number}\n" for number in range(count))
        command = [PRODUCTS / "countersign", "import", "--config", measured.configuration.file,
                   "--publisher", PUBLISHER, "--from", "plain", file, "--share", SHARE, "--report", report]
        thread = threading.Thread(target=quiet.go_on, daemon=True)
        thread.start()
        begun = time.monotonic()
        memory = told = 0
        for kill in range(1, KILLS + 2):
            process = measured.processes.start(f"import {kill}", command).popen
            aim = count * kill // (KILLS + 1)
            while process.poll() is None:
                memory = max(memory, resident_mib(process.pid, "VmRSS"))
                done = measured.metric("worker 1", "countersign_imported_rows_total")
                if kill <= KILLS and done >= aim:
                    process.kill()
                    process.wait()
                time.sleep(0.5)
            if kill <= KILLS and process.returncode != -signal.SIGKILL:
                raise Failure(f"run {kill} of the import ended by itself, with status {process.returncode}")
            print(f"  run {kill}: {'killed' if kill <= KILLS else 'ended'} at {done:,.0f} rows, "
                  f"{time.monotonic() - begun:.0f} s; a purchase beside it: {quiet.since(told)}", flush=True)
            told = len(quiet.times)
        seconds = time.monotonic() - begun
        quiet.stopped.set()
        thread.join()
        if quiet.failure:
            raise Failure(f"the quiet customer was not served: {quiet.failure}")
        if process.returncode != 0:
            raise Failure(f"the import ended with status {process.returncode}; its output is in {folder}")
        beside = Times(quiet.times)
        check(measured, report, count)
    factor = beside.part(0.99) / alone.part(0.99)
    return [
        Row(f"import of {count:,} rows, killed {KILLS} times", f"{count / seconds:,.0f}/s"),
        Row("  from the first run to the report", f"{seconds:,.0f} s"),
        Row("  memory of the command", f"{memory:.0f} MiB"),
        Row("  a purchase beside it, p50", f"{beside.part(0.5):.0f} ms", f"{alone.part(0.5):.0f} ms",
            beside.part(0.5) / alone.part(0.5)),
        Row("  a purchase beside it, p99", f"{beside.part(0.99):.0f} ms", f"{alone.part(0.99):.0f} ms", factor, "2.00",
            factor <= 2),
    ]


def check(measured, report, count):
    """Fails unless each row has one result with access, each purchase its customer, and nobody was told."""
    lines = access = 0
    with report.open() as file:
        for line in file:
            lines += 1
            access += json.loads(line)["accessGranted"]
    owned = int(measured.ledger.query("SELECT count(*) FROM purchases WHERE customer_id LIKE 'import-%'"))
    told = int(measured.ledger.query("SELECT count(*) FROM events WHERE customer_id LIKE 'import-%'"))
    if (lines, access, owned, told) != (count, count, count, 0):
        raise Failure(f"of {count:,} rows, the report has {lines:,}, {access:,} with access; {owned:,} purchases have "
                      f"their customers, and {told:,} events were told")
