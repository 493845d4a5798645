"""What many publishers cost: start, memory, reload, rest and registrations, beside one publisher."""
import hashlib
import json
import signal
import statistics
import time

from development.measured import Measured
from development.table import Row
from fleet.configuration import SIMULATED_APP
from fleet.processes import wait_until

ROLES = {"gateway": "gateway", "worker": "worker 1", "notifier": "notifier"}
# How long a role at rest is measured, in seconds. In this time a role looks at its files at least once.
REST = 35


class Folders:
    """A folder with one publisher, and one with many. The first publisher, with the load's token, is in both."""

    def __init__(self, measured, count):
        configuration = measured.configuration
        self.count = count
        self.one, self.many = (configuration.folder / name for name in ("one", "many"))
        key = next(configuration.simulator.glob("AuthKey_*.p8")).read_text()
        example = configuration.publisher() | {"customers": "open", "doors": {}, "webhooks": []}
        for folder in (self.one, self.many):
            folder.mkdir()
            (folder / "example.json").write_text(json.dumps(example))
        self.changes = 0
        for number in range(1, count):
            (self.many / f"{number}.p8").write_text(key)
            self.write(number)

    def write(self, number, offer="S0"):
        """Writes the file of a publisher with a token, an app and a key file of its own."""
        publisher = {
            "publisherId": 1_000_000 + number, "customers": "open",
            "tokenHashes": [hashlib.sha256(f"token of {number}".encode()).hexdigest()],
            "apps": [SIMULATED_APP | {"bundleId": f"com.example.app{number}", "privateKeyFile": f"{number}.p8",
                                      "environments": ["Production"]}],
            "offers": [{"offerId": offer, "productIds": [f"com.example.app{number}.monthly"]}]}
        (self.many / f"{1_000_000 + number}.json").write_text(json.dumps(publisher))

    def change(self, number):
        """Gives a publisher's file a content that it never had."""
        self.changes += 1
        self.write(number, offer=f"S{self.changes}")


def variables(folder):
    return {"COUNTERSIGN_PUBLISHERS_FOLDER": str(folder)}


def started(measured, role, folder):
    """Starts a role; returns it, with the milliseconds until it was ready."""
    start = time.monotonic()
    process = measured.start(ROLES[role], variables(folder))
    return process, (time.monotonic() - start) * 1000


def longest_turn(measured, role, before):
    """The upper bound, in milliseconds, of the longest turn of a role's loop since `before`."""
    longest = 0
    for bound, count in turns(measured, role).items():
        if count > before.get(bound, 0):
            longest = bound
    return longest * 1000


def turns(measured, role):
    """The turns of a role's loop by the upper bound of their time, in seconds; each is in one of them."""
    name, found, below = "countersign_loop_turn_seconds_bucket", {}, 0
    for line in measured.get(ROLES[role], "/metrics")[1].splitlines():
        if line.startswith(name):
            bound, count = line.split('le="')[1].split('"')[0], float(line.rpartition(" ")[2])
            found[float(bound)], below = count - below, count
    return found


def reload(measured, role, process, folders, number):
    """Changes one file and lets the role look; returns the milliseconds until it uses it, and the longest turn."""
    used = 'countersign_configuration_reloads_total{outcome="used"}'
    before, turn = measured.metric(ROLES[role], used), turns(measured, role)
    folders.change(number)
    start = time.monotonic()
    process.popen.send_signal(signal.SIGHUP)
    wait_until("the new file is used", lambda: measured.metric(ROLES[role], used) > before, 120, every=0.02)
    milliseconds = (time.monotonic() - start) * 1000
    # The turn that took the new publishers is over when the next look at the metrics is answered, and so is what the
    # role does each second.
    time.sleep(3)
    return milliseconds, longest_turn(measured, role, turn)


def rest(measured, process):
    """The CPU of a role at rest, and that of PostgreSQL meanwhile, in milliseconds a second."""
    time.sleep(2)
    own, ledger, start = measured.processor_seconds(process), measured.ledger_seconds(), time.monotonic()
    time.sleep(REST)
    seconds = time.monotonic() - start
    return ((measured.processor_seconds(process) - own) / seconds * 1000,
            (measured.ledger_seconds() - ledger) / seconds * 1000)


def registrations(measured, folders, options):
    """The CPU of a registration at a gateway with one publisher, and with many, in microseconds, in turns."""
    times = {folders.one: [], folders.many: []}
    for _ in range(options.runs):
        for folder, each in times.items():
            process, _ = started(measured, "gateway", folder)
            # The first ones open connections.
            measured.register(1000)
            before = measured.processor_seconds(process)
            measured.register(options.jobs)
            each.append((measured.processor_seconds(process) - before) / options.jobs * 1e6)
            measured.stop(process)
            measured.empty()
    return [statistics.median(each) for each in times.values()]


def publishers(options):
    """Each role with one publisher and with many."""
    rows = []
    with Measured() as measured:
        measured.simulator(0)
        measured.declare()
        folders = Folders(measured, options.publishers)
        many = f"{folders.count:,} publishers"
        for role in ROLES:
            process, alone = started(measured, role, folders.one)
            memory_alone, (own_alone, ledger_alone) = measured.resident_now(process), rest(measured, process)
            measured.stop(process)
            process, start = started(measured, role, folders.many)
            memory, (own, ledger) = measured.resident_now(process), rest(measured, process)
            reloads = [reload(measured, role, process, folders, number) for number in range(1, options.runs + 1)]
            measured.stop(process)
            milliseconds, turn = statistics.median(time for time, _ in reloads), max(turn for _, turn in reloads)
            print(f"{role}: start {start:,.0f} ms beside {alone:,.0f}, memory {memory:.0f} MiB beside "
                  f"{memory_alone:.0f}, at rest {own:.1f} ms/s beside {own_alone:.1f}, PostgreSQL then "
                  f"{ledger:.1f} ms/s beside {ledger_alone:.1f}, reload {milliseconds:,.0f} ms, its longest turn "
                  f"under {turn:.0f} ms",
                  flush=True)
            rows += [
                Row(f"{role}, start with {many}", f"{start:,.0f} ms", f"{alone:,.0f} ms with one"),
                Row(f"{role}, memory", f"{memory:.0f} MiB", f"{memory_alone:.0f} MiB with one"),
                Row(f"{role}, CPU at rest", f"{own:.1f} ms/s", f"{own_alone:.1f} ms/s with one"),
                Row(f"{role}, PostgreSQL at rest", f"{ledger:.1f} ms/s", f"{ledger_alone:.1f} ms/s with one"),
                Row(f"{role}, reload of one file", f"{milliseconds:,.0f} ms"),
                Row(f"{role}, longest turn meanwhile", f"under {turn:.0f} ms", goal="50 ms", holds=turn <= 50)]
        one, all_of_them = registrations(measured, folders, options)
        ratio = all_of_them / one
        rows.append(Row("gateway, CPU a registration", f"{all_of_them:.1f} µs", f"{one:.1f} µs with one", ratio,
                        "1.10", ratio <= 1.1))
    return rows
