"""ops/test --documents: runs the shell blocks of the pages against the system of ops/run, on ports of its own."""
import contextlib
import io
import os
import re
import shutil
import sys
import time

from development.pages import Mistake, steps
from development.printed import fits
from development.shell import Shell
from fleet import ROOT, Failure, shown
from fleet.check import Check
from fleet.processes import Processes
from fleet.run import END, check_its_console, invitation, put_customer
from fleet.system import System, free_ports

FOLDERS = ("docs/start", "docs/how-to", "docs/compatibility")
# What an answer has that refuses a request. A page that does not show it does not mean it.
REFUSAL = re.compile(r'"type":"about:blank"|"ok":false|"success":false|"error":"|"errors": ?\{|HTTP/1\.1 [45]|curl: \(')
# How long a command in the background may take to print what a page shows.
SECONDS = 120
# The client looks for the system of ops/run beside itself.
STAND_INS = {"ops/examples/client.py": "ops/examples/client.py .countersign/run/env"}


def pages():
    return [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md")))]


def read(page):
    """The steps of a page; raises `Failure` for a block that is neither a command nor marked."""
    try:
        return steps(page.read_text(encoding="utf-8"))
    except Mistake as mistake:
        raise Failure(f"{shown(page)}: {mistake}") from None


def walk(names=()):
    """Runs the pages, or those whose name ends so; prints what was run and what was not, and why."""
    chosen = [(page, read(page)) for page in pages() if not names or shown(page).endswith(tuple(names))]
    if not chosen:
        raise Failure(f"no page is named {' or '.join(names)}; the pages are "
                      + ", ".join(shown(page) for page in pages()))
    with Processes(ROOT / ".countersign" / "documents") as processes:
        # No page may know the usual port.
        system = System(processes, gateway=f"127.0.0.1:{free_ports(1)[0]}")
        try:
            played = start(system)
            workplace = make_workplace(processes.folder)
            mistakes = [mistake for page, found in chosen
                        for mistake in walk_page(page, found, played, workplace, processes.folder)]
        finally:
            system.stop()
            system.forget()
    for page, found in chosen:
        for step in found:
            if step.reason:
                print(f"  not run: {shown(page)}:{step.line}: {step.reason}", flush=True)
    ran = sum(1 for _, found in chosen for step in found if not step.reason)
    print(f"{ran} steps of {len(chosen)} pages were run; {sum(len(found) for _, found in chosen) - ran} were not.",
          flush=True)
    if mistakes:
        raise Failure("\n\n".join([*mistakes, f"{len(mistakes)} steps of the documents do not do what they show"]))


def start(system):
    """Starts the system as ops/run does; returns what `ops/run` and `ops/run --check` print."""
    began, told = time.monotonic(), io.StringIO()
    with contextlib.redirect_stdout(Tee(told)):
        system.start()
        system.start_console()
        begun = told.getvalue() + invitation(system)
        Check(system).run()
        check_its_console(system.configuration)
        put_customer(system.configuration)

    def as_typed(text):
        return text.replace(shown(system.folder), ".countersign/run")

    return {
        "ops/run --check": as_typed(told.getvalue()) + END.format(time.monotonic() - began),
        "ops/run": as_typed(begun),
    }


class Tee(io.TextIOBase):
    """Prints, and keeps what it prints."""

    def __init__(self, kept):
        self.kept, self.out = kept, sys.stdout

    def write(self, text):
        self.kept.write(text)
        return self.out.write(text)

    def flush(self):
        self.out.flush()


def make_workplace(folder):
    """A checkout in which the pages may write: links to this one, and `.countersign/run` of the private system."""
    workplace = folder / "checkout"
    shutil.rmtree(workplace, ignore_errors=True)
    (workplace / ".countersign").mkdir(parents=True)
    (workplace / ".countersign" / "run").symlink_to(folder)
    for path in ROOT.iterdir():
        if path.name not in (".countersign", "mine"):
            (workplace / path.name).symlink_to(path)
    (workplace / ".curlrc").write_text("no-progress-meter\n")
    return workplace


def walk_page(page, found, played, workplace, folder):
    """Runs the steps of a page up to the first mistake; returns the mistakes."""
    print(f"Walking through {shown(page)} …", flush=True)
    scratch = folder / "printed" / page.stem
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("COUNTERSIGN_") and not key.lower().endswith("_proxy")}
    # Without a terminal, curl would print its progress between the lines.
    environment |= {"CURL_HOME": str(workplace), "LC_ALL": "C.UTF-8"}
    with Shell(workplace, scratch, environment) as shell:
        for step in found:
            if step.reason:
                continue
            try:
                problem = run(shell, step, played)
            except Failure as failure:
                problem = str(failure)
            if problem:
                return [f"{shown(page)}:{step.line}: {problem}\n  of\n    "
                        + "\n    ".join(step.commands.splitlines())]
    return []


def run(shell, step, played, seconds=SECONDS):
    """What is wrong about a step; `None` if it does what the page shows.

    played: what each command prints that is not run here
    seconds: how long a background command may take to print what the page shows
    """
    command = step.commands.partition(" #")[0].strip()
    if command in played:
        is_right = step.printed is None or fits(step.printed, played[command])
        return None if is_right else difference(step.printed, played[command])
    output, failed = shell.run(STAND_INS.get(command, step.commands))
    deadline = time.monotonic() + seconds
    while step.printed is not None:
        printed = output.read_text(errors="replace")
        if fits(step.printed, printed):
            return None
        if time.monotonic() > deadline:
            return difference(step.printed, printed)
        time.sleep(0.1)
    printed = output.read_text(errors="replace")
    if failed or REFUSAL.search(printed):
        return f"{f'ended with status {failed[0]}' if failed else 'was refused'}, and printed:\n{printed}"
    return None


def difference(expected, printed):
    return f"the page shows\n{expected}\n  and it printed\n{printed}"
