"""The consumer groups that one broker coordinates (`GroupMetadataManager`): how it handles heartbeats and loads groups."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.group_records import GroupMetadataKey
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.classic_group_coordinator.classic_group_coordinator import ClassicGroupCoordinator
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from core.kafka.group_coordinator.consumer_group.consumer_group_member import LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH
from core.kafka.group_coordinator.consumer_group.conversion import upgrade_records
from core.kafka.group_coordinator.consumer_group.heartbeats import HeartbeatResult, heartbeat, request_error, topic_metadata
from core.kafka.group_coordinator.consumer_group.records import ConsumerGroupRecord, SubscriptionMetadata
from core.kafka.group_coordinator.consumer_group_coordinator.classic_members import NO_ERROR_YET, ClassicMembers
from core.kafka.group_coordinator.consumer_group_coordinator.group_changes import UPGRADES, GroupChanges, GroupRecord
from core.kafka.group_coordinator.consumer_group_coordinator.member_deadlines import MemberDeadlines
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager


class ConsumerGroupCoordinator:
    """The consumer groups of one broker.

    Attributes:
        changes: the component that writes and applies the changes to groups.
        deadlines: the deadlines of members.
        classic_members: the component that serves the members that use the classic protocol.
    """

    __slots__ = ("broker", "changes", "classic_members", "deadlines", "groups")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    changes: Final[GroupChanges]
    deadlines: Final[MemberDeadlines]
    classic_members: Final[ClassicMembers]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager, classic: ClassicGroupCoordinator) -> None:
        self.broker = broker
        self.groups = groups
        self.changes = GroupChanges(broker, groups, classic.rebalances)
        self.deadlines = MemberDeadlines(broker, groups, self.changes)
        self.classic_members = ClassicMembers(classic, self.changes, self.deadlines)
        broker.node.handlers[ConsumerGroupHeartbeatRequest] = self._heartbeat

    def loaded(self, cache: GroupCache) -> None:
        """Restart the sessions of all members (`#onLoaded`)."""
        for metadata in cache.groups.values():
            group = metadata.consumer
            for member in () if group is None else group.members.values():
                assert group is not None
                self.deadlines.renew_session(cache, group, member)
                self.deadlines.time_revocation(cache, group, member)

    # --- ConsumerGroupHeartbeat ------------------------------------------------------------------------------------

    def _heartbeat(self, request: ConsumerGroupHeartbeatRequest, sender: str) -> None:
        """Handle a heartbeat: write the changes that it makes, and respond when they are committed (`#consumerGroupHeartbeat`)."""
        cache = self.groups.cache_of(request.group)
        group, before = (None, ()) if cache is None else self._group_for(cache, request)
        error = self._error(request, group)
        if error == errors.NONE and cache is not None and group is not None:
            result = heartbeat(group, request, self.changes.rules(), self.broker.journal.now)
            error = result.error
            if error == errors.NONE:
                error = self._accept(cache, group, request, sender, result, before)
            if error == errors.NONE:
                return
        self.changes.emit(events.GroupRequestRefused.kind, request.group, "ConsumerGroupHeartbeat", error)
        self.broker.node.reply(sender, ConsumerGroupHeartbeatResponse(request.correlation, error))

    def _error(self, request: ConsumerGroupHeartbeatRequest, group: ConsumerGroup | None) -> str:
        """Return the error that a request gets regardless of the state of its group; NONE if there is none."""
        if not self.broker.release.consumer_protocol:
            return errors.UNSUPPORTED_VERSION
        error = self.groups.error_of(request.group)
        if error == errors.NONE:
            error = request_error(request, self.changes.rules().assignors)
        if error == errors.NONE and group is None:
            error = errors.GROUP_ID_NOT_FOUND
        return error

    def _group_for(
        self, cache: GroupCache, request: ConsumerGroupHeartbeatRequest
    ) -> tuple[ConsumerGroup | None, tuple[ConsumerGroupRecord | GroupRecord, ...]]:
        """Return the group that a request belongs to, and the records that convert the group if it changes its protocol
        (`#getOrMaybeCreateConsumerGroup`).

        If the group does not exist, a client that joins creates it. If the group is a classic group that has members, it becomes a consumer
        group.
        """
        known = cache.groups.get(request.group)
        if known is not None and known.consumer is not None:
            return known.consumer, ()
        if request.member_epoch != 0:
            return None, ()
        if known is None:
            return ConsumerGroup(request.group, self.broker.release.consumer_groups_begin_at), ()
        tombstone: GroupRecord = (GroupMetadataKey(request.group), None)
        classic = known.classic
        if classic.state is GroupState.EMPTY:
            return ConsumerGroup(request.group, self.broker.release.consumer_groups_begin_at), (tombstone,)
        if not self._can_upgrade(classic):
            return None, ()
        group = ConsumerGroup(request.group)
        records = upgrade_records(classic, self._metadata)
        group.replay_all(records)
        return group, (tombstone, *records)

    def _can_upgrade(self, classic: ClassicGroup) -> bool:
        """Return whether a classic group can become a consumer group (`#validateOnlineUpgrade`)."""
        most = self.broker.settings.integer("group.consumer.max.size", broker=self.broker.id)
        return self.changes.policy() in UPGRADES and classic.protocol_type == "consumer" and len(classic.members) <= most

    def _metadata(self, topics: Collection[str]) -> SubscriptionMetadata:
        """Return the topic metadata for the first record of an upgraded group, or an empty tuple in releases that store topic metadata in a
        separate record.
        """
        return () if self.broker.release.stores_subscription_metadata else topic_metadata(topics, self.changes.rules())

    def _accept(
        self,
        cache: GroupCache,
        group: ConsumerGroup,
        request: ConsumerGroupHeartbeatRequest,
        sender: str,
        result: HeartbeatResult,
        before: tuple[ConsumerGroupRecord | GroupRecord, ...],
    ) -> str:
        """Write the changes that a heartbeat makes, and respond. Return the error from the write, or NONE."""
        member, changes = result.member, self.changes
        assert member is not None
        former = group.members.get(request.member_id)
        if request.member_epoch == 0 and former is None:
            self._emit_join(group, request)
        elif request.member_epoch < 0:
            why = "left-for-a-while" if request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH else "left"
            changes.emit_removal(group, request.member_id, why, len(group.members) - (why != "left-for-a-while"))
        classic = cache.groups[group.name].classic if before and group.name in cache.groups else None
        if request.member_epoch == LEAVE_GROUP_MEMBER_EPOCH:
            assert former is not None, "it leaves"
            error = changes.remove(cache, group, (former,))
        else:
            if classic is not None and classic.members:
                changes.emit(events.GroupConverted.kind, group.name, "consumer", classic.generation, len(classic.members))
            error = changes.write(cache, group, result.records, before)
        if error != errors.NONE:
            return error
        if request.member_epoch >= 0:
            if classic is not None:
                changes.upgraded(cache, classic, group)
                for each in group.classic_members():
                    self.deadlines.renew_session(cache, group, each)
            if result.assigned:
                group.assigned_at = self.broker.journal.now
            cache.group(group.name).consumer = group
            self.deadlines.renew_session(cache, group, member)
            if member != former:
                self.deadlines.time_revocation(cache, group, member)
        interval = 0
        if request.member_epoch >= 0:
            interval = self.broker.settings.us("group.consumer.heartbeat.interval.ms", broker=self.broker.id)
        response = ConsumerGroupHeartbeatResponse(
            request.correlation, errors.NONE, member.member_id, member.epoch, interval, result.assignment
        )
        cache.deferred.respond(sender, response, ConsumerGroupHeartbeatResponse(request.correlation, NO_ERROR_YET))
        return errors.NONE

    def _emit_join(self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> None:
        former = group.static_members.get(request.instance_id) if request.instance_id else None
        if former is not None:
            self.changes.emit(events.StaticMemberReplaced.kind, group.name, request.instance_id, former, request.member_id)
        else:
            members = len(group.members) + 1
            self.changes.emit(events.GroupMemberJoined.kind, group.name, request.member_id, request.client, request.instance_id, members)
