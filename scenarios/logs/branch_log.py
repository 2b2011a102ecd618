"""Writes the event log of a running session: replays its branch from the start, and writes every event.

The replay is needed because only the latest events are kept in memory. The file appears when it is complete, so a canceled save or a
full disk leaves an existing file unchanged.
"""

from __future__ import annotations

from pathlib import Path

from core.lab.history.branch import Branch
from core.lab.history.course import Start
from core.lab.history.tape import Outlet, Tape
from core.lab.history.way import STEPS_AT_ONCE, Enough, never
from scenarios.errors import InputError
from scenarios.logs.event_log import Header, LogWriter


class BranchLog:
    """Replays a branch from its start to its end and writes its events to a file.

    Attributes:
        path: the file.
        failed: the error message; '' while there is none.
        tape: the replay.
    """

    def __init__(self, start: Start, branch: Branch, path: Path, header: Header) -> None:
        """Open the file and start the replay.

        Args:
            start: starts the session again from its beginning.
            branch: the branch. The file ends where the branch ends now.
            path: the file. Its name says whether it is compressed.
            header: its first line.

        Raises:
            InputError: the file cannot be written.
        """
        self.path = path
        self.failed = ""
        self._end = branch.end
        self._log = LogWriter(path, header)
        outlet = Outlet(self._log)
        self.tape = Tape(start(outlet), outlet, branch.acts)

    @property
    def progress(self) -> float:
        """The part of the log that is written, from 0 to 1."""
        whole = self._end.steps + self._end.acts
        return min(1.0, (self.tape.steps + self.tape.done) / whole) if whole else 1.0

    def work(self, enough: Enough = never) -> bool:
        """Continue until `enough` says so. True: the file is complete, or has failed."""
        tape, end = self.tape, (self._end.steps, self._end.acts)
        count = 0
        while (tape.steps, tape.done) < end and tape.step():
            count += 1
            if count % STEPS_AT_ONCE == 0 and enough():
                return False
        tape.move_clock(self._end.time)
        try:
            self._log.close(self._end.time)
        except InputError as wrong:
            self.failed = str(wrong)
        return True

    def give_up(self) -> bool:
        """Cancel and remove the incomplete file."""
        self.failed = f"{self.path}: given up, nothing is written"
        self._log.discard()
        return True
