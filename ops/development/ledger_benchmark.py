"""The benchmark of the ledger: commits, bytes on the disk, reads, and the same with many purchases."""
import statistics

from development.benchmarks import TURNS, in_flight, openssl_verifications
from development.ledger import MADE
from development.measured import Measured, median_of
from development.table import Row

# A worker's first jobs, which do not count: it verifies chains, opens connections and prepares statements.
FIRST = 1000
# The purchases beside which a larger number is measured.
FEW = 100_000
# The parts of a job that are shown and compared.
COLUMNS = ("processorMicroseconds", "perSecond", "postgres", "commits", "wal")


def ledger(options):
    """New purchases and registrations without news in a worker and in its floor, then reads through a gateway."""
    runs, reads = [], []
    with Measured() as measured:
        measured.simulator(0)
        measured.declare()
        jobs = options.jobs // TURNS
        print(f"ledger: Apple at 0 ms, {jobs * TURNS:,} subscriptions a run, {TURNS} turns, each registered twice")
        print("run  what                CPU µs/job   jobs/s   PostgreSQL µs/job   commits/job   WAL bytes/job",
              flush=True)
        for run in range(1, options.runs + 1):
            measured.new_ledger()
            figures = turns(measured, jobs)
            figures |= sizes(measured)
            runs.append(figures)
            for name in ("floor, new", "floor, no news", "worker, new", "worker, no news"):
                processor, rate, postgres, commits, wal = (figures[name, column] for column in COLUMNS)
                print(f"{run:3}  {name:16} {processor:13.0f} {rate:8,.0f} {postgres:19.0f} {commits:13.3f} "
                      f"{wal:15,.0f}", flush=True)
            reads.append(read(measured, jobs))
            print(f"{run:3}  entitlements: gateway {reads[-1]['rate']:,.0f}/s, CPU {reads[-1]['gateway']:.0f} µs and "
                  f"PostgreSQL's {reads[-1]['postgres']:.0f} µs each; bare statement {reads[-1]['floor']:,.0f}/s, "
                  f"PostgreSQL's CPU {reads[-1]['floorPostgres']:.0f} µs", flush=True)
        print("bytes a purchase: " + ", ".join(
            f"{table} {size:,.0f}" for table, size in runs[-1]["tables"].items() if size >= 1), flush=True)
        rows = rows_of(median(runs), median(reads))
        if options.rows:
            rows += growth(measured, jobs, options)
    return rows


def median(dictionaries):
    """The median of each figure."""
    return {name: statistics.median(each[name] for each in dictionaries)
            for name, value in dictionaries[0].items() if not isinstance(value, dict)}


def turns(measured, jobs):
    """Runs floor, P-256 and worker in turns; returns the means."""
    seen = {}
    for _ in range(TURNS):
        for name, figures in turn(measured, jobs).items():
            for column in COLUMNS:
                seen.setdefault((name, column), []).append(figures[column])
        seen.setdefault(("P-256", "processorMicroseconds"), []).append(1e6 / openssl_verifications())
    return {name: statistics.mean(values) for name, values in seen.items()}


def turn(measured, jobs):
    found, first = {}, measured.numbers(FIRST + jobs)
    for number, name in ((1, "floor, new"), (2, "floor, no news")):
        measured.fill(FIRST + jobs, "--round", number, first=first)
        found[name] = measured.floor(jobs, 1000, FIRST)
    first = measured.numbers(FIRST + jobs)
    for number, name in ((1, "worker, new"), (2, "worker, no news")):
        measured.fill(FIRST + jobs, "--round", number, first=first)
        if number == 1:
            # The second time, Apple signs the same again: that is no news.
            measured.sign_ahead(FIRST + jobs)
        found[name] = measured.worker(FIRST + jobs, in_flight(1000), first=FIRST)
    return found


def sizes(measured):
    """The bytes of a purchase that was registered twice, all together and by table."""
    purchases = measured.ledger.count("purchases")
    tables = {name: size / purchases for name, size in measured.ledger.sizes().items()}
    return {"bytes": sum(tables.values()), "tables": tables}


def read(measured, count, first=None):
    """Reads entitlements of random customers through a gateway and with the bare statement, in turns."""
    first = measured.filled - count if first is None else first
    arguments = ("--from", first, "--of", count, "--count", 20_000, "--connections", 64)
    gateway, seen = measured.start("gateway"), []
    try:
        # The first run opens connections and prepares statements.
        measured.benchmark("read", *measured.gateway_arguments(), *arguments)
        statement = measured.ledger.last_statement("countersign gateway", "purchases")
        for _ in range(TURNS):
            before, ledger = measured.processor_seconds(gateway), measured.ledger_seconds()
            rate = measured.benchmark("read", *measured.gateway_arguments(), *arguments)["perSecond"]
            processor, between = measured.processor_seconds(gateway) - before, measured.ledger_seconds()
            floor = measured.benchmark("statement", "--sql", statement, *arguments)["perSecond"]
            seen.append({
                "rate": rate, "floor": floor, "ratio": rate / floor, "gateway": processor / 20_000 * 1e6,
                "postgres": (between - ledger) / 20_000 * 1e6,
                "floorPostgres": (measured.ledger_seconds() - between) / 20_000 * 1e6})
    finally:
        measured.stop(gateway)
    return {name: statistics.mean(each[name] for each in seen) for name in seen[0]}


def rows_of(figures, reads):
    processor, floor, verification = (
        figures[name, "processorMicroseconds"] for name in ("worker, new", "floor, new", "P-256"))
    new, known = figures["worker, new", "postgres"], figures["worker, no news", "postgres"]
    commits, ratio = figures["worker, new", "commits"], processor / (floor + verification)
    return [
        Row("worker, CPU a job", f"{processor:.0f} µs", f"{floor:.0f} + {verification:.0f} µs", ratio, "1.50",
            ratio <= 1.5),
        Row("worker, jobs at 0 ms", f"{figures['worker, new', 'perSecond']:,.0f}/s",
            f"{figures['floor, new', 'perSecond']:,.0f}/s"),
        Row("PostgreSQL, CPU a new purchase", f"{new:.0f} µs", f"{figures['floor, new', 'postgres']:.0f} µs",
            new / figures["floor, new", "postgres"], "150 µs", new <= 150),
        Row("PostgreSQL, CPU a registration without news", f"{known:.0f} µs",
            f"{figures['floor, no news', 'postgres']:.0f} µs", known / figures["floor, no news", "postgres"], "100 µs",
            known <= 100),
        Row("commits a job", f"{commits:.3f}", f"{figures['floor, new', 'commits']:.3f}", goal="0.1",
            holds=commits < 0.1),
        Row("WAL a new purchase", f"{figures['worker, new', 'wal'] / 1024:.1f} KiB"),
        Row("WAL a registration without news", f"{figures['worker, no news', 'wal'] / 1024:.1f} KiB"),
        Row("bytes on the disk, a purchase registered twice", f"{figures['bytes']:,.0f}"),
        Row("reads of entitlements", f"{reads['rate']:,.0f}/s", f"{reads['floor']:,.0f}/s", reads["ratio"], "0.50",
            reads["ratio"] >= 0.5),
    ]


def growth(measured, jobs, options):
    """The same beside few and beside many purchases, in turns, in two databases of one server."""
    databases = []
    for count in (FEW, options.rows):
        print(f"ledger: making {count:,} purchases …", flush=True)
        measured.new_ledger(keeps=bool(databases))
        measured.fill(FIRST)
        measured.floor(FIRST, 1000)  # commits the one that SQL copies
        measured.ledger.make(count)
        databases.append((measured.ledger.database, count))
        size = sum(measured.ledger.sizes().values())
        print(f"  {size / 1e9:.1f} GB, {size / count:,.0f} bytes a purchase, without what Apple signs", flush=True)
    seen = {count: [] for _, count in databases}
    for run in range(options.runs):
        for database, count in databases:
            measured.use_ledger(database)
            measured.fill(FIRST + jobs)
            measured.sign_ahead(FIRST + jobs)
            row = measured.worker(FIRST + jobs, in_flight(1000), first=FIRST)
            reads = read(measured, count, MADE)
            seen[count].append((row["processorMicroseconds"], row["perSecond"], row["postgres"], reads["rate"]))
            processor, rate, postgres, read_rate = seen[count][-1]
            print(f"{run + 1:3}  {count:,} purchases: worker {processor:.0f} µs a job, {rate:,.0f} jobs/s, PostgreSQL "
                  f"{postgres:.0f} µs a job, {read_rate:,.0f} reads/s", flush=True)
    few, many = (median_of(seen[count]) for _, count in databases)
    return [
        Row(f"jobs, {options.rows:,} purchases", f"{many[1]:,.0f}/s", f"{few[1]:,.0f}/s with {FEW:,}",
            many[1] / few[1], "0.85", many[1] >= 0.85 * few[1]),
        Row("  PostgreSQL, CPU a new purchase", f"{many[2]:.0f} µs", f"{few[2]:.0f} µs", many[2] / few[2], "1.15",
            many[2] <= 1.15 * few[2]),
        Row("  reads of entitlements", f"{many[3]:,.0f}/s", f"{few[3]:,.0f}/s", many[3] / few[3], "0.85",
            many[3] >= 0.85 * few[3]),
    ]
