"""Processes that die, stand still, or whose log nobody reads."""
import os
import pathlib
import re
import signal
import subprocess
import time

from development.runbooks import first, trial
from development.runbooks.endpoint import endpoint
from development.runbooks.stage import SCRAPE
from fleet.processes import name_of, stat, wait_until


@first
def nothing_finalized(stage):
    """both workers are killed before they finalized anything, and started again after more than a minute"""
    with stage.broken(lambda: stage.kill("worker 1", "worker 2"), lambda: stage.start("worker 1", "worker 2")):
        stage.register(100, 3)
        time.sleep(SCRAPE * 3)
        stage.register(100, 400)
        stage.fires("NothingFinalized", "RoleDown")
        stage.metric('up{job="worker"}', lambda value: value == 0, "is 0")
        # Jobs must wait for longer than the thresholds of two more alerts.
        time.sleep(65)
    stage.fires("JobsWait", "SynchronizationsSlow")
    stage.lists("jobs-wait.md", "worker")
    stage.lists("synchronizations-slow.md", "worker")
    stage.ends("NothingFinalized", "RoleDown")


@first
def role_down(stage):
    """the notifier is killed, and started again half a minute later"""
    with stage.broken(lambda: stage.kill("notifier"), lambda: stage.start("notifier")):
        stage.fires("RoleDown")
        stage.metric('up{job="notifier"}', lambda value: value == 0, "is 0")
        stage.register(100, 400)
        time.sleep(30)
    stage.ends("RoleDown")
    stage.fires("WebhooksLate")
    stage.lists("webhooks-late.md", "notifier")


@trial
def console_down(stage):
    """the console is killed, and started again"""
    with stage.broken(lambda: stage.kill("console"), lambda: stage.start("console")):
        stage.fires("ConsoleDown")
        stage.metric('up{job="console"}', lambda value: value == 0, "is 0")
    stage.ends("ConsoleDown")


@trial
def processes_die(stage):
    """both workers are killed with more than 50 jobs in hand, and started again"""
    stage.register_at_once(133, 40)
    stage.kill("worker 1", "worker 2")
    stage.start("worker 1", "worker 2")
    stage.fires("ProcessesDie")
    stage.logs("worker", "delivered again")


@trial
def loop_stalls(stage):
    """the gateway is stopped for more than a second under load, again and again (SIGSTOP)"""
    pid = stage.process("gateway").pid
    # The alert is about a turn: who is stopped while it waits for work, stands still for nobody.
    with stage.busy(lambda: stage.load.ask("GET", "/customers/load-0/entitlements"), 6):
        for _ in range(40):
            if stage.firing("LoopStalls"):
                break
            with stage.broken(lambda: os.kill(pid, signal.SIGSTOP), lambda: os.kill(pid, signal.SIGCONT)):
                time.sleep(1.5)
            time.sleep(SCRAPE)
    stage.fires("LoopStalls")
    stage.logs("gateway", "the loop is blocked")
    stage.logs("gateway", "slow turn of the loop")


@trial
def log_not_read(stage):
    """the program that reads the notifier's log hangs (SIGSTOP), and goes on"""
    stage.system.read_by_cat.add("notifier")
    stage.restart("notifier")
    pid = stage.process("notifier").pid
    cat = next(int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*")
               if stat(path.name)[1:2] == [str(pid)] and name_of(path.name) == "cat")
    # Ten endpoints make ten lines for each event.
    with endpoint(200) as server:
        names = [stage.endpoint(f"{server.url}{number}") for number in range(10)]
        with stage.broken(lambda: os.kill(cat, signal.SIGSTOP), lambda: os.kill(cat, signal.SIGCONT)):
            stage.register(100, 450)
            stage.fires("LogLinesDropped")
            pipe = re.search(r"pipe:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/2"))
            stage.note(f"`/proc/PID/fd/2 -> '{pipe[0].replace(pipe[1], '…')}'`")
            found = subprocess.run(["lsof"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
            readers = {line.split()[0] for line in found.splitlines() if re.search(rf"\b{pipe[1]}\b", line)}
            stage.note(f"`lsof` names {' and '.join(f'`{name}`' for name in sorted(readers))}")
            size = stage.process("notifier").log.stat().st_size
        # The pipe has 64 KiB, and the memory of the role 1 MiB.
        wait_until("what waited in memory", lambda: stage.process("notifier").log.stat().st_size - size > 1 << 20, 30)
        stage.note("then the 1 MiB that waited in memory comes out")
        for name in names:
            stage.load.expect("DELETE", f"/3.1/webhook_endpoints/{name}", None, (200, 204))
    stage.system.read_by_cat.remove("notifier")
    stage.restart("notifier")
