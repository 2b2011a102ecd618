"""A consumer's membership in its group: joining, syncing, heartbeats, and leaving (Kafka: `AbstractCoordinator`, `ConsumerCoordinator`).

A consumer in Kafka has two threads. The application's thread joins the group, but only in poll(). The heartbeat thread sends heartbeats,
even while the application is processing records. If the application does not call poll() again in time, the heartbeat thread makes the
consumer leave the group.
"""

from __future__ import annotations

import enum
from typing import Final

from core.kafka import errors, events
from core.kafka.clients.group_member import assignors
from core.kafka.clients.group_member.abstract_membership import FATAL, NO_DEADLINE, AbstractMembership, Application
from core.kafka.clients.group_member.coordinator_calls import COORDINATOR_ERRORS, DISCONNECTED
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.group_coordinator.classic_group.classic_group_messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    Partitions,
    Protocols,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)
from core.kafka.group_coordinator.group_requests import NO_GENERATION, NOT_A_MEMBER, GroupMembership
from core.kafka.release import Release
from core.sim.units import SECOND, US_PER_MS

JOIN_TIMEOUT_LAPSE: Final = 5 * SECOND
"""How much longer than the rebalance timeout a JoinGroup request can take, in µs (`AbstractCoordinator#JOIN_GROUP_TIMEOUT_LAPSE`)."""


class MemberState(enum.Enum):
    """The state of a member (`AbstractCoordinator.MemberState`)."""

    UNJOINED = "Unjoined"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


class ConsumerCoordinator(AbstractMembership):
    """The membership of one consumer.

    Attributes:
        state: the state of the member.
        membership: the member ID and the generation. If there is no generation, the consumer is not a member.
        rejoin_needed: whether the consumer must join in its next poll().
        revoked: whether the consumer has prepared for the rebalance by committing offsets and giving up the partitions that it must give
            up.
        rejoin_at: the earliest time for the next JoinGroup request, in µs.
        joining: whether a JoinGroup or SyncGroup request is in flight or about to be sent.
        received: the assignment that the next poll() will apply; None if there is none.
        protocol: the chosen assignor.
        leads: whether the member is the leader of the group in its generation.
        joined: the JoinGroup response that the leader keeps until it has the metadata for all topics; otherwise None.
        group_topics: if the member is the leader, the topics to which the members subscribe.
        known_counts: if the member is the leader, the number of partitions of each topic that it has assigned; None if it has not assigned
            any.
        last: the last assignment and its generation, for the assignor `sticky`.
        heartbeat_in_flight: whether a heartbeat is in flight.
        next_heartbeat: the time when the next heartbeat is due, in µs.
        session_deadline: the time when the session ends unless the coordinator responds to a heartbeat, in µs.
        poll_deadline: the time when the consumer leaves the group unless the application calls poll(), in µs.
        heartbeat_timer: the time when the heartbeat thread's timer is due, in µs.
        assign_time: how long the leader takes to assign the partitions, in µs.
        leaving: the correlation ID of the LeaveGroup request if the consumer is closing; 0 if there is none.
    """

    __slots__ = (
        "assign_time", "group_topics", "heartbeat_in_flight", "heartbeat_timer", "joined", "joining", "known_counts",
        "last", "leads", "leaving", "membership", "next_heartbeat", "poll_deadline", "protocol", "received", "rejoin_at",
        "rejoin_needed", "revoked", "session_deadline", "state",
    )  # fmt: skip

    def __init__(self, client: Application, does: MemberConfig, release: Release) -> None:
        super().__init__(client, does, release)
        self.state = MemberState.UNJOINED
        self.membership = NOT_A_MEMBER._replace(instance_id=does.instance_id)
        self.rejoin_needed = True
        self.revoked = False
        self.rejoin_at = 0
        self.joining = False
        self.received: Partitions | None = None
        self.protocol = ""
        self.leads = False
        self.joined: JoinGroupResponse | None = None
        self.group_topics: tuple[str, ...] = ()
        self.known_counts: dict[str, int] | None = None
        self.last: tuple[Partitions, int] = ((), NO_GENERATION)
        self.heartbeat_in_flight = False
        self.next_heartbeat = NO_DEADLINE
        self.session_deadline = NO_DEADLINE
        self.poll_deadline = NO_DEADLINE
        self.heartbeat_timer = NO_DEADLINE
        self.assign_time = 0
        self.leaving = 0
        client.handlers.update(
            {
                JoinGroupResponse: self._handle_join,
                SyncGroupResponse: self._handle_sync,
                HeartbeatResponse: self._handle_heartbeat,
                LeaveGroupResponse: self._handle_leave,
            }
        )
        client.timers.update(
            {
                "heartbeat-thread": self._heartbeat_thread,
                "join-again": self.do_nothing,
                "assign": self._assignor_done,
            }
        )

    @property
    def is_cooperative(self) -> bool:
        """Whether the consumer keeps its partitions during a rebalance (KIP-429)."""
        return assignors.is_cooperative(self.does.assignors)

    @property
    def is_settled(self) -> bool:
        """Return whether further calls to poll() have no effect on the membership until a message arrives or a timer fires."""
        return bool(self.calls.coordinator) and not self.rejoin_needed and not self.joining and self.received is None

    @property
    def is_rebalancing(self) -> bool:
        """Whether the member has sent JoinGroup but does not have its assignment yet."""
        return self.state in (MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE)

    @property
    def is_leaving(self) -> bool:
        """Whether the consumer is closing and is waiting for the response to LeaveGroup."""
        return bool(self.leaving)

    # --- poll() ----------------------------------------------------------------------------------------------------

    def ensure_active_group(self) -> None:
        """Apply an assignment, or join the group if necessary (`#ensureActiveGroup`). The caller has already prepared for the rebalance."""
        if self.received is not None:
            self._complete_join(self.received)
        if not self.calls.coordinator:
            self.calls.find()
        elif self.rejoin_needed and self.revoked and not self.joining:
            wait = self.rejoin_at - self.client.journal.now
            self.joining = True
            if wait > 0:
                self.joining = False
                self.client.timer(wait, "join-again")
            else:
                self._send_join()

    def must_prepare(self) -> bool:
        """Whether the consumer must prepare for a rebalance in the next poll(), before it joins its group again."""
        return self.rejoin_needed and not self.revoked and not self.joining and self.received is None and bool(self.calls.coordinator)

    def must_revoke(self) -> bool:
        """Whether the next poll() takes partitions away from the consumer."""
        if self.received is not None:
            return not self.owned.keys() <= set(self.received)
        return self.must_prepare() and (not self.is_cooperative or self.membership.generation == NO_GENERATION)

    def prepare_join(self) -> None:
        """Give up the partitions that the member must not keep during a rebalance (`ConsumerCoordinator#onJoinPrepare`)."""
        self.revoked = True
        if self.membership.generation == NO_GENERATION or not self.membership.member_id:
            self.lose_all()
        elif not self.is_cooperative:
            self.revoke(self.membership.generation, tuple(self.owned), always=True)

    def revoke_all(self) -> None:
        """Give up all partitions, because the consumer is closing."""
        if self.membership.generation != NO_GENERATION:
            self.revoke(self.membership.generation, tuple(self.owned))
        else:
            self.lose_all()

    def request_rejoin(self, reason: str) -> None:
        """Join again in the next poll() (`#requestRejoin`)."""
        if not self.rejoin_needed:
            self.rejoin_needed = True
            self.emit(events.RejoinNeeded.kind, self.membership.generation, reason)

    def _reset(self, reason: str, *, keep_member_id: bool = False) -> None:
        """Forget the generation, and join again (`#resetStateAndRejoin`)."""
        member_id = self.membership.member_id if keep_member_id else ""
        self.membership = NOT_A_MEMBER._replace(member_id=member_id, instance_id=self.does.instance_id)
        self.state = MemberState.UNJOINED
        self.received = None
        self.revoked = False
        self.request_rejoin(reason)

    # --- JoinGroup -------------------------------------------------------------------------------------------------

    def _protocols(self) -> Protocols:
        return tuple((name, self._subscription(name)) for name in self.does.assignors)

    def _subscription(self, name: str) -> Subscription:
        """Return the subscription for an assignor (`ConsumerCoordinator#metadata`)."""
        owned: Partitions = tuple(self.owned)
        generation = self.membership.generation if self.release.owners_name_generations else self.last[1]
        if assignors.ASSIGNORS[name].remembers:
            owned, generation = assignors.by_topic(self.last[0]), self.last[1]
        return Subscription(self.does.topics, owned, generation if owned else NO_GENERATION, self.does.rack or "")

    def _send_join(self, reason: str = "") -> None:
        """Send JoinGroup. The heartbeat thread is disabled until the response arrives (`#sendJoinGroupRequest`)."""
        config = self.does.client
        rebalance_timeout = config.max_poll_interval if self.release.background_heartbeats else config.session_timeout
        self.joining, self.state, self.heartbeats = True, MemberState.PREPARING_REBALANCE, False
        timeout = max(config.request_timeout, rebalance_timeout + JOIN_TIMEOUT_LAPSE)
        correlation = self.calls.register(self.calls.coordinator, self._join_failed, self.membership, timeout)
        member_id, _, instance_id = self.membership
        request = JoinGroupRequest(
            correlation,
            self.client.name,
            self.does.group,
            member_id,
            instance_id,
            config.session_timeout,
            rebalance_timeout,
            self._protocols(),
            reason,
        )
        self.client.send(self.calls.coordinator, request)

    def _join_failed(self, _: object, error: str) -> None:
        """Join again after retry.backoff.ms."""
        self.joining = False
        self.joined = None
        self.state = MemberState.UNJOINED
        self.rejoin_needed = True
        self.rejoin_at = self.client.journal.now + self.client.config.retry_backoff
        if error in COORDINATOR_ERRORS:
            self.calls.coordinator_failed(error)
        self.client.timer(self.client.config.retry_backoff, "join-again")

    def _handle_join(self, response: JoinGroupResponse, _: str) -> None:
        call = self.calls.take(response.correlation)
        if call is None:
            return
        error = response.error
        if error == errors.NONE:
            self._joined(response)
        elif error == errors.MEMBER_ID_REQUIRED:
            self.membership = self.membership._replace(member_id=response.member_id, generation=NO_GENERATION)
            self._send_join()
        elif error in FATAL:
            self.joining, self.state = False, MemberState.UNJOINED
            self.client.poll_fails(FATAL[error])
        elif error in (errors.UNKNOWN_MEMBER_ID, errors.ILLEGAL_GENERATION):
            self.joining = False
            self.rejoin_needed = True
            if call.detail == self.membership:
                self._reset(error, keep_member_id=error == errors.ILLEGAL_GENERATION)
        else:
            self._join_failed(None, error)

    def _joined(self, response: JoinGroupResponse) -> None:
        """Send SyncGroup. If the member is the leader, it first learns the topics of the group and assigns the partitions, unless it is a
        returning static leader, which continues with the group's assignment (`#onLeaderElected`)."""
        self.membership = self.membership._replace(member_id=response.member_id, generation=response.generation)
        self.state = MemberState.COMPLETING_REBALANCE
        self.protocol, self.leads = response.protocol, response.member_id == response.leader
        self.rejoin_needed = False
        self._enable_heartbeats()
        if self.leads:
            self.joined = response
            if self.assign_time and not response.skip_assignment:
                self.client.timer(self.assign_time, "assign", response)
            else:
                self.assign_if_possible()
        else:
            self._send_sync(())

    def _assignor_done(self, response: object) -> None:
        if response is self.joined:
            self._assign()
            if self.joined is not None:
                self.client.timer(self.client.config.retry_backoff, "assign", response)

    def assign_if_possible(self) -> None:
        """Assign the partitions if this member is the leader, knows the partitions of all topics, and takes no time to compute the
        assignment."""
        if not self.assign_time or (self.joined is not None and self.joined.skip_assignment):
            self._assign()

    def _assign(self) -> None:
        response = self.joined
        if response is None:
            return
        self.group_topics = tuple(dict.fromkeys(topic for each in response.members for topic in each.subscription.topics))
        counts = self.client.partition_counts(self.group_topics)
        if counts is not None:
            self.joined, self.known_counts = None, counts
            skips = response.skip_assignment
            self._send_sync(() if skips else assignors.assign(self.protocol, counts, response.members, self.release))

    def check_metadata(self) -> None:
        """Join again if this member is the leader and a topic's number of partitions has changed since the last assignment
        (`ConsumerCoordinator#rejoinNeededOrPending`)."""
        self.assign_if_possible()
        if self.leads and self.state is MemberState.STABLE and self.known_counts is not None:
            counts = self.client.partition_counts(self.group_topics)
            if counts is not None and counts != self.known_counts:
                changed = sorted(topic for topic in {**counts, **self.known_counts} if counts.get(topic) != self.known_counts.get(topic))
                self.client.journal.blame(tuple(cause for topic in changed if (cause := self.client.last_change(topic))))
                self.request_rejoin("a topic has other partitions than those that the leader has assigned")

    # --- SyncGroup -------------------------------------------------------------------------------------------------

    def _send_sync(self, assignments: tuple[tuple[str, Partitions], ...]) -> None:
        if not self.calls.coordinator:
            self._join_failed(None, DISCONNECTED)
            return
        correlation = self.calls.register(self.calls.coordinator, self._join_failed, self.membership)
        member_id, generation, instance_id = self.membership
        request = SyncGroupRequest(correlation, self.does.group, generation, member_id, instance_id, self.protocol, assignments)
        self.client.send(self.calls.coordinator, request)

    def _handle_sync(self, response: SyncGroupResponse, _: str) -> None:
        call = self.calls.take(response.correlation)
        if call is None:
            return
        error = response.error
        self.joining = False
        if call.detail != self.membership:
            self.rejoin_needed = True  # the heartbeat thread has left the group, or lost its generation
        elif error == errors.NONE:
            self.state, self.received = MemberState.STABLE, response.assignment
        elif error in FATAL:
            self.client.poll_fails(FATAL[error])
        elif error in (errors.UNKNOWN_MEMBER_ID, errors.ILLEGAL_GENERATION):
            self._reset(error, keep_member_id=error == errors.ILLEGAL_GENERATION)
        elif error == errors.REBALANCE_IN_PROGRESS:
            self.state = MemberState.UNJOINED
            self.request_rejoin("the group rebalances again")
        else:
            self._join_failed(None, error)

    def _complete_join(self, assignment: Partitions) -> None:
        """Apply the assignment (`ConsumerCoordinator#onJoinComplete`)."""
        self.received = None
        self.revoked = False
        gone = tuple(tp for tp in self.owned if tp not in assignment)
        self.revoke(self.membership.generation, gone)
        self.last = (assignment, self.membership.generation)
        self.own(self.membership.generation, assignment)
        if gone and self.is_cooperative:
            self.request_rejoin("it gave up partitions that others are to get")

    # --- the heartbeat thread --------------------------------------------------------------------------------------

    def _enable_heartbeats(self) -> None:
        now = self.client.journal.now
        self.heartbeats = True
        self.next_heartbeat = now + self.does.client.heartbeat_interval
        self.session_deadline = now + self.does.client.session_timeout
        self.arm_heartbeats()

    def arm_heartbeats(self, wait: int = 0) -> None:
        """Set the heartbeat thread's timer to the next time when the thread has something to do, but at least `wait` µs from now."""
        now = self.client.journal.now
        due = max(min(self.next_heartbeat, self.session_deadline, self.poll_deadline), now + wait)
        if self.heartbeats and due < self.heartbeat_timer:
            self.heartbeat_timer = due
            self.client.timer(due - now, "heartbeat-thread", due)

    def _heartbeat_thread(self, due: object) -> None:
        """Check the deadlines in Kafka's order, and send a heartbeat if one is due (`AbstractCoordinator.HeartbeatThread#run`)."""
        if due != self.heartbeat_timer:
            return
        self.heartbeat_timer = NO_DEADLINE
        now = self.client.journal.now
        if not self.heartbeats or self.state in (MemberState.UNJOINED, MemberState.PREPARING_REBALANCE):
            self.heartbeats = False
            return
        if not self.release.background_heartbeats and not self.client.is_polling:
            return  # poll() arms the timer again
        interval = self.does.client.heartbeat_interval
        if not self.calls.coordinator:
            self.calls.find()
            self.arm_heartbeats(self.client.config.retry_backoff)
            return
        elif now >= self.session_deadline:
            self.client.journal.blame(self.client.why_silent(self.calls.coordinator, now - self.does.client.session_timeout))
            self.calls.coordinator_failed("no heartbeat was answered within the session timeout")
            self.session_deadline = now + self.does.client.session_timeout
            self.next_heartbeat = now + self.client.config.retry_backoff
        elif now >= self.poll_deadline:
            self.client.journal.blame(self.client.why_slow(self.client.journal.now - self.does.client.max_poll_interval))
            self.emit(events.PollTooLate.kind, self.does.client.max_poll_interval // US_PER_MS)
            self.leave("the application did not call poll() in time")
            self.poll_deadline = NO_DEADLINE
            self.heartbeats = False
            self._reset("it left the group")
        elif now >= self.next_heartbeat:
            self.next_heartbeat = now + (self.client.config.retry_backoff if self.heartbeat_in_flight else interval)
            if not self.heartbeat_in_flight:
                self._send_heartbeat()
        self.arm_heartbeats()

    def _send_heartbeat(self) -> None:
        self.heartbeat_in_flight = True
        correlation = self.calls.register(self.calls.coordinator, self._heartbeat_failed, self.membership)
        member_id, generation, instance_id = self.membership
        self.client.send(self.calls.coordinator, HeartbeatRequest(correlation, self.does.group, generation, member_id, instance_id))

    def _heartbeat_failed(self, _: object, __: str) -> None:
        self.heartbeat_in_flight = False
        self.next_heartbeat = self.client.journal.now + self.client.config.retry_backoff
        self.arm_heartbeats()

    def _handle_heartbeat(self, response: HeartbeatResponse, _: str) -> None:
        call = self.calls.take(response.correlation)
        if call is None:
            return
        self.heartbeat_in_flight = False
        error, now = response.error, self.client.journal.now
        if error in COORDINATOR_ERRORS:
            self.calls.coordinator_failed(error)
            self.next_heartbeat = now + self.client.config.retry_backoff
            self.arm_heartbeats()
            return
        self.session_deadline = now + self.does.client.session_timeout
        self.arm_heartbeats()
        if error == errors.REBALANCE_IN_PROGRESS and self.state is MemberState.STABLE:
            self.request_rejoin("the group rebalances")
        elif error in FATAL and call.detail == self.membership:
            self.client.poll_fails(FATAL[error])
        elif error in (errors.UNKNOWN_MEMBER_ID, errors.ILLEGAL_GENERATION) and call.detail == self.membership:
            self.heartbeats = False
            self._reset(f"its heartbeat was refused: {error}", keep_member_id=error == errors.ILLEGAL_GENERATION)

    def poll_ended(self) -> None:
        """Handle the application's return from poll(). The application must call poll() again within max.poll.interval.ms."""
        if self.release.background_heartbeats:
            self.poll_deadline = self.client.journal.now + self.does.client.max_poll_interval
            self.arm_heartbeats()

    def poll_began(self) -> None:
        """Handle the application's call to poll()."""
        self.poll_deadline = NO_DEADLINE
        self.arm_heartbeats()

    # --- leaving ---------------------------------------------------------------------------------------------------

    def leave(self, reason: str) -> int:
        """If the member is dynamic, send LeaveGroup. Return the correlation ID of the request, or 0 (`#maybeLeaveGroup`)."""
        if self.does.instance_id or not self.calls.coordinator or not self.membership.member_id or self.state is MemberState.UNJOINED:
            return 0
        correlation = self.calls.register(self.calls.coordinator, self._leave_failed, None)
        self.client.send(
            self.calls.coordinator, LeaveGroupRequest(correlation, self.does.group, ((self.membership.member_id, ""),), reason)
        )
        return correlation

    def close(self) -> bool:
        """Leave the group. Return whether the consumer must wait for the response to LeaveGroup."""
        self.heartbeats = False
        self.leaving = self.leave("the consumer is being closed")
        return bool(self.leaving)

    def _leave_failed(self, _: object, __: str) -> None:
        if self.leaving:
            self.leaving = 0
            self.client.left()

    def _handle_leave(self, response: LeaveGroupResponse, _: str) -> None:
        if self.calls.take(response.correlation) is not None and response.correlation == self.leaving:
            self.leaving = 0
            self.client.left()

    # --- commits ---------------------------------------------------------------------------------------------------

    def commit_membership(self) -> GroupMembership | None:
        """Return the membership to include in a commit; None if the consumer is not in a stable generation (`#generationIfStable`)."""
        return self.membership if self.state is MemberState.STABLE else None

    def generation_refused(self, membership: object, error: str) -> None:
        """Handle a commit that was refused because of its member ID or generation."""
        if membership == self.membership:
            self._reset(f"its commit was refused: {error}", keep_member_id=error == errors.ILLEGAL_GENERATION)
