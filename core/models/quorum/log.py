"""A node's log, and the comparison that determines which of two logs is newer."""

from __future__ import annotations

from core.models.quorum.quorum_messages import Entry


class Log:
    """The entries of a log. Indexes start at 1.

    Attributes:
        entries: the entries of the log, in order.
        written: the number of entries that are on disk.
        cuts: the number of times that entries were dropped from the end of the log.
    """

    __slots__ = ("cuts", "entries", "written")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.written = 0
        self.cuts = 0

    def __len__(self) -> int:
        return len(self.entries)

    def term_at(self, index: int) -> int:
        """Return the term of the entry at an index; 0 for index 0; -1 if there is no such entry."""
        if index == 0:
            return 0
        return self.entries[index - 1].term if index <= len(self.entries) else -1

    def is_newer_than(self, last_term: int, last_index: int) -> bool:
        """Whether this log is newer than one that ends with this term and index (Raft §5.4.1)."""
        return (self.term_at(len(self)), len(self)) > (last_term, last_index)

    def cut(self, index: int) -> int:
        """Drop an entry and all later ones. Return the number of dropped entries."""
        dropped = len(self) - index + 1
        del self.entries[index - 1 :]
        self.written = min(self.written, index - 1)
        self.cuts += 1
        return dropped
