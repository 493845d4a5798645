"""The checks of the sources: they need no server and no build."""
import os
import pathlib
import py_compile
import subprocess
import sys
import tempfile

from development.lines import check_lines, is_script
from fleet import ROOT, Failure


def check(what, command):
    print(f"Checking {what} …", flush=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COUNTERSIGN_")}
    status = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=environment).returncode
    if status != 0:
        raise Failure(f"{' '.join(str(word) for word in command)} ended with status {status}; its messages are above")


def check_scripts():
    print("Checking the scripts …", flush=True)
    mistakes = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(path for path in (ROOT / "ops").rglob("*") if path.is_file()):
            if path.suffix == ".py" or is_script(path, b"python3"):
                try:
                    py_compile.compile(str(path), cfile=str(pathlib.Path(scratch) / "compiled"), doraise=True)
                except py_compile.PyCompileError as error:
                    mistakes.append(error.msg)
            elif is_script(path, b"bash"):
                run = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
                if run.returncode != 0:
                    mistakes.append(run.stderr)
    if mistakes:
        raise Failure("\n".join(mistakes))


def check_imports():
    """The executable uses only FoundationEssentials: the rest of Foundation takes 7 MiB of each process."""
    print("Checking the imports …", flush=True)
    sources = sorted((ROOT / "Sources").rglob("*.swift"))
    whole = [str(path.relative_to(ROOT)) for path in sources
             if any(line.split()[-2:] == ["import", "Foundation"] for line in path.read_text().splitlines())]
    if whole:
        raise Failure(f"{', '.join(whole)}: import FoundationEssentials instead of Foundation")


def check_sources(parts):
    with parts.part("checks of the sources"):
        check_scripts()
        check(
            "what the scripts do",
            [sys.executable, "-B", "-m", "unittest", "discover", "--start-directory", "ops/development/tests"])
        check_imports()
        print("Checking the length of lines …", flush=True)
        check_lines()
        check("the format",
              ["swift", "format", "lint", "--strict", "--parallel", "-r", "Sources", "Tests", "Package.swift"])
