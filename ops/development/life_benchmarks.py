"""The benchmarks of what happens after a registration: Apple's notifications, and timers."""
import json
import pathlib
import statistics
import tempfile
import time

from development.benchmarks import TURNS, UNLIMITED
from development.ledger import MADE
from development.measured import Measured, median_of, output
from development.table import Row
from fleet.configuration import PUBLISHER, SIMULATED_APP
from fleet.processes import wait_until

# The lives of the simulator whose notifications are posted, and how many are signed at a time.
FIRST_LIFE = 20_000_000_000_000
PART = 2000
SENDERS = 200

APPS = 20
STORED = 1_000_000
DUE = 50_000
# All of the due ones fall due within so many seconds.
WITHIN = 300
REGISTRATIONS = 100


def call(measured, method, path, *options):
    return output(["curl", "--silent", "--show-error", "--fail", "--http2", "--noproxy", "*", "--cacert",
                   measured.configuration.tls_authority, "--request", method, *options,
                   f"https://{measured.configuration.listen['simulator']}/simulator/{path}"])


def token(number):
    return f"00000000-0000-4000-8000-{number:012}"


def sign(measured, count, file, folder):
    """Lets the simulator sign the first notification of so many lives; each carries its customer's token."""
    lines = folder / "lives"
    for first in range(0, count, PART):
        part = range(first, min(first + PART, count))
        lines.write_text("\n".join(json.dumps({
            "originalTransactionId": str(FIRST_LIFE + number), "periodSeconds": 30 * 86_400, "quiet": True,
            "notify": [], "appAccountToken": token(number)}) for number in part))
        call(measured, "PUT", "lives", "--data-binary", f"@{lines}")
        ids = [FIRST_LIFE + number for number in part]
        call(measured, "GET", f"notification/[{ids[0]}-{ids[-1]}]?type=SUBSCRIBED&subtype=INITIAL_BUY", "--parallel",
             "--output", f"{folder}/#1")
        with open(file, "a") as signed:
            for number in ids:
                text = folder / str(number)
                signed.write(f"{number} {text.read_text().strip()}\n")
                text.unlink()


def note_rules(measured):
    """Lets a worker note the publishers' rules in an empty ledger. Else it would evaluate all customers meanwhile."""
    worker = measured.start("worker 1", {"COUNTERSIGN_WORKER_SWEEP_INTERVAL_SECONDS": "0.2"})
    wait_until("the rules are noted", lambda: int(measured.ledger.query(
        "SELECT count(*) FROM publisher_rules WHERE evaluated_through IS NULL")) == 10, 60, failed=worker.ended)
    measured.stop(worker)


def put_customers(measured, count):
    """The customers with the tokens, by SQL: a PUT of each is not what is measured."""
    measured.ledger.query(
        "INSERT INTO customers (publisher_id, id, is_registered, app_account_token)"
        f" SELECT {PUBLISHER}, 'customer-' || ({FIRST_LIFE} + n), true,"
        " ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid"
        f" FROM generate_series(0, {count - 1}) AS n;\nANALYZE;")


def open_ones(measured):
    return int(measured.ledger.query("SELECT count(*) FROM notifications WHERE applied_at IS NULL"))


def notifications(options):
    """Notifications a second taken in, next to the same statements alone; and the delay to their events."""
    count, delayed = options.jobs // TURNS * TURNS, options.jobs
    rows, delays = [], []
    with Measured() as measured, tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        file = folder / "signed"
        measured.simulator(0)
        measured.declare()
        print(f"notifications: {count:,} a run, {SENDERS} sent at a time, then {delayed:,} at half that load; "
              "signing …", flush=True)
        sign(measured, count + delayed, file, folder)

        def benchmark(name, first, size, *arguments):
            return measured.benchmark(name, "--file", file, "--from", first, "--count", size, "--connections", SENDERS,
                                      *measured.gateway_arguments(), *arguments)

        for run in range(1, options.runs + 1):
            measured.new_ledger()
            note_rules(measured)
            put_customers(measured, count + delayed)
            gateway = measured.start("gateway")
            seconds = dict.fromkeys(("floor", "waking floor", "gateway"), 0)
            part, processor, ledger, floor_processor, floor_ledger, commits = count // TURNS, 0, 0, 0, 0, 0
            for turn in range(TURNS):
                before = measured.ledger_seconds()
                result = benchmark("keep", turn * part, part)
                seconds["floor"] += result["seconds"]
                floor_processor += result["processorMicroseconds"] / TURNS
                floor_ledger += (measured.ledger_seconds() - before) / count * 1e6
                measured.ledger.query("TRUNCATE notifications;")
                seconds["waking floor"] += benchmark("keep", turn * part, part, "--wakes", 1)["seconds"]
                measured.ledger.query("TRUNCATE notifications;")
                before = measured.processor_seconds(gateway), measured.ledger_seconds()
                written = measured.ledger.written()
                seconds["gateway"] += benchmark("notify", turn * part, part)["seconds"]
                processor += (measured.processor_seconds(gateway) - before[0]) / count * 1e6
                ledger += (measured.ledger_seconds() - before[1]) / count * 1e6
                commits += measured.ledger.written_since(written, count)["commits"]
            floor, waking, rate = (count / seconds[name] for name in ("floor", "waking floor", "gateway"))
            worker = measured.start("worker 1", UNLIMITED)
            wait_until("all notifications are applied", lambda: open_ones(measured) == 0, 300, failed=worker.ended,
                       every=1)
            before = measured.processor_seconds(worker)
            half = benchmark("tell", count, delayed, "--rate", rate / 2)
            applied = (measured.processor_seconds(worker) - before) / delayed * 1e6
            print(f"{run:3}   floor {floor:,.0f}/s, CPU {floor_processor:.0f} µs, PostgreSQL's {floor_ledger:.0f}; "
                  f"with messages {waking:,.0f}/s   gateway {rate:,.0f}/s, CPU {processor:.0f} µs, PostgreSQL's "
                  f"{ledger:.0f}, {commits:.3f} commits each", flush=True)
            print(f"      at {rate / 2:,.0f}/s: answer p99 {half['p99']:.1f} ms, event p50 {half['event.p50']:.1f} ms, "
                  f"p99 {half['event.p99']:.1f} ms, worker's CPU {applied:.0f} µs each", flush=True)
            rows.append((rate / floor, rate, floor, rate / waking, waking, processor))
            delays.append((half["event.p50"], half["event.p99"], half["p99"]))
            measured.stop(gateway)
            measured.stop(worker)
            measured.benchmark("delete")
            measured.declare()
    ratio, rate, floor, waking_ratio, waking, processor = median_of(rows)
    p50, p99, answer = median_of(delays)
    return [
        Row("notifications taken in", f"{rate:,.0f}/s", f"{floor:,.0f}/s", ratio, "0.50", ratio >= 0.5),
        Row("  beside the floor with its messages", f"{rate:,.0f}/s", f"{waking:,.0f}/s", waking_ratio),
        Row("  gateway, CPU each", f"{processor:.0f} µs"),
        Row("notification to event at half that load, p50", f"{p50:.1f} ms"),
        Row("notification to event at half that load, p99", f"{p99:.1f} ms", goal="100 ms", holds=p99 < 100),
        Row("  answer meanwhile, p99", f"{answer:.1f} ms"),
    ]


def bundle(number):
    """The first app is the one whose purchases are registered."""
    return SIMULATED_APP["bundleId"] if number == 0 else f"com.example.app{number}"


def write_apps(measured):
    """Gives the publisher twenty apps, which share a key as the apps of one team do."""
    publisher = json.loads((measured.configuration.folder / "publishers" / "example.json").read_text())
    app, offers = publisher["apps"][0], publisher["offers"]
    publisher["apps"] = [app | {"bundleId": bundle(number), "appAppleId": app["appAppleId"] + number}
                         for number in range(APPS)]
    publisher["offers"] = offers + [
        {"offerId": f"S{number}", "productIds": [f"{bundle(number)}.monthly"]} for number in range(1, APPS)]
    (measured.configuration.folder / "publishers" / "example.json").write_text(json.dumps(publisher, indent=2) + "\n")
    return ",".join(f"{each['bundleId']}:{each['appAppleId']}:{each['issuerId']}:{each['keyId']}"
                    for each in publisher["apps"])


def make_timers(measured):
    """Stores the timers as copies of one purchase, each with an owner and a period that ends in a month."""
    names = "(ARRAY[" + ", ".join(f"'{bundle(number)}'" for number in range(APPS)) + f"])[1 + n.number % {APPS}]"
    ends = "now() + interval '30 days' + n.number % 86400 * interval '1 second'"
    owned = {"bundle_id": names, "product_id": f"{names} || '.monthly'", "expires_date": ends}
    measured.ledger.make(STORED, {
        "customers": {}, "purchases": owned | {"due_at": ends}, "transactions": owned, "ownerships": {}})


def fall_due(measured):
    """Lets some of the timers fall due, spread over the apps and over the time."""
    end = f"now() + (n.number % {WITHIN * 10}) * interval '100 milliseconds'"
    measured.ledger.query("BEGIN;\n" + "\n".join(
        f"UPDATE {table} t SET expires_date = {end}{more} FROM generate_series({MADE}, {MADE + DUE - 1}) AS n (number)"
        f" WHERE t.publisher_id = {PUBLISHER} AND t.environment = 'Production'"
        f" AND t.{key} = '100' || (10000000000 + n.number);"
        for table, key, more in (("purchases", "original_transaction_id", f", due_at = {end}"),
                                 ("transactions", "transaction_id", ""))) + "\nCOMMIT;")


def due_ones(measured):
    return int(measured.ledger.query(
        f"SELECT count(*) FROM purchases WHERE due_at < now() + interval '1 day' AND publisher_id = {PUBLISHER}"
        f" AND original_transaction_id >= '100' || (10000000000 + {MADE})"))


def timers(options):
    """Registrations beside a million timers, of which 50,000 fall due within five minutes, and without due ones."""
    parts = {"without": [], "with": []}
    with Measured() as measured:
        print(f"timers: {STORED:,} stored over {APPS} apps; making them …", flush=True)
        measured.start("simulator", {"COUNTERSIGN_SIMULATOR_APPS": write_apps(measured)})
        note_rules(measured)
        measured.fill(1)
        measured.floor(1, 1)  # commits the one that SQL copies
        make_timers(measured)
        gateway, worker = measured.start("gateway"), measured.start("worker 1", UNLIMITED)

        def register(seconds):
            size = REGISTRATIONS * seconds
            return measured.benchmark("delay", "--from", measured.numbers(size), "--count", size, "--rate",
                                      REGISTRATIONS, *measured.gateway_arguments())

        def looks():
            return measured.metric("worker 1", "countersign_timer_looks_total")

        def phase(name, seconds):
            before = looks(), measured.processor_seconds(worker), time.monotonic()
            result = register(seconds)
            parts[name].append(result)
            print(f"  {name:8} due timers, {seconds} s: event p50 {result['event.p50']:.1f} ms, p99 "
                  f"{result['event.p99']:.1f} ms   answer p99 {result['p99']:.1f} ms   looks {looks() - before[0]:,.0f}"
                  f"   worker {(measured.processor_seconds(worker) - before[1]) / (time.monotonic() - before[2]):.2f} "
                  "cores", flush=True)

        register(10)  # what happens only once does not count
        phase("without", 60)
        fall_due(measured)
        phase("with", WITHIN)
        wait_until("all due timers are looked at", lambda: due_ones(measured) == 0, 300, failed=worker.ended, every=1)
        looked, lag = looks(), late(measured)
        phase("without", 60)
        measured.stop(gateway)
    without, with_ = (
        {name: statistics.mean(each[name] for each in results) for name in ("event.p50", "event.p99", "p99")}
        for results in parts.values())
    ratio, answer = with_["event.p99"] / without["event.p99"], with_["p99"] / without["p99"]
    return [
        Row("registration to event, p99, due timers", f"{with_['event.p99']:.1f} ms", f"{without['event.p99']:.1f} ms",
            ratio, "1.50", ratio <= 1.5),
        Row("  p50", f"{with_['event.p50']:.1f} ms", f"{without['event.p50']:.1f} ms",
            with_["event.p50"] / without["event.p50"]),
        Row("registration's answer, p99, due timers", f"{with_['p99']:.1f} ms", f"{without['p99']:.1f} ms", answer,
            "1.50", answer <= 1.5),
        Row("looks", f"{looked:,.0f}"),
        Row("  later than their time, at most, 99 of 100", f"{lag:g} s"),
    ]


def late(measured):
    """The bucket that 99 of 100 looks have reached."""
    lines = measured.get("worker 1", "/metrics")[1].splitlines()
    buckets = [(line.split('le="')[1].split('"')[0], float(line.rpartition(" ")[2])) for line in lines
               if line.startswith("countersign_timer_lag_seconds_bucket")]
    return next(float(limit) for limit, count in buckets if count >= 0.99 * buckets[-1][1])
