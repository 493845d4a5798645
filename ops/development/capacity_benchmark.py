"""The benchmark of capacity: what a registration takes of each process at several paces, and what it leaves behind."""
from development.benchmarks import UNLIMITED
from development.capacity import Point, disk, needed
from development.measured import output
from development.measured_webhooks import MeasuredWebhooks
from development.table import Row
from fleet.processes import wait_until

# Registrations a second, and for how many seconds. Two cores do not carry more than a thousand.
PACES = (10, 100, 500)
SECONDS = 30
# Apple's answer, as it often is.
LATENCY = 0.2
# Tables that keep their rows for good, and the bytes of a notification of Apple's.
LASTING = ("purchases", "transactions", "ownerships", "evidence", "customers")
NOTIFICATION = 20_000
# In seconds: so long Redis keeps a registration.
HOUR = 3_600
# The processes whose use is told. The simulator, the receiver and the load are none of the fleet's.
SERVERS = ("rabbitmq", "redis", "postgres")


def redis_bytes(measured):
    lines = output(["redis-cli", "-p", measured.ports["redis"], "info", "memory"]).splitlines()
    return next(int(line.partition(":")[2]) for line in lines if line.startswith("used_memory:"))


def capacity(options):
    """A gateway, a worker and a notifier with a webhook endpoint, at a steady pace; then the bytes of a purchase."""
    points = []
    with MeasuredWebhooks() as measured:
        measured.simulator(LATENCY)
        measured.receiver()
        roles = {"gateway": measured.start("gateway"), "worker": measured.start("worker 1", UNLIMITED),
                 "notifier": measured.start("notifier")}
        print(f"capacity: {', '.join(map(str, PACES))} registrations a second for {SECONDS} s each, Apple at "
              f"{LATENCY:.1f} s, a webhook for each event", flush=True)
        # What a process does only once is no registration's cost.
        register(measured, roles, 500, 100)
        empty, kept = redis_bytes(measured), sum(measured.ledger.sizes().values())
        before = measured.ledger.count("purchases")
        for pace in PACES:
            points.append(register(measured, roles, pace * SECONDS, pace))
            print(points[-1].described(), flush=True)
        purchases, sizes = measured.ledger.count("purchases"), measured.ledger.sizes()
        bytes_of = (sum(sizes.values()) - kept) / (purchases - before)
        redis_of = (redis_bytes(measured) - empty) / (purchases - before)
        tables = {name: size / purchases for name, size in sizes.items()}
        print("  bytes a purchase: " + ", ".join(
            f"{name} {size:,.0f}" for name, size in tables.items() if size >= 1), flush=True)
    return rows_of(points, bytes_of, redis_of, tables)


def delivered(measured):
    return measured.metric("notifier", 'countersign_webhook_attempts_total{outcome="delivered"}')


def register(measured, roles, count, pace):
    """Registers purchases at a steady pace; returns what each takes of each process, once the last webhook is out."""
    seconds = {name: measured.processor_seconds(process) for name, process in roles.items()}
    others, told, sent = measured.others(), measured.told(), delivered(measured)
    written = measured.ledger.written()
    answer = measured.register(count, "--rate", pace, connections=max(2, min(64, pace // 5)))
    wait_until("every event", lambda: measured.told() - told >= count, 120, failed=roles["worker"].ended)
    wait_until("every webhook", lambda: (
        delivered(measured) - sent >= count
        and measured.metric("notifier", "countersign_deliveries_in_flight") == 0), 120,
        failed=roles["notifier"].ended)
    used = {name: measured.processor_seconds(process) - seconds[name] for name, process in roles.items()}
    others_now = measured.others()
    used |= {name: others_now[name] - others[name] for name in SERVERS}
    return Point(
        pace=pace, processor={name: value / count * 1e6 for name, value in used.items()},
        memory={name: measured.resident_now(process) for name, process in roles.items()},
        answer_p99=answer["p99"], **measured.ledger.written_since(written, count))


def rows_of(points, bytes_of, redis_of, tables):
    rows = []
    lasting = {name: tables.get(name, 0) for name in LASTING}
    for point in points:
        all_of_it = sum(point.processor.values())
        rows.append(Row(f"{point.pace:,} registrations a second, CPU each", f"{all_of_it:.0f} µs"))
        rows += [Row(f"  {name}", f"{value:.0f} µs") for name, value in point.processor.items()]
        rows.append(Row("  answer, p99", f"{point.answer_p99:.1f} ms"))
        rows += [Row(f"  {name}, memory", f"{value:.0f} MiB") for name, value in point.memory.items()]
    rows += [
        Row("disk of the ledger, a registration", f"{bytes_of:,.0f} bytes"),
        Row("  of it for good", f"{sum(lasting.values()):,.0f} bytes"),
        Row("disk of the ledger for good, a renewal", f"{lasting['transactions'] + lasting['evidence']:,.0f} bytes"),
        Row("WAL, a registration", f"{points[-1].wal:,.0f} bytes"),
        Row("memory of Redis, a registration of the last hour", f"{redis_of:,.0f} bytes"),
    ]
    for pace in (10, 100, 1_000):
        fleet = needed(points[-1], pace)
        rows.append(Row(f"for {pace:,} a second", ", ".join(f"{count} {name}" for name, count in fleet.items())))
        rows.append(Row("  its servers", (
            f"Redis {redis_of * pace * HOUR / 1e9:.2f} GB for an hour's registrations, "
            f"WAL {points[-1].wal * pace * 24 * HOUR / 1e9:,.0f} GB a day")))
    for purchases in (1_000_000, 10_000_000, 100_000_000):
        # As long as it takes to register one. At this pace each costs more than at full speed.
        renewals = purchases / 30 / 86_400
        fleet = needed(points[0], renewals)
        rows.append(Row(f"for {purchases:,} purchases, {renewals:.1f} renewals a second", ", ".join(
            f"{count} {name}" for name, count in fleet.items())))
        size = disk(
            purchases, purchases / 30, lasting=sum(lasting.values()),
            renewal=lasting["transactions"] + lasting["evidence"], notification=NOTIFICATION, notification_days=180,
            status=bytes_of - sum(lasting.values()), status_days=30)
        rows.append(Row(f"for {purchases:,} purchases, after a year", ", ".join(
            f"{what} {value / 1e9:,.0f} GB" for what, value in size.items())))
    return rows
