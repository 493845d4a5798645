"""What a stranger's worst bodies cost: each reader alone, and whole turns of a running gateway's loop."""
import asyncio
import json
import os

from development.door_benchmarks import ask
from development.measured import Measured, run_program
from development.table import Row
from fleet import Failure
from fleet.configuration import PUBLISHER

# The most that the two entrances take.
NOTIFICATION = 2 << 20
RECEIPT = 3 << 20
# The longest turn that a stranger may cause, in seconds: a boundary of the histogram.
LIMIT = 0.01
# A stranger's pace must not hide what one body costs.
UNPACED = {"COUNTERSIGN_GATEWAY_REFUSED_NOTIFICATIONS_PER_SECOND": "1000"}


def padded(size, head, unit, tail):
    return head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


def bodies(size, elements, values):
    """Bodies of the largest size, each with as much of one kind of work as the limits of its reader allow."""
    texts = {"ASCII": b"A", "accents": "é".encode(), "symbols": "😀".encode(), "escapes": rb"\u0041",
             "escaped accents": rb"\u00e9", "short escapes": rb"\n", "pairs": rb"\ud83d\ude00"}
    found = {name: padded(size, b'{"text":"', unit, b'"}') for name, unit in texts.items()}

    def lists(element):
        one = b"[" + b",".join([element] * elements) + b"]"
        return b'{"a":[' + b",".join([one] * (values // (elements + 1))) + b"]}"

    names = b"{" + b",".join(rb'"\u0061k%dz":0' % (1000 + number) for number in range(100)) + b"}"
    return found | {
        "spaces": b" " * (size - 2) + b"{}", "numbers": lists(b"1." + b"7" * 58 + b"e-5"),
        "empty objects": lists(b"{}"), "names": b'{"a":[' + b",".join([names] * (values // 201)) + b"]}",
        "nothing": b"[" * size, "no JSON": os.urandom(size)}


def entrances(measured):
    """The paths that need no credential, or one that is in every copy of an app, with their worst bodies."""
    values = measured.configuration.client("")
    iaptic = f"/v1/validate?appName={values['IAPTIC_APP_NAME']}&apiKey={values['IAPTIC_API_KEY']}"
    version1 = f"/1.0/in_app/subscriptions/apple/status_update_notification/{PUBLISHER}"
    posted = bodies(NOTIFICATION, 499, 19_900)
    # The password is looked for in the whole body.
    last = padded(NOTIFICATION, b'{"text":"', rb"\u00e9", b'","password":"wrong"}')
    signed = b'{"signedPayload":"' + b"A" * 40 + b"." + b"B" * (NOTIFICATION - 300) + b"." + b"C" * 86 + b'"}'
    return {
        "/apple/notifications": posted | {"signed": signed}, version1: posted | {"password": last},
        iaptic: bodies(RECEIPT, 999, 9_900)}


def long_turns(measured):
    """How many turns of the gateway's loop lasted longer than the limit."""
    status, metrics = measured.get("gateway", "/metrics")
    if status != 200:
        raise Failure(f"the gateway answered /metrics with {status or 'nothing'}; its log is .countersign/bench/*.log")
    lines = metrics.splitlines()

    def count(start):
        return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start))

    # Both of one answer: the loop turns on between two.
    turns = "countersign_loop_turn_seconds"
    return count(f"{turns}_count") - count(f'{turns}_bucket{{le="{LIMIT}"}}')


def strangers(options):
    """The readers' worst bodies by themselves, and the turns of a gateway that gets them all."""
    alone = run_program("strangers")
    worst = max(alone, key=lambda name: alone[name])
    print(json.dumps({name: round(milliseconds, 2) for name, milliseconds in alone.items()}), flush=True)
    with Measured(has_doors=True) as measured:
        measured.simulator(0)
        measured.declare()
        measured.start("gateway", UNPACED)
        address, posts, long = measured.configuration.listen["gateway"], 0, {}
        for path, worst_bodies in entrances(measured).items():
            for name, body in worst_bodies.items():
                before = long_turns(measured)
                for _ in range(options.runs):
                    status, answer = asyncio.run(ask(address, path, body))
                    posts += 1
                    if status not in (200, 400, 413):
                        raise Failure(f"{path} answered {name} with {status}: {answer[:300]}")
                if more := long_turns(measured) - before:
                    long[f"{name} at {path.partition('?')[0]}"] = more
        print(f"strangers: {posts} posts of up to {RECEIPT >> 20} MiB; turns longer than {LIMIT * 1000:.0f} ms: "
              + (", ".join(f"{count:.0f} by {name}" for name, count in long.items()) or "none"), flush=True)
    return [Row(f"stranger's worst body, {worst}", f"{alone[worst]:.1f} ms", goal="10 ms", holds=alone[worst] <= 10),
            Row(f"turns over {LIMIT * 1000:.0f} ms, of {posts} posts", f"{sum(long.values()):.0f}", goal="0",
                holds=not long)]
