"""ops/chaos: runs the scenarios against private servers and makes the fault table."""
import argparse
import datetime
import json
import os
import random
import subprocess
import sys

from development import lives
from fleet import ROOT, Failure, shown
from fleet.build import build
from fleet.postgres import Postgres
from fleet.processes import Processes, Stopped

COLUMNS = ["scenario", "faults", "attempted", "accepted", "409", "503", "refused", "unanswered", "finalized", "events",
           "webhooks", "lost", "duplicated", "stale", "longest delay", "holds"]


def cells(row):
    answers = row["answers"]
    return [row["scenario"], *(f"{number:,}" for number in (
        row["faults"], row["attempted"], row["accepted"], answers.get("conflict", 0), answers.get("unavailable", 0),
        answers.get("refused", 0), answers.get("unknown", 0), row["finalized"], row["events"], row["webhooks"],
        row["lost"], row["duplicated"], row["stale"])), f"{row['longestDelaySeconds']:.1f} s",
        "yes" if row["holds"] else "NO"]


def line(values):
    widths = [max(len(column), 17 if column == "scenario" else 6) for column in COLUMNS]
    return "  ".join(value.ljust(width) if index == 0 else value.rjust(width)
                     for index, (value, width) in enumerate(zip(values, widths)))


def version(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip()
    except OSError:
        return "unknown"


def again(options, seed, scenarios):
    """The command that repeats a run."""
    words = ["ops/chaos"] + [f"--{name}" for name in ("cluster", "quick") if getattr(options, name)]
    words += ["--seed", str(seed)]
    for name in ("registrations", "transactions", "rate"):
        if getattr(options, name):
            words += [f"--{name}", f"{getattr(options, name):g}"]
    return " ".join(words + list(scenarios))


def markdown(rows, options, seed):
    """The table of docs/internals/faults.md."""
    redis = version(["redis-server", "--version"]).split("v=")[-1].split()[0]
    rabbitmq = version(["dpkg-query", "-W", "-f", "${Version}", "rabbitmq-server"])
    postgres = version([Postgres.tool("postgres"), "--version"]).split(") ")[-1].split()[0]
    commit = version(["git", "-C", ROOT, "describe", "--always", "--dirty"])
    kind = "debug" if options.quick else "release"
    head = (f"{datetime.date.today()}, RabbitMQ {rabbitmq}, Redis {redis} (appendfsync everysec), "
            f"PostgreSQL {postgres}, {os.cpu_count()} cores, {kind} build of {commit}, "
            f"`{again(options, seed, options.scenarios)}`:\n")
    table = [COLUMNS, ["---", *["---:"] * (len(COLUMNS) - 2), "---"], *(cells(row) for row in rows)]
    return head + "\n" + "\n".join("| " + " | ".join(row) + " |" for row in table) + "\n"


def run(options, products, seed, expected):
    rows = []
    with Processes(ROOT / ".countersign" / "chaos") as processes:
        print("Starting RabbitMQ, Redis and PostgreSQL …", flush=True)
        processes.forget_servers()
        (processes.folder / "rows.jsonl").unlink(missing_ok=True)
        processes.start_servers(options.cluster)
        command = [products / "Chaos", "--seed", str(seed), *options.scenarios]
        if options.quick:
            command.append("--quick")
        for name in ("registrations", "transactions", "rate"):
            if getattr(options, name):
                command += [f"--{name}", str(getattr(options, name))]
        print(f"Breaking fleets with the seed {seed} …\n\n{line(COLUMNS)}", flush=True)
        environment = os.environ | {"COUNTERSIGN_TEST_SERVERS": str(processes.folder)}
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              text=True, start_new_session=True) as chaos:
            try:
                for text in chaos.stdout:
                    if not text.startswith("{"):
                        # ops/servers prints such lines when a scenario starts a server again.
                        continue
                    row = json.loads(text)
                    rows.append(row)
                    print(line(cells(row)), flush=True)
                    with open(processes.folder / "rows.jsonl", "a") as file:
                        file.write(text)
                    for measure in row["measures"]:
                        print(f"    {measure}", flush=True)
                    for problem in row["problems"]:
                        print(f"    why: {problem}", flush=True)
                status = chaos.wait()
            except Stopped:
                chaos.terminate()
                raise
    missing = [name for name in expected if name not in {row["scenario"] for row in rows}]
    if status not in (0, 1) or missing or (status == 0) != all(row["holds"] for row in rows):
        raise Failure(f"the scenarios ended with status {status}; not run: {', '.join(missing) or 'none'}")
    return rows


def live(options, products, seed):
    print(f"Letting purchases live with the seed {seed} …", flush=True)
    row = lives.run(options, products, seed)
    print(f"\n{lives.show(row)}")
    if not row["holds"]:
        raise Failure(f"not everything held; repeat with {lives.again(options, seed)}")
    print("\nThe ledger is as the simulator knows it.")
    return 0


def earlier_build(commit, mode):
    """Builds the executable of a commit in a folder of its own; returns its path."""
    folder = ROOT / ".countersign" / "earlier"
    if not folder.exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", folder, commit)
    git("-C", folder, "checkout", "--detach", "--force", commit)
    print(f"Building {commit} in {shown(folder)} …", flush=True)
    run = subprocess.run(["swift", "build", "-c", mode, "--product", "countersign"], cwd=folder,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        raise Failure(f"{run.stdout[-4000:]}\n{commit} cannot be built")
    return folder / ".build" / mode / "countersign"


def git(*words):
    run = subprocess.run(["git", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode != 0:
        raise Failure(f"git {' '.join(map(str, words))}: {run.stderr.strip()}")


def scenarios(products, cluster):
    listed = subprocess.run(
        [products / "Chaos", "--list", *(["--cluster"] if cluster else [])], capture_output=True, text=True,
        stdin=subprocess.DEVNULL)
    return [text.split(maxsplit=1) for text in listed.stdout.splitlines() if text]


def main():
    parser = argparse.ArgumentParser(
        prog="ops/chaos", description="Breaks whole fleets and checks every promise.",
        epilog="The exit status is 0 when every promise held, 1 when one did not, and 2 for a mistake in the call.")
    parser.add_argument("scenarios", nargs="*",
                        help="the scenarios to run, 30 to 60 seconds each; by default all, in about 25 minutes")
    parser.add_argument("--quick", action="store_true",
                        help="300 registrations over 60 transactions, 100 a second, shorter outages, the debug build: "
                        "all in about 10 minutes")
    parser.add_argument("--cluster", action="store_true",
                        help="the scenarios that need several nodes of each server, on such servers")
    parser.add_argument("--from", dest="earlier", metavar="COMMIT",
                        help="upgrade: the commit whose roles the fleet begins with")
    parser.add_argument("--seed", type=int,
                        help="chooses the sequence of faults; their number and their moments depend on the machine")
    parser.add_argument("--registrations", type=int, help="the least registrations of each scenario; 5000 by default")
    parser.add_argument("--transactions", type=int, help="the transactions that they name; 1000 by default")
    parser.add_argument("--rate", type=float, help="registrations a second; 250 by default")
    parser.add_argument("--lives", type=int, help="lives: so many; 10000 by default, 300 with --quick")
    parser.add_argument("--seconds", type=float, help="lives: the load's length; 300 by default, 60 with --quick")
    parser.add_argument("--list", action="store_true", help="list the scenarios")
    parser.add_argument("--table", help="write the table in Markdown to this file")
    options = parser.parse_args()
    mode = "debug" if options.quick or options.list else "release"
    for product in ("countersign", "Chaos"):
        build("-c", mode, "--product", product)
    products = ROOT / ".build" / mode
    if options.earlier:
        # The scenario reads it.
        os.environ["COUNTERSIGN_TEST_EARLIER"] = str(earlier_build(options.earlier, mode))
    known = scenarios(products, options.cluster)
    if options.list:
        print("\n".join(f"{name:18}{what}" for name, what in known + [(lives.NAME, lives.WHAT)]))
        return 0
    if lives.NAME in options.scenarios and len(options.scenarios) > 1:
        parser.error(f"{lives.NAME} runs alone")
    unknown = set(options.scenarios) - {lives.NAME} - {name for name, _ in known}
    if unknown:
        parser.error(f"there is no scenario {', '.join(sorted(unknown))}; ops/chaos --list lists them")
    seed = random.randint(1, 999_999) if options.seed is None else options.seed
    if seed < 0:
        raise Failure("--seed takes a number from 0 on")
    if options.scenarios == [lives.NAME]:
        return live(options, products, seed)
    rows = run(options, products, seed, options.scenarios or [name for name, _ in known])
    if options.table:
        with open(options.table, "w") as file:
            file.write(markdown(rows, options, seed))
    broken = [row["scenario"] for row in rows if not row["holds"]]
    if broken:
        raise Failure(f"not everything held: {', '.join(broken)}; repeat with {again(options, seed, broken)}")
    print(f"\nEvery promise held in {len(rows)} scenario{'s' if len(rows) > 1 else ''}; every fault and answer is in "
          f".countersign/chaos/rows.jsonl.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"\nops/chaos: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    except Stopped as stopped:
        sys.exit(128 + stopped.number)
