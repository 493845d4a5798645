"""The servers of a benchmark, with a receiver of webhooks."""
import json
import time

from development.measured import PRODUCTS, Measured, output
from fleet.processes import wait_until


class MeasuredWebhooks(Measured):
    """Starts and asks what takes part in a webhook's way."""

    def receiver(self):
        """Starts a receiver of webhooks and returns its port."""
        port = int(self.configuration.listen["receiver"].rpartition(":")[2])
        process = self.processes.start("receiver", [PRODUCTS / "Benchmarks", "receive", "--port", port])
        wait_until("the receiver", lambda: self.get("receiver", "/")[0] == 200, 10, failed=process.ended)
        self.running["receiver"] = process
        return port

    def received(self):
        return int(self.get("receiver", "/count")[1])

    def result(self):
        """The receiver's measurements since the last call."""
        return json.loads(self.get("receiver", "/result")[1])

    def endpoints(self, count, receiver, *arguments):
        self.benchmark("endpoints", "--count", count, "--receiver", receiver, *arguments)

    def events(self, count, *arguments):
        return self.benchmark("events", "--count", count, "--from", self.numbers(count), *arguments)

    def delivered(self, count, notifier):
        """Waits for so many webhooks; returns their rate, and what each of them takes of every process."""
        start, before, done = time.monotonic(), self.used(notifier), self.received()
        ledger = self.ledger.written()
        wait_until("every webhook", lambda: self.received() >= count, 300, failed=notifier.ended)
        seconds, left = time.monotonic() - start, self.received() - done
        # What the notifier still has to record is a part of its work.
        wait_until("every record", lambda: self.metric("notifier", "countersign_deliveries_in_flight") == 0, 60,
                   failed=notifier.ended)
        each = {name: (now - before[name]) / left for name, now in self.used(notifier).items()}
        processors = {name: seconds * 1e6 for name, seconds in each.items() if name != "commands"}
        return (self.ledger.written_since(ledger, left) | processors
                | {"perSecond": left / seconds, "commands": each["commands"],
                   "processorMicroseconds": processors["notifier"]})

    def used(self, notifier):
        """The processor time of all processes on a webhook's way, and the commands of Redis so far."""
        stats = output(["redis-cli", "-p", self.ports["redis"], "info", "stats"])
        commands = next(int(line.partition(":")[2]) for line in stats.splitlines()
                        if line.startswith("total_commands_processed"))
        return self.others() | {"notifier": self.processor_seconds(notifier), "commands": commands,
                                "receiver": self.processor_seconds(self.running["receiver"])}
