"""A consumer's membership in a group that uses the consumer protocol (Kafka: `ConsumerMembershipManager`,
`ConsumerHeartbeatRequestManager`).

The background thread sends heartbeats and receives the assignment. The application gives up partitions and takes over new ones in poll(),
where each call runs one callback. As soon as the application has accepted its new partitions, the background thread sends a heartbeat that
tells the coordinator which partitions the consumer owns.
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from core.kafka import errors, events
from core.kafka.clients.group_member.abstract_membership import NO_DEADLINE, AbstractMembership, Application
from core.kafka.clients.group_member.coordinator_calls import COORDINATOR_ERRORS
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.group_coordinator.consumer_group.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from core.kafka.group_coordinator.consumer_group.consumer_group_member import (
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    Partitions,
    partitions,
)
from core.kafka.group_coordinator.consumer_group.member_ids import new_member_id
from core.kafka.group_coordinator.group_requests import GroupMembership
from core.kafka.release import Release
from core.sim.units import US_PER_MS

POLL_TIME: Final = 100 * US_PER_MS
"""The duration of a call to poll() that returns no records, in µs, after which the application calls poll() again."""

FATAL_HEARTBEATS: Final = {
    errors.INVALID_REQUEST: "InvalidRequestException",
    errors.GROUP_MAX_SIZE_REACHED: "GroupMaxSizeReachedException",
    errors.UNSUPPORTED_ASSIGNOR: "UnsupportedAssignorException",
    errors.UNRELEASED_INSTANCE_ID: "UnreleasedInstanceIdException",
    errors.FENCED_INSTANCE_ID: "FencedInstanceIdException",
    errors.UNSUPPORTED_VERSION: "UnsupportedVersionException",
    errors.INVALID_GROUP_ID: "InvalidGroupIdException",
    errors.GROUP_ID_NOT_FOUND: "GroupIdNotFoundException",
}
"""The heartbeat errors that make poll() fail, and the exceptions that it throws."""


class MembershipState(enum.Enum):
    """The state of a member (`org.apache.kafka.clients.consumer.internals.MemberState`)."""

    UNSUBSCRIBED = "Unsubscribed"
    JOINING = "Joining"
    RECONCILING = "Reconciling"
    ACKNOWLEDGING = "Acknowledging"
    STABLE = "Stable"
    FENCED = "Fenced"
    LEAVING = "Leaving"
    STALE = "Stale"
    FATAL = "Fatal"


SENDING: Final = frozenset(
    {
        MembershipState.JOINING,
        MembershipState.RECONCILING,
        MembershipState.ACKNOWLEDGING,
        MembershipState.STABLE,
        MembershipState.LEAVING,
    }
)
"""The states in which a member sends heartbeats."""

URGENT: Final = frozenset({MembershipState.JOINING, MembershipState.ACKNOWLEDGING, MembershipState.LEAVING})
"""The states in which a member immediately sends a heartbeat."""


class CallbackKind(enum.Enum):
    """What the application does in its next poll()."""

    REVOKE = "onPartitionsRevoked"
    ASSIGN = "onPartitionsAssigned"
    LOSE = "onPartitionsLost"


class SentFields(NamedTuple):
    """The fields in the last heartbeat. The next heartbeat omits each field that has not changed (`HeartbeatState.SentFields`)."""

    owned: Partitions


class MembershipManager(AbstractMembership):
    """The membership of one consumer.

    Attributes:
        state: the state of the member.
        member_id: the ID that the consumer has generated for itself. The ID stays the same when the member joins again.
        epoch: the member epoch; 0 before the member has joined.
        target: the last assignment from the coordinator; None if there is none.
        taking: the assignment that the consumer is now taking over.
        callback: the callback that runs in the next poll(); None if there is none.
        callback_at: the earliest time when `callback` can run, in µs.
        prepared: whether the consumer has already committed the offsets that it must commit before it gives up partitions.
        acknowledged: whether the consumer has taken over an assignment since it joined.
        interval: the time between two heartbeats, in µs; 0 until the coordinator has sent it.
        next_heartbeat: the time when the next heartbeat is due, in µs.
        heartbeat_timer: the time when the background thread's timer is due, in µs.
        in_flight: whether a heartbeat is in flight.
        sent: the fields in the last heartbeat; None if the next one must contain all fields.
        poll_deadline: the time when the member leaves the group unless the application calls poll(), in µs.
        closing: whether the consumer closes after the response to its last heartbeat.
        assign_time: has no effect, because the coordinator assigns the partitions.
    """

    __slots__ = (
        "acknowledged", "assign_time", "callback", "callback_at", "closing", "epoch", "heartbeat_timer", "in_flight", "interval",
        "member_id", "next_heartbeat", "poll_deadline", "prepared", "sent", "state", "taking", "target",
    )  # fmt: skip

    def __init__(self, client: Application, does: MemberConfig, release: Release) -> None:
        super().__init__(client, does, release)
        self.state = MembershipState.UNSUBSCRIBED
        self.member_id = does.member_id
        self.epoch = 0
        self.target: Partitions | None = None
        self.taking: Partitions = ()
        self.callback: CallbackKind | None = None
        self.callback_at = 0
        self.prepared = False
        self.acknowledged = False
        self.interval = 0
        self.next_heartbeat = 0
        self.heartbeat_timer = NO_DEADLINE
        self.in_flight = False
        self.sent: SentFields | None = None
        self.poll_deadline = NO_DEADLINE
        self.closing = False
        self.assign_time = 0
        self.heartbeats = True  # the background thread always runs
        client.handlers.update({ConsumerGroupHeartbeatResponse: self._handle_heartbeat})
        client.timers.update(
            {
                "background-thread": self._background_thread,
                "poll-again": self.do_nothing,
            }
        )

    @property
    def is_settled(self) -> bool:
        """Return whether further calls to poll() have no effect on the membership until a message arrives or a timer fires."""
        return bool(self.calls.coordinator) and self.callback is None and self.state is MembershipState.STABLE

    @property
    def is_rebalancing(self) -> bool:
        """Whether a commit fails because of a rebalance: always False in the consumer protocol."""
        return False

    @property
    def is_leaving(self) -> bool:
        """Whether the consumer is closing and is waiting for the response to its last heartbeat."""
        return self.closing and self.state is MembershipState.LEAVING

    def coordinator_found(self) -> None:
        """Send a heartbeat if one is due."""
        self._heartbeat_if_due()

    # --- poll() ----------------------------------------------------------------------------------------------------

    def must_prepare(self) -> bool:
        """Return whether the consumer must commit its offsets before it gives up partitions in the current poll()
        (`#maybeAutoCommitSyncBeforeRebalance`)."""
        return self.callback is CallbackKind.REVOKE and not self.prepared and self._callback_is_due()

    def must_revoke(self) -> bool:
        """Whether the next poll() takes partitions away from the consumer."""
        return self.must_prepare() or (self.callback is CallbackKind.LOSE and self._callback_is_due())

    def prepare_join(self) -> None:
        """Give up partitions in the current poll(), because the offsets have been committed."""
        self.prepared = True

    def _callback_is_due(self) -> bool:
        return self.callback is not None and self.client.journal.now >= self.callback_at

    def ensure_active_group(self) -> None:
        """In the first poll(), join the group. In later polls, do what the assignment requires, running one callback in each poll()."""
        if self.state is MembershipState.UNSUBSCRIBED and not self.closing:
            self._join()
        if not self.calls.coordinator:
            self.calls.find()
        if self._callback_is_due():
            callback, self.callback = self.callback, None
            if callback is CallbackKind.LOSE:
                self.lose_all()
                self._join()
            elif callback is CallbackKind.REVOKE:
                self.revoke(self.epoch, tuple(tp for tp in self.owned if tp not in self.taking))
                self.callback = CallbackKind.ASSIGN
            else:
                self._take_over()
            self.callback_at = self.client.journal.now + POLL_TIME
        if self.callback is not None:
            self.client.timer(max(self.callback_at - self.client.journal.now, 0), "poll-again")

    def _take_over(self) -> None:
        """Begin to read the new partitions, and inform the coordinator (`#assignPartitions`)."""
        self.own(self.epoch, self.taking)
        self.acknowledged = True
        self.state = MembershipState.ACKNOWLEDGING
        self._heartbeat_if_due()

    # --- joining and assignments -----------------------------------------------------------------------------------

    def _join(self) -> None:
        """Join, or join again, with the same member ID (`#transitionToJoining`)."""
        if not self.member_id:
            self.member_id = new_member_id(f"{self.client.name}/{self.client.incarnation}/{self.does.group}")
        self.state, self.epoch, self.acknowledged = MembershipState.JOINING, 0, False
        self.target, self.sent, self.callback = None, None, None
        self._heartbeat_if_due()

    def _assignment_received(self, assignment: Partitions) -> None:
        """Begin to take over an assignment (`#processAssignmentReceived`)."""
        self.target = assignment
        if self.acknowledged and assignment == partitions(self.owned) and self.callback is None:
            self.state = MembershipState.STABLE
            return
        self.state = MembershipState.RECONCILING
        if self.callback is None:
            self._reconcile()

    def _reconcile(self) -> None:
        """Make the application give up partitions and take over new ones (`#maybeReconcile`)."""
        assert self.target is not None
        self.taking, self.prepared = self.target, False
        kept = frozenset(self.taking)
        self.callback = CallbackKind.ASSIGN if kept.issuperset(self.owned) else CallbackKind.REVOKE

    def _fenced(self) -> None:
        """Give up all partitions in the next poll(), and join again (`#transitionToFenced`)."""
        self.epoch = 0
        if self.owned:
            self.state, self.callback = MembershipState.FENCED, CallbackKind.LOSE
        else:
            self._join()

    # --- the background thread -------------------------------------------------------------------------------------

    def _heartbeat_if_due(self) -> None:
        """Send a heartbeat if one is due, and set the timer for the next one."""
        now = self.client.journal.now
        if self.state in SENDING and not self.in_flight:
            if not self.calls.coordinator:
                self.calls.find()
            elif self.state in URGENT or now >= self.next_heartbeat:
                self._send_heartbeat()
        self._arm()

    def _arm(self) -> None:
        """Set the background thread's timer to the next time when the thread has something to do."""
        now = self.client.journal.now
        heartbeat = self.next_heartbeat if self.state in SENDING and not self.in_flight and self.calls.coordinator else NO_DEADLINE
        due = max(min(heartbeat, self.poll_deadline), now)
        if due < min(self.heartbeat_timer, NO_DEADLINE):
            self.heartbeat_timer = due
            self.client.timer(due - now, "background-thread", due)

    def _background_thread(self, due: object) -> None:
        if due != self.heartbeat_timer:
            return
        self.heartbeat_timer = NO_DEADLINE
        if self.client.journal.now >= self.poll_deadline:
            self._poll_too_late()
        self._heartbeat_if_due()

    def _poll_too_late(self) -> None:
        """Leave the group, because the application did not call poll() in time (`#transitionToStale`)."""
        self.poll_deadline = NO_DEADLINE
        if self.state in SENDING and self.epoch > 0:
            self.client.journal.blame(self.client.why_slow(self.client.journal.now - self.does.client.max_poll_interval))
            self.emit(events.PollTooLate.kind, self.does.client.max_poll_interval // US_PER_MS)
            if self.calls.coordinator:
                self.state = MembershipState.LEAVING
                self._send_heartbeat()
            self.state, self.epoch, self.callback = MembershipState.STALE, 0, CallbackKind.LOSE

    def _send_heartbeat(self) -> None:
        now, config = self.client.journal.now, self.does
        self.in_flight = True
        self.next_heartbeat = now + (self.interval or self.client.config.retry_backoff)
        correlation = self.calls.register(self.calls.coordinator, self._heartbeat_failed, self.state)
        request = ConsumerGroupHeartbeatRequest(
            correlation, self.client.name, config.group, self.member_id, self._epoch_to_send(), config.instance_id
        )
        owned: Partitions = () if self.state is MembershipState.JOINING else partitions(self.owned)
        if self.state is not MembershipState.LEAVING:
            if self.sent is None:
                request = request._replace(
                    rack=config.rack, rebalance_timeout=config.client.max_poll_interval, topics=config.topics,
                    assignor=config.remote_assignor or None, owned=owned,
                )  # fmt: skip
            elif self.sent.owned != owned:
                request = request._replace(owned=owned)
            self.sent = SentFields(owned)
        self.client.send(self.calls.coordinator, request)
        if self.state is MembershipState.ACKNOWLEDGING:
            reconciled = self.target == partitions(self.owned)
            self.state = MembershipState.STABLE if reconciled else MembershipState.RECONCILING
            if not reconciled and self.callback is None:
                self._reconcile()

    def _epoch_to_send(self) -> int:
        if self.state is MembershipState.LEAVING:
            return LEAVE_GROUP_STATIC_MEMBER_EPOCH if self.does.instance_id else LEAVE_GROUP_MEMBER_EPOCH
        return self.epoch

    def _heartbeat_failed(self, _: object, __: str) -> None:
        """Send a heartbeat with all fields after retry.backoff.ms."""
        self.in_flight, self.sent = False, None
        if self.closing:
            self._left()
            return
        self.next_heartbeat = self.client.journal.now + self.client.config.retry_backoff
        self.calls.find()
        self._arm_retry()

    def _arm_retry(self) -> None:
        """Send the next heartbeat after retry.backoff.ms, even if the member's state would otherwise require it immediately."""
        due = self.next_heartbeat
        self.heartbeat_timer = due
        self.client.timer(due - self.client.journal.now, "background-thread", due)

    def _handle_heartbeat(self, response: ConsumerGroupHeartbeatResponse, _: str) -> None:
        call = self.calls.take(response.correlation)
        if call is None:
            return
        self.in_flight = False
        if call.detail is MembershipState.LEAVING:
            if self.closing:
                self._left()
            else:
                self._heartbeat_if_due()
            return
        if self.state not in SENDING or self.state is MembershipState.LEAVING:
            return
        if response.error == errors.NONE:
            self.epoch = response.member_epoch
            if self.interval != response.heartbeat_interval:
                self.interval = response.heartbeat_interval
                self.next_heartbeat = self.client.journal.now + self.interval
            if self.state is MembershipState.JOINING and response.assignment is None:
                self.state = MembershipState.STABLE
            if response.assignment is not None:
                self._assignment_received(response.assignment)
            self._heartbeat_if_due()
        else:
            self._refused(response.error)

    def _refused(self, error: str) -> None:
        """Handle a heartbeat that was refused (`#onErrorResponse`)."""
        self.sent = None
        if error in (errors.FENCED_MEMBER_EPOCH, errors.UNKNOWN_MEMBER_ID):
            self._fenced()
        elif error in FATAL_HEARTBEATS:
            self.state = MembershipState.FATAL
            self.client.poll_fails(FATAL_HEARTBEATS[error])
        else:
            if error in COORDINATOR_ERRORS:
                self.calls.coordinator_failed(error)
                self.calls.find()
            self.next_heartbeat = self.client.journal.now + self.client.config.retry_backoff
            self._arm_retry()

    def poll_ended(self) -> None:
        """Handle the application's return from poll(). The application must call poll() again within max.poll.interval.ms."""
        self.poll_deadline = self.client.journal.now + self.does.client.max_poll_interval
        self._arm()

    def poll_began(self) -> None:
        """Handle the application's next call to poll(), in which the next callback can run."""
        self.poll_deadline = NO_DEADLINE
        self.callback_at = 0

    # --- the end ---------------------------------------------------------------------------------------------------

    def revoke_all(self) -> None:
        """Give up all partitions, because the consumer is closing."""
        self.callback = None
        if self.epoch > 0:
            self.revoke(self.epoch, tuple(self.owned))
        else:
            self.lose_all()

    def close(self) -> bool:
        """Leave the group. Return whether the consumer must wait for a response."""
        self.closing = True
        self.poll_deadline = NO_DEADLINE
        if self.epoch <= 0 or self.state not in SENDING or not self.calls.coordinator:
            self.state = MembershipState.UNSUBSCRIBED
            return False
        self.state = MembershipState.LEAVING
        self._send_heartbeat()
        return True

    def _left(self) -> None:
        self.state, self.closing = MembershipState.UNSUBSCRIBED, False
        self.client.left()

    # --- what the commits and the application need -----------------------------------------------------------------

    @property
    def membership(self) -> GroupMembership:
        """The member ID and the member epoch."""
        return GroupMembership(self.member_id, self.epoch, self.does.instance_id)

    def commit_membership(self) -> GroupMembership | None:
        """Return the membership to include in a commit; None before the consumer has joined."""
        if self.state in (MembershipState.UNSUBSCRIBED, MembershipState.JOINING, MembershipState.FATAL):
            return None
        return self.membership
