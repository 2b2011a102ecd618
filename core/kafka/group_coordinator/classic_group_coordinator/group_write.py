"""Writes a group's record to `__consumer_offsets` (`GroupMetadataManager#storeGroup`)."""

from __future__ import annotations

from typing import Final, Protocol

from core.kafka import errors
from core.kafka.group_coordinator.append_errors import APPEND_ERRORS, FOREVER
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions
from core.kafka.group_coordinator.classic_group.group_records import GroupMetadataKey, GroupMetadataValue, stored, value_bytes
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager
from core.kafka.group_coordinator.offsets_log import LOG_WRITER, partition_of
from core.kafka.log.leader_term import BatchFields
from core.kafka.transaction.transaction_log import BATCH_HEADER_BYTES

TIMER: Final = "group-write-timeout"
"""The name of the timer that limits how long a write can take."""


class Stored(Protocol):
    """The step that follows the write of a group's record."""

    def group_stored(self, cache: GroupCache, group: ClassicGroup, error: str, /) -> None:
        """Take the step after the record has been committed or the write has failed."""


class Nothing:
    """A step that does nothing. It follows the write of an empty group's record."""

    __slots__ = ()

    def group_stored(self, cache: GroupCache, group: ClassicGroup, error: str) -> None:
        """Do nothing. If the write failed, Kafka only logs an error."""


class GroupWrite:
    """A write of a group's record.

    Attributes:
        then: the step that follows the write.
        value: the value of the record that is written.
        done: whether the write has ended.
    """

    __slots__ = ("broker", "cache", "done", "group", "groups", "then", "value")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    cache: Final[GroupCache]
    group: Final[ClassicGroup]
    then: Final[Stored]
    value: Final[GroupMetadataValue]

    def __init__(
        self,
        broker: GroupCoordinatorContext,
        groups: GroupMetadataManager,
        cache: GroupCache,
        group: ClassicGroup,
        assignments: dict[str, Partitions],
        then: Stored,
    ) -> None:
        self.broker = broker
        self.groups = groups
        self.cache = cache
        self.group = group
        self.then = then
        self.value = stored(group, assignments)
        self.done = False

    def start(self) -> None:
        """Append the group's record to the log. The write ends when the record is committed, or after offsets.commit.timeout.ms."""
        broker = self.broker
        timeout = broker.settings.us("offsets.commit.timeout.ms", broker=broker.id)
        deadline = broker.journal.now + timeout
        if broker.release.commits_below_min_isr:
            deadline = FOREVER
            broker.node.timer(timeout, TIMER, self)
        below = broker.release.commits_below_min_isr
        self.cache.deferred.append(partition_of(self.cache.partition), self._batch, deadline, self, below_min_isr=below)

    def _batch(self, base: int) -> BatchFields:
        content = ((GroupMetadataKey(self.group.name), self.value),)
        size = BATCH_HEADER_BYTES + 12 + len(self.group.name.encode("utf-8", "surrogatepass")) + value_bytes(self.value)
        return (base, 1, size, LOG_WRITER, 0, self.broker.journal.now, -1, -1, -1, False, content)

    def append_completed(self, error: str) -> None:
        """End the write with the result of the append."""
        self._end(APPEND_ERRORS.get(error, error))

    def timed_out(self) -> None:
        """End the write, because offsets.commit.timeout.ms has elapsed. The group's record might still be committed later."""
        self._end(APPEND_ERRORS[errors.REQUEST_TIMED_OUT])

    def _end(self, error: str) -> None:
        """End the write. If this broker still coordinates the group in the same coordinator epoch, take the step that follows the write."""
        if not self.done:
            self.done = True
            if self.groups.caches.get(self.cache.partition) is self.cache:
                self.then.group_stored(self.cache, self.group, error)
