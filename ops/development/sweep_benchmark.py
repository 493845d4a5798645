"""The benchmark of a wiped broker: how fast the sweep brings open jobs back, next to jobs that were in the queue."""
import time

from development.benchmarks import UNLIMITED
from development.measured import Measured
from development.table import Row
from fleet.processes import wait_until

# So that a benchmark need not wait for the usual half minute.
HASTY = UNLIMITED | {"COUNTERSIGN_WORKER_SWEEP_INTERVAL_SECONDS": "1"}
# The jobs of the floor: they are in the queue.
QUEUED = 20_000


def sweep(options):
    """So many open jobs whose queue was wiped; one worker brings them back and runs them."""
    count = options.queued
    with Measured() as measured:
        measured.simulator(0)
        measured.declare()
        # In a ledger without statistics a worker becomes slower with each purchase, until PostgreSQL has made some.
        measured.fill(QUEUED)
        measured.worker(QUEUED, UNLIMITED)
        measured.ledger.server.query("ANALYZE;", database=measured.ledger.database)
        measured.fill(QUEUED)
        floor = measured.worker(QUEUED, UNLIMITED)
        print(f"sweep: {floor['perSecond']:,.0f} jobs a second out of the queue; putting {count:,} into it …",
              flush=True)
        measured.fill(count, "--sweep-after", 1, progress=True)
        for verb in ("kill", "wipe", "start"):
            measured.processes.tell_servers(verb, "rabbitmq")
        begun = time.monotonic()
        worker = measured.start("worker 1", HASTY)
        most, told = 0, time.monotonic() + 30

        def is_done():
            nonlocal most, told
            done = measured.told()
            most = max(most, measured.metric("worker 1", "countersign_swept_jobs_total") - done)
            if time.monotonic() > told:
                told += 30
                print(f"  {done:,.0f} of {count:,} after {time.monotonic() - begun:.0f} s", flush=True)
            return done >= count

        wait_until("every job has its event", is_done, 3600, failed=worker.ended, every=1)
        seconds = time.monotonic() - begun
        memory = measured.resident_now(worker)
        measured.stop(worker)
    rate = count / seconds
    return [
        Row(f"jobs that come back after a wipe, of {count:,}", f"{rate:,.0f}/s",
            f"{floor['perSecond']:,.0f}/s out of the queue", rate / floor["perSecond"], "0.50",
            rate >= 0.5 * floor["perSecond"]),
        Row("  until the last one has its event", f"{seconds:,.0f} s"),
        Row("  the most that were in the queue again", f"{most:,.0f}"),
        Row("  memory of the worker", f"{memory:.0f} MiB"),
    ]
