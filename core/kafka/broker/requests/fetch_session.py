"""The leader's state for a follower's fetch session (KIP-227), including the delayed fetch of this session.

The leader reads only partitions that have something new: those that the follower included in its fetch because their state changed, and
those that the leader must respond with because of new records, a new high watermark, or a new leader epoch. Idle partitions take no
computation time. If there is nothing to send in a session, the leader informs the network (`core.sim.long_polling`), which then elides idle
fetches.

A session serves its partitions in order. If the leader has sent records of a partition and has more to send, the partition moves to the end
of the session's order, so that every partition gets its turn. Kafka: `FetchSession`, `IncrementalFetchContext#PartitionIterator`.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from core.kafka.broker.abstract_fetch_session import AbstractCachedPartition, AbstractFetchSession
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.errors import NONE
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from core.kafka.messages import FetchedPartitionFields, FetchPartition, FetchPartitionFields, FetchRequest, FetchResponse
from core.sim.long_polling import NOT_YET, LongPoll

FetchedPartition = Any
"""A `FetchedPartitionFields`. A compiled engine would take such a tuple apart and create it anew wherever it is passed on."""


class FetchSessionManager(Protocol):
    """The manager of the fetch sessions, with whom delayed fetches wait (Kafka: `FetchManager`, `delayedFetchPurgatory`)."""

    def complete_fetch(self, session: FetchSession) -> None:
        """Complete a session's delayed fetch if there is one."""

    def complete_fetch_if_enough(self, session: FetchSession) -> None:
        """Complete a session's delayed fetch if there is enough to send."""

    def arm_expiry(self, session: FetchSession) -> None:
        """Ensure that the delayed fetch is completed no later than its deadline."""

    def mark_possibly_late(self, session: FetchSession) -> None:
        """Watch a session from now on, because its fetches might not arrive."""


class CachedPartition(AbstractCachedPartition):
    """One partition in a session: the follower's last request and the leader's last response for it (Kafka: `CachedPartition`).

    Attributes:
        asked: the follower's last request for the partition: a `FetchPartition` or the plain tuple of its fields.
        must_respond: whether there is something new to send (`FetchSession.to_send`).
        sent_high_watermark, sent_log_start: the values in the last response; -1 before the first response.
        partition, replica: the leader's partition and its state for the follower. `partition` and `replica` are None until the next fetch
            looks them up, for example after this broker's role in the partition changes.
    """

    __slots__ = ("asked", "partition", "replica", "sent_high_watermark", "sent_log_start", "tp")

    tp: Final[TopicPartition]

    def __init__(self, session: FetchSession, tp: TopicPartition, asked: FetchPartitionFields) -> None:
        super().__init__(session)
        self.tp = tp
        self.asked = asked
        self.sent_high_watermark = -1
        self.sent_log_start = -1
        self.partition: Partition | None = None
        self.replica: Replica | None = None

    @property
    def offset(self) -> int:
        """The offset that the follower fetches from."""
        offset: int
        _, offset, _, _, _ = self.asked
        return offset

    def unlink(self) -> None:
        """Look up the partition again at the next fetch."""
        self.partition = self.replica = None


PartitionRead = tuple[CachedPartition, FetchedPartition]
"""A partition, and what was read of it for the follower."""


class FetchSession(AbstractFetchSession):
    """The session of one fetcher of one follower.

    Attributes:
        manager: the manager of the sessions, with whom the session's delayed fetch waits.
        follower, fetcher: the IDs of the follower and its fetcher.
        address: the follower's address on the network.
        poll: the long poll that carries the session's fetches.
        keeps_epochs: whether the session remembers the leader epochs of its partitions (`release.sessions_keep_epochs`).
        partitions: all partitions of the session, in the order in which they were added.
        to_send: the partitions that have something new to send, in the order in which it became so, and without duplicates.
        last_fetch_time: the time when the last fetch arrived that was not elided, or that was the last one of an elision, in µs.
        parked: the delayed fetch; None if there is none.
        deadline: the time by which the delayed fetch is completed, in µs.
        cause: the event that is recorded as the cause if the delayed fetch is completed at its deadline.
        timer_due: the time when the armed expiry timer fires; -1 if none is armed.
    """

    __slots__ = (
        "address",
        "cause",
        "deadline",
        "fetcher",
        "keeps_epochs",
        "last_fetch_time",
        "manager",
        "partitions",
        "poll",
        "timer_due",
        "to_send",
    )  # fmt: skip

    manager: Final[FetchSessionManager]
    address: Final[str]
    fetcher: Final[int]
    poll: Final[LongPoll]
    keeps_epochs: Final[bool]
    partitions: Final[dict[TopicPartition, CachedPartition]]
    to_send: Final[list[CachedPartition]]

    def __init__(
        self, manager: FetchSessionManager, address: str, follower: int, fetcher: int, poll: LongPoll, *, keeps_epochs: bool = True
    ) -> None:
        super().__init__(follower)
        self.manager = manager
        self.address = address
        self.fetcher = fetcher
        self.poll = poll
        self.keeps_epochs = keeps_epochs
        self.partitions = {}
        self.to_send = []
        self.last_fetch_time = -(2**62)
        self.deadline = 0
        self.cause = 0
        self.timer_due = -1

    def fetched_at(self) -> int:
        """Return the time when the last fetch arrived, in µs. Fetches that the network has elided also count as having arrived."""
        if self.poll.elided:
            arrived_at = self.poll.arrived_at()
            if arrived_at != NOT_YET:
                return arrived_at
        return self.last_fetch_time

    def expires_at(self) -> int:
        """Return the deadline of the delayed fetch, in µs; -1 if no fetch is delayed."""
        if self.poll.elided:
            return self.poll.waits_until()
        return -1 if self.parked is None else self.deadline

    def polls_resume(self, arrived_at: int) -> None:
        """Resume handling fetches as they arrive, because the network no longer elides idle fetches. The last elided fetch counts as having
        arrived at `arrived_at`."""
        if arrived_at != NOT_YET:
            self.last_fetch_time = arrived_at
            if not self.keeps_epochs:
                self.forget_epochs()
        self.manager.mark_possibly_late(self)

    def wait(self, request: object, arrived_at: int, cause: int) -> None:
        """Delay the fetch that arrived at `arrived_at`. If records for the response have just been appended, the fetch needs no timer."""
        assert isinstance(request, FetchRequest)
        self.parked = request
        self.cause = cause
        self.deadline = arrived_at + request.max_wait
        if not self.to_send or request.min_bytes > 1:
            self.manager.arm_expiry(self)

    def empty_answer(self, request: object) -> FetchResponse:
        """Return the response to a fetch whose wait ended without new data."""
        assert isinstance(request, FetchRequest)
        return FetchResponse(request.correlation, self.fetcher, NONE, ())

    def mark_to_send(self, entry: AbstractCachedPartition) -> None:
        """Mark a partition as having something new to send."""
        if not entry.must_respond:
            if self.poll.silent:
                self.poll.break_silence()
            entry.must_respond = True
            self.to_send.append(entry)  # type: ignore[arg-type]

    def records_appended(self, entry: AbstractCachedPartition) -> None:
        """Mark a partition as having new records. If there are enough new records, complete the delayed fetch."""
        if not entry.must_respond:
            entry.must_respond = True
            self.to_send.append(entry)  # type: ignore[arg-type]
        if self.poll.silent:
            self.poll.break_silence()
        if self.parked is not None:
            self.manager.complete_fetch_if_enough(self)

    def complete(self) -> None:
        """Complete the delayed fetch if there is one."""
        self.manager.complete_fetch(self)

    def take_to_send(self) -> list[CachedPartition]:
        """Remove and return the partitions to read and send now. Each returned partition keeps `must_respond` until the partition is sent,
        so that it is not added to the list again before then.
        """
        entries = self.to_send.copy()
        self.to_send.clear()
        return entries

    def put_back(self, entries: list[CachedPartition]) -> None:
        """Put back partitions that were taken but not sent. The partitions that are put back precede those that have been marked
        in the meantime.
        """
        since = {id(entry) for entry in self.to_send}
        self.to_send[:0] = [entry for entry in entries if entry.must_respond and id(entry) not in since]

    def update_and_generate_response_data(
        self, taken: list[CachedPartition], reads: list[PartitionRead], pushes_high_watermark: bool
    ) -> list[FetchedPartition]:
        """Return the parts of a response that are new to the follower, and remember what was sent
        (`IncrementalFetchContext#updateAndGenerateResponseData`, `CachedPartition#maybeUpdateResponseData`).

        A partition stays marked if the follower needs another response after this one. Records after those that are sent are no reason,
        because the follower's next fetch asks for them. A follower outside the ISR is told of every change. After a new leader epoch of
        the same leader, a partition stays marked until a fetch of the follower has counted.

        Args:
            taken: the partitions that were taken from the session.
            reads: what was read of the partitions in `taken`; a throttled partition is not read.
            pushes_high_watermark: whether a new high watermark is sent although nothing else is new.
        """
        news: list[FetchedPartition] = []
        stay = len(reads) < len(taken)
        for entry, part in reads:
            fields: FetchedPartitionFields = part
            _, failure, offset, records, high_watermark, log_start, _ = fields
            if (
                records is not None
                or failure is not None
                or high_watermark != entry.sent_high_watermark
                or log_start != entry.sent_log_start
            ):
                news.append(part)
            entry.sent_high_watermark = high_watermark
            entry.sent_log_start = log_start
            partition, replica = entry.partition, entry.replica
            if failure is not None:
                error, _, _ = failure
                if error != NONE:
                    entry.sent_high_watermark = NO_OFFSET  # because the follower ignores the high watermark
                entry.must_respond = False
            elif partition is None or replica is None:
                stay = True
            elif (
                partition.log.high_watermark == high_watermark
                and replica.in_maximal_isr
                and (records is not None or (offset == partition.log.leo and replica.caught_up_session is self))
                and not (pushes_high_watermark and replica.last_sent_high_watermark < high_watermark)
            ):
                entry.must_respond = False  # the follower has everything until something changes
            elif records is not None:
                self.to_send.append(entry)  # after the other partitions, so that no partition starves
            else:
                stay = True
        if stay:
            self.put_back(taken)
        return news

    def forget_epochs(self) -> None:
        """Forget the leader epochs with which the session began (`CachedPartition#reqData` before 2.5)."""
        if self.has_epochs:
            self.has_epochs = False
            for entry in self.partitions.values():
                entry.asked = without_epoch(entry.asked)

    def update(self, changed: tuple[FetchPartitionFields, ...], forgotten: tuple[TopicPartition, ...]) -> None:
        """Update the session's partitions with the contents of a fetch (`FetchSession#update`)."""
        partitions, to_send = self.partitions, self.to_send
        for asked in changed:
            tp = asked[0]
            known = partitions.get(tp)
            if known is None:
                known = partitions[tp] = CachedPartition(self, tp, asked)
            else:
                known.asked = asked
            if not known.must_respond:
                known.must_respond = True
                to_send.append(known)
        if forgotten:
            for tp in forgotten:
                left = partitions.pop(tp, None)
                if left is not None:
                    left.must_respond = False
            to_send[:] = [entry for entry in to_send if entry.must_respond]


def without_epoch(asked: FetchPartitionFields) -> FetchPartitionFields:
    """Return what a follower asks for, without the leader epoch."""
    tp, offset, _epoch, last_fetched_epoch, cause = asked
    return FetchPartition(tp, offset, NO_EPOCH, last_fetched_epoch, cause)
