"""The log's entries, and the messages between nodes. Indexes start at 1; index 0 stands for the start of the log."""

from __future__ import annotations

from typing import NamedTuple

from core.models.client_messages import Row


class Entry(NamedTuple):
    """An entry of the log.

    Attributes:
        term: the term of the leader that wrote the entry.
        row: the row; None for the empty entry with which a leader begins its term.
    """

    term: int
    row: Row | None


class RequestVote(NamedTuple):
    """A candidate asks for a vote, and reports where its log ends."""

    term: int
    last_index: int
    last_term: int


class Vote(NamedTuple):
    """The answer to a candidate's request for a vote."""

    term: int
    granted: bool


class AppendEntries(NamedTuple):
    """A leader sends entries, or an empty message as a heartbeat.

    Attributes:
        previous_index, previous_term: the index and the term of the entry before the first sent entry.
        commit: the leader's commit index.
        round: the number of the leader's last round of heartbeats for reads.
    """

    term: int
    previous_index: int
    previous_term: int
    entries: tuple[Entry, ...]
    commit: int
    round: int

    @property
    def rows(self) -> int:
        """The number of rows that the message carries."""
        return sum(entry.row is not None for entry in self.entries)


class Appended(NamedTuple):
    """The answer to a leader's entries or heartbeat.

    Attributes:
        ok: whether the node accepted the message. The node accepts a message only if its log contains the entry that immediately precedes
            the sent entries.
        stored: the last index up to which the log on disk equals the leader's; if not `ok`, the highest index that the leader can try next.
        round: the number of the round that the leader sent with its message.
    """

    term: int
    ok: bool
    stored: int
    round: int


class ForwardedWrite(NamedTuple):
    """A follower forwards a client's write to the leader (Raft's `MsgProp`). There is no answer: the follower finds the row in its log."""

    row: Row


class IndexRequest(NamedTuple):
    """A follower asks the leader up to which index it must have applied the log to answer a linearizable read (`MsgReadIndex`).

    Attributes:
        number: the number of the follower's request.
        how: the read mode, `quorum` or `lease`.
    """

    number: int
    how: str


class IndexAnswer(NamedTuple):
    """The leader's answer to an `IndexRequest`, which it gives when it knows that it still leads (`MsgReadIndexResp`)."""

    number: int
    read_index: int
