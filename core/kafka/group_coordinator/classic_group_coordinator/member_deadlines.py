"""The sessions of members, which determine when the coordinator removes a member from which it no longer receives requests
(`GroupMetadataManager#rescheduleClassicGroupMemberHeartbeat`).

Each member has a deadline and at most one timer that is not obsolete. When the timer fires, the coordinator checks the deadline. If the
deadline has moved, the timer is set again. Therefore, a heartbeat changes only the deadline, and adds no timer to the simulation's agenda.
"""

from __future__ import annotations

from typing import Final

from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import NO_DEADLINE, ClassicGroupMember
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata_manager import GroupCache
from core.sim.units import SECOND

NEW_MEMBER_JOIN_TIMEOUT: Final = 300 * SECOND
"""The maximum time that a new member waits for its first generation, in µs (`CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS`)."""

GroupTimer = tuple[int, int, str, object]
"""The arguments of a group's timer: the partition of `__consumer_offsets`, the coordinator epoch, the group, and a timer-specific
argument."""


class MemberDeadlines:
    """The deadlines of the members that one broker coordinates."""

    __slots__ = ("broker",)

    broker: Final[GroupCoordinatorContext]

    def __init__(self, broker: GroupCoordinatorContext) -> None:
        self.broker = broker

    def arm(self, cache: GroupCache, group: ClassicGroup, delay: int, timer: str, detail: object) -> None:
        """Set a timer for a group. The timer fires after a delay, given in µs."""
        self.broker.node.timer(delay, timer, (cache.partition, cache.coordinator_epoch, group.name, detail))

    def renew(self, cache: GroupCache, group: ClassicGroup, member: ClassicGroupMember, timeout: int = 0) -> None:
        """Restart a member's session. The session ends after the member's session timeout or, if `timeout` (µs) is not 0, after that
        time."""
        now = self.broker.journal.now
        member.deadline = now + (timeout or member.session_timeout)
        if member.timer_due == NO_DEADLINE or member.deadline < member.timer_due:
            self._arm_session(cache, group, member)

    def _arm_session(self, cache: GroupCache, group: ClassicGroup, member: ClassicGroupMember) -> None:
        member.timer_due = member.deadline
        self.arm(cache, group, member.deadline - self.broker.journal.now, "member-session", member.member_id)

    def has_expired(self, cache: GroupCache, group: ClassicGroup, member: ClassicGroupMember) -> bool:
        """Return whether a member's session has ended. The member's session timer calls this function
        (`#expireClassicGroupMemberHeartbeat`).

        If the broker was paused, its timers fire late, when it resumes.
        """
        now = self.broker.journal.now
        if member.timer_due > now:
            return False  # a later timer checks the deadline
        member.timer_due = NO_DEADLINE
        if member.deadline > now:
            self._arm_session(cache, group, member)
            return False
        return not member.has_satisfied_heartbeat(now)

    def add_pending(self, cache: GroupCache, group: ClassicGroup, member_id: str, timeout: int) -> None:
        """Register a client that has received a member ID and is expected to join with it (`#addPendingMember`)."""
        group.pending_members[member_id] = None
        self.arm(cache, group, timeout, "pending-member", member_id)
