"""ops/fuzz: runs the fuzz targets, two at a time."""
import argparse
import base64
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys

from development import fuzz_inputs
from fleet import ROOT, Failure

TARGETS = ["jws", "certificate", "receipt", "json", "notification", "posted", "answer", "head", "message", "reply",
           "request"]
# For each target of a quick run, which is part of CI.
QUICK_SECONDS = 8
FOLDER = ROOT / ".countersign" / "fuzz"
SCRATCH = ROOT / ".build" / "fuzz"
# No verified data is longer than a megabyte, and short inputs mutate better.
MAX_LENGTH = 16384
# A request's head alone may have 16 KiB.
LENGTHS = {"request": 40960}
# A running server frees memory at its own time. libFuzzer would take that for a leak after each input. The sanitizer
# looks for leaks at the end, when the target has closed the server.
OPTIONS = {"request": ["-detect_leaks=0"]}


def build():
    command = ["swift", "build", "-c", "release", "--scratch-path", SCRATCH, "--sanitize", "fuzzer",
               "--sanitize", "address", "--product", "Fuzzing",
               "--explicit-target-dependency-import-check", "error",
               # SwiftPM's fuzzer sanitizer links libFuzzer, but does not set this option of the compiler.
               "-Xswiftc", "-sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table",
               # Most readers are internal to their modules, and so is what the targets call.
               "-Xswiftc", "-enable-testing"]
    print("Building with libFuzzer and the address sanitizer …", flush=True)
    # The sanitizer brings its own allocator.
    environment = os.environ | {"COUNTERSIGN_FUZZ": "1", "COUNTERSIGN_ALLOCATOR": "system"}
    run = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        raise Failure(f"the build failed:\n{run.stdout}")


def apples_data():
    """The folder of Apple's published test data, which is not part of the project, or None."""
    folder = pathlib.Path(os.environ.get("COUNTERSIGN_FIXTURES") or ROOT / ".." / "shared" / "fixtures")
    return folder if folder.is_dir() else None


def payload(jws):
    part = jws.split(b".")[1]
    return base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def seeds(folder):
    """Yields (target, input) for every fixture that can be an input."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix in (".der", ".cer"):
            yield ("receipt" if path.name.startswith("receipt") else "certificate"), content
        elif path.suffix == ".json" and "models" in path.parts:
            yield "json", content
            yield "jws", content
            yield "notification", content
        elif content.startswith(b"eyJ"):
            yield "jws", content
            try:
                yield "jws", payload(content)
                yield "json", payload(content)
                yield "notification", payload(content)
            except (IndexError, ValueError):
                pass
        elif content.startswith(b"MI"):
            der = base64.b64decode(content)
            yield "receipt", der
            read = subprocess.run(["openssl", "cms", "-verify", "-inform", "DER", "-noverify"], input=der,
                                  capture_output=True)
            if read.returncode == 0:
                yield "receipt", read.stdout


def plant():
    """Fills the corpora with the fixtures, and each with one input that shows the form."""
    for target in TARGETS:
        (FOLDER / target).mkdir(parents=True, exist_ok=True)
    plain = [("json", b'{"transactionId":"1","price":1,"purchaseDate":1.5,"isUpgraded":false,"a":[null,"\\u00e4"]}'),
             ("jws", b'{"transactionId":"1","bundleId":"b","environment":"Sandbox","signedDate":1790000000000}'),
             ("notification", b'{"transactionId":"1","originalTransactionId":"1","bundleId":"b","productId":"p",'
                              b'"type":"Consumable","environment":"Sandbox","purchaseDate":1790000000000,'
                              b'"signedDate":1790000000000,"appTransactionId":"7"}'),
             ("notification", b'{"signedPayload":"eyJhbGciOiJFUzI1NiJ9.e30.AA"}'),
             ("notification", b'{"notificationType":"EXTERNAL_PURCHASE_TOKEN","notificationUUID":"a","version":"2.0",'
                              b'"signedDate":1790000000000,"externalPurchaseToken":{"externalPurchaseId":"SANDBOX_1",'
                              b'"tokenCreationDate":1790000000000,"bundleId":"b"}}'),
             ("notification", b'{"notification_type":"REFUND","environment":"PROD","bid":"b","password":"p",'
                              b'"original_transaction_id":1,"unified_receipt":{"latest_receipt_info":'
                              b'[{"original_transaction_id":"2"}],"pending_renewal_info":[]}}'),
             ("head", b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/2 200\r\nContent-Type: a/b\r\n"
                      b"RETRY-AFTER:\t120 \r\nSet-Cookie: a=b; Path=/\r\n folded\r\n:\r\n\xff: \x00\x0b\r\n\r\n"),
             ("head", b"a:b\n" * 600),
             ("receipt", bytes.fromhex("311f300b02010202010104030c0162301002010c0201010408160632303236303100"))]
    apples = apples_data()
    if apples is None:
        print("Apple's data is not here to start from, too; set COUNTERSIGN_FIXTURES to its folder.", flush=True)
    minted = seeds(ROOT / "Tests" / "Fixtures")
    known = [*plain, *fuzz_inputs.PARTS, *fuzz_inputs.requests(), *minted, *(seeds(apples) if apples else [])]
    known += [("posted", content) for target, content in known if target == "notification"]
    for target, content in known:
        if len(content) <= LENGTHS.get(target, MAX_LENGTH):
            (FOLDER / target / f"seed-{hashlib.sha1(content).hexdigest()}").write_bytes(content)


def fuzz(target, seconds):
    """Runs one target; returns its last line of statistics, or raises with the input that broke it."""
    log = FOLDER / f"{target}.log"
    artifacts = FOLDER / f"{target}-found-"
    with log.open("wb") as output:
        status = subprocess.run(
            [SCRATCH / "release" / "Fuzzing", f"-max_total_time={seconds}",
             f"-max_len={LENGTHS.get(target, MAX_LENGTH)}", "-timeout=20", "-rss_limit_mb=3072", "-print_final_stats=1",
             *OPTIONS.get(target, []), f"-artifact_prefix={artifacts}", FOLDER / target],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            # Swift's own crash reporter would stop the process before libFuzzer has stored the input.
            env=os.environ | {"COUNTERSIGN_FUZZ_TARGET": target, "SWIFT_BACKTRACE": "enable=no"}).returncode
    text = log.read_text(errors="replace")
    if status != 0:
        tail = "\n".join(text.splitlines()[-40:])
        raise Failure(
            f"{target} broke with status {status}; the input is {artifacts}*, all messages are in {log}:\n{tail}")
    runs = re.search(r"number_of_executed_units: *(\d+)", text)
    coverage = re.findall(r"cov: (\d+)", text)
    return f"{int(runs.group(1)) if runs else 0:,} inputs, {coverage[-1] if coverage else '?'} edges reached"


def main():
    parser = argparse.ArgumentParser(prog="ops/fuzz", description="Feeds the parsers with made-up inputs.")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SECONDS} seconds for each target")
    parser.add_argument("seconds", type=int, nargs="?", help="for each target; by default 60")
    parser.add_argument("targets", nargs="*", metavar="target", help=f"{', '.join(TARGETS)}; by default all")
    options = parser.parse_args()
    if options.seconds is None:
        options.seconds = QUICK_SECONDS if options.quick else 60
    if options.seconds < 1:
        raise Failure("at least one second is needed")
    if strangers := set(options.targets) - set(TARGETS):
        raise Failure(f"there is no target {', '.join(sorted(strangers))}")
    build()
    plant()
    targets = options.targets or TARGETS
    print(f"Fuzzing {', '.join(targets)} for {options.seconds} s each, two at a time …", flush=True)
    failures = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = {pool.submit(fuzz, target, options.seconds): target for target in targets}
        for run in concurrent.futures.as_completed(runs):
            try:
                print(f"{runs[run]:12} nothing found: {run.result()}", flush=True)
            except Failure as failure:
                print(f"{runs[run]:12} FOUND", flush=True)
                failures.append(str(failure))
    if failures:
        raise Failure("\n\n".join(failures))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"\nops/fuzz: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
