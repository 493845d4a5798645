"""Private Python environments in .countersign, each with the packages of one list, in the versions that it pins."""
import hashlib
import shutil
import subprocess
import sys

from fleet import ROOT, Failure, shown


class PrivatePython:
    """A Python environment for one purpose. It is made once, and again when its list of packages changes."""

    def __init__(self, name, requirements, purpose, by="ops/test", least="3.10"):
        self.folder = ROOT / ".countersign" / name
        self.requirements = requirements
        # Which script does what with it, for the message of a failure.
        self.purpose, self.by = purpose, by
        # The oldest Python that the packages support.
        self.least = least

    @property
    def python(self):
        return self.folder / "bin" / "python"

    def prepare(self):
        wanted = hashlib.sha256(self.requirements.read_bytes() + sys.version.encode()).hexdigest()
        stamp = self.folder / "stamp"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        print(f"Installing the packages of {shown(self.requirements)} into {shown(self.folder)} …", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        for what, command in (
                ("make", [sys.executable, "-m", "venv", self.folder]),
                ("install into it", [self.python, "-m", "pip", "install", "--quiet", "--no-input",
                                     "--disable-pip-version-check", "--only-binary", ":all:",
                                     "--requirement", self.requirements])):
            run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True)
            if run.returncode != 0:
                shutil.rmtree(self.folder, ignore_errors=True)
                raise Failure(
                    f"{run.stdout.strip()}\n\n{self.by} {self.purpose}, and could not {what} {shown(self.folder)}.\n"
                    f"It needs Python {self.least} or newer with venv (Debian: python3-venv) and, once, the packages\n"
                    f"of {shown(self.requirements)} from PyPI. Where PyPI cannot be reached, name a mirror in "
                    "PIP_INDEX_URL,\nor a folder with the wheels in PIP_FIND_LINKS, with PIP_NO_INDEX=1.")
        stamp.write_text(wanted)
