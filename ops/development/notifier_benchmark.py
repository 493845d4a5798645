"""The benchmark of webhooks: their pace, where the time of one goes, and what a publisher's bad day costs others."""
import concurrent.futures
import time

from development.measured import median_of, resident_mib
from development.measured_webhooks import MeasuredWebhooks
from development.table import Row
from fleet.processes import wait_until

# Of a goal for isolation: how much longer a quiet publisher's webhooks may take.
FACTOR = 4

# What the other publisher has, the path of its endpoints, and the queues of its events if they are a floor's.
NEIGHBOURS = (("alone", None, ()), ("a burst, floor", None, ("--floor", "direct")), ("a burst", "q", ()),
              ("hanging, floor", None, ("--floor", "delayed")), ("hanging", "x", ()))


def notifier(options):
    """Webhooks to one receiver, in four parts.

    The first part uses kept-alive connections, the second many endpoints, the third some bad endpoints among good
    ones. In the fourth, another publisher makes load.
    """
    with MeasuredWebhooks() as measured:
        receiver = prepared(measured)
        # Endpoints that hang come last: they leave deliveries behind, and a new endpoint of the same name, which
        # answers, would get them.
        return (webhooks(measured, receiver, options) + many_endpoints(measured, receiver)
                + bad_endpoints(measured, receiver) + neighbours(measured, receiver))


def webhook_days():
    """The rows of ops/bench isolation: what bad days cost other publishers' webhooks."""
    with MeasuredWebhooks() as measured:
        receiver = prepared(measured)
        return many_endpoints(measured, receiver)[1:] + neighbours(measured, receiver)


def prepared(measured):
    """Starts what all parts need, and returns the receiver."""
    measured.simulator(0)
    measured.stop(measured.start("notifier"))  # the notifier declares the queues
    return measured.receiver()


def webhooks(measured, receiver, options):
    jobs, rows = options.jobs, []
    print(f"notifier: {jobs:,} events a run for 100 endpoints of one receiver", flush=True)
    measured.endpoints(100, receiver)
    for run in range(1, options.runs + 1):
        post = measured.benchmark("post", "--count", jobs, "--receiver", receiver)
        measured.result()
        measured.events(jobs, "--one-queue", 1)
        broker = measured.benchmark("consume", "--count", jobs)
        measured.events(jobs)
        process = measured.start("notifier")
        row = measured.delivered(jobs, process)
        measured.stop(process)
        measured.result()
        rows.append((row["perSecond"], post["perSecond"], broker["perSecond"], row["processorMicroseconds"],
                     post["processorMicroseconds"], broker["processorMicroseconds"]))
        print(f"{run:3}   libcurl alone {post['perSecond']:,.0f}/s, {post['processorMicroseconds']:.0f} µs of CPU   "
              f"broker alone {broker['perSecond']:,.0f}/s, {broker['processorMicroseconds']:.0f} µs   notifier "
              f"{row['perSecond']:,.0f}/s, {row['processorMicroseconds']:.0f} µs", flush=True)
        print("      CPU of a webhook in all: " + ", ".join(
            f"{name} {row[name]:.0f} µs" for name in ("notifier", "rabbitmq", "redis", "postgres", "receiver"))
            + f"; commands of Redis {row['commands']:.2f}, commits {row['commits']:.3f}, WAL {row['wal']:,.0f} bytes",
            flush=True)
    rate, post, broker, processor, post_processor, broker_processor = median_of(rows)
    return [
        Row("webhooks", f"{rate:,.0f}/s", f"{post:,.0f}/s, libcurl alone", rate / post, "0.30", rate / post >= 0.3),
        Row("", f"{rate:,.0f}/s", f"{broker:,.0f}/s, broker alone", rate / broker),
        Row("webhooks, CPU each", f"{processor:.0f} µs", f"{post_processor:.0f} + {broker_processor:.0f} µs",
            processor / (post_processor + broker_processor)),
    ]


def bad_endpoints(measured, receiver):
    """The delay that bad endpoints, which hang or refuse, cause at the other endpoints of their publisher."""
    delays = {}
    for bad in (0, 1):
        measured.endpoints(1000, receiver, "--bad", bad)
        process = measured.start("notifier")
        # Each endpoint gets a first event, because a new lane does not know its endpoint.
        measured.events(20_000, "--endpoints", 1000, "--rate", 400)
        wait_until("the good endpoints' webhooks", lambda: measured.received() >= (16_000 if bad else 20_000), 120)
        delays[bad] = measured.result()
        print(f"isolation: {'100 endpoints hang, 100 refuse' if bad else 'all 1,000 endpoints answer'}: p50 "
              f"{delays[bad]['p50']:.0f} ms, p99 {delays[bad]['p99']:.0f} ms", flush=True)
        measured.stop(process)
    p99 = delays[1]["p99"] / max(1, delays[0]["p99"])
    return [Row("webhooks, p99 with bad endpoints", f"{delays[1]['p99']:.0f} ms", f"{delays[0]['p99']:.0f} ms without",
                p99, "2.00", p99 <= 2)]


def many_endpoints(measured, receiver):
    """The delay and the memory with 10,000 endpoints of ten publishers, beside those with 100 of one."""
    events, memory, delays = 20_000, {}, {}
    for count in (100, 10_000):
        measured.endpoints(count, receiver)
        process = measured.start("notifier")
        measured.events(events, "--endpoints", count, "--rate", 1000)
        wait_until("every webhook", lambda: measured.received() >= events, 120)
        delays[count] = measured.result()
        memory[count] = measured.resident_now(process)
        print(f"memory: {memory[count]:.0f} MiB with {count:,} endpoints; 1,000 events a second, "
              f"p50 {delays[count]['p50']:.0f} ms, p99 {delays[count]['p99']:.0f} ms", flush=True)
        measured.stop(process)
    each = (memory[10_000] - memory[100]) / 9_900 * 1024
    return [Row("memory an endpoint, of 10,000", f"{each:.1f} KiB"),
            *factors("webhooks with 10,000 endpoints", delays[10_000], delays[100], "of 100")]


def factors(what, delays, usual, name):
    """The rows of a goal for isolation."""
    ratio = delays["p99"] / max(1, usual["p99"])
    return [Row(f"{what}, p50", f"{delays['p50']:.1f} ms", f"{usual['p50']:.1f} ms {name}",
                delays["p50"] / max(1, usual["p50"])),
            Row(f"{what}, p99", f"{delays['p99']:.1f} ms", f"{usual['p99']:.1f} ms {name}", ratio, f"{FACTOR:.2f}",
                ratio <= FACTOR)]


def neighbours(measured, receiver):
    """The delay of a publisher with 200 events a second while another publisher has 20,000 at once.

    The floor has the 20,000 in queues that no notifier knows. So it shows what the broker and the machine cost.
    """
    own, others = ("--first-endpoint", 1000), ("--first-endpoint", 2000)
    measured.endpoints(100, receiver, *own)
    results = {}
    for name, path, floor in NEIGHBOURS:
        if path:
            measured.endpoints(1000, receiver, *others, "--path", path)
        process = measured.start("notifier")
        measured.events(200, *own, "--endpoints", 100, "--rate", 200)
        wait_until("the first webhooks", lambda: measured.received() >= 200, 60)
        measured.result()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            steady = pool.submit(measured.events, 2000, *own, "--endpoints", 100, "--rate", 200)
            time.sleep(1)
            if path or floor:
                pool.submit(measured.events, 20_000, *others, "--endpoints", 1000, *floor).result()
            steady.result()
        wait_until("the publisher's webhooks", lambda: measured.received() >= 2000, 120)
        results[name] = measured.result()
        print(f"another publisher: {name}: p50 {results[name]['p50']:.1f} ms, p99 {results[name]['p99']:.1f} ms; "
              f"{resident_mib(process.pid):.0f} MiB", flush=True)
        measured.stop(process)
    return [row for name, what in (("a burst", "a burst of 20,000"), ("hanging", "20,000 to 1,000 that hang"))
            for usual, words in ((f"{name}, floor", "in queues of nobody"), ("alone", "alone"))
            for row in factors(f"webhooks beside {what}", results[name], results[usual], words)]
