"""The groups that a broker coordinates, and their log (Kafka: `GroupMetadataManager`, `OffsetMetadataManager`).

A broker coordinates the groups in those partitions of `__consumer_offsets` that it leads. When the broker becomes the leader of such a
partition, it loads the groups from its log. Until the groups are loaded, the broker responds with COORDINATOR_LOAD_IN_PROGRESS. When the
broker no longer leads the partition, it drops the groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.group_records import GroupMetadataKey, GroupMetadataValue, loaded
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.records import CONSUMER_GROUP_KEYS, ConsumerGroupKey, ConsumerGroupValue, EpochKey
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.deferred_responses import DeferredResponses
from core.kafka.group_coordinator.group_metadata import GroupMetadata, StoredOffset
from core.kafka.group_coordinator.offsets_log import CommittedOffset, OffsetKey, partition_of
from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.log.leader_term import Batch
from core.kafka.transaction.coordinator_context import InternalTopics
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, partition_for
from core.sim.units import US_PER_MS

LOAD_DELAY: Final = US_PER_MS
"""The time that a broker takes to load the groups of a partition, in µs."""


class GroupCache:
    """The groups in one partition of `__consumer_offsets`, as loaded in the leader epoch `coordinator_epoch`.

    Attributes:
        groups: the groups by name.
        deferred: the uncommitted writes, and the responses that are waiting for them.
    """

    __slots__ = ("coordinator_epoch", "deferred", "groups", "partition")

    partition: Final[int]
    coordinator_epoch: Final[int]
    deferred: Final[DeferredResponses]
    groups: Final[dict[str, GroupMetadata]]

    def __init__(self, partition: int, coordinator_epoch: int, deferred: DeferredResponses) -> None:
        self.partition = partition
        self.coordinator_epoch = coordinator_epoch
        self.deferred = deferred
        self.groups = {}

    def group(self, name: str) -> GroupMetadata:
        """Return a group. If the group is unknown, create it."""
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = GroupMetadata(name)
        return group

    def replay(self, batches: Iterable[Batch]) -> None:
        """Apply the batches in the log, in log order (`GroupMetadataManager#doLoadGroupsAndOffsets`)."""
        for batch in batches:
            if batch.marker is not None:
                for group in self.groups.values():
                    group.complete_transaction(batch.producer_id, commit=batch.marker.commits)
            elif isinstance(batch.content, tuple):
                for number, (key, value) in enumerate(batch.content):
                    if isinstance(key, OffsetKey):
                        self._replay_offset(batch, batch.base + number, key, value)
                    elif isinstance(key, GroupMetadataKey):
                        self._replay_group(key, value)
                    elif isinstance(key, CONSUMER_GROUP_KEYS):
                        self._replay_consumer_group(key, value)

    def _replay_offset(self, batch: Batch, record_offset: int, key: OffsetKey, value: CommittedOffset | None) -> None:
        group = self.group(key.group)
        if value is None:
            group.offsets.pop(key.tp, None)
        elif batch.transactional:
            group.store_pending(batch.producer_id, key.tp, StoredOffset(record_offset, value))
        else:
            group.store(key.tp, StoredOffset(record_offset, value))

    def _replay_group(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        if value is not None:
            metadata = self.group(key.group)
            metadata.classic, metadata.consumer = loaded(key.group, value), None
        elif key.group in self.groups:
            metadata = self.groups[key.group]
            metadata.classic = ClassicGroup(key.group)
            if not metadata.offsets and metadata.consumer is None:
                del self.groups[key.group]

    def _replay_consumer_group(self, key: ConsumerGroupKey, value: ConsumerGroupValue) -> None:
        metadata = self.group(key.group)
        if isinstance(key, EpochKey) and value is None:
            metadata.consumer = None
            if not metadata.offsets:
                del self.groups[key.group]
            return
        if metadata.consumer is None:
            metadata.consumer = ConsumerGroup(key.group)
        metadata.consumer.replay(key, value)


class GroupMetadataManager:
    """The groups of one broker.

    Attributes:
        replicas: the partitions of `__consumer_offsets` that the broker hosts.
        caches: the groups by partition of `__consumer_offsets`.
        loading: the coordinator epoch of each partition whose groups are not loaded yet.
    """

    __slots__ = ("broker", "caches", "loading", "replicas")

    broker: Final[GroupCoordinatorContext]
    replicas: Final[InternalTopics]
    caches: Final[dict[int, GroupCache]]
    loading: Final[dict[int, int]]

    def __init__(self, broker: GroupCoordinatorContext, replicas: InternalTopics) -> None:
        self.broker = broker
        self.replicas = replicas
        self.caches = {}
        self.loading = {}

    def reset(self) -> None:
        """Drop all state, because the process has ended."""
        self.caches.clear()
        self.loading.clear()

    # --- the groups ------------------------------------------------------------------------------------------------

    def partition_for(self, group: str) -> int:
        """Return the partition of `__consumer_offsets` that holds a group."""
        return partition_for(group, max(len(self.broker.metadata_cache.topic_leaders(GROUP_METADATA_TOPIC)), 1))

    def error_of(self, group: str) -> str:
        """Return the error for a group that this broker does not coordinate or has not loaded yet; otherwise NONE."""
        if not group:
            return errors.INVALID_GROUP_ID
        partition = self.partition_for(group)
        if partition in self.loading:
            return errors.COORDINATOR_LOAD_IN_PROGRESS
        return errors.NONE if partition in self.caches else errors.NOT_COORDINATOR

    def cache_of(self, group: str) -> GroupCache | None:
        """Return the cache that a group belongs to; None if this broker does not coordinate the group or has not loaded it yet."""
        return self.caches.get(self.partition_for(group))

    # --- leadership ------------------------------------------------------------------------------------------------

    def begin_loading(self, partition: int, coordinator_epoch: int) -> None:
        """Schedule the loading of a partition's groups (`#scheduleLoadGroupAndOffsets`)."""
        self.loading[partition] = coordinator_epoch
        self.broker.node.timer(0 if self.broker.by_hand else LOAD_DELAY, "load-groups", (partition, coordinator_epoch))

    def load(self, partition: int, coordinator_epoch: int) -> GroupCache | None:
        """Load the groups in a partition from its log, up to the LEO. Return None if the scheduled loading is outdated
        (`#loadGroupsAndOffsets`)."""
        if self.loading.get(partition) != coordinator_epoch:
            return None
        del self.loading[partition]
        cache = self.caches[partition] = GroupCache(partition, coordinator_epoch, DeferredResponses(self.broker, self.replicas))
        cache.replay(self.replicas.internal_batches(partition_of(partition)))
        groups = cache.groups.values()
        committed = sum(len(group.offsets) for group in groups)
        pending = sum(len(offsets) for group in groups for offsets in group.pending_transactional.values())
        event = self.broker.journal.emit(
            events.GroupsLoaded.kind, self.broker.id, GROUP_METADATA_TOPIC, partition, coordinator_epoch, len(cache.groups), committed, pending
        )  # fmt: skip
        for group in groups:
            for tp, stored in group.offsets.items():
                self.broker.account.offset_committed(group.name, tp, stored.committed.offset, event)
        return cache

    def unload(self, partition: int) -> GroupCache | None:
        """Drop the groups in a partition, and return them; None if they are not loaded (`#removeGroupsForPartition`)."""
        self.loading.pop(partition, None)
        cache = self.caches.pop(partition, None)
        if cache is not None:
            self.broker.journal.emit(events.GroupsUnloaded.kind, self.broker.id, GROUP_METADATA_TOPIC, partition, cache.coordinator_epoch)
        return cache

    # --- the ends of transactions ----------------------------------------------------------------------------------

    def transaction_completed(self, partition: int, producer_id: int, *, commit: bool) -> None:
        """Apply or drop the pending offsets of a transaction, because its marker is committed (`#handleTxnCompletion`)."""
        cache = self.caches.get(partition)
        for group in () if cache is None else cache.groups.values():
            former = {tp: offset_of(group, tp) for tp in group.pending_transactional.get(producer_id, ())}
            for tp, stored, counts in group.complete_transaction(producer_id, commit=commit):
                columns = (self.broker.id, group.name, tp.topic, tp.partition, stored.committed.offset)
                if counts:
                    event = self.broker.journal.emit(events.OffsetMaterialized.kind, *columns, former[tp], producer_id)
                    self.broker.account.offset_committed(group.name, tp, stored.committed.offset, event)
                else:
                    self.broker.journal.emit(events.OffsetDropped.kind, *columns, producer_id, "older" if commit else "aborted")


def offset_of(group: GroupMetadata, tp: TopicPartition) -> int:
    """Return the committed offset of a partition; NO_OFFSET if there is none."""
    committed = group.committed(tp)
    return NO_OFFSET if committed is None else committed.offset
