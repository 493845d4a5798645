"""Reads the shell blocks of a page: what a reader types, and what the page says that it prints.

A block is a paragraph of code, which Markdown indents by four columns behind an empty line. In it,

    $ COMMAND           is a command, and the lines up to the next `$` are what it prints;
    COMMAND …           is a command too, if the block begins with one of PROGRAMS, or with NAME=…;
    (an empty line)     ends such commands: behind it stands what they print, or the next commands.

A comment of HTML before a block says why it is not run: `<!-- not run: needs Docker -->`. Any other block must look
like JSON or HTTP. So no block is passed over in silence.
"""
import dataclasses
import re
import subprocess
import textwrap

PROGRAMS = frozenset((
    "amqp-consume amqp-declare-queue amqp-publish cat cd cp countersign curl docker echo export for git grep jq kill "
    "mkdir ops/bench ops/chaos ops/examples/client.py ops/examples/purchase.py ops/examples/webhooks.py ops/receiver "
    "ops/run ops/servers ops/test printf psql python3 sed set sleep source sudo swift tail until wait while").split())
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
FUNCTION = re.compile(r"[a-z_]+\(\) \{")
NOT_RUN = re.compile(r"<!-- not run: (.+?) -->")
# How JSON, HTTP, the line of a URL, and a drawing begin.
ILLUSTRATION = re.compile(r'[{"\[…]|HTTP/1\.1 |(GET|POST|PUT|PATCH|DELETE) [/$]|https?://|.*──')


@dataclasses.dataclass
class Step:
    """Commands that are run together, and what they print; `None` if the page does not show it."""
    line: int
    commands: str
    printed: str | None = None
    # Why nobody runs it.
    reason: str | None = None


class Mistake(Exception):
    """A block that is neither commands, nor JSON or HTTP, nor marked."""


def steps(text):
    """The steps of a page, in its order."""
    found = []
    for line, block, reason in blocks(text):
        if reason:
            found.append(Step(line, block, reason=reason))
        elif any(each.startswith("$ ") for each in block.splitlines()):
            found += prompted(line, block)
        else:
            found += plain(line, block)
    return found


def blocks(text):
    """Yields the paragraphs of code: the number of the first line, the text, and why it is not run."""
    lines = text.splitlines()
    number, reason = 0, None
    while number < len(lines):
        mark = NOT_RUN.fullmatch(lines[number].strip())
        if is_code(lines, number):
            first = number
            while number < len(lines) and (lines[number].startswith("    ") or continues(lines, number)):
                number += 1
            yield first + 1, textwrap.dedent("\n".join(lines[first:number])).strip("\n"), reason
            reason = None
            continue
        if mark:
            reason = mark.group(1)
        elif lines[number].strip():
            reason = None
        number += 1


def is_code(lines, number):
    return lines[number].startswith("    ") and bool(lines[number].strip()) and (
        number == 0 or not lines[number - 1].strip())


def continues(lines, number):
    """Whether an empty line stands within a block."""
    rest = next((line for line in lines[number:] if line.strip()), "")
    return not lines[number].strip() and rest.startswith("    ")


def prompted(line, block):
    """The steps of a block with prompts."""
    lines = block.splitlines()
    number = next(index for index, each in enumerate(lines) if each.startswith("$ "))
    found = plain(line, "\n".join(lines[:number]).rstrip())
    while number < len(lines):
        first, command = number, lines[number][2:]
        number += 1
        while number < len(lines) and is_open(command):
            command += "\n" + lines[number]
            number += 1
        begin = number
        while number < len(lines) and not lines[number].startswith("$ "):
            number += 1
        printed = "\n".join(lines[begin:number]).strip("\n")
        found.append(Step(line + first, command, printed or None))
    return found


def plain(line, block):
    """The steps of a block without prompts: paragraphs of commands, each perhaps before what it prints."""
    found, lines, number = [], block.splitlines(), 0
    while number < len(lines):
        first, part = number, []
        while number < len(lines) and (lines[number].strip() or is_open("\n".join(part))):
            part.append(lines[number])
            number += 1
        text = "\n".join(part)
        while number < len(lines) and not lines[number].strip():
            number += 1
        if is_command(text):
            found.append(Step(line + first, text))
        elif found and found[-1].printed is None:
            found[-1].printed = text
        elif not ILLUSTRATION.match(text):
            raise Mistake(
                f"line {line + first}: neither a known command nor JSON nor HTTP: {part[0]}\n    Put <!-- not run: "
                "REASON --> before the block, or name the program in PROGRAMS of ops/development/pages.py")
    return found


def is_command(text):
    word = text.split(None, 1)[0]
    return word in PROGRAMS or bool(ASSIGNMENT.match(word) or FUNCTION.match(text))


def is_open(command):
    """Whether a shell would wait for another line."""
    if not command:
        return False
    if command.endswith("\\"):
        return True
    run = subprocess.run(["bash", "-n"], input=command + "\n", capture_output=True, text=True)
    return "unexpected end of file" in run.stderr or "unexpected EOF" in run.stderr or "here-document" in run.stderr
