"""The expiration of committed offsets (`OffsetMetadataManager#cleanupExpiredOffsets`, KIP-211).

A group coordinator checks the groups of each partition of `__consumer_offsets` every offsets.retention.check.interval.ms. The coordinator
writes tombstones for the offsets that have expired, and deletes groups that have neither members nor offsets.
"""

from __future__ import annotations

from typing import Final

from core.kafka import events
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager
from core.kafka.group_coordinator.offset_tombstones import OffsetTombstones, is_unused
from core.kafka.group_coordinator.offsets_log import CommittedOffset
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.sim.units import SECOND

TIMER: Final = "expire-offsets"
"""The name of the timer for the periodic check for expired offsets."""


def expiration_base(group: GroupMetadata, tp: TopicPartition, committed: CommittedOffset, release: Release) -> int | None:
    """Return the time at which the retention period of an offset begins, in µs; None if the offset does not expire
    (`ClassicGroup#offsetExpirationCondition`)."""
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


class OffsetExpiry:
    """The periodic checks that one broker makes."""

    __slots__ = ("broker", "groups")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager) -> None:
        self.broker = broker
        self.groups = groups
        broker.node.timers[TIMER] = self._check_due

    def arm(self, cache: GroupCache) -> None:
        """Schedule the next check of a partition's groups."""
        interval = self.broker.settings.us("offsets.retention.check.interval.ms", broker=self.broker.id)
        self.broker.node.timer(interval, TIMER, (cache.partition, cache.coordinator_epoch))

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
                OffsetTombstones(self.broker, self.groups, cache, group, expired, deletes, events.OffsetExpired.kind).start()
        self.arm(cache)

    def expired(self, group: GroupMetadata) -> list[TopicPartition]:
        """Return the partitions for which a group's committed offset has expired."""
        broker = self.broker
        retention = broker.settings.integer("offsets.retention.minutes", broker=broker.id) * 60 * SECOND
        found = []
        for tp, stored in group.offsets.items():
            base = expiration_base(group, tp, stored.committed, broker.release)
            pending = any(tp in offsets for offsets in group.pending_transactional.values())
            if base is not None and not pending and broker.journal.now - base >= retention:
                found.append(tp)
        return found
