"""A consumer that stores its offsets in a group and returns records on demand (Kafka: `KafkaConsumer#assign`, `#poll`, `#commitSync`).

The consumer assigns all partitions of its topic to itself, so it is not a member of the group. The consumer belongs to a process that also
has a producer. The consumer and the producer share the process's connections.
"""

from __future__ import annotations

import enum
from typing import Any, Final, NamedTuple, Protocol

from core.kafka import errors
from core.kafka.clients.client import POLL_DELAY
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.clients.consumer.fetched_records import visible_records
from core.kafka.group_coordinator.group_requests import (
    NOT_A_MEMBER,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition, broker_address
from core.kafka.messages import FetchedPartition
from core.kafka.transaction.transaction_messages import FindCoordinatorRequest, FindCoordinatorResponse

TIMER_PREFIX: Final = "input:"
"""The prefix for the names of the consumer's timers, which distinguishes them from those of the producer in the same process."""

MOVED: Final = frozenset({errors.NOT_COORDINATOR, errors.COORDINATOR_NOT_AVAILABLE})
"""The errors after which the consumer looks up the coordinator again."""

REPEATED: Final = frozenset({*MOVED, errors.COORDINATOR_LOAD_IN_PROGRESS, errors.UNSTABLE_OFFSET_COMMIT})
"""The errors after which the consumer repeats a request to the group coordinator."""


class PolledRecords(NamedTuple):
    """Records that the application has polled, with the offsets [start, end) of a partition, without gaps."""

    tp: TopicPartition
    start: int
    end: int


class Owner(Protocol):
    """The part of the process's interface that the consumer uses."""

    def next_correlation(self) -> int:
        """Return a new correlation ID that no other request in the process has."""

    def shared_connection_lost(self, node: str, /) -> None:
        """Handle the end of a connection to a broker: the connection broke, or the consumer closed it."""


class GroupCall(enum.Enum):
    """A call from the application that requires the group coordinator."""

    NOTHING = ""
    FETCH_OFFSETS = "OffsetFetch"
    COMMIT_OFFSETS = "OffsetCommit"


class GroupConsumer(Consumer):
    """A consumer that commits its offsets to a group.

    Attributes:
        owner: the process that the consumer belongs to.
        group: the group to which the consumer commits its offsets.
        requires_stable: whether the consumer waits until open transactions that contain offsets of its group have ended (KIP-447).
        max_poll_records: the maximum number of records that a poll returns.
        coordinator: the address of the group coordinator; empty while it is unknown.
        call: the application's call that has no result yet.
        offsets: the offsets that the call `COMMIT_OFFSETS` commits.
        texts: the metadata string to store with each of the offsets to commit; empty if there are no such strings.
        metadata: for each partition, the metadata string of the committed offset, from the last fetch of committed offsets.
        error: the error of the last call; NONE if it succeeded.
        polls: whether the application is waiting for records.
        fetched: the records that have been fetched but not yet polled, in the order in which they arrived.
        consumed: the next offset to commit, by partition.
        correlation: the correlation ID of the request in flight to a coordinator; 0 if there is none.
        node: the broker to which the request in flight was sent.
    """

    __slots__ = (
        "call", "consumed", "coordinator", "correlation", "error", "fetched", "group", "max_poll_records", "metadata", "node", "offsets", "owner", "polls",
        "requires_stable", "texts",
    )  # fmt: skip

    owner: Final[Owner]
    group: Final[str]
    fetched: Final[list[PolledRecords]]
    consumed: Final[dict[int, int]]
    metadata: Final[dict[int, str]]

    def __init__(
        self,
        owner: Owner,
        name: str,
        topic: str,
        group: str,
        reset: str,
        context: ClientContext,
    ) -> None:
        super().__init__(name, topic, reset, context)
        self.owner = owner
        self.group = group
        self.requires_stable = False
        self.max_poll_records = 500
        self.coordinator = ""
        self.call = GroupCall.NOTHING
        self.offsets: tuple[OffsetToCommit, ...] = ()
        self.texts: tuple[str, ...] = ()
        self.metadata = {}
        self.error = errors.NONE
        self.polls = False
        self.fetched = []
        self.consumed = {}
        self.correlation = 0
        self.node = ""
        self.handlers.update(
            {
                FindCoordinatorResponse: self._handle_coordinator,
                OffsetFetchResponse: self._handle_offsets,
                OffsetCommitResponse: self._handle_commit,
            }
        )
        self.timers.update({"group-again": self._call_again, "group-timeout": self._call_timed_out})

    @property
    def assigns_itself(self) -> bool:
        """Whether the consumer assigns all partitions of its topic to itself."""
        return True

    # --- parts of the process --------------------------------------------------------------------------------------

    def timer(self, delay: int, name: str, about: object = None) -> None:
        """Set a timer for the consumer. The timer fires after a delay, given in µs."""
        super().timer(delay, TIMER_PREFIX + name, about)

    def next_correlation(self) -> int:
        """Return a correlation ID that no other request in the process has."""
        return self.owner.next_correlation()

    def connection_lost(self, node: str) -> None:
        """Drop the fetches that are in flight to a broker. If a request to a coordinator was in flight to this broker, repeat the request."""
        super().connection_lost(node)
        if self.correlation and self.node == node:
            self.coordinator = ""
            self._repeat()
        self.owner.shared_connection_lost(node)

    # --- the group coordinator -------------------------------------------------------------------------------------

    def fetch_offsets(self) -> None:
        """Forget the positions, and request the committed offsets of all partitions. When the request has ended, `call` is NOTHING."""
        self.fetched.clear()
        self.in_flight.clear()
        self.polls = False
        self.consumed.clear()
        self._begin(GroupCall.FETCH_OFFSETS)

    def commit_offsets(self, offsets: tuple[OffsetToCommit, ...], texts: tuple[str, ...] = ()) -> None:
        """Commit offsets outside of a transaction, and store a metadata string with each of them (`OffsetAndMetadata`). When the commit has
        ended, `call` is NOTHING."""
        self.offsets, self.texts = offsets, texts
        self._begin(GroupCall.COMMIT_OFFSETS)

    def _begin(self, call: GroupCall) -> None:
        self.call, self.error = call, errors.NONE
        self.correlation = 0
        self._advance()

    def _advance(self) -> None:
        """Send the next request for the application's call: a coordinator lookup if the coordinator is unknown; otherwise, the request
        itself."""
        if self.call is GroupCall.NOTHING or self.correlation:
            return
        if not self.leaders:
            self.refresh_metadata()
            return
        self.node = self.coordinator or self.least_loaded_node()
        if self.reconnect_time(self.node) > self.journal.now:
            self.coordinator = ""
            self._repeat()
            return
        self.correlation = self.next_correlation()
        self.send(self.node, self._request())
        self.timer(self.config.request_timeout + POLL_DELAY, "group-timeout", self.correlation)

    def _request(self) -> FindCoordinatorRequest | OffsetFetchRequest | OffsetCommitRequest:
        if not self.coordinator:
            return FindCoordinatorRequest(self.correlation, self.group, True)
        if self.call is GroupCall.FETCH_OFFSETS:
            partitions = tuple(TopicPartition(self.topic, number) for number in range(len(self.leaders)))
            return OffsetFetchRequest(self.correlation, self.group, partitions, self.requires_stable)
        return OffsetCommitRequest(self.correlation, self.name, self.group, NOT_A_MEMBER, self.offsets, self.texts)

    def _repeat(self) -> None:
        """Repeat the request after retry.backoff.ms."""
        self.correlation = 0
        self.timer(self.config.retry_backoff, "group-again", self.call)

    def _call_again(self, call: object) -> None:
        if call is self.call:
            self._advance()

    def _call_timed_out(self, correlation: object) -> None:
        if self.correlation and correlation == self.correlation:
            self.abandon_connection(self.node)

    def _is_answer(self, response: Any) -> bool:
        if response.correlation != self.correlation:
            return False
        self.correlation = 0
        return True

    def _handle_coordinator(self, response: FindCoordinatorResponse, _: str) -> None:
        if not self._is_answer(response):
            return
        if response.error == errors.NONE:
            self.coordinator = broker_address(response.broker)
            self._advance()
        else:
            self._repeat()

    def _failed(self, error: str) -> None:
        if error in MOVED:
            self.coordinator = ""
        if error in REPEATED:
            self._repeat()
        else:
            self._end(error)

    def _end(self, error: str) -> None:
        self.call, self.error = GroupCall.NOTHING, error

    def _handle_offsets(self, response: OffsetFetchResponse, _: str) -> None:
        """Begin to read at the committed offsets. If a partition has no committed offset, auto.offset.reset determines where to begin."""
        if not self._is_answer(response):
            return
        error = next((each[3] for each in response.offsets if each[3] != errors.NONE), response.error)
        if error != errors.NONE:
            self._failed(error)
            return
        texts = {tp.partition: text for tp, text in response.metadata}
        if self.assigns_itself:
            del self.positions[len(response.offsets) :]
        for tp, offset, epoch, _ in response.offsets:
            self._start_at(tp.partition, offset, epoch, texts.get(tp.partition))
        self._end(errors.NONE)

    def _start_at(self, partition: int, offset: int, epoch: int, text: str | None) -> None:
        """Begin to read a partition at its committed offset. If there is none (-1), auto.offset.reset determines where to begin."""
        for known in (self._read_epochs, self.metadata, self._validated, self._resetting, self._validating):
            known.pop(partition, None)
        while len(self.positions) <= partition:
            self.positions.append(NO_OFFSET)
        first = 0 if self.reset == "earliest" else NO_OFFSET
        self.positions[partition] = offset if offset >= 0 else first
        if offset >= 0 and epoch != NO_EPOCH:
            self._read_epochs[partition] = epoch
        if text is not None:
            self.metadata[partition] = text

    def _handle_commit(self, response: OffsetCommitResponse, _: str) -> None:
        if self._is_answer(response):
            if response.error == errors.NONE:
                self._end(errors.NONE)
            else:
                self._failed(response.error)

    # --- records ---------------------------------------------------------------------------------------------------

    def metadata_updated(self) -> None:
        """Continue with the call that was waiting for the number of partitions, and fetch."""
        self._advance()
        if self.call is not GroupCall.FETCH_OFFSETS and self.positions:
            super().metadata_updated()

    def wait_for_records(self) -> None:
        """Fetch until there are records to poll."""
        self.polls = True
        self._fetch_all()

    def _fetch_all(self) -> None:
        """Send fetches, but only while the application is waiting for records."""
        if self.polls and not self.fetched and self.call is GroupCall.NOTHING:
            super()._fetch_all()

    def _deliver(self, part: FetchedPartition, broker: int, outer_cause: int) -> None:
        """Keep the fetched records of a partition until the application polls again."""
        super()._deliver(part, broker, outer_cause)
        visible = visible_records(part, read_committed=self.read_committed)
        self.fetched.extend(PolledRecords(part.tp, start, end) for start, end in visible.ranges())
        if not any(each.tp == part.tp for each in self.fetched):
            self.consumed[part.tp.partition] = self.positions[part.tp.partition]

    def poll(self) -> tuple[PolledRecords, ...]:
        """Return up to `max_poll_records` of the fetched records. If there are no fetched records, the result is empty."""
        room, polled = self.max_poll_records, []
        while self.fetched and room:
            tp, start, end = self.fetched.pop(0)
            taken = PolledRecords(tp, start, min(end, start + room))
            polled.append(taken)
            room -= taken.end - taken.start
            if taken.end < end:
                self.fetched.insert(0, PolledRecords(tp, taken.end, end))
            more = any(each.tp == tp for each in self.fetched)
            self.consumed[tp.partition] = taken.end if more else self.positions[tp.partition]
        if polled:
            self.polls = False
        return tuple(polled)

    def offsets_to_commit(self, polled: tuple[PolledRecords, ...]) -> tuple[OffsetToCommit, ...]:
        """For each partition from which records have been polled, return the next offset to read."""
        tps = dict.fromkeys(each.tp for each in polled)
        return tuple((tp, self.consumed[tp.partition], self._read_epochs.get(tp.partition, -1)) for tp in tps)
