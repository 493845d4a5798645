"""The model of docs/operate/capacity.md: how many processes and how much disk a load needs."""
import dataclasses
import math

# How much of a core a role may use at the peak, so that one of two may end and the other carry on.
SHARE = 0.5
# Jobs that one worker has in hand (worker.concurrency), and how long one holds its place: Apple's answer, and the rest.
PLACES = 200
SECONDS_IN_HAND = 0.5
# Two of each, so that one may restart.
LEAST = 2
ROLES = ("gateway", "worker", "notifier")


@dataclasses.dataclass
class Point:
    """What was measured at one pace."""
    pace: float
    # Microseconds a registration, by process.
    processor: dict
    # MiB, by role.
    memory: dict
    answer_p99: float
    commits: float
    wal: float

    def described(self):
        parts = ", ".join(f"{name} {value:.0f} µs" for name, value in self.processor.items())
        memory = ", ".join(f"{name} {value:.0f} MiB" for name, value in self.memory.items())
        return (f"  {self.pace:,}/s: CPU of a registration: {parts}; answer p99 {self.answer_p99:.1f} ms; {memory}; "
                f"commits {self.commits:.2f}")


def needed(point, pace):
    """How many of each role a pace of registrations needs."""
    fleet = {name: max(LEAST, math.ceil(pace * point.processor[name] / 1e6 / SHARE)) for name in ROLES}
    fleet["worker"] = max(fleet["worker"], math.ceil(pace * SECONDS_IN_HAND / (PLACES * SHARE)))
    return fleet


def disk(purchases, renewals_a_day, *, lasting, renewal, notification, notification_days, status, status_days):
    """The bytes of the ledger after a year, by what they are for.

    purchases: those that are registered
    renewals_a_day: of all of them together; each brings a notification
    lasting, renewal, notification, status: bytes of one
    notification_days, status_days: how long these stay
    """
    return {
        "purchases": purchases * lasting,
        "renewals of a year": renewals_a_day * 365 * renewal,
        "notifications": renewals_a_day * notification_days * notification,
        "statuses and events": renewals_a_day * status_days * status,
    }
