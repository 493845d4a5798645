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


def main():
    parser = argparse.ArgumentParser(prog="ops/bench", description="Measures, next to a floor.")
    commands = parser.add_subparsers(dest="what", required=True)
    command = commands.add_parser("verify", help="verifications of transactions, next to openssl speed")
    command.add_argument("--runs", type=int, default=5)
    command.add_argument("--seconds", type=int, default=2, help="of each side of each run")
    command.add_argument("--count", type=int, help="so many distinct transactions instead, and the memory")
    command.set_defaults(run=verify)
    options = parser.parse_args()
    build("-c", "release", "--product", "Benchmarks")
    options.run(options)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"ops/bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
