"""ops/test: all checks. The last output is the time of each part and the summary of swift test."""
import contextlib
import os
import re
import subprocess
import sys
import time

from development import browsers, memory
from development.charts import OF_PAGE, RENDERED, check_chart
from development.contract import PYTHON, check_contract
from development.example_clients import check_purchases
from development.generated_clients import PYTHON as GENERATORS
from development.grafana.evaluation import evaluate
from development.lanes import record, run_lanes
from development.oidc import PYTHON as OPENID_PYTHON
from development.pods import Pods
from development.scaling import scale
from development.sources import check, check_sources
from development.traces import PYTHON as OTLP_PYTHON
from development.traces import Collector
from development.walk import walk
from fleet import COUNTERSIGN, ROOT, Failure
from fleet.build import build, building
from fleet.configuration import CUSTOMER
from fleet.processes import Processes, Stopped
from fleet.run import put_customer
from fleet.sets import VARIABLE, ServerSet
from fleet.system import System

EXAMPLE = ROOT / "ops" / "config" / "countersign.json"
EXAMPLES = ROOT / "ops" / "examples"
CLIENTS = ("client.py", "webhooks.py", "cleeng_sk1.py", "mbaasy.py", "playfab.py", "iaptic.py")


class Parts:
    """How long each part of a run took, and with what the tests ended."""

    def __init__(self):
        self.start = time.monotonic()
        self.times = []
        # What each run of swift test ended with.
        self.summaries = []

    @contextlib.contextmanager
    def part(self, name):
        start = time.monotonic()
        try:
            yield
        finally:
            self.times.append((name, time.monotonic() - start))

    def table(self):
        rows = [*self.times, ("all, by the clock", time.monotonic() - self.start)]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"  {name.ljust(width)}  {seconds / 60:5.1f} min" for name, seconds in rows)


def prepare_clients(parts):
    """Installs what the long parts need, before they begin: it may need the network."""
    with parts.part("Schemathesis, generators and OpenTelemetry, installed"):
        PYTHON.prepare()
        GENERATORS.prepare()
        OTLP_PYTHON.prepare()
        OPENID_PYTHON.prepare()


def sanitized(arguments):
    """Splits `--sanitize=thread|address` from the arguments; returns the options of the build, and the rest."""
    kinds = [word.split("=", 1)[1] for word in arguments if word.startswith("--sanitize=")]
    rest = [word for word in arguments if not word.startswith("--sanitize=")]
    if not kinds:
        return [], rest
    if kinds not in (["thread"], ["address"]):
        raise Failure("--sanitize takes thread or address")
    # The build is optimized, because otherwise the tests of large bodies would exceed their time limits. There are no
    # fleet tests, because a sanitizer cannot report on a process that a test kills.
    options = ["-c", "release", "-Xswiftc", "-enable-testing", "--sanitize", kinds[0],
               "--scratch-path", str(ROOT / ".build" / kinds[0])]
    return options, rest


# All tests of a process share one loop. If they all begin at once, each waits for half a minute or more for its turns
# there: one that opens a connection meets its own time limits, and a timer of ten seconds fires in a test that is over
# in a millisecond. Few at once end as soon.
AT_ONCE = ("--experimental-maximum-parallelization-width", "24")
OF_FLEETS = "FleetTests"


def few_at_once(name, arguments):
    """The runs of the tests that arguments of swift test select: pairs as for `test_with_servers`.

    Unit and integration tests begin few at once. Fleet tests have a run of their own, since they limit by themselves
    how many fleets there are: one that waits for its turn must not keep another test out.
    """
    filters = [arguments[place + 1] for place, word in enumerate(arguments[:-1]) if word == "--filter"]
    modules = {part.partition(".")[0].removesuffix("[") for text in filters for part in text.split("|")}
    layers = {path.name for path in (ROOT / "Tests").glob("*Tests")} - {OF_FLEETS}
    others = (name, [*arguments, "--skip", f"{OF_FLEETS}[.]", *AT_ONCE])
    fleets = (f"{name}, with fleets", [*arguments, "--skip", "|".join(f"{layer}[.]" for layer in sorted(layers))])
    if modules and modules <= layers:
        return [others]
    return [fleets] if modules == {OF_FLEETS} else [others, fleets]


def test_layer(layer, arguments, parts):
    """Builds the tests of one layer with what they need, and runs them; unit tests need no servers."""
    folder = ROOT / "Tests" / f"{layer}Tests"
    layers = sorted(path.name.removesuffix("Tests") for path in folder.parent.glob("*Tests"))
    if not folder.is_dir() or layer in ("Integration", "Fleet"):
        unit = [name for name in layers if name not in ("Integration", "Fleet")]
        raise Failure(f"--layer takes one of {', '.join(unit)}")
    environment = os.environ | {"COUNTERSIGN_LAYER": layer}
    with parts.part("compiling"):
        build("--build-tests", environment=environment)
    with parts.part(folder.name):
        return run(["swift", "test", "--skip-build", "--disable-xctest", *AT_ONCE, *arguments], environment, parts)


def with_servers(arguments, parts):
    """Takes `--servers NAME` from the arguments, and fetches the set; returns whether it was there, and the rest."""
    if "--servers" not in arguments:
        return False, arguments
    place = arguments.index("--servers")
    servers = ServerSet(arguments[place + 1] if place + 1 < len(arguments) else "")
    with parts.part(f"the servers of {servers.name}, fetched"):
        servers.fetch()
    # ops/servers reads it, and so do the calls of ops/servers by the tests.
    os.environ[VARIABLE] = servers.name
    return True, arguments[:place] + arguments[place + 2:]


def test(arguments, parts):
    if arguments[:1] == ["--layer"]:
        return test_layer(arguments[1] if len(arguments) > 1 else "", arguments[2:], parts)
    if arguments == ["--servers", "all"]:
        with parts.part("compiling"):
            build("--build-tests")
        with parts.part("the tests"):
            run_lanes(KINDS, parts, at_once=len(KINDS))
        return 0
    of_a_set, arguments = with_servers(arguments, parts)
    if "--tls" in arguments:
        arguments = [word for word in arguments if word != "--tls"] or ["--filter", "IntegrationTests|FleetTests"]
        # ops/servers and the tests read it, and so do the calls of ops/servers by the tests.
        os.environ["COUNTERSIGN_TEST_TLS"] = "1"
    cluster = "--cluster" in arguments
    if cluster:
        # Of the fleet tests, only the rows for several nodes.
        arguments = [word for word in arguments if word != "--cluster"] or [
            "--filter", "IntegrationTests[.]|FleetTests[.]ChaosTests"]
    options, arguments = sanitized(arguments)
    only_contract = arguments == ["--contract"]
    only_chart = arguments == ["--chart"]
    only_documents = arguments[:1] == ["--documents"]
    only_browser = arguments == ["--browser"]
    is_whole = not arguments and not options and not of_a_set
    building_tests = os.environ | ({"COUNTERSIGN_ALLOCATOR": "system"} if options else {})
    if is_whole:
        # One core would idle meanwhile: most of these checks are one process, and some wait for the network.
        with parts.part("compiling, with all checks above beside it"), building("--build-tests"):
            check_sources(parts)
            prepare_clients(parts)
            with parts.part("the chart, without a cluster"):
                check_chart()
    else:
        check_sources(parts)
        if only_contract:
            prepare_clients(parts)
        elif any("OpenID" in word for word in arguments):
            OPENID_PYTHON.prepare()
        if only_browser:
            browsers.prepare()
        if only_chart:
            with parts.part("the chart, without a cluster"):
                check_chart()
        with parts.part("compiling"):
            if only_documents or only_chart or only_browser:
                build("--product", "countersign")
            else:
                build("--build-tests", *options, environment=building_tests)
            if options:
                # This builds the executable without a sanitizer, and with jemalloc.
                build("--product", "countersign")
    check("the example configuration", [COUNTERSIGN, "check-config", "--config", EXAMPLE])
    if is_whole or only_chart:
        check("the chart's configuration",
              [COUNTERSIGN, "check-config", "--config", RENDERED / "config" / "countersign.json"])
        check("the configuration of the page about Kubernetes",
              [COUNTERSIGN, "check-config", "--config", OF_PAGE / "config" / "countersign.json"])
    if is_whole:
        # Tests wait for each other, for restarts and for pauses more than for the processor.
        with parts.part("the tests"):
            run_lanes(LANES, parts, at_once=3)
        return 0
    if only_documents:
        with parts.part("the commands of the documents"):
            walk(arguments[1:])
        return 0
    if only_browser:
        with parts.part("the console, in a browser"):
            browsers.walk_console()
        return 0
    if only_contract or only_chart:
        check_as_strangers(parts, contract=only_contract, chart=only_chart)
        return 0
    # One kind after the other. Unit tests keep every core busy, and an integration test beside them would exceed its
    # time limits.
    runs = [INTEGRATION_TESTS] if of_a_set else [UNIT_TESTS, INTEGRATION_TESTS]
    runs += [] if options else [FLEET_TESTS]
    if arguments:
        runs = few_at_once("swift test", arguments)
    return test_with_servers(ROOT / ".countersign" / "test", runs, parts, options, cluster)


UNIT_TESTS = ("unit tests of every layer", ["--skip", "IntegrationTests[.]|FleetTests[.]", *AT_ONCE])
INTEGRATION_TESTS = ("IntegrationTests", ["--filter", "IntegrationTests[.]", *AT_ONCE])
FLEET_TESTS = ("FleetTests", ["--filter", "FleetTests[.]"])
# Two run side by side. What ends soon comes first, then the longest, so that both end at about the same time. Four
# fleets of seven processes are enough for two cores; the tests that break servers have one fleet at a time. The rows of
# faults wait for servers that start more than for the processor.
LANES = ("strangers", "layers", "faults-1", "fleets", "outages", "faults-2")
# What `ops/test --servers all` runs side by side: some tests of each kind, on other servers than the usual ones.
KINDS = {
    "tls": "AMQPTLSTests|RedisTLSTests|PostgresTLSTests|TopologyTests|CommitsTests|PurchaseTests"
           "|FleetTests[.]StartTests",
    "debian13": "CommitsTests|TopologyTests|PurchaseTests|FaultTests",
    "cluster": "BrokerClusterTests|SentinelTests|ChaosTests",
}


def test_lane(name, parts):
    """One part of a whole run, after the build."""
    if name == "strangers":
        with parts.part("the commands of the documents"):
            walk([])
        check_as_strangers(parts, contract=True, chart=True)
        return 0
    if name in KINDS:
        return test_kind(name, parts)
    rows = ("the rows of faults", ["--filter", "FleetTests[.]ChaosTests"])
    fleets = ["--filter", "FleetTests[.]", "--skip", "ChaosTests"]
    runs = {
        "layers": [UNIT_TESTS, INTEGRATION_TESTS],
        "fleets": [("FleetTests that share servers", fleets)],
        "outages": [("FleetTests that break servers", fleets)],
        "faults-1": [rows], "faults-2": [rows],
    }.get(name)
    if not runs:
        raise Failure(f"--lane takes one of {', '.join([*LANES, *KINDS])}")
    if name.startswith("faults-"):
        # The tests read it: one share of the rows.
        os.environ["COUNTERSIGN_TEST_ROWS"] = f"{name.removeprefix('faults-')}/2"
    if name in ("fleets", "outages"):
        os.environ["COUNTERSIGN_TEST_USE"] = "sharing" if name == "fleets" else "breaking"
    return test_with_servers(ROOT / ".countersign" / f"test-{name}", runs, parts)


def test_kind(name, parts):
    """Some tests on one kind of servers."""
    if name == "tls":
        os.environ["COUNTERSIGN_TEST_TLS"] = "1"
    elif name != "cluster":
        with_servers(["--servers", name], parts)
    runs = few_at_once(f"tests with {name}", ["--filter", KINDS[name]])
    return test_with_servers(ROOT / ".countersign" / f"test-{name}", runs, parts, cluster=name == "cluster")


def test_with_servers(folder, runs, parts, options=(), cluster=False):
    """Starts servers in a folder and runs Swift tests with them: pairs of a name and the arguments of swift test."""
    with Processes(memory.place(folder)) as processes:
        with parts.part("RabbitMQ, Redis and PostgreSQL, started"):
            print("Starting RabbitMQ, Redis and PostgreSQL …", flush=True)
            servers = processes.start_servers(cluster)
        # swift test reads the manifest again, and must find the same settings as swift build.
        environment = os.environ | ({"COUNTERSIGN_ALLOCATOR": "system"} if options else {}) | {
            # These names do not configure a role, because the roles that the tests start inherit them.
            "COUNTERSIGN_TEST_SERVERS": str(processes.folder),
            "COUNTERSIGN_TEST_RABBITMQ_URL": servers["COUNTERSIGN_RABBITMQ_URL"],
            "COUNTERSIGN_TEST_REDIS_URL": servers["COUNTERSIGN_REDIS_URL"],
            "COUNTERSIGN_TEST_LEDGER_URL": servers["COUNTERSIGN_LEDGER_URL"],
        }
        if options:
            environment["LSAN_OPTIONS"] = f"suppressions={ROOT / 'ops' / 'development' / 'sanitizers' / 'leaks.txt'}"
        for name, arguments in runs:
            # All tests use Swift Testing; XCTest would only report that it has none. Several lanes use one build.
            command = ["swift", "test", "--skip-build", "--ignore-lock", "--disable-xctest", *options, *arguments]
            with parts.part(name):
                status = run(command, environment, parts)
            if status != 0:
                return status
    # Memory is given back; the logs stay.
    processes.forget_servers()
    return 0


def check_as_strangers(parts, contract, chart):
    """Runs a fleet, and clients that know only the public contract and use common libraries for it.

    contract: whether the clients run
    chart: whether the pods of the Helm chart play a purchase beside the fleet, and the dashboards are evaluated
    """
    folder = ROOT / ".countersign" / "strangers"
    with Processes(memory.place(folder)) as processes, Collector(folder / "traces.jsonl") as collector:
        system = System(processes)
        try:
            with parts.part("a fleet, started"):
                system.start()
                # PLAYFAB_SESSION_TICKET names this customer.
                put_customer(system.configuration)
            if chart:
                with parts.part("the pods of the chart"):
                    Pods(system).play()
                with parts.part("workers that follow the query of KEDA"):
                    scale(system)
                with parts.part("dashboards and alerts, on this fleet's metrics"):
                    evaluate(system)
            if contract:
                with parts.part("ops/examples"):
                    for example in CLIENTS:
                        check(f"the contract with ops/examples/{example}", [EXAMPLES / example, system.client_file])
                    check_purchases(system.configuration.client(system.received), CUSTOMER)
                with parts.part("docs/reference/openapi.yaml, with generators and Schemathesis"):
                    check_contract(system)
        finally:
            system.stop()
            system.forget()
        if contract:
            # A role that stops has sent its last spans.
            collector.check()


# A line of Tests/Support/Servers/OwnTime.swift.
OWN_TIME = re.compile(r"^own time: (\d+) ms of (.*)")


def run(command, environment, parts):
    """Runs swift test, and keeps its summary back: it comes last, behind how long each part took."""
    print(f"Testing ({' '.join(command)}) …", flush=True)
    # In a session of its own, so that one signal stops it with all processes that it has started.
    tests = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True)
    own_times = []
    try:
        for line in tests.stdout:
            if " Test run with " in line:
                parts.summaries.append(line)
            elif (found := OWN_TIME.search(line)):
                own_times.append((int(found[1]), found[2]))
            else:
                print(line, end="", flush=True)
        if own_times:
            print("The tests with fleets that took longest, without their wait for a place:")
            for milliseconds, test_name in sorted(own_times, reverse=True)[:20]:
                print(f"  {milliseconds / 1000:5.1f} s  {test_name}", flush=True)
        return tests.wait()
    except Stopped:
        tests.terminate()
        try:
            tests.wait(10)
        except subprocess.TimeoutExpired:
            tests.kill()
        raise


def main():
    parts = Parts()
    arguments = sys.argv[1:]
    lane = arguments[1] if arguments[:1] == ["--lane"] and len(arguments) == 2 else None
    try:
        status = test_lane(lane, parts) if lane else test(arguments, parts)
        return status if status >= 0 else 128 - status
    except Failure as failure:
        print(f"\nops/test: {failure}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        return 130
    except Stopped as stopped:
        print("\nops/test: stopped", file=sys.stderr, flush=True)
        return 128 + stopped.number
    finally:
        if lane:
            record(lane, parts)
        else:
            print(f"\nTime of each part:\n{parts.table()}\n")
            print("".join(parts.summaries), end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
