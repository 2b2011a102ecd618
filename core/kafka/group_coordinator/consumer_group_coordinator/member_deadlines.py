"""The deadlines of consumer group members: session timeouts and rebalance timeouts (`GroupMetadataManager#schedule…`)."""

from __future__ import annotations

from typing import Final, Protocol

from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup, MemberTimers
from core.kafka.group_coordinator.consumer_group.consumer_group_member import ConsumerGroupMember
from core.kafka.group_coordinator.consumer_group.member_state import MemberState
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache, GroupMetadataManager

MemberTimer = tuple[int, int, str, str]
"""The arguments of a member's timer: the partition of `__consumer_offsets`, the coordinator epoch, the group, and the member ID."""

Found = tuple[GroupCache, ConsumerGroup, ConsumerGroupMember, MemberTimers]
"""The member that a timer belongs to."""


class Fences(Protocol):
    """The interface for removing members."""

    def fence(self, cache: GroupCache, group: ConsumerGroup, member: ConsumerGroupMember, why: str, /) -> None:
        """Remove a member that has not asked to leave."""


class MemberDeadlines:
    """The deadlines of the members that one broker coordinates."""

    __slots__ = ("broker", "fences", "groups")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    fences: Final[Fences]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager, fences: Fences) -> None:
        self.broker = broker
        self.groups = groups
        self.fences = fences
        broker.node.timers.update(
            {
                "consumer-session": self._session_timer,
                "consumer-rebalance": self._rebalance_timer,
                "consumer-join": self._join_timer,
                "consumer-sync": self._sync_timer,
            }
        )

    # --- sessions --------------------------------------------------------------------------------------------------

    def renew_session(self, cache: GroupCache, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        """Restart a member's session. If a timer is already running, the new deadline is checked when this timer fires."""
        broker = self.broker
        timers = group.timers.get(member.member_id)
        if timers is None:
            timers = group.timers[member.member_id] = MemberTimers()
        if member.classic is not None:
            timeout = member.classic.session_timeout
        else:
            timeout = broker.settings.us("group.consumer.session.timeout.ms", broker=broker.id)
        timers.deadline = broker.journal.now + timeout
        if timers.due < broker.journal.now or timers.deadline < timers.due:
            self._arm_session(cache, group, member.member_id, timers)

    def _arm_session(self, cache: GroupCache, group: ConsumerGroup, member_id: str, timers: MemberTimers) -> None:
        timers.due = timers.deadline
        self._arm(cache, group, member_id, timers.deadline - self.broker.journal.now, "consumer-session")

    def _arm(self, cache: GroupCache, group: ConsumerGroup, member_id: str, delay: int, timer: str) -> None:
        about: MemberTimer = (cache.partition, cache.coordinator_epoch, group.name, member_id)
        self.broker.node.timer(delay, timer, about)

    def _timed_member(self, about: object) -> Found | None:
        """Return the member that a timer belongs to; None if this broker no longer coordinates the member's group."""
        assert isinstance(about, tuple)
        partition, coordinator_epoch, name, member_id = about
        cache = self.groups.caches.get(partition)
        metadata = cache.groups.get(name) if cache is not None and cache.coordinator_epoch == coordinator_epoch else None
        if cache is None or metadata is None or metadata.consumer is None or member_id not in metadata.consumer.members:
            return None
        return cache, metadata.consumer, metadata.consumer.members[member_id], metadata.consumer.timers[member_id]

    def _is_over(self, time: int) -> bool:
        """Return whether a deadline has been reached; -1 means that there is no deadline. If the broker was paused, its timers fire late,
        when it resumes.
        """
        return 0 <= time <= self.broker.journal.now

    def _session_timer(self, about: object) -> None:
        found = self._timed_member(about)
        if found is None:
            return
        cache, group, member, timers = found
        now = self.broker.journal.now
        if timers.due > now:
            return  # a later timer checks the deadline
        if timers.deadline > now:
            self._arm_session(cache, group, member.member_id, timers)
        else:
            self._fence((cache, group, member, timers), "session-timeout")

    def _fence(self, found: Found, why: str) -> None:
        """Remove a member that was silent for a timeout, and blame what kept it silent."""
        cache, group, member, _ = found
        if why != "session-timeout":
            timeout = member.rebalance_timeout
        elif member.classic is not None:
            timeout = member.classic.session_timeout
        else:
            timeout = self.broker.settings.us("group.consumer.session.timeout.ms", broker=self.broker.id)
        self.broker.journal.blame(self.broker.node.why_silent(member.client, self.broker.journal.now - timeout))
        self.fences.fence(cache, group, member, why)

    # --- rebalances ------------------------------------------------------------------------------------------------

    def time_revocation(self, cache: GroupCache, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        """If a member must give up partitions, start a timer: the member must give them up within its rebalance timeout
        (`#scheduleConsumerGroupRebalanceTimeout`).

        The revocation timeout does not apply to members that use the classic protocol, whose JoinGroup requests have a timeout.
        """
        timers = group.timers[member.member_id]
        if member.state is not MemberState.UNREVOKED_PARTITIONS or member.classic is not None:
            timers.revoked_by = -1
            return
        timers.revoked_by = self.broker.journal.now + member.rebalance_timeout
        self._arm(cache, group, member.member_id, member.rebalance_timeout, "consumer-rebalance")

    def _rebalance_timer(self, about: object) -> None:
        found = self._timed_member(about)
        if found is not None and self._is_over(found[3].revoked_by):
            self._fence(found, "revocation-timeout")

    def expect_join(self, cache: GroupCache, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        """Start the timer for JoinGroup: a member that uses the classic protocol must join again within its rebalance timeout
        (`#scheduleConsumerGroupJoinTimeoutIfNeeded`)."""
        timers = group.timers[member.member_id]
        if timers.joined_by < 0:
            timers.joined_by = self.broker.journal.now + member.rebalance_timeout
            self._arm(cache, group, member.member_id, member.rebalance_timeout, "consumer-join")

    def joined(self, cache: GroupCache, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        """Start the timer for SyncGroup: a member that uses the classic protocol must send SyncGroup within its rebalance timeout
        (`#scheduleConsumerGroupSyncTimeout`)."""
        timers = group.timers[member.member_id]
        timers.joined_by = timers.revoked_by = -1
        timers.synced_by = self.broker.journal.now + member.rebalance_timeout
        self._arm(cache, group, member.member_id, member.rebalance_timeout, "consumer-sync")

    def synced(self, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        """Cancel the timeout for SyncGroup (`#cancelConsumerGroupSyncTimeout`)."""
        group.timers[member.member_id].synced_by = -1

    def _join_timer(self, about: object) -> None:
        found = self._timed_member(about)
        if found is not None and self._is_over(found[3].joined_by):
            self._fence(found, "rebalance-timeout")

    def _sync_timer(self, about: object) -> None:
        found = self._timed_member(about)
        if found is not None and self._is_over(found[3].synced_by):
            self._fence(found, "sync-timeout")
