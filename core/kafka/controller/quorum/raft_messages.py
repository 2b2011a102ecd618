"""The messages between the voters of a quorum of controllers, and the entries of their logs (Kafka: `raft`)."""

from __future__ import annotations

from typing import NamedTuple


class LeaderChangeMessage(NamedTuple):
    """The first entry in a controller epoch (Kafka: `LeaderChangeMessage`). When the LeaderChangeMessage is committed, all earlier entries
    are also committed.
    """

    leader: str


class BrokerWrite(NamedTuple):
    """A broker's request that changes metadata, and the address to respond to."""

    request: object
    sender: str


class FenceStaleBroker(NamedTuple):
    """A write that fences a broker, because the active controller found that the broker's session has expired."""

    broker: int


class PeriodicWrite(NamedTuple):
    """A write to the metadata log that lets the active controller run a periodic task, either `balance` or `unclean`."""

    task: str


class QuorumEntry(NamedTuple):
    """One entry of a voter's log: a write, the controller epoch in which it was appended, and the sequence number of the event that caused it."""

    epoch: int
    write: object
    cause: int


class VoteRequest(NamedTuple):
    """A candidate's request for a vote, which contains the end of the candidate's log.

    If `pre` is true, the candidate only asks whether it would get the vote (KIP-996).
    """

    epoch: int
    candidate: str
    last_epoch: int
    end: int
    pre: bool


class VoteResponse(NamedTuple):
    """The response to a vote request: the voter's epoch and leader, and whether it grants the vote."""

    epoch: int
    leader: str
    granted: bool
    pre: bool


class BeginQuorumEpoch(NamedTuple):
    """The message with which a voter that has won an election informs the other voters."""

    epoch: int
    leader: str


class QuorumFetchRequest(NamedTuple):
    """A voter's fetch of entries from the leader, which contains the end and the last epoch of the voter's log, and the voter's high
    watermark.
    """

    number: int
    epoch: int
    voter: str
    end: int
    last_epoch: int
    high_watermark: int


class QuorumFetchResponse(NamedTuple):
    """The response to a voter's fetch: entries starting at the requested offset, or the diverging epoch and the offset to which the voter
    truncates its log.

    If the sender is not the leader, `error` is set.
    """

    number: int
    epoch: int
    leader: str
    error: str
    entries: tuple[QuorumEntry, ...]
    high_watermark: int
    diverging_epoch: int
    diverging_end: int
