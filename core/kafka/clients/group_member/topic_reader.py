"""How a group member reads one topic: the member's partitions, their positions, and the records that are waiting for poll().

Kafka: `Fetcher`, `SubscriptionState`. In Kafka, one fetch from a broker covers all topics; in isrlab, each topic has its own fetch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple, Protocol

from core.kafka import errors, events
from core.kafka.clients.client import POLL_DELAY
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.clients.consumer.fetched_records import visible_records
from core.kafka.clients.group_member.member_config import MemberConfig, Reset
from core.kafka.group_coordinator.group_requests import OffsetToCommit
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from core.kafka.messages import (
    ConsumerFetchResponse,
    FetchedPartition,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetsForLeaderEpochResponse,
)
from core.kafka.release import Release
from core.sim.units import SECOND

COMMITTED: Final = "committed"
"""The value that an event shows instead of a reset policy if a position is the group's committed offset."""


POSITION_MESSAGES: Final = frozenset({ListOffsetsResponse, OffsetsForLeaderEpochResponse})
"""The types of responses that concern the position of one partition. The handler of such a response also sends the fetch that was waiting
for the position.
"""


class PolledRange(NamedTuple):
    """Records in one leader epoch, with the offsets [start, end) of a partition, without gaps."""

    tp: TopicPartition
    start: int
    end: int
    epoch: int


class Owner(Protocol):
    """The part of the member's interface that the member's readers use."""

    def next_correlation(self) -> int:
        """A new correlation ID that no other request from the member has."""

    def connection_forgotten(self, node: str, /) -> None:
        """Forget the connection to a broker, because a reader no longer considers it established."""

    def shared_connection_lost(self, node: str, /) -> None:
        """Handle the end of a connection to a broker: the connection broke, or the reader closed it."""

    @property
    def fetches(self) -> bool:
        """Whether the application is in poll()."""

    def buffered_brokers(self) -> Collection[int]:
        """Return the brokers to which no fetch is sent, because records from them are waiting for poll()."""

    def refresh_metadata(self) -> None:
        """Request the metadata for all topics."""

    def metadata_changed(self) -> None:
        """Handle new metadata for a topic."""

    def poll_fails(self, error: str, /) -> None:
        """Make poll() fail with an exception."""


class TopicReader(Consumer):
    """Reads one topic for a member.

    Attributes:
        owner: the member that the reader belongs to.
        policy: auto.offset.reset.
        duration: the duration in the policy `by_duration`, in µs.
        group: the group that the member belongs to.
        assigned: the partitions that the member owns.
        initializing: the owned partitions whose committed offset is not known yet.
        paused: the owned partitions that the application has paused.
        buffer: the records that have been fetched but not yet polled, in the order in which they arrived.
        consumed: the next offset to poll, by partition.
        consumed_epochs: the leader epoch of the last record that was polled, by partition.
        has_metadata: whether a broker has responded to a metadata request for the topic, even if the topic does not exist.
        stale: whether something has changed since the reader last sent fetches, so that the reader might have another fetch to send.
        unconfirmed: the partitions whose first position is not final yet, because it must still be found or validated (KIP-320).
    """

    __slots__ = (
        "assigned", "buffer", "consumed", "consumed_epochs", "duration", "group", "has_metadata", "initializing", "owner", "paused", "policy",
        "stale", "unconfirmed",
    )  # fmt: skip

    owner: Final[Owner]
    policy: Final[Reset]
    duration: Final[int]
    group: Final[str]
    assigned: Final[dict[int, None]]
    initializing: Final[dict[int, None]]
    paused: Final[dict[int, None]]
    buffer: Final[list[PolledRange]]
    consumed: Final[dict[int, int]]
    consumed_epochs: Final[dict[int, int]]
    unconfirmed: Final[dict[int, None]]

    def __init__(
        self,
        owner: Owner,
        name: str,
        topic: str,
        does: MemberConfig,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(name, topic, Reset.EARLIEST if does.reset is Reset.EARLIEST else Reset.LATEST, context)
        self.owner = owner
        self.policy = does.reset
        self.duration = does.reset_duration
        self.group = does.group
        self.config = does.client
        self.read_committed = does.read_committed
        self.client_rack = does.rack
        self.validates = release.validates_positions
        self.assigned = {}
        self.initializing = {}
        self.paused = {}
        self.buffer = []
        self.consumed = {}
        self.consumed_epochs = {}
        self.unconfirmed = {}
        self.stale = True
        self.has_metadata = False

    # --- what arrives ----------------------------------------------------------------------------------------------

    def handle(self, message: object, sender: str) -> None:
        """Handle a message. After the response to a fetch, send the next fetch if the application is in poll()."""
        if type(message) in POSITION_MESSAGES:
            stale, self.stale = self.stale, not self.owner.fetches
            super().handle(message, sender)
            self.stale = self.stale or stale
            return
        self.stale = True
        super().handle(message, sender)
        if type(message) is not ConsumerFetchResponse:
            self.stale = True

    def awaits(self, message: object, sender: str) -> bool:
        """Return whether a response answers a request of this reader rather than one of another reader of the member."""
        match message:
            case ConsumerFetchResponse():
                in_flight = self.in_flight.get(sender)
                return in_flight is not None and in_flight[0] == message.correlation
            case MetadataResponse():
                return message.correlation == self._metadata_correlation
            case ListOffsetsResponse():
                return message.tp.topic == self.topic
            case OffsetsForLeaderEpochResponse():
                return any(tp.topic == self.topic for tp, *_ in message.partitions)
        return True

    def handle_timer(self, name: str, about: object) -> bool:
        """Handle a timer of the reader. Return False if no request has timed out and nothing has changed."""
        if name != "watch":
            self.timers[name](about)
            self.stale = True
            return True
        stale, self.stale = self.stale, False
        self._check_timeouts(about)
        found, self.stale = self.stale, self.stale or stale
        return found

    def connection_failed(self, node: str) -> None:
        """Record a broken or refused connection."""
        super().connection_failed(node)
        self.owner.connection_forgotten(node)

    # --- parts of the member ---------------------------------------------------------------------------------------

    def timer(self, delay: int, name: str, about: object = None) -> None:
        """Set a timer for the reader. `delay` is the time until the timer fires, in µs."""
        super().timer(delay, f"{self.topic}:{name}", about)

    def next_correlation(self) -> int:
        """Return a correlation ID that no other request from the member has."""
        return self.owner.next_correlation()

    def connection_lost(self, node: str) -> None:
        """Drop the requests to a broker."""
        self.stale = True
        super().connection_lost(node)
        self.owner.shared_connection_lost(node)

    def metadata_updated(self) -> None:
        """Learn about new partitions, inform the member, and fetch."""
        self.has_metadata = True
        while len(self.positions) < len(self.leaders):
            self.positions.append(NO_OFFSET)
        self.owner.metadata_changed()
        self.fetch()

    def _metadata_due(self, _: object) -> None:
        """Request metadata again. If the topic does not exist, request the metadata for all of the consumer's topics."""
        self._wait_armed = False
        if self.leaders:
            self.refresh_metadata()
        else:
            self.owner.refresh_metadata()

    # --- the assignment --------------------------------------------------------------------------------------------

    def assign(self, partition: int) -> None:
        """Add a partition that was assigned to the member. The position of the partition is not known yet."""
        self.stale = True
        self.assigned[partition] = self.initializing[partition] = None
        while len(self.positions) <= partition:
            self.positions.append(NO_OFFSET)
        self.positions[partition] = NO_OFFSET

    def revoke(self, partition: int) -> None:
        """Remove a partition, and drop its records that are waiting for poll()."""
        self.stale = True
        for known in (
            self.assigned,
            self.initializing,
            self.paused,
            self.consumed,
            self.consumed_epochs,
            self.unconfirmed,
            self._read_epochs,
            self._validated,
        ):
            known.pop(partition, None)
        self._resetting.pop(partition, None)
        self._validating.pop(partition, None)
        self._drop(partition)

    def _drop(self, partition: int) -> None:
        self.buffer[:] = [each for each in self.buffer if each.tp.partition != partition]

    def start_at(self, partition: int, offset: int, epoch: int) -> None:
        """Begin to read at a committed offset. If the group has no committed offset (-1), auto.offset.reset determines where to begin."""
        self.stale = True
        if self.initializing.pop(partition, self) is self:
            return
        self._validated.pop(partition, None)
        self._read_epochs.pop(partition, None)
        if offset >= 0:
            self.positions[partition] = self.consumed[partition] = offset
            if epoch != NO_EPOCH:
                self._read_epochs[partition] = self.consumed_epochs[partition] = epoch
            self._emit_position(partition, COMMITTED)
        elif self.policy is Reset.NONE:
            self.owner.poll_fails(f"NoOffsetForPartitionException: {TopicPartition(self.topic, partition)}")
        self.unconfirmed[partition] = None
        self._confirm(partition)

    def _confirm(self, partition: int) -> None:
        """As soon as the consumer's first position in a partition is final, report it, so that the durability account finds the skipped
        records below it."""
        position = self.positions[partition]
        if partition in self.unconfirmed and position >= 0 and self._is_fetchable(partition) and not self._must_validate(partition):
            del self.unconfirmed[partition]
            self.account.group_checked(self.group, (TopicPartition(self.topic, partition),), position)

    def _emit_position(self, partition: int, policy: str) -> None:
        journal = self.journal
        event = journal.emit(events.PositionSet.kind, self.name, self.group, self.topic, partition, self.positions[partition], policy)
        tp = TopicPartition(self.topic, partition)
        self.account.position_set(self.group, tp, self.positions[partition], event, committed=policy == COMMITTED)

    # --- fetching --------------------------------------------------------------------------------------------------

    def partitions_to_read(self) -> Iterable[int]:
        """Return the owned partitions that have or need a position, are not paused, and have no records that are waiting for poll()."""
        waiting = {each.tp.partition for each in self.buffer}
        return [each for each in self.assigned if each not in self.initializing and each not in self.paused and each not in waiting]

    def fetch(self) -> None:
        """Send fetches to the brokers that have no fetch in flight. If nothing has changed since the last call, there is nothing to send.

        If the consumer reads from followers, the broker to fetch from can also change over time.
        """
        if self.stale:
            self._fetch_all()

    def _check_timeouts(self, about: object) -> None:
        if self.in_flight or self._validating:
            super()._check_timeouts(about)
        else:
            self.timer(min(SECOND, self.config.request_timeout + POLL_DELAY), "watch")

    def _fetch_all(self) -> None:
        if self.owner.fetches:
            self.stale = bool(self._read_replicas)
            if self.assigned:
                super()._fetch_all()

    def _may_fetch_from(self, broker: int) -> bool:
        """Return whether the consumer can fetch from a broker. It cannot while records from the broker are waiting for poll()
        (`AbstractFetch#prepareFetchRequests`)."""
        if broker in self.owner.buffered_brokers():
            self.stale = True
            return False
        return True

    def buffered_brokers(self) -> set[int]:
        """Return the brokers that serve the partitions whose records are waiting for poll(), excluding paused partitions
        (`AbstractFetch#bufferedNodes`)."""
        waiting = {each.tp.partition for each in self.buffer if each.tp.partition not in self.paused}
        return {self.select_read_replica(each) for each in waiting if self._is_fetchable(each)}

    def _is_fetchable(self, partition: int) -> bool:
        return partition in self.assigned and partition not in self.initializing and super()._is_fetchable(partition)

    def _deliver(self, part: FetchedPartition, broker: int, outer_cause: int) -> None:
        """Keep the records for the next poll."""
        super()._deliver(part, broker, outer_cause)
        visible = visible_records(part, read_committed=self.read_committed)
        self.buffer.extend(PolledRange(part.tp, each.start, each.end, each.term.epoch) for each in visible.records)
        if not visible.records:
            self.consumed[part.tp.partition] = self.positions[part.tp.partition]

    def poll(self, room: int) -> list[PolledRange]:
        """Return up to `room` of the fetched records."""
        self.stale = True
        polled: list[PolledRange] = []
        kept: list[PolledRange] = []
        for each in self.buffer:
            taken = 0 if each.tp.partition in self.paused else min(each.end - each.start, room)
            if taken:
                polled.append(each._replace(end=each.start + taken))
                room -= taken
            if taken < each.end - each.start:
                kept.append(each._replace(start=each.start + taken))
        self.buffer[:] = kept
        waiting = {each.tp.partition for each in kept}
        for each in polled:
            number = each.tp.partition
            self.consumed[number] = each.end if number in waiting else self.positions[number]
            self.consumed_epochs[number] = each.epoch
        return polled

    def offsets_to_commit(self) -> list[OffsetToCommit]:
        """Return the next offset to poll for each owned partition that has a position (`SubscriptionState#allConsumed`)."""
        return [
            (TopicPartition(self.topic, number), self.consumed[number], self.consumed_epochs.get(number, NO_EPOCH))
            for number in self.assigned
            if number in self.consumed
        ]

    # --- positions that are not in the log -------------------------------------------------------------------------

    def _request_offset(self, partition: int, error: str) -> None:
        """Request the position that auto.offset.reset requires. If auto.offset.reset is `none`, poll() fails."""
        if self.policy is Reset.NONE:
            self.owner.poll_fails(f"OffsetOutOfRangeException: {TopicPartition(self.topic, partition)} at {self.positions[partition]}")
            return
        if self.policy is Reset.BY_DURATION:
            self.start_time = max(self.journal.now - self.duration, 0)
        self._drop(partition)
        super()._request_offset(partition, error)

    def _starts_at_time(self, error: str) -> bool:
        return self.policy is Reset.BY_DURATION

    def _handle_list_offsets_response(self, response: ListOffsetsResponse, sender: str) -> None:
        number = response.tp.partition
        correlation, error = self._resetting.get(number, (0, ""))
        super()._handle_list_offsets_response(response, sender)
        if correlation != response.correlation or number in self._resetting or number not in self.assigned or self.positions[number] < 0:
            return
        self.consumed[number] = self.positions[number]
        self.consumed_epochs.pop(number, None)
        self._confirm(number)
        if error == errors.NONE:
            self._emit_position(number, self.policy)
        else:
            self.account.position_set(self.group, response.tp, self.positions[number], self.journal.seq, committed=False)

    def _handle_epoch_response(self, response: OffsetsForLeaderEpochResponse, sender: str) -> None:
        super()._handle_epoch_response(response, sender)
        for tp, *_ in response.partitions:
            if tp.topic == self.topic:
                self._confirm(tp.partition)

    def truncated(self, partition: int, end: int, epoch: int, read: int) -> None:
        """Go back to the offset where the new leader's log diverges from the log that the member has read. If auto.offset.reset is `none`,
        poll() fails (`SubscriptionState#maybeCompleteValidation`)."""
        if self.policy is Reset.NONE:
            where = f"{TopicPartition(self.topic, partition)} at {self.positions[partition]}, divergent offset {end}"
            self.owner.poll_fails(f"LogTruncationException: {where}")
            return
        super().truncated(partition, end, epoch, read)
        self._drop(partition)
        self.consumed[partition] = end
        self.consumed_epochs[partition] = epoch
        self.account.position_set(self.group, TopicPartition(self.topic, partition), end, self.journal.seq, committed=True)
