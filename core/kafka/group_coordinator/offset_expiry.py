"""The expiration of committed offsets (`OffsetMetadataManager#cleanupExpiredOffsets`, KIP-211).

A group coordinator checks the groups of each partition of `__consumer_offsets` every offsets.retention.check.interval.ms. It writes tombstones for
the offsets that have expired. It deletes a group that has neither members nor offsets.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.append_errors import FOREVER
from core.kafka.group_coordinator.classic.group_records import GroupMetadataKey
from core.kafka.group_coordinator.classic.group_state import GroupState
from core.kafka.group_coordinator.consumer.records import EpochKey, TargetEpochKey
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager
from core.kafka.group_coordinator.offsets_log import LOG_WRITER, CommittedOffset, OffsetKey, partition_of, records_bytes
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import BatchFields
from core.kafka.release import Release
from core.sim.units import SECOND

TIMER: Final = "expire-offsets"
"""The name of the timer of the check."""


def expiration_base(group: GroupMetadata, tp: TopicPartition, committed: CommittedOffset, release: Release) -> int | None:
    """Return the time from which the retention of an offset counts, µs; None if it does not expire (`ClassicGroup#offsetExpirationCondition`)."""
    if not release.offsets_expire_with_group:
        return committed.timestamp
    if group.consumer is not None:
        return None if tp.topic in group.consumer.subscribers else committed.timestamp
    classic = group.classic
    if not classic.protocol_type:
        return committed.timestamp
    if classic.state is GroupState.EMPTY:
        return classic.state_timestamp or committed.timestamp
    subscribed = classic.subscribed_topics() if classic.state is GroupState.STABLE else None
    return None if subscribed is None or tp.topic in subscribed else committed.timestamp


class RemovedOffsets:
    """Tombstones that are being written.

    Attributes:
        cache: the groups of the partition.
        group: the group.
        tps: the partitions whose offsets are removed.
        deletes_group: whether a tombstone of the group is written, too.
        topic_deleted: whether the offsets are removed because their topic was deleted; otherwise, they have expired.
    """

    __slots__ = ("broker", "cache", "deletes_group", "group", "groups", "topic_deleted", "tps")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    cache: Final[GroupCache]
    group: Final[GroupMetadata]
    tps: Final[tuple[TopicPartition, ...]]
    deletes_group: Final[bool]
    topic_deleted: Final[bool]

    def __init__(
        self,
        broker: GroupCoordinatorContext,
        groups: GroupMetadataManager,
        cache: GroupCache,
        group: GroupMetadata,
        tps: tuple[TopicPartition, ...],
        deletes_group: bool,
        *,
        topic_deleted: bool = False,
    ) -> None:
        self.broker = broker
        self.groups = groups
        self.cache = cache
        self.group = group
        self.tps = tps
        self.deletes_group = deletes_group
        self.topic_deleted = topic_deleted

    def start(self) -> None:
        """Append the tombstones."""
        below = self.broker.release.commits_below_min_isr
        deadline = (
            FOREVER if below else self.broker.journal.now + self.broker.settings.us("offsets.commit.timeout.ms", broker=self.broker.id)
        )
        self.cache.deferred.append(partition_of(self.cache.partition), self._batch, deadline, self, below_min_isr=below)

    def _batch(self, base: int) -> BatchFields:
        offsets = tuple((OffsetKey(self.group.name, tp), None) for tp in self.tps)
        content = (*offsets, *(self._group_tombstones() if self.deletes_group else ()))
        return (base, len(content), records_bytes(offsets) + 20, LOG_WRITER, 0, self.broker.journal.now, -1, -1, -1, False, content)

    def _group_tombstones(self) -> tuple[tuple[object, None], ...]:
        name = self.group.name
        if self.group.consumer is not None:
            return ((TargetEpochKey(name), None), (EpochKey(name), None))
        return ((GroupMetadataKey(name), None),)

    def append_completed(self, error: str) -> None:
        """Remove the offsets and the group, if the tombstones are committed."""
        if error != errors.NONE or self.groups.caches.get(self.cache.partition) is not self.cache:
            return
        journal, group = self.broker.journal, self.group
        kind = events.OffsetDeleted.kind if self.topic_deleted else events.OffsetExpired.kind
        for tp in self.tps:
            stored = group.offsets.pop(tp, None)
            if stored is not None:
                journal.emit(kind, self.broker.id, group.name, tp.topic, tp.partition, stored.committed.offset)
        if self.deletes_group and is_unused(group) and self.cache.groups.pop(group.name, None) is not None:
            journal.emit(events.GroupDeleted.kind, self.broker.id, group.name)


def is_unused(group: GroupMetadata, expired: tuple[TopicPartition, ...] = ()) -> bool:
    """Whether a group has no members, and no offsets other than the expired ones."""
    classic = group.classic
    busy = bool(classic.pending_members or group.pending_commits or group.pending_transactional)
    if group.consumer is not None and group.consumer.members:
        return False
    return classic.state is GroupState.EMPTY and not busy and all(tp in expired for tp in group.offsets)


class OffsetExpiry:
    """The periodic checks of one broker."""

    __slots__ = ("broker", "groups")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager) -> None:
        self.broker = broker
        self.groups = groups
        broker.timers[TIMER] = self._check_due

    def arm(self, cache: GroupCache) -> None:
        """Schedule the next check of a partition's groups."""
        interval = self.broker.settings.us("offsets.retention.check.interval.ms", broker=self.broker.id)
        self.broker.timer(interval, TIMER, (cache.partition, cache.coordinator_epoch))

    def _check_due(self, about: object) -> None:
        assert isinstance(about, tuple)
        partition, coordinator_epoch = about
        cache = self.groups.caches.get(partition)
        if cache is None or cache.coordinator_epoch != coordinator_epoch:
            return
        for group in list(cache.groups.values()):
            expired = tuple(self.expired(group))
            deletes = is_unused(group, expired)
            if expired or deletes:
                RemovedOffsets(self.broker, self.groups, cache, group, expired, deletes).start()
        self.arm(cache)

    def expired(self, group: GroupMetadata) -> list[TopicPartition]:
        """Return the partitions of a group whose offsets have expired."""
        broker = self.broker
        retention = broker.settings.integer("offsets.retention.minutes", broker=broker.id) * 60 * SECOND
        found = []
        for tp, stored in group.offsets.items():
            base = expiration_base(group, tp, stored.committed, broker.release)
            pending = any(tp in offsets for offsets in group.pending_transactional.values())
            if base is not None and not pending and broker.journal.now - base >= retention:
                found.append(tp)
        return found
