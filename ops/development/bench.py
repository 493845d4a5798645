"""ops/bench: measured runs next to their floors."""
import argparse
import os
import sys

from development import benchmarks
from development.capacity_benchmark import capacity
from development.console_benchmark import console
from development.door_benchmarks import doors, payments
from development.import_benchmark import imports
from development.isolation_benchmark import isolation
from development.ledger_benchmark import ledger
from development.life_benchmarks import notifications, timers
from development.measured import OPTIONS
from development.notifier_benchmark import notifier
from development.publisher_benchmark import publishers
from development.stranger_benchmark import strangers
from development.sweep_benchmark import sweep
from development.table import show
from development.tls_benchmark import tls
from fleet import Failure
from fleet.build import build

# For each benchmark: its function, its text in the help, the jobs of a run without --jobs (0: the size is fixed), and
# its time on two cores. The time has two parts in seconds: all but the runs, and each run. The time of growth is the
# sum of its parts; the others were measured with one run.
BENCHMARKS = {
    "verify": (benchmarks.verify, "verifications of transactions, next to openssl speed", 0, (12, 6)),
    "worker": (
        benchmarks.worker, "whole synchronizations, next to the same without Apple and signatures", 20_000, (16, 60)),
    "customers": (
        benchmarks.customers, "the same for 5,000 customers, 1,024 at a time, with an Apple that takes 200 ms", 20_000,
        (16, 80)),
    "ledger": (ledger, "commits, bytes and reads of the ledger, next to the same without Apple and HTTP", 20_000,
               (20, 100)),
    "tls": (tls, "whole synchronizations over TLS to RabbitMQ and Redis, next to the same without TLS", 20_000,
            (16, 60)),
    "throughput": (benchmarks.throughput, "jobs a second with an Apple that takes 200 ms", 20_000, (20, 20)),
    "gateway": (benchmarks.gateway, "registrations, next to the same without HTTP", 40_000, (15, 20)),
    "latency": (benchmarks.latency, "from the 202 to the event, in an idle fleet", 0, (20, 3)),
    "memory": (benchmarks.memory, "5,000 jobs in flight in one worker", 0, (30, 0)),
    "growth": (benchmarks.growth, "the CPU of a job and the memory with a million queued, the CPU with eight workers",
               10_000, (125, 85)),
    "notifier": (notifier, "webhooks, next to libcurl and the broker alone; 10,000 endpoints; bad ones; "
                 "another publisher", 10_000, (185, 12)),
    "notifications": (
        notifications, "Apple's notifications taken in, next to their statements alone; the delay to events", 8_000,
        (40, 35)),
    "timers": (timers, "registrations beside a million timers, of which 50,000 fall due", 0, (600, 0)),
    "doors": (doors, "callers that wait in one gateway, and what waiting adds", 0, (60, 12)),
    "payments": (payments, "Cleeng's payments, 50 a second, with access at the first poll", 0, (110, 0)),
    "strangers": (strangers, "the worst bodies of strangers, and the turns of a gateway that gets them", 0, (20, 5)),
    "isolation": (isolation, "quiet customers and publishers beside each kind of bad day", 0, (420, 0)),
    "import": (imports, "a million rows, killed five times, and a purchase beside them", 0, (1500, 0)),
    "console": (console, "the console's pages beside a million purchases and ten million attempts", 0, (600, 0)),
    "publishers": (publishers, "10,000 publishers beside one: start, memory, reload, registrations", 20_000, (300, 30)),
    "sweep": (sweep, "a million open jobs after the broker was wiped, next to jobs in the queue", 0, (900, 0)),
    "capacity": (capacity, "what a registration takes of each process at three paces, and the bytes that it leaves", 0,
                 (150, 0)),
    "start": (benchmarks.start, "from exec to consuming", 0, (20, 0)),
}


def described():
    """The list of the benchmarks in --help."""
    lines = ["what           a run of            about, with 5 runs"]
    for name, (_, text, jobs, (fixed, each)) in BENCHMARKS.items():
        size = f"{jobs:,} jobs or events" if jobs else "a fixed size"
        lines.append(f"{name:13}  {size:22}  {duration(fixed + 5 * each):10}  {text}")
    return "\n".join(lines)


def duration(seconds):
    return f"{seconds} s" if seconds < 100 else f"{round(seconds / 60)} min"


def one_core():
    """Keeps this process and its children on one core, because both sides of a ratio are about one core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def run(name, options):
    function, _, jobs, _ = BENCHMARKS[name]
    options.jobs = options.jobs or jobs
    if name == "verify":
        cores = os.sched_getaffinity(0)
        one_core()
        try:
            return function(options)
        finally:
            os.sched_setaffinity(0, cores)
    return function(options)


def main():
    parser = argparse.ArgumentParser(
        prog="ops/bench", description="Measures Countersign, each result next to a floor of the same run.",
        epilog=described() + "\n\nThe times do not include the build. Run nothing else on the machine meanwhile.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[*BENCHMARKS, "all"], default="all", metavar="what",
                        help="the benchmarks to run, see below; all by default")
    parser.add_argument("--runs", type=int, default=5,
                        help="the number of runs; the median counts; %(default)s by default")
    parser.add_argument("--jobs", type=int, help="the jobs of each run; see below for the defaults")
    parser.add_argument("--queued", type=int, default=1_000_000,
                        help="growth: the length of the long queue; sweep: the open jobs; %(default)s by default")
    parser.add_argument("--minutes", type=int, help="growth: only a steady load for so many minutes")
    parser.add_argument("--count", type=int, help="verify: only so many distinct transactions, and the memory")
    parser.add_argument("--rows", type=int, default=0,
                        help="ledger: also beside so many purchases made by SQL, for example 10000000; needs disk. "
                             "import: so many rows; console: so many purchases; 1000000 each without it")
    parser.add_argument("--publishers", type=int, default=10_000,
                        help="publishers: so many; %(default)s by default")
    parser.add_argument("--seconds", type=int, default=60,
                        help="payments: for so many seconds; %(default)s by default, 600 for the goal")
    options = parser.parse_args()
    names = [options.what] if isinstance(options.what, str) else options.what
    if "all" in names:
        names = list(BENCHMARKS)
    build(*OPTIONS, "--product", "Benchmarks")
    if names != ["verify"]:
        build(*OPTIONS, "--product", "countersign")
    if names == ["verify"] and options.count:
        one_core()
        return benchmarks.verify_many(options.count)
    print(benchmarks.machine(), flush=True)
    rows = []
    jobs = options.jobs
    for name in names:
        options.jobs = jobs
        rows += benchmarks.endurance(options) if name == "growth" and options.minutes else run(name, options)
    show(rows)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"ops/bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
