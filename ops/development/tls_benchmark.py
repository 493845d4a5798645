"""The benchmark of TLS: what a job costs more when RabbitMQ and Redis are reached over TLS."""
import statistics

from development.benchmarks import TURNS, in_flight
from development.measured import Measured, median_of
from development.table import Row
from fleet.certificates import Certificates

# A worker's first jobs, which do not count: it verifies chains and opens connections.
FIRST = 1000
# The parts of a job that are compared.
COLUMNS = ("processorMicroseconds", "rabbitmq", "redis", "perSecond")


def tls(options):
    """The same jobs without and with TLS, in turns."""
    runs = []
    with Measured() as measured:
        measured.simulator(0)
        measured.declare()
        jobs = options.jobs // TURNS
        print(f"tls: Apple at 0 ms, {jobs * TURNS:,} subscriptions a run without TLS and as many with it")
        print("run  RabbitMQ and Redis   CPU µs/job: worker   RabbitMQ   Redis   jobs/s", flush=True)
        for run in range(1, options.runs + 1):
            figures = one_run(measured, jobs)
            for name, (worker, rabbitmq, redis, rate) in figures.items():
                print(f"{run:3}  {name:18} {worker:21.0f} {rabbitmq:10.0f} {redis:7.0f} {rate:8,.0f}", flush=True)
            runs.append([number for figure in figures.values() for number in figure])
    found = median_of(runs)
    return [Row(f"{name}, CPU a job with TLS", f"{with_tls:.0f} µs", f"{without:.0f} µs", with_tls / without)
            for name, without, with_tls in zip(("worker", "RabbitMQ", "Redis"), found, found[len(COLUMNS):])]


def one_run(measured, jobs):
    """The means of some turns, without TLS and with it."""
    measured.new_ledger()
    ways = {"without TLS": {}, "with TLS": encrypted(measured)}
    rows = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, overrides in ways.items():
            measured.fill(FIRST + jobs)
            measured.sign_ahead(FIRST + jobs)
            row = measured.worker(FIRST + jobs, in_flight(1000) | overrides, first=FIRST)
            rows[name].append([row[column] for column in COLUMNS])
    return {name: [statistics.mean(column) for column in zip(*values)] for name, values in rows.items()}


def encrypted(measured):
    """The variables with which a role reaches the same servers over TLS."""
    authority = Certificates(measured.processes.folder).path("ca.pem")
    return {
        "COUNTERSIGN_RABBITMQ_URL": f"amqps://guest:guest@127.0.0.1:{measured.ports['rabbitmq-tls']}/%2F",
        "COUNTERSIGN_RABBITMQ_CA_FILE": authority,
        "COUNTERSIGN_REDIS_URL": f"rediss://127.0.0.1:{measured.ports['redis-tls']}/0",
        "COUNTERSIGN_REDIS_CA_FILE": authority,
    }
