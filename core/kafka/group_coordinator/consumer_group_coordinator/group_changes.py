"""Changes to consumer groups. The records of each change are written and immediately applied, and events report the change
(`GroupMetadataManager`, `CoordinatorRuntime`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.append_errors import APPEND_ERRORS, FOREVER
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.group_records import GroupMetadataKey, GroupMetadataValue, stored, value_bytes
from core.kafka.group_coordinator.classic_group_coordinator.rebalances import Rebalances
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_member import ConsumerGroupMember
from core.kafka.group_coordinator.consumer_group.conversion import downgraded, group_tombstones
from core.kafka.group_coordinator.consumer_group.heartbeats import ConsumerGroupRules, fence_members
from core.kafka.group_coordinator.consumer_group.member_state import ConsumerGroupState
from core.kafka.group_coordinator.consumer_group.records import ConsumerGroupRecord, CurrentAssignmentKey, record_bytes
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager
from core.kafka.group_coordinator.offsets_log import LOG_WRITER, partition_of
from core.kafka.log.leader_term import BatchFields
from core.kafka.transaction.transaction_log import BATCH_HEADER_BYTES

GroupRecord = tuple[GroupMetadataKey, GroupMetadataValue | None]
"""The key and the value of a classic group's record."""

UPGRADES: Final = ("bidirectional", "upgrade")
"""The values of group.consumer.migration.policy that let a classic group become a consumer group."""

DOWNGRADES: Final = ("bidirectional", "downgrade")
"""The values of group.consumer.migration.policy that let a consumer group become a classic group."""


class GroupChanges:
    """The changes to the consumer groups that one broker coordinates."""

    __slots__ = ("broker", "groups", "rebalances")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    rebalances: Final[Rebalances]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager, rebalances: Rebalances) -> None:
        self.broker = broker
        self.groups = groups
        self.rebalances = rebalances

    def emit(self, kind: str, *columns: object) -> None:
        """Record an event of this coordinator, and make it the cause of the events that follow."""
        journal = self.broker.journal
        journal.cause = journal.emit(kind, self.broker.id, *columns)

    def rules(self) -> ConsumerGroupRules:
        """Return the broker's settings for consumer groups."""
        settings, broker, release = self.broker.settings, self.broker.id, self.broker.release
        names = tuple(str(settings.get("group.consumer.assignors", broker=broker)).split(","))
        interval = settings.us("group.consumer.assignment.interval.ms", broker=broker) if release.spaces_assignments else 0
        return ConsumerGroupRules(
            release, settings.integer("group.consumer.max.size", broker=broker), names, interval, self.broker.metadata_cache.partition_count
        )

    def policy(self) -> str:
        """Return group.consumer.migration.policy."""
        return str(self.broker.settings.get("group.consumer.migration.policy", broker=self.broker.id))

    # --- writes ----------------------------------------------------------------------------------------------------

    def append(self, cache: GroupCache, records: tuple[ConsumerGroupRecord | GroupRecord, ...]) -> str:
        """Append records, and return the error from the log, or NONE.

        The state of the group changes when the records are appended, but the response waits until the records are committed.
        """
        size = BATCH_HEADER_BYTES + sum(map(_bytes, records))
        now = self.broker.journal.now

        def batch(base: int) -> BatchFields:
            return (base, len(records), size, LOG_WRITER, 0, now, -1, -1, -1, False, records)

        write = cache.deferred.append(partition_of(cache.partition), batch, FOREVER, None)
        return APPEND_ERRORS.get(write.error, write.error) if write.was_refused else errors.NONE

    def write(
        self,
        cache: GroupCache,
        group: ConsumerGroup,
        records: tuple[ConsumerGroupRecord, ...],
        before: tuple[ConsumerGroupRecord | GroupRecord, ...] = (),
    ) -> str:
        """Append records, apply them to the group, and record the changes as events. Return the error of the append, or NONE if the append
        succeeded.

        Args:
            cache: the groups in the partition of `__consumer_offsets`.
            group: the group to change.
            records: the records to append and apply.
            before: the records to append first, which remove the group that `group` replaces, or convert the group.
        """
        if not records and not before:
            return errors.NONE
        error = self.append(cache, (*before, *records))
        if error != errors.NONE:
            return error
        state, epoch, assignment_epoch = group.state(), group.epoch, group.assignment_epoch
        members = dict(group.members)
        group.replay_all(records)
        if group.epoch != epoch:
            self.emit(events.GroupEpochBumped.kind, group.name, group.epoch, len(group.members))
        if group.assignment_epoch != assignment_epoch:
            self.emit(events.TargetAssigned.kind, group.name, group.assignment_epoch, described(group))
        for key, value in records:
            if isinstance(key, CurrentAssignmentKey) and value is not None and key.member_id in group.members:
                self._emit_reconciled(group, members.get(key.member_id), group.members[key.member_id])
        new_state = group.state()
        if new_state is not state or (new_state is ConsumerGroupState.STABLE and group.epoch != epoch):
            self.emit(events.ConsumerGroupStateChanged.kind, group.name, state.value, new_state.value, group.epoch)
        return errors.NONE

    def _emit_reconciled(self, group: ConsumerGroup, former: ConsumerGroupMember | None, member: ConsumerGroupMember) -> None:
        """Record a member's step as an event, unless only its previous epoch has changed."""
        if former is not None and former._replace(previous_epoch=member.previous_epoch, classic=member.classic) == member:
            return
        names = (", ".join(map(str, tps)) for tps in (member.assigned, member.pending_revocation))
        self.emit(events.MemberReconciled.kind, group.name, member.member_id, member.epoch, member.state.value, *names)

    # --- members that go -------------------------------------------------------------------------------------------

    def emit_removal(self, group: ConsumerGroup, member_id: str, why: str, remaining: int) -> None:
        """Record that a member was removed."""
        self.emit(events.GroupMemberRemoved.kind, group.name, member_id, why, remaining)

    def fence(self, cache: GroupCache, group: ConsumerGroup, member: ConsumerGroupMember, why: str) -> None:
        """Remove a member that has not asked to leave (`#consumerGroupFenceMember`)."""
        self.emit_removal(group, member.member_id, why, len(group.members) - 1)
        self.remove(cache, group, (member,))

    def remove(self, cache: GroupCache, group: ConsumerGroup, members: tuple[ConsumerGroupMember, ...]) -> str:
        """Remove members. If all remaining members use the classic protocol, the group becomes a classic group
        (`#consumerGroupFenceMembers`)."""
        if self._can_downgrade(group, members):
            return self.downgrade(cache, group, members)
        return self.write(cache, group, fence_members(group, members, self.rules()))

    def _can_downgrade(self, group: ConsumerGroup, leaving: tuple[ConsumerGroupMember, ...]) -> bool:
        """Return whether a group becomes a classic group when members leave (`#validateOnlineDowngradeWithFencedMembers`)."""
        remaining = [member for member in group.members.values() if member not in leaving]
        if not remaining or any(member.classic is None for member in remaining) or self.policy() not in DOWNGRADES:
            return False
        return len(remaining) <= self.broker.settings.integer("group.max.size", broker=self.broker.id)

    def maybe_downgrade(self, cache: GroupCache, group: ConsumerGroup) -> None:
        """If the rules allow it, convert a group to a classic group after a classic member has replaced the last member that used the
        consumer protocol."""
        if self._can_downgrade(group, ()):
            self.downgrade(cache, group, ())

    def downgrade(self, cache: GroupCache, group: ConsumerGroup, leaving: tuple[ConsumerGroupMember, ...]) -> str:
        """Convert a consumer group to a classic group. If members leave, the group rebalances (`#convertToClassicGroup`)."""
        broker, metadata = self.broker, cache.group(group.name)
        classic = downgraded(group, [member.member_id for member in leaving], broker.journal.now)
        record: GroupRecord = (GroupMetadataKey(group.name), stored(classic, dict(classic.assignments())))
        tombstones = group_tombstones(group, with_metadata=broker.release.stores_subscription_metadata)
        error = self.append(cache, (*tombstones, record))
        if error != errors.NONE:
            return error
        classic.phase = metadata.classic.phase  # timers of the former classic group have no effect
        metadata.classic, metadata.consumer = classic, None
        self.emit(events.GroupConverted.kind, group.name, "classic", classic.generation, len(classic.members))
        for member in classic.members.values():
            self.rebalances.deadlines.renew(cache, classic, member)
        if leaving:
            self.rebalances.prepare(cache, classic, "its last member of the consumer protocol left")
        return errors.NONE

    # --- classic groups --------------------------------------------------------------------------------------------

    def upgraded(self, cache: GroupCache, classic: ClassicGroup, group: ConsumerGroup) -> None:
        """Replace a classic group with a consumer group whose records have been written (`#convertToConsumerGroup`)."""
        metadata = cache.group(group.name)
        self.rebalances.dissolve(classic)
        metadata.classic = ClassicGroup(group.name)
        metadata.classic.phase = classic.phase
        metadata.consumer = group

    def drop_empty(self, cache: GroupCache, group: ConsumerGroup) -> None:
        """Remove a consumer group that has no members, because a client that uses the classic protocol is joining
        (`#maybeDeleteEmptyConsumerGroup`)."""
        self.append(cache, group_tombstones(group, with_metadata=self.broker.release.stores_subscription_metadata))
        cache.group(group.name).consumer = None


def _bytes(record: ConsumerGroupRecord | GroupRecord) -> int:
    key, value = record
    if isinstance(key, GroupMetadataKey):
        assert value is None or isinstance(value, GroupMetadataValue)
        return 12 + len(key.group.encode("utf-8", "surrogatepass")) + (0 if value is None else value_bytes(value))
    assert not isinstance(value, GroupMetadataValue)
    return record_bytes((key, value))


def described(group: ConsumerGroup) -> str:
    """Return the target assignment as text."""
    return "; ".join(f"{member_id}: {', '.join(map(str, tps)) or 'nothing'}" for member_id, tps in group.target.items())
