"""The events of the majority log."""

from __future__ import annotations

from core.sim.events import DETAIL, NOTABLE, Event


class ElectionStarted(Event, kind="raft-election-started", source="Raft §5.2"):
    """A node became a candidate."""

    node: str
    term: int
    last_index: int

    template = "{node} hears from no leader and starts an election in term {term}; its log ends at {last_index}"


class Voted(Event, kind="raft-voted", source="Raft §5.4.1"):
    """A node answered a candidate."""

    node: str
    candidate: str
    term: int
    granted: bool
    reason: str

    def sentence(self) -> str:
        if self.granted:
            return f"{self.node} votes for {self.candidate} in term {self.term}"
        return f"{self.node} doesn't vote for {self.candidate} in term {self.term}: {self.reason}"


class Elected(Event, kind="raft-elected", source="Raft §5.2", level=NOTABLE):
    """A candidate became the leader."""

    node: str
    term: int
    votes: int
    nodes: int

    template = "{node} leads term {term} with {votes} of {nodes} votes"


class SteppedDown(Event, kind="raft-stepped-down", level=NOTABLE):
    """A leader stopped leading."""

    node: str
    term: int
    reason: str

    template = "{node} no longer leads: {reason}"


class EntryAppended(Event, kind="raft-appended", source="Raft §5.3", level=DETAIL):
    """A node appended an entry to its log."""

    node: str
    index: int  # type: ignore[assignment]  # not the method of tuples
    term: int
    key: str
    version: int

    def sentence(self) -> str:
        what = f"version {self.version} of {self.key}" if self.version else "the empty entry that begins its term"
        return f"{self.node} appends {what} at index {self.index} in term {self.term}"


class EntriesOverwritten(Event, kind="raft-overwritten", source="Raft §5.3", level=NOTABLE):
    """A node dropped entries that its leader does not have."""

    node: str
    start: int
    count: int  # type: ignore[assignment]
    leader: str

    def sentence(self) -> str:
        what = "1 entry" if self.count == 1 else f"{self.count} entries"
        return f"{self.node} drops {what} from index {self.start}: the log of its leader {self.leader} is different there"


class Committed(Event, kind="raft-committed", source="Raft §5.3, §5.4.2", level=DETAIL):
    """A leader committed entries."""

    node: str
    index: int  # type: ignore[assignment]
    copies: int

    template = "{node} commits everything up to index {index}: {copies} nodes have stored it"


EVENTS = (ElectionStarted, Voted, Elected, SteppedDown, EntryAppended, EntriesOverwritten, Committed)
"""The kinds of events of the model."""
