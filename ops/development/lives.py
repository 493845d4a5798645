"""ops/chaos lives: thousands of random lives, and what the ledger says about them at the end."""
import json
import os
import subprocess

from fleet import ROOT, Failure
from fleet.processes import Processes, Stopped

NAME = "lives"
WHAT = "10,000 random lives with lost notifications, killed workers and Redis wiped; not among the rows, 10 minutes"


def command(options, products, seed):
    words = [products / "Chaos", NAME, "--seed", seed]
    for name in ("lives", "seconds"):
        value = getattr(options, name) or ({"lives": 300, "seconds": 60}[name] if options.quick else None)
        if value:
            words += [f"--{name}", value]
    return [str(word) for word in words]


def again(options, seed):
    """The command that repeats a run."""
    words = ["ops/chaos"] + (["--quick"] if options.quick else []) + ["--seed", str(seed)]
    for name in ("lives", "seconds"):
        if getattr(options, name):
            words += [f"--{name}", f"{getattr(options, name):g}"]
    return " ".join(words + [NAME])


def run(options, products, seed):
    """Runs the lives on private servers; returns the result."""
    row = None
    with Processes(ROOT / ".countersign" / "chaos") as processes:
        print("Starting RabbitMQ, Redis and PostgreSQL …", flush=True)
        processes.forget_servers()
        processes.start_servers()
        environment = os.environ | {"COUNTERSIGN_TEST_SERVERS": str(processes.folder)}
        with subprocess.Popen(command(options, products, seed), cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, start_new_session=True) as program:
            try:
                for text in program.stdout:
                    if text.startswith("{"):
                        row = json.loads(text)
                    else:
                        print(f"  {text}", end="", flush=True)
                status = program.wait()
            except Stopped:
                program.terminate()
                raise
    if row is None or status not in (0, 1):
        raise Failure(f"the lives ended with status {status}; repeat with {again(options, seed)}")
    return row


def show(row):
    """The verdict for people."""
    told = row["notifications"]
    kills = sum(fault.startswith("kill") for fault in row["faults"])
    seconds = row.get("settledSeconds")
    lines = [
        f"{row['begun']:,} lives begun, {row['lives']:,} purchases at the end, {row['actions']:,} actions in "
        f"{row['loadSeconds']:.0f} s",
        f"{told['told']:,} notifications: {told['lost']:,} lost, {told['repeated']:,} repeated, {told['delayed']:,} "
        "late or out of order",
        f"{row['accepted']:,} of {row['registrations']:,} registrations accepted, {len(row['lost']):,} without an "
        "event",
        f"{kills} workers killed, Redis wiped {len(row['faults']) - kills} time(s)",
        f"the last difference vanished {seconds:.0f} s after the load's end" if seconds is not None
        else "differences stayed for 15 minutes",
        f"every notification was applied {row['appliedSeconds']:.0f} s after the load's end"
        if row.get("appliedSeconds") is not None else "not every notification was applied",
        f"{row['differenceCount']:,} differences at one instant",
    ]
    lines += [f"    {line}" for line in row["differences"]]
    lines += [f"    lost: {line}" for line in row["lost"][:20]] + [f"    why: {line}" for line in row["problems"]]
    if row.get("folder"):
        lines.append(f"the roles' logs are in {row['folder']}")
    return "\n".join(lines)
