"""The consumer in a service, which can pause partitions and keeps the timestamps and headers of the records that it has fetched.

Kafka: `KafkaConsumer#pause`, `#resume`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka.applications.services.service_records import HeldRecords
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.fetched_records import visible_records
from core.kafka.clients.consumer.group_consumer import GroupCall, GroupConsumer
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.clients.group_member.member_consumer import MemberConsumer, MemberOwner
from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions
from core.kafka.messages import FetchedPartition
from core.kafka.release import Release


class ServiceConsumer(MemberConsumer):
    """A consumer that continuously fetches all partitions that are not paused.

    Attributes:
        paused: the partitions that the consumer does not fetch because they are paused.
        buffered: the records that have been fetched but not yet polled, by partition, in offset order.
        keeps_paused: whether the consumer keeps a partition's fetched records when the partition is paused (KAFKA-7548, since 2.4).
    """

    __slots__ = ("buffered", "keeps_paused", "paused")

    paused: Final[dict[int, None]]
    buffered: Final[dict[int, list[HeldRecords]]]

    def __init__(
        self,
        owner: MemberOwner,
        name: str,
        topic: str,
        group: str,
        reset: str,
        membership: MemberConfig | None,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(owner, name, topic, group, reset, membership, release, context)
        self.paused = {}
        self.buffered = {}
        self.keeps_paused = True

    # --- pausing ---------------------------------------------------------------------------------------------------

    def pause(self, partition: int) -> None:
        """Stop fetching a partition. Unless `keeps_paused` is true, forget the partition's records that have not been polled, so that they
        are fetched again later."""
        self.paused[partition] = None
        dropped = [] if self.keeps_paused else self.buffered.pop(partition, [])
        if dropped:
            self.positions[partition] = dropped[0].start

    def resume(self, partition: int) -> None:
        """Resume fetching a partition."""
        self.paused.pop(partition, None)

    def forget(self) -> None:
        """Forget all records and resume all partitions, before the consumer returns to the committed offsets."""
        self.buffered.clear()
        self.paused.clear()

    def partitions_gone(self, tps: Partitions) -> None:
        """Stop reading the given partitions, and forget their records."""
        for tp in tps:
            self.paused.pop(tp.partition, None)
            self.buffered.pop(tp.partition, None)
        super().partitions_gone(tps)

    # --- fetching --------------------------------------------------------------------------------------------------

    def metadata_updated(self) -> None:
        """Continue the call that was waiting for the number of partitions, and then send fetches."""
        self._learn_partitions()
        self._advance()
        self.fetch_more()

    def fetch_more(self) -> None:
        """Fetch from the partitions that are not paused and have no records left to poll."""
        if self.positions and self.call is not GroupCall.FETCH_OFFSETS:
            super(GroupConsumer, self)._fetch_all()

    def _fetch_all(self) -> None:
        self.fetch_more()

    def partitions_to_read(self) -> Iterable[int]:
        """Return the partitions that are not paused and have no records left to poll."""
        return [number for number in super().partitions_to_read() if number not in self.paused and not self.buffered.get(number)]

    def _deliver(self, part: FetchedPartition, broker: int, outer_cause: int) -> None:
        """Keep the records for the next poll. A fetch that was in flight when its partition was paused can still return records."""
        number = part.tp.partition
        if number in self.paused and not self.keeps_paused:
            self.positions[number] = part.offset
            return
        super(GroupConsumer, self)._deliver(part, broker, outer_cause)
        cause = part.cause or outer_cause
        kept = self.buffered.setdefault(number, [])
        for fetched in visible_records(part, read_committed=self.read_committed).records:
            for batch in fetched.term.batches_within(fetched.start, fetched.end):
                start, end = max(batch.base, fetched.start), min(batch.base + batch.records, fetched.end)
                if start < end and batch.marker is None:
                    size = max(batch.bytes // batch.records, 1)
                    kept.append(HeldRecords(0, number, start, end, batch.timestamp, batch.base, cause, batch.content, size))

    def take(self, partition: int, most: int) -> HeldRecords | None:
        """Return up to `most` fetched records of a partition, all from one batch; None if there are none."""
        kept = self.buffered.get(partition)
        if not kept or most < 1:
            return None
        found = kept.pop(0)
        if found.size > most:
            found, rest = found.split(found.start + most)
            kept.insert(0, rest)
        return found

    # --- offsets ---------------------------------------------------------------------------------------------------

    def next_to_poll(self, partition: int) -> int:
        """Return the offset of the record that the next poll returns first (`KafkaConsumer#position`)."""
        kept = self.buffered.get(partition)
        return kept[0].start if kept else self.positions[partition]

    def read_epoch(self, partition: int) -> int:
        """Return the leader epoch of the last record that was fetched; -1 if there is none."""
        return self._read_epochs.get(partition, -1)
