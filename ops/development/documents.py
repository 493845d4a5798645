"""Checks the links between the Markdown files of the repository.

`mistakes()` returns one text for each relative link whose file or anchor does not exist. It uses no network and
skips links with a scheme (https:, mailto:). To run only this check:

    PYTHONPATH=ops python3 -B -m development.documents
"""
import functools
import pathlib
import re
import sys
import urllib.parse

from fleet import ROOT

# Our folders with Markdown files. A build folder or a virtual environment holds files of other projects.
FOLDERS = ("docs", "ops", "Sources", "Tests")

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
# The end of [text](target) and of ![text](target "title").
INLINE = re.compile(r"\]\(\s*<?([^()<>\s]+)>?(?:\s+[\"'][^\"']*[\"'])?\s*\)")
# [name]: target
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^<>\s]+)>?")
# <a id="name">, <a name="name">, <img src="target">, <a href="target">
HTML_ANCHOR = re.compile(r"<[^>]*\s(?:id|name)=\"([^\"]+)\"")
HTML_TARGET = re.compile(r"<[^>]*\s(?:href|src|srcset)=\"([^\"\s]+)\"")
SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


def mistakes(root=ROOT):
    """Every broken relative link of the Markdown files below a folder, as `file:line: mistake`."""
    return [mistake for path in markdown_files(root) for mistake in mistakes_of(path, root)]


def markdown_files(root):
    found = [*root.glob("*.md")]
    for folder in FOLDERS:
        found += (root / folder).rglob("*.md")
    return sorted(found)


def mistakes_of(path, root):
    for number, line in prose(path):
        for target in targets(line):
            problem = problem_of(target, path, root)
            if problem:
                yield f"{path.relative_to(root)}:{number}: {target}: {problem}"


def problem_of(target, path, root):
    """The mistake in the target of a link; `None` when the target exists."""
    if SCHEME.match(target) or target.startswith("//"):
        return None
    name, _, anchor = target.partition("#")
    name = urllib.parse.unquote(name.partition("?")[0])
    if name.startswith("/"):
        return "begins with a slash; use a path relative to this file"
    file = (path.parent / name).resolve() if name else path
    if not file.is_relative_to(root.resolve()):
        return "leads out of the repository"
    if not file.exists():
        return "there is no such file"
    if anchor and file.suffix == ".md" and urllib.parse.unquote(anchor) not in anchors(file):
        return f"there is no heading with the anchor #{anchor}"
    return None


def targets(line):
    """The targets of the links in a line, without those inside code."""
    text = CODE.sub("", line)
    return [*INLINE.findall(text), *DEFINITION.findall(text), *HTML_TARGET.findall(text)]


@functools.cache
def anchors(file):
    """The anchors of a file, as GitHub makes them: a second heading of the same name ends with -1, and so on."""
    found, counts = set(), {}
    for _, line in prose(file):
        found.update(HTML_ANCHOR.findall(line))
        heading = HEADING.match(line)
        if heading:
            slug = slug_of(heading.group(1))
            count = counts.get(slug, 0)
            counts[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
    return found


def slug_of(heading):
    """The anchor of a heading: lower case, no punctuation, hyphens in place of spaces."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def prose(path):
    """The lines of a file with their numbers, without blocks of code and comments."""
    fence, in_comment, is_code, was_blank = None, False, False, True
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = FENCE.match(line)
        # Indented lines are code only after an empty line; otherwise they continue a paragraph or an item of a list.
        is_code = line.startswith("    ") and (is_code or was_blank)
        was_blank = not line.strip()
        if fence:
            if mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
                fence = None
        elif mark:
            fence = mark.group(1)
        elif in_comment or line.lstrip().startswith("<!--"):
            in_comment = "-->" not in line
        elif not is_code:
            yield number, line


def main():
    found = mistakes()
    for mistake in found:
        print(mistake, file=sys.stderr)
    print(f"{len(found)} broken links in {len(markdown_files(ROOT))} Markdown files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
