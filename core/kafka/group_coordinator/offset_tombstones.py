"""Tombstones that remove committed offsets and groups from `__consumer_offsets` (`OffsetMetadataManager`, `GroupMetadataManager`)."""

from __future__ import annotations

from typing import Final, Protocol

from core.kafka import errors, events
from core.kafka.group_coordinator.append_errors import APPEND_ERRORS, FOREVER
from core.kafka.group_coordinator.classic_group.group_records import GroupMetadataKey
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.consumer_group.records import EpochKey, TargetEpochKey
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager
from core.kafka.group_coordinator.offsets_log import LOG_WRITER, OffsetKey, partition_of, records_bytes
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import BatchFields


class Requester(Protocol):
    """The interface of an object that has requested tombstones and waits for the result."""

    def removed(self, error: str, /) -> None:
        """Continue after the tombstones have been committed or the write has failed."""


class OffsetTombstones:
    """Tombstones that are being written.

    Attributes:
        cache: the groups in the partition of `__consumer_offsets`.
        group: the group whose offsets are being removed.
        tps: the partitions whose offsets are being removed.
        deletes_group: whether a tombstone for the group is also written.
        kind: the kind of the event that reports the removal of an offset.
        requester: the object that requested the removal; None if nothing is waiting for the result.
    """

    __slots__ = ("broker", "cache", "deletes_group", "group", "groups", "kind", "requester", "tps")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    cache: Final[GroupCache]
    group: Final[GroupMetadata]
    tps: Final[tuple[TopicPartition, ...]]
    deletes_group: Final[bool]
    kind: Final[str]
    requester: Final[Requester | None]

    def __init__(
        self,
        broker: GroupCoordinatorContext,
        groups: GroupMetadataManager,
        cache: GroupCache,
        group: GroupMetadata,
        tps: tuple[TopicPartition, ...],
        deletes_group: bool,
        kind: str,
        requester: Requester | None = None,
    ) -> None:
        self.broker = broker
        self.groups = groups
        self.cache = cache
        self.group = group
        self.tps = tps
        self.deletes_group = deletes_group
        self.kind = kind
        self.requester = requester

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
        """If the tombstones are committed, remove the offsets and, if requested, the group."""
        if error == errors.NONE and self.groups.caches.get(self.cache.partition) is self.cache:
            self._remove()
        if self.requester is not None:
            self.requester.removed(APPEND_ERRORS.get(error, error))

    def _remove(self) -> None:
        journal, group = self.broker.journal, self.group
        for tp in self.tps:
            stored = group.offsets.pop(tp, None)
            if stored is not None:
                journal.emit(self.kind, self.broker.id, group.name, tp.topic, tp.partition, stored.committed.offset)
        if self.deletes_group and is_unused(group) and self.cache.groups.pop(group.name, None) is not None:
            journal.emit(events.GroupDeleted.kind, self.broker.id, group.name)


def is_unused(group: GroupMetadata, expired: tuple[TopicPartition, ...] = ()) -> bool:
    """Return whether a group has no members and no offsets other than the expired ones."""
    classic = group.classic
    busy = bool(classic.pending_members or group.pending_commits or group.pending_transactional)
    if group.consumer is not None and group.consumer.members:
        return False
    return classic.state is GroupState.EMPTY and not busy and all(tp in expired for tp in group.offsets)
