"""Where the tests' servers keep their data."""
import pathlib
import signal
import tempfile
import unittest
from unittest import mock

from development import memory
from fleet.processes import SIGNALS


class RoomTests(unittest.TestCase):
    def test_memory_is_used_only_if_there_is_plenty(self):
        plenty, little = memory.ROOM, memory.ROOM - 1
        self.assertTrue(memory.has_room(plenty, plenty, {}))
        self.assertFalse(memory.has_room(little, plenty, {}))
        self.assertFalse(memory.has_room(plenty, little, {}))
        self.assertFalse(memory.has_room(plenty, plenty, {memory.ON_DISK: "1"}))


class PlaceTests(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "test-lane"
        shared = pathlib.Path(scratch.name) / "shm"
        shared.mkdir()
        patch = mock.patch.object(memory, "MEMORY", shared)
        patch.start()
        self.addCleanup(patch.stop)

    def placed(self, has_room):
        with mock.patch.object(memory, "has_room", return_value=has_room), mock.patch("builtins.print"):
            return memory.place(self.folder)

    def test_a_folder_moves_between_memory_and_disk_and_leaves_nothing_behind(self):
        self.placed(False).mkdir()
        (self.folder / "old.log").write_text("old")
        self.assertTrue(self.placed(True).is_symlink())
        self.assertEqual(list(self.folder.iterdir()), [])
        (self.folder / "new.log").write_text("new")
        self.assertFalse(self.placed(False).exists())
        self.assertEqual(list(memory.MEMORY.iterdir()), [])

    def test_a_command_takes_signals_afterwards_as_before(self):
        before = [signal.getsignal(number) for number in SIGNALS]
        self.placed(False).mkdir()
        self.placed(False)
        self.assertEqual([signal.getsignal(number) for number in SIGNALS], before)


if __name__ == "__main__":
    unittest.main()
