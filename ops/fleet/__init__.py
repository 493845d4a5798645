"""What ops/run and ops/test are made of."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COUNTERSIGN = ROOT / ".build" / "debug" / "countersign"


class Failure(Exception):
    """Something that went wrong, told with what was tried and what to do."""


def shown(path):
    """A path as the reader would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
