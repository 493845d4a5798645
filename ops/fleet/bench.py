"""ops/bench: measured runs next to their floors."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

from fleet import ROOT, Failure
from fleet.build import build
from fleet.measured import Measured

BENCHMARKS = ROOT / ".build" / "release" / "Benchmarks"


def output(command):
    """Runs a command on this process's core and returns what it prints."""
    run = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))} ended with status {run.returncode}: {run.stderr.strip()}")
    return run.stdout


def measured(*arguments):
    return json.loads(output([BENCHMARKS, *map(str, arguments)]))


def openssl_verifications(seconds):
    """The floor: how often OpenSSL verifies one P-256 signature of one short message in a second."""
    text = output(["openssl", "speed", "-seconds", str(seconds), "ecdsap256"])
    # The last number of the last line; the columns are sign, verify, sign/s, verify/s.
    found = re.search(r"256 bits ecdsa.*\s([\d.]+)\s*$", text, re.MULTILINE)
    if not found:
        raise Failure(f"openssl speed printed something unexpected:\n{text}")
    return float(found.group(1))


def one_core():
    """Keeps this process and those it starts on one core, as both sides of a ratio are about one."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def verify(options):
    one_core()
    if options.count:
        result = measured("verify", "--count", options.count, "--seconds", 1e9)
        print(f"{result['verifications']:,.0f} verifications of distinct transactions, {result['perSecond']:,.0f}/s; "
              f"memory {result['residentKiB'] / 1024:.1f} MiB, "
              f"{result['residentKiBGrowth'] / 1024:+.1f} MiB since the first 100,000")
        return
    ratios = []
    print("run   openssl speed ecdsap256   countersign, warm chain cache   ratio")
    for run in range(1, options.runs + 1):
        floor = openssl_verifications(options.seconds)
        result = measured("verify", "--seconds", options.seconds)["perSecond"]
        ratios.append(result / floor)
        print(f"{run:3}   {floor:15,.0f} /s         {result:15,.0f} /s               {result / floor:5.2f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}; the goal is 0.70. Signature, chain, app, environment and the "
          f"JSON of the whole payload are in it.")


def worker(options):
    print(machine(), flush=True)
    overrides = {
        "COUNTERSIGN_WORKER_CONCURRENCY": str(options.concurrency),
        "COUNTERSIGN_APP_STORE_CALLS_PER_SECOND": "100000",
        "COUNTERSIGN_APP_STORE_MAX_CONNECTIONS": "50",
    }
    verification = 1e6 / openssl_verifications(2)
    with Measured() as measured:
        measured.start("simulator", {"COUNTERSIGN_SIMULATOR_LATENCY_SECONDS": str(options.latency)})
        measured.declare()
        print(f"Apple at {options.latency * 1000:.0f} ms, {options.jobs:,} subscriptions a run, at most "
              f"{options.concurrency:,} in flight; one P-256 verification is {verification:.0f} µs.")
        print("run   floor: CPU µs/job   jobs/s   worker: CPU µs/job   jobs/s   Apple calls   memory   "
              "CPU / (floor + P-256)", flush=True)
        rows = []
        for run in range(1, options.runs + 1):
            measured.fill(options.jobs)
            floor = measured.benchmark("floor", "--count", options.jobs, "--prefetch", options.concurrency)
            measured.fill(options.jobs)
            row = measured.worker(options.jobs, overrides)
            # Each call brings one signature that counts; what a second one brings is the worker's own affair.
            ratio = row["processorMicroseconds"] / (floor["processorMicroseconds"] + verification)
            rows.append((ratio, row["processorMicroseconds"], row["perSecond"], floor["processorMicroseconds"]))
            print(f"{run:3} {floor['processorMicroseconds']:19.0f} {floor['perSecond']:8,.0f} "
                  f"{row['processorMicroseconds']:20.0f} {row['perSecond']:8,.0f} {row['calls']:13.2f} "
                  f"{row['residentMiB']:4.0f} MiB {ratio:23.2f}", flush=True)
    ratio, cpu, rate, floor = (statistics.median(column) for column in zip(*rows))
    print(f"median: {cpu:.0f} µs a job, {ratio:.2f} of floor ({floor:.0f} µs) and one verification; {rate:,.0f} jobs/s")


def machine():
    """How fast this machine is, so that figures of another day can be compared."""
    return f"{os.cpu_count()} cores; openssl speed ecdsap256: {openssl_verifications(1):,.0f} verifications/s"


def main():
    parser = argparse.ArgumentParser(prog="ops/bench", description="Measures, next to a floor.")
    commands = parser.add_subparsers(dest="what", required=True)
    command = commands.add_parser("verify", help="verifications of transactions, next to openssl speed")
    command.add_argument("--runs", type=int, default=5)
    command.add_argument("--seconds", type=int, default=2, help="of each side of each run")
    command.add_argument("--count", type=int, help="so many distinct transactions instead, and the memory")
    command.set_defaults(run=verify)
    command = commands.add_parser("worker", help="whole synchronizations, next to the same without Apple and signatures")
    command.add_argument("--runs", type=int, default=5)
    command.add_argument("--jobs", type=int, default=20_000)
    command.add_argument("--concurrency", type=int, default=1000)
    command.add_argument("--latency", type=float, default=0, help="seconds that Apple takes")
    command.set_defaults(run=worker)
    options = parser.parse_args()
    build("-c", "release", "--product", "Benchmarks")
    if options.what != "verify":
        build("-c", "release", "--product", "countersign")
    options.run(options)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"ops/bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
