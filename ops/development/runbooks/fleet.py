"""The fleet of the trials: short times, and roles that start with other variables for a time."""
from fleet.configuration import Configuration
from fleet.system import System

# The program that reads a role's log stands between the role and the file, as a container runtime does.
READ_BY_CAT = ["bash", "-c", 'exec "$@" 2> >(exec cat >&2)', "bash"]


class Settings(Configuration):
    """Short times, so that a trial takes seconds."""

    def settings(self):
        found = super().settings()
        found["appStore"] |= {"timeoutSeconds": 3, "budgetScale": 0.6}
        found["worker"] |= {"retryScheduleSeconds": [1, 2, 30], "sweepAfterSeconds": 10, "sweepIntervalSeconds": 10,
                            "historyIntervalSeconds": 20}
        return found | {"reloadSeconds": 2}


class Fleet(System):
    settings = Settings

    def __init__(self, processes):
        super().__init__(processes)
        # More variables of a role, by its name, and the roles whose log a program reads.
        self.variables, self.read_by_cat = {}, set()

    def command(self, name, words, environment):
        command, environment = super().command(name, words, environment)
        if name in self.read_by_cat:
            command = [*READ_BY_CAT, *command]
        return command, environment | self.variables.get(name, {})
