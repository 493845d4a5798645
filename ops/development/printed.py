"""Compares what a command printed with what a page shows. `…` stands for anything.

Line breaks and blanks do not count, since a page wraps long lines. Ids, secrets, times, dates, ports and process ids
may differ. Of an HTTP head, only the fields count that the page shows. A line that only says how long a slow machine
takes does not count.
"""
import re

MASKS = [(re.compile(pattern), mask) for pattern, mask in (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC|\+00)?", "TIME"),
    (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID"),
    (r"\b(evt|ep|rfr)_[0-9a-f]+", r"\1_ID"),
    (r"\bwhsec_[A-Za-z0-9+/]+=*", "SECRET"),
    (r"\bv1,[A-Za-z0-9+/]+=*", "SIGNATURE"),
    (r"\b[0-9a-f]{32}\b", "ID"),
    (r"\b(127\.0\.0\.1):\d+", r"\1:PORT"),
    (r"\bport \d+\b", "port PORT"),
    (r"\b1[5-9]\d{8}(\.\d+)?\b", "SECONDS"),
    (r"\b1[5-9]\d{11}\b", "MILLISECONDS"),
    (r"\b\d+(\.\d+)? (s|ms)\b", "DURATION"),
    (r'("durationMilliseconds"|"id"|"subscriptionId"): ?\d+', r"\1:NUMBER"),
    (r"\b\d+(?=\s+\.countersign/run/)", "PID"),
)]
WAITING = re.compile(r"^ *still waiting: .*\n", re.MULTILINE)
HEAD = re.compile(r"HTTP/1\.1 .*(\r?\n[A-Za-z0-9-]+:.*)*")


def fits(shown, printed):
    """Whether the text that a command printed is what a page shows."""
    names = {name.lower() for head in HEAD.finditer(shown) for name in fields(head.group())}
    printed = WAITING.sub("", printed.replace("\r\n", "\n"))
    printed = HEAD.sub(lambda head: only(head.group(), names), printed)
    words = masked(shown).split()
    pattern = r"\s*".join(".*?".join(re.escape(part) for part in word.split("…")) for word in words)
    return re.fullmatch(pattern, masked(printed).strip(), re.DOTALL) is not None


def masked(text):
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text


def fields(head):
    return [line.partition(":")[0] for line in head.splitlines()[1:]]


def only(head, names):
    """A head with its first line and the fields of these names."""
    lines = head.splitlines()
    return "\n".join(lines[:1] + [line for line in lines[1:] if line.partition(":")[0].lower() in names])
