"""A follower's fetch session as its leader keeps it (KIP-227), and the fetch that waits in it.

As long as no partition of a session has news, its leader has told the network so (`core.sim.long_polling`), and idle fetches are elided.

Only partitions with news are looked at: those the follower named because their state changed, and those that became
`dirty` here since (records to hand out, another high watermark, another leadership). Idle partitions cost nothing.

They keep their order. Those that were handed records and have more to say go to the end, so that no partition starves.
Kafka: `FetchSession`, `IncrementalFetchContext#PartitionIterator`.
"""

from __future__ import annotations

from typing import Final, Protocol

from core.kafka.broker.follower_session import FollowerSession, SessionEntry
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.errors import NONE
from core.kafka.ids import TopicPartition
from core.kafka.messages import FetchPartitionFields, FetchRequest, FetchResponse
from core.sim.long_polling import NOT_YET, LongPoll


class FetchPurgatory(Protocol):
    """Where fetches wait for news (Kafka: `delayedFetchPurgatory`)."""

    def complete_fetch(self, session: FetchSession) -> None:
        """Answer the one of a session, if one waits."""

    def complete_fetch_if_enough(self, session: FetchSession) -> None:
        """Answer it if there is enough to tell."""

    def arm_expiry(self, session: FetchSession) -> None:
        """Have the fetch that waits answered at the latest when its wait is over."""

    def watch(self, session: FetchSession) -> None:
        """Its fetches may fail to come."""


class SessionPartition(SessionEntry):
    """One partition of a session: what the follower last asked, and what it was last told.

    Attributes:
        asked: what the follower last asked, a `FetchPartition` or the plain tuple of its fields.
        dirty: whether there is news of it (`FetchSession.dirty`).
        sent_high_watermark, sent_log_start: as it was last told, -1 before.
        partition, replica: the leader's, once the fetch was looked at, and its view of the follower; None when they must be looked up
            anew, because the broker's part in the partition has changed.
    """

    __slots__ = ("asked", "partition", "replica", "sent_high_watermark", "sent_log_start", "tp")

    tp: Final[TopicPartition]

    def __init__(self, session: FetchSession, asked: FetchPartitionFields) -> None:
        super().__init__(session)
        self.asked = asked
        self.tp = asked[0]
        self.sent_high_watermark = -1
        self.sent_log_start = -1
        self.partition: Partition | None = None
        self.replica: Replica | None = None

    @property
    def offset(self) -> int:
        """From where the follower asked."""
        offset: int = self.asked[1]
        return offset

    def unlink(self) -> None:
        """The leader's side is not what it was: look it up again."""
        self.partition = self.replica = None


class FetchSession(FollowerSession):
    """The session of one fetcher of one follower.

    Attributes:
        purgatory: where its fetches wait.
        follower, fetcher: who fetches; address: the follower on the network.
        poll: the network's handle of these fetches.
        partitions: all of the session, in the order they came.
        dirty: those with news, in order, each of them once.
        last_fetch_time: when the last fetch arrived that was not elided, µs.
        parked: the fetch that waits in the purgatory; `deadline` when it is answered at the latest; `cause` of what comes of that.
        timer_due: when the armed expiry timer fires; -1 if none is armed.
    """

    __slots__ = (
        "address", "cause", "deadline", "dirty", "fetcher", "last_fetch_time", "partitions", "poll", "purgatory",
        "timer_due",
    )  # fmt: skip

    purgatory: Final[FetchPurgatory]
    address: Final[str]
    fetcher: Final[int]
    poll: Final[LongPoll]
    partitions: Final[dict[TopicPartition, SessionPartition]]
    dirty: Final[list[SessionPartition]]

    def __init__(self, purgatory: FetchPurgatory, address: str, follower: int, fetcher: int, poll: LongPoll) -> None:
        super().__init__(follower)
        self.purgatory = purgatory
        self.address = address
        self.fetcher = fetcher
        self.poll = poll
        self.partitions = {}
        self.dirty = []
        self.last_fetch_time = -(2**62)
        self.deadline = 0
        self.cause = 0
        self.timer_due = -1

    def fetched_at(self) -> int:
        """When the last fetch arrived, µs, elided ones included."""
        if self.poll.elided:
            arrived_at = self.poll.arrived_at()
            if arrived_at != NOT_YET:
                return arrived_at
        return self.last_fetch_time

    def expires_at(self) -> int:
        """When the fetch that waits in the purgatory is answered at the latest, µs; -1 if none waits."""
        if self.poll.elided:
            return self.poll.waits_until()
        return -1 if self.parked is None else self.deadline

    def polls_resume(self, arrived_at: int) -> None:
        """Fetches are no longer elided; the last one arrived at `arrived_at`."""
        if arrived_at != NOT_YET:
            self.last_fetch_time = arrived_at
        self.purgatory.watch(self)

    def wait(self, request: object, arrived_at: int, cause: int) -> None:
        """The fetch that arrived at `arrived_at` waits; no timer is needed if records to answer it with have just come."""
        assert isinstance(request, FetchRequest)
        self.parked = request
        self.cause = cause
        self.deadline = arrived_at + request.max_wait
        if not self.dirty or request.min_bytes > 1:
            self.purgatory.arm_expiry(self)

    def empty_answer(self, request: object) -> FetchResponse:
        """The answer to a fetch that has waited in vain."""
        assert isinstance(request, FetchRequest)
        return FetchResponse(request.correlation, self.fetcher, NONE, ())

    def mark_dirty(self, entry: SessionEntry) -> None:
        """There is news of a partition."""
        if not entry.dirty:
            if self.poll.silent:
                self.poll.break_silence()
            assert isinstance(entry, SessionPartition)
            entry.dirty = True
            self.dirty.append(entry)

    def records_appended(self, entry: SessionEntry) -> None:
        """There are records to hand out, at once if a fetch waits for no more than these."""
        if not entry.dirty:
            assert isinstance(entry, SessionPartition)
            entry.dirty = True
            self.dirty.append(entry)
        if self.poll.silent:
            self.poll.break_silence()
        if self.parked is not None:
            self.purgatory.complete_fetch_if_enough(self)

    def complete(self) -> None:
        """Have the fetch that waits answered."""
        self.purgatory.complete_fetch(self)

    def take_dirty(self) -> list[SessionPartition]:
        """Those with news, to be looked at now: each is dirty until it is told, and may have news again from then on."""
        entries = self.dirty.copy()
        self.dirty.clear()
        return entries

    def put_back(self, entries: list[SessionPartition]) -> None:
        """Of those that were taken some have not been told: they go before those that have had news since."""
        since = {id(entry) for entry in self.dirty}
        self.dirty[:0] = [entry for entry in entries if entry.dirty and id(entry) not in since]

    def update(self, changed: tuple[FetchPartitionFields, ...], forgotten: tuple[TopicPartition, ...]) -> None:
        """Take over what the follower says of its partitions (`FetchSession#update`)."""
        partitions, dirty = self.partitions, self.dirty
        for asked in changed:
            known = partitions.get(asked[0])
            if known is None:
                known = partitions[asked[0]] = SessionPartition(self, asked)
            else:
                known.asked = asked
            if not known.dirty:
                known.dirty = True
                dirty.append(known)
        if forgotten:
            for tp in forgotten:
                left = partitions.pop(tp, None)
                if left is not None:
                    left.dirty = False
            dirty[:] = [entry for entry in dirty if entry.dirty]
