"""A follower's fetcher (Kafka: `ReplicaFetcherThread`, `AbstractFetcherThread`), which truncates logs and then fetches repeatedly.

There is one fetcher per leader and fetcher ID. Each fetcher fetches those partitions of its leader that this broker follows and that are
assigned to the fetcher's ID. A request contains only partitions whose state has changed; the leader's fetch session keeps the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.follower.fetcher_owner import FetcherOwner
from core.kafka.broker.follower.partition_fetch_state import TRUNCATING, PartitionFetchState
from core.kafka.broker.follower.truncation import truncate
from core.kafka.broker.partition import Partition
from core.kafka.broker.purgatory.delayed_operations import HighWatermarkWaiter
from core.kafka.broker.replication_quota import ReplicationQuota
from core.kafka.ids import NO_EPOCH, TopicPartition, broker_address
from core.kafka.messages import FetchPartition, FetchPartitionFields, FetchRequest, ListOffsetsRequest, OffsetsForLeaderEpochRequest
from core.kafka.release import Truncation
from core.sim.kernel_messages import Timer
from core.sim.long_polling import NOT_YET, LongPoll

tuple_of: Final = tuple.__new__
"""A function that makes a NamedTuple from a tuple of its fields. `tuple_of` is twice as fast as the constructor of the NamedTuple."""

FOREVER: Final = 2**100
"""The maximum wait (µs) and the minimum size (bytes) of a fetch in by-hand mode, so that only a command completes the fetch. The value is
greater than the size of 2**63 records of 2**31 bytes each.
"""


class Fetcher:
    """One fetcher of a follower.

    Attributes:
        leader, number: the ID of the leader, and the fetcher's number among num.replica.fetchers.
        sends_epoch: whether fetches carry the epoch of the last record (since 2.7).
        states: the fetch states of the fetcher's partitions.
        failed: the partitions that the broker's fetchers have stopped fetching because of an error, until new metadata arrives.
        in_flight: the correlation ID of the request in flight; 0 if there is none.
        sent_at, sent_cause: the time when the request in flight was sent, and the cause of this request.
        throttles: whether the replication quota held back a partition when the last fetch was built.
        timeout_at: the time when the armed timer checks whether the request has timed out; -1 if no timer is armed, for example while
            fetches are elided.
        asks_again: whether the last response left a partition without a truncation point.
        preparing: partitions that need a truncation point or the bounds of the leader's log before they can be fetched (ordered set).
        waking_at: the time when the armed timer ends a backoff; -1 if no timer is armed.
        unsent: partitions whose state the leader's session does not know yet, in the order in which they were added. Each partition maps to
            its part of the next fetch, or to None if that part has not been computed yet.
        prepared: whether the values in `unsent` have been computed for all partitions.
        moved: by partition, the parts of the next fetch for the partitions whose state a fetch response has changed. In the fetch request,
            the partitions in `moved` follow the partitions in `unsent`.
        raised: the delayed consumer fetches that were waiting for a high watermark that the current response has advanced, each with the
            event that recorded the advance.
        poll: the network's handle for this fetcher's fetches; it elides fetches that return nothing (`core.sim.long_polling`).
    """

    __slots__ = (
        "address",
        "asks_again",
        "broker",
        "failed",
        "forgotten",
        "full",
        "in_flight",
        "leader",
        "moved",
        "number",
        "owner",
        "poll",
        "prepared",
        "preparing",
        "quota",
        "raised",
        "sends_epoch",
        "sent_at",
        "sent_cause",
        "states",
        "throttles",
        "timeout_at",
        "unsent",
        "waking_at",
    )  # fmt: skip

    broker: Final[BrokerContext]
    quota: Final[ReplicationQuota]
    owner: Final[FetcherOwner]
    failed: Final[dict[TopicPartition, None]]
    number: Final[int]
    poll: Final[LongPoll]
    preparing: Final[dict[TopicPartition, None]]
    unsent: Final[dict[TopicPartition, FetchPartitionFields | None]]
    moved: Final[list[FetchPartitionFields]]
    forgotten: Final[dict[TopicPartition, None]]
    raised: Final[dict[HighWatermarkWaiter, int]]

    def __init__(
        self,
        broker: BrokerContext,
        quota: ReplicationQuota,
        owner: FetcherOwner,
        failed: dict[TopicPartition, None],
        leader: int,
        number: int,
    ) -> None:
        self.broker = broker
        self.quota = quota
        self.owner = owner
        self.failed = failed
        self.leader = leader
        self.number = number
        self.address = broker_address(leader)
        self.sends_epoch = broker.release.truncation is Truncation.ON_FETCH
        self.states: dict[TopicPartition, PartitionFetchState] = {}
        self.in_flight = 0
        self.sent_at = 0
        self.sent_cause = 0
        self.throttles = False
        self.timeout_at = -1
        self.waking_at = -1
        self.preparing = {}
        self.asks_again = False
        self.unsent = {}
        self.prepared = True
        self.moved = []
        self.forgotten = {}
        self.full = True
        self.raised = {}
        self.poll = broker.fetches_between(broker.id, leader, number)

    # --- partitions ------------------------------------------------------------------------------------------------

    def add(self, partition: Partition, leader_epoch: int) -> None:
        """Follow a partition (`AbstractFetcherThread#addPartitions`). How the fetcher finds the offset to start from depends on the
        release."""
        known = self.states.get(partition.tp)
        if known is not None and known.leader_epoch == leader_epoch:
            return
        self.withdraw_idle_fetch()
        rule = self.broker.release.truncation
        log = partition.log
        state = PartitionFetchState(partition, leader_epoch)
        if rule is Truncation.HIGH_WATERMARK or (not log.epochs.entries() and rule < Truncation.ON_FETCH):
            truncate(partition, self.leader, log.high_watermark, "high-watermark")
        elif rule is Truncation.ON_FETCH:
            if not log.epochs.entries():
                truncate(partition, self.leader, log.high_watermark, "high-watermark")
        else:
            state.state = TRUNCATING
            state.asked_epoch = log.epochs.latest_epoch
        self.states[partition.tp] = state
        self.update_preparing(state)
        self.mark_unsent(partition.tp)
        self.maybe_send()

    def continue_in_epoch(self, tp: TopicPartition, leader_epoch: int) -> None:
        """Keep fetching from the same leader in the leader's next epoch, without truncating the log.

        In releases in which fetches carry no epoch, the response to the request in flight is still valid.
        """
        self.withdraw_idle_fetch()
        state = self.states[tp]
        if not self.broker.release.fetch_epoch_fencing and state.sent_epoch == state.leader_epoch:
            state.sent_epoch = leader_epoch
        state.leader_epoch = leader_epoch
        state.checked = False
        self.mark_unsent(tp)
        self.maybe_send()

    def remove(self, tp: TopicPartition) -> None:
        """Stop following a partition."""
        state = self.states.pop(tp, None)
        if state is not None:
            self.withdraw_idle_fetch()
            self.preparing.pop(tp, None)
            self.leave_session(tp)

    def withdraw_idle_fetch(self) -> None:
        """Tell the network that the next fetch might differ from the last one."""
        self.poll.withdraw()

    def polls_resume(self, sent_at: int, cause: int) -> None:
        """Send fetches through the network again after an elision. The last elided fetch counts as sent at `sent_at`."""
        if sent_at != NOT_YET:
            self.sent_at, self.sent_cause = sent_at, cause
        if self.timeout_at < 0:
            self.arm_timeout()

    def is_idle(self) -> bool:
        """Return whether the next fetch would probably contain nothing that is new to the leader."""
        return bool(self.states) and not (self.full or self.unsent or self.moved or self.forgotten or self.preparing) and self.waking_at < 0

    def on_partition_fenced(self, tp: TopicPartition) -> None:
        """Stop fetching a partition whose leader epoch was fenced, until new metadata arrives (`AbstractFetcherThread#onPartitionFenced`)."""
        self.remove(tp)
        self.failed[tp] = None

    def update_preparing(self, state: PartitionFetchState) -> None:
        """Record whether a partition needs a truncation point or the bounds of the leader's log before it can be fetched."""
        if state.state is TRUNCATING or state.out_of_range:
            self.preparing[state.partition.tp] = None
        else:
            self.preparing.pop(state.partition.tp, None)

    def mark_unsent(self, tp: TopicPartition) -> None:
        """Include a partition in the next fetch."""
        self._queue_moved()
        self.unsent[tp] = None
        self.prepared = False
        self.forgotten.pop(tp, None)

    def record_failure(self, tp: TopicPartition, error: str) -> None:
        """Record that the leader refused to serve a partition, or that the fetched records were corrupt."""
        self.broker.journal.emit(events.FetchFailed.kind, self.broker.id, tp.topic, tp.partition, self.leader, error)

    def _queue_moved(self) -> None:
        for asked in self.moved:
            tp, _, _, _, _ = asked
            self.unsent[tp] = asked
        self.moved.clear()

    def leave_session(self, tp: TopicPartition) -> None:
        """Leave a partition out of the next fetches."""
        self._queue_moved()
        self.unsent.pop(tp, None)
        self.forgotten[tp] = None

    def delay(self, state: PartitionFetchState) -> None:
        """Stop fetching a partition until a backoff has elapsed (`AbstractFetcherThread#delayPartitions`)."""
        state.delayed_until = self.broker.journal.now + self.broker.config.fetch_backoff
        state.sent_epoch = NO_EPOCH
        self.leave_session(state.partition.tp)
        if not self.broker.by_hand:
            self._arm_wake(state.delayed_until)

    # --- requests --------------------------------------------------------------------------------------------------

    def maybe_send(self) -> None:
        """Send the next request unless one is in flight (`AbstractFetcherThread#doWork`). In by-hand mode, requests are sent only on command."""
        if not self.in_flight and not self.broker.by_hand:
            self.send_next(self.broker.config.fetch_wait, self.broker.config.fetch_min_bytes, 0)

    def send_next(self, max_wait: int, min_bytes: int, max_records: int) -> None:
        """Send the next request, if there is anything to send: a request for truncation points if one is necessary; otherwise, a fetch.

        If a response left a partition without a truncation point, the fetcher first fetches the other partitions or, if there are none,
        backs off, because each pass requests truncation points only once (`AbstractFetcherThread#maybeTruncate`, `#maybeFetch`).
        """
        again, self.asks_again = self.asks_again and not self.broker.by_hand, False
        if again or not (self.preparing and self._request_offsets()):
            self._fetch(max_wait, min_bytes, max_records)
            if again and not self.in_flight:
                self._arm_wake(self.broker.journal.now + self.broker.config.fetch_backoff)

    def _request_offsets(self) -> bool:
        """Request truncation points or the bounds of the leader's log. Return False if all partitions that need a truncation point or
        bounds are in a backoff.
        """
        now = self.broker.journal.now
        asking = []
        lookup = None
        for tp in self.preparing:
            state = self.states[tp]
            if state.delayed_until > now:
                continue
            if state.state is TRUNCATING:
                state.sent_epoch = state.leader_epoch
                asking.append((tp, state.leader_epoch, state.asked_epoch))
            else:
                lookup = lookup or state
        if asking:
            correlation = self._begin_request()
            self.broker.node.send(self.address, OffsetsForLeaderEpochRequest(correlation, self.broker.id, self.number, tuple(asking)))
            return True
        if lookup is not None:
            correlation = self._begin_request()
            lookup.sent_epoch = lookup.leader_epoch
            request = ListOffsetsRequest(correlation, self.broker.id, self.number, lookup.partition.tp, lookup.leader_epoch)
            self.broker.node.send(self.address, request)
            return True
        return False

    def should_follower_throttle(self, state: PartitionFetchState) -> bool:
        """Return whether the replication quota holds a partition back: it is throttled, it lags, and the rate exceeds the quota
        (`ReplicaFetcherThread#shouldFollowerThrottle`)."""
        broker, quota = self.broker, self.quota
        return (
            quota.limits
            and state.lag != 0
            and quota.is_throttled(state.partition.tp, reassigned=broker.id in state.partition.adding)
            and quota.is_exceeded(broker.journal.now)
        )

    def _apply_quota(self) -> None:
        """Leave the partitions that the quota holds back out of the next fetch, and include those that it no longer holds back."""
        for tp, state in self.states.items():
            if self.should_follower_throttle(state):
                state.throttled, state.sent_epoch = True, NO_EPOCH
                self.leave_session(tp)
            elif state.throttled:
                state.throttled = False
                if not state.delayed_until:
                    self.mark_unsent(tp)

    def _fetch(self, max_wait: int, min_bytes: int, max_records: int) -> None:
        """Send a fetch, unless no partition can be fetched now (`AbstractFetcherThread#maybeFetch`)."""
        throttled = (self.throttles or self.quota.limits) and self._update_throttled()
        if self.moved and not (self.unsent or self.full):
            self._send_fetch(tuple(self.moved), max_wait, min_bytes, max_records)
            return
        self._queue_moved()
        changed = self._changed_partitions()
        if changed or self._session_has_fetchable_partition():
            self._send_fetch(tuple(changed), max_wait, min_bytes, max_records)
        elif throttled:
            self._arm_wake(self.broker.journal.now + self.broker.config.fetch_backoff)

    def _update_throttled(self) -> bool:
        """Decide which partitions exceed the quota of this follower. Return whether there are any."""
        if self.broker.by_hand:
            return False
        self._apply_quota()
        self.throttles = any(state.throttled for state in self.states.values())
        return self.throttles

    def _changed_partitions(self) -> list[FetchPartitionFields]:
        """Return the part of the next fetch for each partition that is new in the session or has changed
        (`ReplicaFetcherThread#buildFetch`)."""
        if self.prepared and not self.full:
            return list(cast("Iterable[FetchPartitionFields]", self.unsent.values()))
        now = self.broker.journal.now
        changed: list[FetchPartitionFields] = []
        for tp in self.states if self.full else self.unsent:
            state = self.states[tp]
            if state.delayed_until > now or state.throttled or state.state is TRUNCATING or state.out_of_range:
                continue
            log = state.partition.log
            epoch = log.epochs.latest_epoch if self.sends_epoch else NO_EPOCH
            state.sent_epoch = state.leader_epoch
            changed.append(FetchPartition(tp, log.leo, state.leader_epoch, epoch, log.last_append_event))
        return changed

    def _session_has_fetchable_partition(self) -> bool:
        """Return whether the fetch session contains a partition that can be fetched now."""
        now = self.broker.journal.now
        return not self.full and any(
            state.delayed_until <= now and not state.throttled and tp not in self.preparing for tp, state in self.states.items()
        )

    def _send_fetch(self, changed: tuple[FetchPartitionFields, ...], max_wait: int, min_bytes: int, max_records: int) -> None:
        """Send a fetch that contains the partitions that have changed (`ReplicaFetcherThread#buildFetch`). The leader updates its copy of
        the fetch session from this fetch.
        """
        broker = self.broker
        forgotten = () if self.full else tuple(self.forgotten)
        correlation = self._begin_request()
        request = tuple_of(
            FetchRequest,
            (
                correlation, broker.id, self.number, broker.broker_epoch, self.full, changed, forgotten, max_wait, min_bytes,
                broker.config.fetch_response_bytes, broker.config.fetch_partition_bytes, max_records,
            ),
        )  # fmt: skip
        if not changed and not forgotten and not self.full:
            if self._would_repeat():
                self.poll.send_idle(self, request, max_wait, broker.config.fetch_timeout)
            else:
                self.poll.send(request)
            return
        self.full = False
        self.unsent.clear()
        self.moved.clear()
        self.prepared = True
        self.forgotten.clear()
        broker.node.send(self.address, request)

    def _would_repeat(self) -> bool:
        """Return whether the fetcher would immediately repeat the current fetch after an empty response."""
        broker = self.broker
        return (
            not broker.by_hand
            and self.is_idle()
            and broker.config.fetch_min_bytes > 0
            and not self.quota.limits
            and not self.owner.is_disk_slow()
        )

    def _begin_request(self) -> int:
        broker = self.broker
        self.in_flight = broker.next_correlation()
        self.sent_at = broker.journal.now
        self.sent_cause = broker.journal.cause
        if self.timeout_at < 0 and not broker.by_hand:
            self.arm_timeout()
        return self.in_flight

    def wake(self) -> None:
        """End the backoffs whose time has elapsed."""
        self.waking_at = -1
        now = self.broker.journal.now
        later = -1
        for tp, state in self.states.items():
            if state.delayed_until > now:
                later = state.delayed_until if later < 0 else min(later, state.delayed_until)
            elif state.delayed_until:
                state.delayed_until = 0
                self.mark_unsent(tp)
        if later >= 0:
            self._arm_wake(later)
        self.maybe_send()

    def wake_now(self) -> None:
        """Fetch as soon as possible, because a paused process is resuming."""
        self.end_back_offs()
        self.waking_at = -1
        self._arm_wake(self.broker.journal.now)

    def end_back_offs(self) -> None:
        """End all backoffs, because the user has requested a fetch in by-hand mode."""
        for tp, state in self.states.items():
            if state.delayed_until:
                state.delayed_until = 0
                self.mark_unsent(tp)

    def _arm_wake(self, time: int) -> None:
        if self.waking_at < 0 or time < self.waking_at:
            self.waking_at = time
            self.broker.node.timer(time - self.broker.journal.now, "fetcher-wake", (self.leader, self.number))

    def arm_timeout(self) -> None:
        """Arm the timer that expires when the request in flight is older than replica.socket.timeout.ms.

        The timer fires before everything else that is due at the same time, so the time at which it is armed does not affect the order of
        events. No timer is armed while fetches are elided, because elided fetches always get a response in time.
        """
        broker = self.broker
        self.timeout_at = due = max(self.sent_at + broker.config.fetch_timeout, broker.journal.now + 1)
        timer = Timer("fetcher-watch", (self.leader, self.number))
        self.poll.client_timer(due, broker.node.incarnation, timer, self.sent_cause)

    def timeout_changed(self) -> None:
        """Apply a new value of replica.socket.timeout.ms to all requests, including the one in flight."""
        self.timeout_at = -1
        if self.in_flight and not self.broker.by_hand:
            self.arm_timeout()

    def check_timeout(self) -> None:
        """Disconnect from the leader if the request in flight is older than replica.socket.timeout.ms."""
        broker = self.broker
        now, due = broker.journal.now, self.timeout_at
        if not 0 <= due <= now:
            return  # a timer that was armed by a former fetcher or for a former timeout
        self.timeout_at = -1
        if not self.in_flight or self.poll.elided:
            return
        if now == due >= self.sent_at + broker.config.fetch_timeout:  # a paused process first handles the messages that have arrived
            broker.journal.blame(broker.node.why_silent(self.address, self.sent_at) or (self.sent_cause,))
            broker.network.disconnect(broker.node.address, self.address)
            self.disconnected(errors.REQUEST_TIMED_OUT)
        else:
            self.arm_timeout()

    def disconnected(self, error: str) -> None:
        """Handle a broken connection to the leader. All partitions back off, and the next fetch opens a new session."""
        self.withdraw_idle_fetch()
        if not self.in_flight:
            self.full = True
            return
        self.abandon()
        waiting = [state for state in self.states.values() if not state.delayed_until]
        for state in waiting:
            self.delay(state)
        if waiting:
            self.broker.journal.emit(events.FetcherDisconnected.kind, self.broker.id, self.leader, len(waiting), error)
        self.maybe_send()

    def abandon(self) -> None:
        """Forget the request in flight. The next fetch opens a new session."""
        self.withdraw_idle_fetch()
        self.in_flight = 0
        self.full = True
