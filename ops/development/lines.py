"""Finds lines that are too long to be read: comments in Swift, scripts, and Markdown."""
import re

from fleet import ROOT, Failure, shown

COLUMNS = 120
FENCE = re.compile(r"^\s*(```|~~~)")
# A numbered or bulleted item may be indented as far as code.
ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s")


def check_lines(folders=("Sources", "Tests", "ops", "docs"), root=ROOT):
    """Refuses lines over 120 columns, but for tables, lines with a URL and code that is quoted in Markdown."""
    files = [root / "Package.swift", *sorted(root.glob("*.md"))]
    for folder in folders:
        files += sorted(path for path in (root / folder).rglob("*") if path.is_file())
    mistakes = {}
    for path in files:
        found = long_lines(path)
        if found:
            mistakes[path] = found
    if mistakes:
        rows = [f"{shown(path)}:{number}" for path, numbers in mistakes.items() for number in numbers]
        count = f"{len(rows)} lines in {len(mistakes)} files are"
        raise Failure("\n".join([*rows, f"{count} longer than {COLUMNS} columns: break them, or say it shorter"]))


def long_lines(path):
    """The numbers of a file's lines that are too long."""
    judge = {".swift": swift_comments, ".md": markdown, ".py": every_line}.get(path.suffix)
    if judge is None and is_script(path, b"python3"):
        judge = every_line
    if judge is None:
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [number for number, line in judge(lines)
            if len(line.rstrip()) > COLUMNS and "://" not in line and not line.lstrip().startswith("|")]


def is_script(path, language):
    """Whether the first line of a file names the program that runs it, such as `python3`."""
    with path.open("rb") as file:
        first = file.readline(80)
    return first.startswith(b"#!") and language in first


def every_line(lines):
    return enumerate(lines, 1)


def swift_comments(lines):
    """Lines that are comments: the formatter breaks code, and only code."""
    return ((number, line) for number, line in enumerate(lines, 1) if line.lstrip().startswith("//"))


def markdown(lines):
    """Lines that are prose: no fenced code, and none that an indentation makes code."""
    is_fenced = is_code = False
    previous = ""
    for number, line in enumerate(lines, 1):
        if FENCE.match(line):
            is_fenced = not is_fenced
        elif not is_fenced:
            if line.strip():
                # Code begins behind an empty line; an indented line behind a text goes on with that text.
                is_code = line.startswith("    ") and not ITEM.match(line) and (is_code or not previous.strip())
            if not is_code:
                yield number, line
        previous = line
