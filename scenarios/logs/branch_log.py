"""Writes the event log of a session that is being played: its branch is gone through once more, and every event written as it comes.

What is in memory would not do: only the last events are kept there. The file appears when it is complete; so a way that is
given up, or a full disk, leaves whatever stood there before.
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
    """On the way through a branch, from its start to its end. `failed` says what went wrong, '' while nothing has."""

    def __init__(self, start: Start, branch: Branch, path: Path, header: Header) -> None:
        """Begin.

        Args:
            start: makes the course anew.
            branch: with its end as it is known now.
            path: the file; whether it is packed is in its name.
            header: its first line.

        Raises:
            InputError: it cannot be written.
        """
        self.path = path
        self.failed = ""
        self._end = branch.end
        self._log = LogWriter(path, header)
        outlet = Outlet(self._log)
        self.tape = Tape(start(outlet), outlet, branch.acts)

    @property
    def progress(self) -> float:
        """How much of it is written, 0 to 1."""
        whole = self._end.steps + self._end.acts
        return min(1.0, (self.tape.steps + self.tape.done) / whole) if whole else 1.0

    def work(self, enough: Enough = never) -> bool:
        """Go on until it is enough; True when the file is complete, or cannot be."""
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
        """Leave no part of it behind."""
        self.failed = f"{self.path}: given up, nothing is written"
        self._log.discard()
        return True
