"""A consumer without a group (Kafka: `KafkaConsumer#assign`). The consumer reads every partition of a topic and keeps its own positions.

The consumer reads records below the high watermark from the leader or from the follower that the leader selects (KIP-392). With the
isolation level read_committed, the consumer reads up to the last stable offset, and skips the records of aborted transactions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka import errors, events
from core.kafka.clients.client import POLL_DELAY, Client
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.fetched_records import visible_records
from core.kafka.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition, broker_address
from core.kafka.messages import (
    LATEST,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    FetchedPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from core.sim.units import SECOND

CLEARS_READ_REPLICA: Final = frozenset(
    {errors.NOT_LEADER_OR_FOLLOWER, errors.FENCED_LEADER_EPOCH, errors.KAFKA_STORAGE_ERROR, errors.OFFSET_NOT_AVAILABLE}
)
"""The errors, besides OFFSET_OUT_OF_RANGE, after which a consumer returns to the leader (`FetchCollector#handleInitializeErrors`)."""


class Consumer(Client):
    """A consumer that belongs to no group.

    Attributes:
        reset: auto.offset.reset, which is `earliest` or `latest`.
        positions: the next offset to read, by partition; -1 while it is unknown.
        read: the number of records read.
        stopped: whether the consumer has stopped.
        validates: whether the consumer validates its position with each new leader (KIP-320).
        client_rack: the consumer's rack; empty if the consumer has no rack, and None if the consumer's release does not send a rack (before
            2.4).
        start_time: the timestamp from which the consumer reads, in µs; -1 to start according to `reset`.
        read_committed: whether isolation.level is read_committed; otherwise, it is read_uncommitted.
        in_flight: for each broker, the fetch in flight, as (correlation ID, time sent).
    """

    __slots__ = (
        "_backing_off", "_read_epochs", "_read_replicas", "_resetting", "_validated", "_validating", "client_rack", "in_flight",
        "positions", "read", "read_committed", "reset", "start_time", "stopped", "validates",
    )  # fmt: skip

    reset: Final[str]
    positions: Final[list[int]]
    _read_replicas: Final[dict[int, tuple[int, int]]]
    _read_epochs: Final[dict[int, int]]
    _validated: Final[dict[int, int]]
    _validating: Final[dict[int, tuple[int, str, int]]]
    _backing_off: Final[dict[int, None]]
    _resetting: Final[dict[int, tuple[int, str]]]

    def __init__(self, name: str, topic: str, reset: str, context: ClientContext) -> None:
        super().__init__(name, topic, context)
        self.reset = reset
        self.positions = []
        self.read = 0
        self.stopped = False
        self.validates = False
        self.client_rack: str | None = None
        self.start_time = -1
        self.read_committed = False
        self._read_replicas = {}
        self._read_epochs = {}
        self._validated = {}
        self._validating = {}
        self.in_flight: dict[str, tuple[int, int]] = {}
        self._backing_off = {}
        self._resetting = {}
        self.handlers.update(
            {
                ConsumerFetchResponse: self._handle_fetch_response,
                ListOffsetsResponse: self._handle_list_offsets_response,
                OffsetsForLeaderEpochResponse: self._handle_epoch_response,
            }
        )
        self.timers.update({"again": self._back_off_expired, "watch": self._check_timeouts})

    def start(self) -> None:
        """Start reading."""
        self.refresh_metadata()
        self.timer(min(SECOND, self.config.request_timeout), "watch")

    def stop(self) -> None:
        """Stop reading."""
        self.stopped = True
        self.incarnation += 1

    def _metadata_arrived(self, response: MetadataResponse, sender: str) -> None:
        """Update the metadata from a response. If the response does not contain the topic's partitions, request metadata again after
        retry.backoff.ms.

        A response does not contain the topic's partitions if the topic does not exist, or if the broker has just started and its metadata
        cache is still empty. Kafka: `Metadata#handleMetadataResponse`, `NetworkClient.DefaultMetadataUpdater#handleSuccessfulResponse`.
        """
        super()._metadata_arrived(response, sender)
        if not self.leaders and not self.stopped:
            self.refresh_metadata_soon()

    def metadata_updated(self) -> None:
        """Add positions for new partitions, and fetch from them."""
        while len(self.positions) < len(self.leaders):
            self.positions.append(0 if self.reset == "earliest" and self.start_time < 0 else -1)
        self._fetch_all()

    def partitions_to_read(self) -> Iterable[int]:
        """Return the partitions whose records the application currently wants: all partitions."""
        return range(len(self.positions))

    def _fetch_all(self) -> None:
        if self.stopped:
            return
        wanted: dict[int, list[int]] = {}
        for partition in self.partitions_to_read():
            leader = self.leader_of(partition)
            if leader == NO_LEADER:
                self.refresh_metadata_soon()
            elif partition not in self._backing_off and partition not in self._resetting and partition not in self._validating:
                if self.positions[partition] < 0:
                    self._request_offset(partition, errors.NONE)
                elif self._must_validate(partition):
                    self._validate(partition)
                elif self._has_old_metadata(partition):
                    self.refresh_metadata_soon()
                else:
                    wanted.setdefault(self.select_read_replica(partition), []).append(partition)
        for broker, partitions in wanted.items():
            node = broker_address(broker)
            if self.reconnect_time(node) > self.journal.now:
                for partition in partitions:
                    self._back_off(partition)
            elif node not in self.in_flight and self._may_fetch_from(broker):
                correlation = self.next_correlation()
                self.in_flight[node] = (correlation, self.journal.now)
                asked = tuple((TopicPartition(self.topic, p), self.positions[p], self.epoch_of(p)) for p in partitions)
                config = self.config
                request = ConsumerFetchRequest(
                    correlation, self.name, asked, config.fetch_max_wait, self.client_rack, self.read_committed, config.fetch_min_bytes,
                    config.max_partition_fetch_bytes,
                )  # fmt: skip
                self.send(node, request)

    def _may_fetch_from(self, _: int) -> bool:
        """Return whether a fetch can be sent to a broker to which no other fetch is in flight."""
        return True

    def _handle_fetch_response(self, response: ConsumerFetchResponse, sender: str) -> None:
        in_flight = self.in_flight.get(sender)
        if in_flight is None or in_flight[0] != response.correlation or self.stopped:
            return
        del self.in_flight[sender]
        journal = self.journal
        outer_cause = journal.cause
        for part in response.partitions:
            number = part.tp.partition
            if part.error == errors.OFFSET_OUT_OF_RANGE:
                # A follower can lag behind or have another log start, so ask the leader (`FetchCollector#handleInitializeErrors`).
                if not self._clear_preferred_read_replica(number, part.error):
                    self._request_offset(number, part.error)
            elif part.error != errors.NONE:
                if part.error in CLEARS_READ_REPLICA:
                    self._clear_preferred_read_replica(number, part.error)
                self._back_off(number)
            elif part.records and part.offset == self.positions[number] and self._is_fetchable(number):
                self.positions[number] = part.records[-1].end
                self._read_epochs[number] = part.records[-1].term.epoch
                self._deliver(part, int(sender[1:]), outer_cause)
        journal.cause = outer_cause
        for tp, broker in response.preferred:
            self._read_replicas[tp.partition] = (broker, journal.now + self.config.metadata_max_age)
            self._emit_read_replica(tp.partition, broker, self.client_rack or "", "")
        self._fetch_all()

    def _deliver(self, part: FetchedPartition, broker: int, outer_cause: int) -> None:
        """Give the visible records to the application, and record an event for each contiguous range of records."""
        visible, journal = visible_records(part, read_committed=self.read_committed), self.journal
        if visible.records:
            self.account.consumed(part.tp, visible.records, self.name)
        journal.cause = part.cause or outer_cause
        for start, end in visible.ranges():
            self.read += end - start
            journal.emit(events.Consumed.kind, self.name, part.tp.topic, part.tp.partition, broker, start, end, part.high_watermark)
        for start, end in visible.skipped:
            journal.emit(events.AbortedRecordsSkipped.kind, self.name, part.tp.topic, part.tp.partition, start, end, end - start)

    def _is_fetchable(self, partition: int) -> bool:
        """Return whether the position is valid. The consumer drops records that it fetched while the position was being validated or reset
        (`SubscriptionState#isFetchable`)."""
        return partition not in self._validating and partition not in self._resetting

    # --- where to read (KIP-392) -----------------------------------------------------------------------------------

    def select_read_replica(self, partition: int) -> int:
        """Return the broker to fetch from: the broker that the leader selected, for up to metadata.max.age.ms; otherwise, the leader.

        Kafka: `AbstractFetch#selectReadReplica`.
        """
        broker, until = self._read_replicas.get(partition, (NO_LEADER, 0))
        if broker != NO_LEADER and self.journal.now > until:
            self._clear_preferred_read_replica(partition, "metadata.max.age.ms is over")
            broker = NO_LEADER
        return self.leader_of(partition) if broker == NO_LEADER else broker

    def preferred_read_replicas(self) -> list[tuple[int, int]]:
        """Return (partition, broker) for each partition that the consumer reads from a broker that the leader selected."""
        return [(partition, broker) for partition, (broker, _) in self._read_replicas.items()]

    def _clear_preferred_read_replica(self, partition: int, reason: str) -> bool:
        """Switch back to the leader, which can then select another replica. Return False if the consumer is already reading from the
        leader.

        Kafka: `SubscriptionState#clearPreferredReadReplica`.
        """
        if self._read_replicas.pop(partition, None) is None:
            return False
        self._emit_read_replica(partition, self.leader_of(partition), self.client_rack or "", reason)
        return True

    def _emit_read_replica(self, partition: int, broker: int, rack: str, reason: str) -> None:
        leader = self.leader_of(partition)
        self.journal.emit(events.ReadReplica.kind, self.name, self.topic, partition, leader, broker, rack, reason)

    def leaders_changed(self, partitions: list[int]) -> None:
        """Switch back to the leader of each partition, which then selects a replica to read from.

        Kafka: `SubscriptionState#maybeValidatePositionForCurrentLeader`.
        """
        for partition in partitions:
            self._clear_preferred_read_replica(partition, "another leader epoch")

    # --- validating what was read (KIP-320) --------------------------------------------------------------------------

    def _must_validate(self, partition: int) -> bool:
        """Return whether the consumer must validate its position, which is necessary if the leader epoch is newer than the epoch of the
        last record that was read.

        Kafka: `SubscriptionState#maybeValidatePositionForCurrentLeader`.
        """
        read = self._read_epochs.get(partition, NO_EPOCH)
        return self.validates and read != NO_EPOCH and self.epoch_of(partition) > self._validated.get(partition, read)

    def _has_old_metadata(self, partition: int) -> bool:
        """Return whether the leader epoch is older than the epoch of the last record that was read. A committed offset can contain an epoch
        that is newer than the known leader epoch. Until the known leader epoch is at least the epoch of the last record that was read, the
        consumer ignores the leader and waits for newer metadata. Kafka: `Metadata#updateLastSeenEpochIfNewer`,
        `ConsumerUtils#refreshCommittedOffsets`.
        """
        return self.validates and self._read_epochs.get(partition, NO_EPOCH) > self.epoch_of(partition)

    def _validate(self, partition: int) -> None:
        """Ask the leader where the epoch of the last record that was read ends (OffsetsForLeaderEpoch)."""
        node, correlation = broker_address(self.leader_of(partition)), self.next_correlation()
        self._validating[partition] = (correlation, node, self.journal.now)
        asked = (TopicPartition(self.topic, partition), self.epoch_of(partition), self._read_epochs[partition])
        self.send(node, OffsetsForLeaderEpochRequest(correlation, -1, 0, (asked,)))

    def _handle_epoch_response(self, response: OffsetsForLeaderEpochResponse, _: str) -> None:
        """If the epoch ends below the position, which means that the log was truncated, move the position back
        (`#maybeCompleteValidation`)."""
        for tp, error, epoch, end in response.partitions:
            number = tp.partition
            if self._validating.get(number, (0,))[0] != response.correlation or self.stopped:
                continue
            del self._validating[number]
            position, read = self.positions[number], self._read_epochs[number]
            if error != errors.NONE:
                self._back_off(number)
            elif end < 0 or epoch < 0:
                self._request_offset(number, errors.OFFSET_OUT_OF_RANGE)
            else:
                self._validated[number] = self.epoch_of(number)
                if end < position:
                    self.truncated(number, end, epoch, read)
                self._position_found(number)

    def truncated(self, partition: int, end: int, epoch: int, read: int) -> None:
        """Move the position back to `end`. The records that the consumer has read in epoch `read` diverge from the leader's log at this
        offset."""
        position = self.positions[partition]
        self.positions[partition] = end
        self._read_epochs[partition] = epoch
        self.journal.emit(events.ConsumerTruncated.kind, self.name, self.topic, partition, position, end, read, epoch)

    def _back_off(self, partition: int) -> None:
        self._backing_off[partition] = None
        self.timer(self.config.retry_backoff, "again", partition)
        self.refresh_metadata_soon()

    def _back_off_expired(self, partition: object) -> None:
        assert isinstance(partition, int)
        self._backing_off.pop(partition, None)
        self._fetch_all()

    def _request_offset(self, partition: int, error: str) -> None:
        """Request the position that the reset policy or the start time requires (ListOffsets)."""
        leader = self.leader_of(partition)
        if leader == NO_LEADER:
            self._back_off(partition)
            return
        correlation = self.next_correlation()
        self._resetting[partition] = (correlation, error)
        since = self.start_time if self._starts_at_time(error) else LATEST
        request = ListOffsetsRequest(
            correlation, -1, 0, TopicPartition(self.topic, partition), self.epoch_of(partition), since, self.read_committed
        )
        self.send(broker_address(leader), request)

    def _starts_at_time(self, error: str) -> bool:
        """Return whether an offset is requested because of the start time rather than because of an error."""
        return self.start_time >= 0 and error == errors.NONE

    def _handle_list_offsets_response(self, response: ListOffsetsResponse, _: str) -> None:
        number = response.tp.partition
        correlation, error = self._resetting.get(number, (0, ""))
        if correlation != response.correlation or self.stopped:
            return
        del self._resetting[number]
        by_time = self._starts_at_time(error)
        earliest = self.reset == "earliest" and not by_time
        if response.error != errors.NONE and not (earliest and response.error == errors.OFFSET_NOT_AVAILABLE):
            self._back_off(number)
            return
        old = self.positions[number]
        # A reset position needs no validation (`OffsetFetcherUtils#resetPositionIfNeeded`).
        self._read_epochs.pop(number, None)
        if by_time and response.found != NO_OFFSET:
            self.positions[number] = response.found
        else:
            self.positions[number] = response.earliest if earliest else response.latest
        self.account.reading_began(self.name, response.tp, self.positions[number])
        if error != errors.NONE:
            self.journal.emit(events.ConsumerReset.kind, self.name, self.topic, number, old, self.positions[number], error, self.reset)
        self._position_found(number)

    def _position_found(self, partition: int) -> None:
        """Fetch a partition that now has a valid position.

        If a fetch to the partition's broker is in flight, there is nothing to send, because the next fetch to this broker includes the
        partition.
        """
        node = broker_address(self.leader_of(partition))
        if self._read_replicas or node not in self.in_flight or self.reconnect_time(node) > self.journal.now:
            self._fetch_all()

    def connection_lost(self, node: str) -> None:
        """Drop the requests to a broker, and switch back to the leader for each partition that the consumer was reading from this
        broker."""
        if self.stopped:
            return
        self.in_flight.pop(node, None)
        for partition, (_, asked, _) in list(self._validating.items()):
            if asked == node:
                del self._validating[partition]
        for partition in list(self._resetting):
            if broker_address(self.leader_of(partition)) == node:
                del self._resetting[partition]
        back = [partition for partition, (broker, _) in self._read_replicas.items() if broker_address(broker) == node]
        for partition in back:
            self._clear_preferred_read_replica(partition, errors.NETWORK_EXCEPTION)
        for partition in self.partitions_to_read():
            if broker_address(self.leader_of(partition)) == node and partition not in self._backing_off:
                self._back_off(partition)
        if back:
            self._fetch_all()

    def _check_timeouts(self, _: object) -> None:
        """Check for requests that have timed out, once a second and when the next timeout is due."""
        now, timeout = self.journal.now, self.config.request_timeout + POLL_DELAY
        silent = {node: None for node, (_, sent_at) in self.in_flight.items() if now - sent_at >= timeout}
        silent |= {node: None for _, node, sent_at in self._validating.values() if now - sent_at >= timeout}
        for node in silent:
            self.abandon_connection(node)
        waiting = [sent_at for _, sent_at in self.in_flight.values()] + [sent_at for _, _, sent_at in self._validating.values()]
        self.timer(max(min(SECOND, min(waiting, default=now) + timeout - now), 1), "watch")
