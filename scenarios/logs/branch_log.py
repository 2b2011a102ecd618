"""Writes the event log of a running session by replaying the session's branch from the start.

The replay is necessary because only the latest events are kept in memory. The file appears only when it is complete, so an existing file
remains unchanged if the save is canceled or the disk is full.
"""

from __future__ import annotations

from pathlib import Path

from core.lab.history.branch import Branch
from core.lab.history.incremental_task import STEPS_PER_CHECK, ShouldYield, never_yield
from core.lab.history.playable import PlayableFactory
from core.lab.history.replay_run import EventTap, ReplayRun
from scenarios.errors import InputError
from scenarios.logs.log_header import Header
from scenarios.logs.log_writer import LogWriter


class BranchLog:
    """A replay of a whole branch that writes its events to a file.

    Attributes:
        path: the file.
        failed: the error message; '' if there is no error.
        replay_run: the replay that produces the events.
    """

    def __init__(self, start: PlayableFactory, branch: Branch, path: Path, header: Header) -> None:
        """Open the file and start the replay.

        Args:
            start: the function that starts the session again from its beginning.
            branch: the branch to write, up to its current end.
            path: the path of the file, which is compressed if its name ends in `.zst`.
            header: the first line of the file.

        Raises:
            InputError: the file cannot be written.
        """
        self.path = path
        self.failed = ""
        self._end = branch.end
        self._log = LogWriter(path, header)
        event_tap = EventTap(self._log)
        self.replay_run = ReplayRun(start(event_tap), event_tap, branch.acts)

    @property
    def progress(self) -> float:
        """The fraction of the log that has been written, from 0 to 1."""
        whole = self._end.steps + self._end.acts
        return min(1.0, (self.replay_run.steps + self.replay_run.acts_done) / whole) if whole else 1.0

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Continue until `should_yield` returns True. Return True when the file is complete or the save has failed."""
        replay_run, end = self.replay_run, (self._end.steps, self._end.acts)
        count = 0
        while (replay_run.steps, replay_run.acts_done) < end and replay_run.step():
            count += 1
            if count % STEPS_PER_CHECK == 0 and should_yield():
                return False
        replay_run.move_clock(self._end.time)
        try:
            self._log.close(self._end.time)
        except InputError as wrong:
            self.failed = str(wrong)
        return True

    def cancel(self) -> bool:
        """Cancel the save, and remove the incomplete file."""
        self.failed = f"{self.path}: cancelled, nothing is written"
        self._log.discard()
        return True
