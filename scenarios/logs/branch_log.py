"""Writes the event log of a running session by replaying the session's branch from the start.

The replay is necessary because only the latest events are kept in memory. The file appears only when it is complete, so an existing file
remains unchanged if the save is canceled or the disk is full.
"""

from __future__ import annotations

from pathlib import Path

from core.lab.history.branch import Branch
from core.lab.history.playable import PlayableFactory
from core.lab.history.replay_run import BranchReplay
from scenarios.errors import InputError
from scenarios.logs.log_header import Header
from scenarios.logs.log_writer import LogWriter


class BranchLog(BranchReplay):
    """A replay of a whole branch that writes all events of the branch to a file.

    Attributes:
        path: the path of the file.
        failed: the error message; '' if there is no error.
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
        self._log = LogWriter(path, header)
        super().__init__(start, branch.acts, branch.end, self._log)

    def arrived(self) -> None:
        """Complete the file at the end of the replay."""
        self.replay_run.move_clock(self.end.time)
        try:
            self._log.close(self.end.time)
        except InputError as wrong:
            self.failed = str(wrong)

    def cancel(self) -> bool:
        """Cancel the save, and remove the incomplete file."""
        self.failed = f"{self.path}: canceled; nothing is written"
        self._log.discard()
        return True
