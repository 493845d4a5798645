"""The parts of ops/run and ops/servers, on which the tools of developers in `ops/development` stand, too."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COUNTERSIGN = ROOT / ".build" / "debug" / "countersign"


class Failure(Exception):
    """An error whose text says what the script tried and what the reader can do."""


def shown(path):
    """A path as the reader types it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
