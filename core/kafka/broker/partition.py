"""The state of a partition on one broker (Kafka: `Partition`): the in-sync replicas (ISR) and the high watermark (HW).

The log end offset (LEO) is the offset of the next record. Records below the HW are committed: consumers can read them, and the leader
acknowledges writes with acks=all. The HW is the smallest LEO among certain replicas, which include all members of the ISR. Only
`maybe_increment_leader_hw` raises a leader's HW. A record is replicated in these steps:

1. The leader appends the record to its log and calls `maybe_increment_leader_hw` (`core.kafka.broker.requests.leader_append`).
2. A follower fetches from its own LEO. The leader reads the record and stores the follower's LEO in its `Replica`
   (`core.kafka.broker.requests.follower_fetch`). Then the leader calls `maybe_expand_isr` if the follower is outside the ISR, and calls `maybe_increment_leader_hw`.
3. The follower appends the record. The follower learns the HW from this response or a later one
   (`core.kafka.broker.follower.fetch_response`).

Independently of the replication steps, a timer on the broker calls `maybe_shrink_isr` once or twice per replica.lag.time.max.ms, depending
on the release. The controller commits or refuses each ISR change (`handle_alter_partition_update`, `handle_alter_partition_error`). The
controller also decides which broker leads (`core.kafka.broker.leadership`, which also sets the ISR and drops a pending change). Before 2.7,
the leader itself writes the ISR to ZooKeeper, but calls the same methods of `Partition`. If a rule depends on the release, the code checks
a flag of `core.kafka.release`.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.abstract_fetch_session import AbstractCachedPartition
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.isr_order import expanded, shrunk
from core.kafka.broker.purgatory.delayed_operations import HighWatermarkWaiter
from core.kafka.broker.purgatory.delayed_produce import DelayedProduces
from core.kafka.broker.replica import Replica
from core.kafka.durability_observer import PartitionObserver
from core.kafka.health import effective_min_isr, is_under_min_isr
from core.kafka.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition, broker_address
from core.kafka.log.leader_term import Term
from core.kafka.log.producer_state import EXPIRATION_CHECK_SETTING, ProducerStateManager
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.messages import AlterPartitionItem
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import HighWatermarkRule
from core.sim.journal import Column, null_sink

ADVANCED: Final = events.HighWatermarkAdvanced.kind

EXPAND: Final = "expand"
"""The value of `pending` for an ISR change that adds a follower."""

SHRINK: Final = "shrink"
"""The value of `pending` for an ISR change that removes followers."""

_STAY_PENDING: Final = frozenset(
    {
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.UNKNOWN_TOPIC_ID,
        errors.FENCED_LEADER_EPOCH,
        errors.INVALID_UPDATE_VERSION,
        errors.INVALID_REQUEST,
        errors.NEW_LEADER_ELECTED,
    }
)
"""If the response to an ISR proposal is an error in `_STAY_PENDING`, the change stays pending until the leader gets new metadata."""

_REVERT: Final = frozenset({errors.OPERATION_NOT_ATTEMPTED, errors.INELIGIBLE_REPLICA})
"""If the response to an ISR proposal is an error in `_REVERT`, the leader reverts to the committed ISR."""


class Partition:
    """One partition on one broker.

    Attributes:
        tp: the topic and the number of the partition; they are also stored separately as `topic` and `number`.
        broker: the interface of the hosting broker.
        log: this broker's log of the partition.
        leader: the broker that leads the partition, as far as this broker knows.
        leader_epoch: the number that identifies the leader's term; the controller raises this number with each election.
        partition_epoch: the version of the state that the controller last committed.
        replicas: the brokers with a replica, the preferred leader first.
        adding: the brokers in `replicas` that a reassignment is adding.
        isr: the in-sync replicas that the controller committed, the leader among them; empty on a follower.
        maximal_isr: `isr` plus the follower that a pending expansion adds (KIP-497; earlier releases: always `isr`). A pending shrink
            removes no member from `maximal_isr`.
        pending: EXPAND or SHRINK while the controller is handling a change; otherwise empty.
        proposal: the change that was sent last; meaningful only while `pending` is set.
        remotes: the leader's state for each follower; the leader itself is not included.
        leader_epoch_start_offset: the leader's LEO when its term began.
        min_isr: min.insync.replicas.
        under_min_isr: whether `isr` is smaller than the effective min.insync.replicas; False on a follower.
        uncommitted_since: the start of the current period in which at least one record is above the HW, in µs; meaningful only while LEO >
            HW.
        high_watermark_event: the sequence number of the event that last raised the HW.
        changed_by: the sequence number of the event that last changed the leader, the ISR, or min.insync.replicas.
        min_isr_changed_by: the sequence number of the event that last changed min.insync.replicas; 0 before the first change.
        sessions: this partition's entries in followers' fetch sessions, at most one per follower.
        delayed: writes with acks=all that are waiting for the HW; None until the first such write, to save memory.
        consumers: the consumer fetches that are waiting for the HW, in the order in which they were registered.
        held_back_at: the LSO while transactions keep it below the HW; None while the LSO equals the HW.
        term: the batches that this broker has appended as the leader of this epoch; None on a follower.
        account: the object that counts this partition's records for the durability account; None on a follower.
    """

    __slots__ = (
        "account",
        "adding",
        "broker",
        "changed_by",
        "consumers",
        "delayed",
        "held_back_at",
        "high_watermark_event",
        "isr",
        "leader",
        "leader_epoch",
        "leader_epoch_start_offset",
        "log",
        "maximal_isr",
        "min_isr",
        "min_isr_changed_by",
        "number",
        "partition_epoch",
        "pending",
        "proposal",
        "remotes",
        "replicas",
        "sessions",
        "term",
        "topic",
        "tp",
        "uncommitted_since",
        "under_min_isr",
    )  # fmt: skip

    tp: Final[TopicPartition]
    topic: Final[str]
    number: Final[Column]
    broker: Final[BrokerContext]
    log: Final[ReplicaLog]

    def __init__(self, tp: TopicPartition, broker: BrokerContext, log: ReplicaLog) -> None:
        self.tp = tp
        self.topic = tp.topic
        self.number = tp.partition
        self.broker = broker
        self.log = log
        self.leader = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.changed_by = 0
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.adding: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.maximal_isr: tuple[int, ...] = ()
        self.pending = ""
        self.proposal: AlterPartitionItem | None = None
        self.remotes: tuple[Replica, ...] = ()
        self.leader_epoch_start_offset = 0
        self.sessions: tuple[AbstractCachedPartition, ...] = ()
        self.delayed: DelayedProduces | None = None
        self.consumers: tuple[HighWatermarkWaiter, ...] = ()
        self.min_isr = 1
        self.under_min_isr = False
        self.account: PartitionObserver | None = None
        self.held_back_at: int | None = None
        self.term: Term | None = None
        log.last_append_event = 0
        self.high_watermark_event: Column = 0
        self.uncommitted_since: Column = 0
        self.refresh_settings()
        self.min_isr_changed_by = 0

    @property
    def is_leader(self) -> bool:
        """Whether this broker believes that it is the leader."""
        return self.leader == self.broker.id

    def replica(self, broker: int) -> Replica | None:
        """Return the leader's state for a follower; None if there is no such follower (`Partition#getReplica`)."""
        for replica in self.remotes:
            if replica.broker == broker:
                return replica
        return None

    def session(self, follower: int) -> AbstractCachedPartition | None:
        """Return this partition's entry in the fetch session of a follower, or None."""
        for entry in self.sessions:
            if entry.session.follower == follower:
                return entry
        return None

    def refresh_settings(self) -> None:
        """Reload min.insync.replicas."""
        before, self.min_isr = self.min_isr, self.broker.settings.integer("min.insync.replicas", broker=self.broker.id, topic=self.tp.topic)
        if self.min_isr != before:
            self.changed_by = self.min_isr_changed_by = self.broker.journal.cause
        self.update_under_min_isr()

    # --- epochs ----------------------------------------------------------------------------------------------------

    def check_leader_epoch(self, epoch: int, *, requires_leader: bool = True) -> str:
        """Validate the leader epoch of a request (-1 means no epoch). Return the error for the response, or NONE if the request is valid
        (`Partition#getLocalLog`)."""
        if epoch != NO_EPOCH:
            if epoch < self.leader_epoch:
                return errors.FENCED_LEADER_EPOCH
            if epoch > self.leader_epoch:
                return errors.UNKNOWN_LEADER_EPOCH
        return errors.NONE if self.is_leader or not requires_leader else errors.NOT_LEADER_OR_FOLLOWER

    def last_offset_for_leader_epoch(self, epoch: int) -> tuple[int, int]:
        """Return (epoch, end offset) for the largest known epoch that is at most `epoch` (`Partition#lastOffsetForLeaderEpoch`)."""
        log = self.log
        if not self.broker.release.epoch_at_start and len(log.epochs) and epoch < log.epochs.entries()[0][0]:
            return NO_EPOCH, NO_OFFSET
        return log.end_offset_for_epoch(epoch)

    # --- min.insync.replicas ---------------------------------------------------------------------------------------

    def effective_min_isr(self) -> int:
        """Return min.insync.replicas or, since 3.7, the replication factor if that is smaller (`Partition#effectiveMinIsr`)."""
        return effective_min_isr(self.min_isr, len(self.remotes) + 1, capped=self.broker.release.capped_min_isr)

    def update_under_min_isr(self) -> None:
        """Recompute `under_min_isr` (`Partition#isUnderMinIsr`). Call this after every change to the ISR, the replicas, the leader, or
        min.insync.replicas.

        While `under_min_isr` is true, the leader refuses writes with acks=all (`core.kafka.broker.requests.leader_append`).
        """
        self.under_min_isr = self.is_leader and is_under_min_isr(self, self.effective_min_isr())

    # --- the ISR ---------------------------------------------------------------------------------------------------

    def set_maximal_isr(self, isr: tuple[int, ...]) -> None:
        """Set `maximal_isr`, and tell each follower's `Replica` whether the follower is a member."""
        self.maximal_isr = isr
        for replica in self.remotes:
            replica.in_maximal_isr = replica.broker in isr

    def is_replica_isr_eligible(self, replica: Replica) -> bool:
        """Return whether a follower can join the ISR (`Partition#isReplicaIsrEligible`).

        The follower must not be fenced or shutting down, and its broker epoch must match the controller's. Before 3.3, leaders do not check
        whether a follower is eligible.
        """
        release = self.broker.release
        if not release.isr_eligibility:
            return True
        if release.broker_epoch_in_isr and replica.leo < 0:
            return False  # the follower has not fetched, so its broker epoch is unknown
        return self.broker.metadata_cache.is_isr_eligible(replica.broker, replica.broker_epoch)

    def maybe_expand_isr(self, replica: Replica) -> None:
        """If a follower has caught up, propose to add it to the ISR (`Partition#maybeExpandIsr`)."""
        if (
            self.pending
            or replica.broker in self.isr
            or not self._is_follower_in_sync(replica)
            or not self.is_replica_isr_eligible(replica)
        ):
            return
        proposed = expanded(self.isr, replica.broker, self.broker.release.isr_order)
        self.pending = EXPAND
        if self.broker.release.maximal_isr:
            self.set_maximal_isr(proposed)
        self.broker.journal.emit(
            events.IsrExpandProposed.kind,
            self.broker.id, self.tp.topic, self.tp.partition, replica.broker, proposed, replica.leo, self.log.high_watermark,
        )  # fmt: skip
        self._submit_alter_partition(proposed)

    def _is_follower_in_sync(self, replica: Replica) -> bool:
        """Return whether a follower's LEO has reached the HW and, since 2.0, the start of the leader's term (`Partition#isFollowerInSync`)."""
        return replica.leo >= self.log.high_watermark and (
            not self.broker.release.expand_needs_epoch_start or replica.leo >= self.leader_epoch_start_offset
        )

    def out_of_sync_replicas(self) -> tuple[int, ...]:
        """Return the members of the ISR that lag (`Partition#getOutOfSyncReplicas`). While an ISR change is pending, return an empty tuple.

        A follower lags if it last caught up with the leader's LEO more than replica.lag.time.max.ms ago. Before 0.9, a follower lags if it
        has not fetched for replica.lag.time.max.ms, or if it is more than replica.lag.max.messages records behind the leader. Some releases
        never remove a follower from the ISR while its LEO equals the leader's LEO.
        """
        if self.pending:
            return ()
        now, lag_max, leo = self.broker.journal.now, self.broker.config.lag_max, self.log.leo
        counts_lag, lag_messages = self.broker.release.counts_lag, self.broker.config.lag_max_messages
        spared = self.broker.release.shrink_spares_equal_leo
        out = []
        for follower in self.isr:
            replica = self.replica(follower)
            if replica is None:
                continue
            if counts_lag:
                late = now - replica.fetched_time() > lag_max or (0 <= replica.leo < leo - lag_messages)
            else:
                late = now - replica.caught_up_time() > lag_max
            if late and not (spared and replica.leo == leo):
                out.append(follower)
        return tuple(out)

    def maybe_shrink_isr(self) -> None:
        """If followers lag, propose to remove them from the ISR (`Partition#maybeShrinkIsr`).

        Until the controller commits the removal, the lagging followers still hold back the HW.
        """
        if not self.is_leader:
            return
        out = self.out_of_sync_replicas()
        if not out:
            return
        broker, tp = self.broker, self.tp
        release, lag_max = broker.release, broker.config.lag_max
        lagging = [replica for replica in self.remotes if replica.broker in out]
        seen = Replica.fetched_time if release.counts_lag else Replica.caught_up_time
        lag = max(broker.journal.now - max(seen(replica), 0) for replica in lagging)
        proposed = shrunk(self.isr, out, release.isr_order)
        self.pending = SHRINK
        since = broker.journal.now - lag
        broker.journal.blame(tuple(dict.fromkeys(cause for each in out for cause in self._why_behind(each, since))))
        if release.counts_lag and lag <= lag_max:  # the followers fetch in time but lack too many records
            missing = max(self.log.leo - replica.leo for replica in lagging)
            broker.journal.emit(
                events.IsrShrinkByCount.kind, broker.id, tp.topic, tp.partition, proposed, out, missing, broker.config.lag_max_messages
            )
        else:
            broker.journal.emit(events.IsrShrinkProposed.kind, broker.id, tp.topic, tp.partition, proposed, out, lag, lag_max)
        self._submit_alter_partition(proposed)

    def _why_behind(self, follower: int, since: int) -> tuple[int, ...]:
        """Return the events because of which a follower has not caught up since a virtual time: what kept it silent, the last records that
        it lacks, or the change that made it a follower. In by-hand mode, followers fetch only when they are told to, so nothing else keeps
        them silent."""
        found = () if self.broker.by_hand else self.broker.node.why_silent(broker_address(follower), since)
        return found or tuple(event for event in (self.log.last_append_event, self.changed_by) if event)[:1]

    def _submit_alter_partition(self, isr: tuple[int, ...]) -> None:
        """Send an ISR to the controller (`Partition#submitAlterPartition`). If another ISR change is in flight, do nothing."""
        broker = self.broker
        known = {replica.broker: replica.broker_epoch for replica in self.remotes}
        known[broker.id] = broker.broker_epoch
        broker_epochs = tuple(known.get(each, -1) for each in isr)
        item = AlterPartitionItem(self.tp, self.leader_epoch, self.partition_epoch, isr, broker_epochs, broker.journal.seq)
        self.proposal = item
        if not broker.alter_partition.submit(item):
            self._revert()

    def _revert(self) -> None:
        """Revert to the committed ISR."""
        self.pending = ""
        self.set_maximal_isr(self.isr)

    def handle_alter_partition_update(self, item: AlterPartitionItem, registration: PartitionRegistration) -> None:
        """Apply an ISR that the controller committed (`Partition#handleAlterPartitionUpdate`).

        Ignore a response that is older than the leader's metadata.
        """
        if not self.is_leader or registration.leader_epoch != self.leader_epoch:
            return
        if registration.partition_epoch < self.partition_epoch or not self.pending or item is not self.proposal:
            return
        broker, tp, old = self.broker, self.tp, self.isr
        self.isr = registration.isr
        self.set_maximal_isr(registration.isr)
        self.partition_epoch = registration.partition_epoch
        self.pending = ""
        self.update_under_min_isr()
        self._report_isr_change(old)
        self.maybe_increment_leader_hw()
        self.mark_to_send()
        self._complete_delayed_produce()
        broker.account.isr_changed(broker.id, old, self.isr)
        broker.account.check_exposure(tp)

    def _report_isr_change(self, old: tuple[int, ...]) -> None:
        """Record which replicas joined and left the committed ISR."""
        broker, tp, isr, epoch = self.broker, self.tp, self.isr, self.partition_epoch
        joined = tuple(b for b in isr if b not in old)
        out = tuple(b for b in old if b not in isr)
        journal = broker.journal
        if out:
            journal.cause = self.changed_by = journal.emit(events.IsrShrunk.kind, broker.id, tp.topic, tp.partition, isr, out, epoch)
        if joined:
            journal.cause = self.changed_by = journal.emit(events.IsrExpanded.kind, broker.id, tp.topic, tp.partition, isr, joined, epoch)

    def handle_alter_partition_error(self, item: AlterPartitionItem, error: str) -> None:
        """Handle a rejected ISR change (`Partition#handleAlterPartitionError`): revert it, wait for new metadata, or resend it."""
        if not self.is_leader or item.leader_epoch != self.leader_epoch or not self.pending or item is not self.proposal:
            return
        broker, tp = self.broker, self.tp
        broker.journal.emit(events.IsrChangeFailed.kind, broker.id, tp.topic, tp.partition, item.isr, error)
        if error in _REVERT:
            self._revert()
        elif error not in _STAY_PENDING:
            broker.alter_partition.submit(item)

    # --- followers' fetches ----------------------------------------------------------------------------------------

    def mark_to_send(self) -> None:
        """Include this partition in the next response to every follower."""
        for entry in self.sessions:
            entry.session.mark_to_send(entry)

    def log_start_moved(self) -> None:
        """Checkpoint a new log start, and send it to each follower with the next response. If the records of an open transaction were
        deleted, the LSO rises (`ProducerStateManager#onLogStartOffsetIncremented`)."""
        self.mark_to_send()
        if self.is_leader:
            self.update_last_stable_offset()
        self.broker.log_start_moved(self.tp)

    def assume_fetched(self, follower: int, end: int) -> None:
        """Count records as replicated when the leader sends them. Counting records when they are sent is a deliberate bug, which is active
        only if the guard `request-time-leo` is off.
        """
        replica = self.replica(follower)
        if replica is not None and end > replica.leo:
            replica.leo = end
            if self.maybe_increment_leader_hw():
                self.broker.account.check_exposure(self.tp)

    def follower_needs_hw_update(self, follower: int) -> bool:
        """Return whether the last response to a follower carried an HW that is older than the current one
        (`Partition#followerNeedsHwUpdate`, 2.4).
        """
        replica = self.replica(follower)
        return replica is not None and replica.last_sent_high_watermark < self.log.high_watermark

    # --- the high watermark ----------------------------------------------------------------------------------------

    def why_under_min_isr(self) -> tuple[int, ...]:
        """Return the events because of which the ISR is too small, most important first: what last made the ISR smaller or
        min.insync.replicas larger. 0 is no event."""
        return (max(self.broker.account.last_shrink(self.tp), self.min_isr_changed_by) or self.changed_by,)

    def followers_behind(self) -> tuple[int, ...]:
        """Return the followers that hold back the HW; empty if every record is committed. Only causes depend on the result."""
        leo = self.log.leo
        if self.log.high_watermark == leo:
            return ()
        return tuple(replica.broker for replica in self.remotes if replica.leo < leo and replica.in_maximal_isr)

    def maybe_increment_leader_hw(self) -> bool:
        """Raise the HW to the smallest LEO among the replicas that can hold it back (`Partition#maybeIncrementLeaderHW`). Return True if
        the HW rose.

        The leader and every follower in `maximal_isr` can hold back the HW. In some releases, caught-up followers outside `maximal_isr` can
        also hold back the HW, so that the HW does not move past a follower that is about to join the ISR. Since 3.7, the HW does not rise
        while the ISR is smaller than the effective min.insync.replicas.
        """
        log = self.log
        old, candidate, slowest = log.high_watermark, log.leo, NO_LEADER
        for replica in self.remotes:
            leo = replica.leo
            if leo < candidate and (replica.in_maximal_isr or self._counts_outside_isr(replica)):
                if leo <= old:
                    return False  # this replica limits the HW
                candidate, slowest = leo, replica.broker
        broker = self.broker
        if (self.under_min_isr and broker.release.strict_min_isr) or not log.maybe_increment_high_watermark(candidate):
            return False
        journal = broker.journal
        now: Column = journal.now
        self.uncommitted_since = now
        before: Column = journal.cause
        journal.seq = seq = journal.seq + 1
        event: Column = seq
        journal.cause = self.high_watermark_event = event
        if journal.sink is not null_sink:
            if slowest == NO_LEADER:
                slowest = broker.id
            journal.sink((event, now, before, ADVANCED, broker.id, self.topic, self.number, self.leader_epoch, old, candidate, slowest))
        for entry in self.sessions:
            if not entry.must_respond:
                entry.session.mark_to_send(entry)
        if log.producers is not None:
            self.update_last_stable_offset()
        if self.delayed is not None or self.consumers or broker.pushes_high_watermark:
            self._complete_waiting()
        if self.pending:  # the ISR in ZooKeeper can already contain a replica that the leader does not wait for (before 2.7)
            broker.account.check_exposure(self.tp)
        journal.cause = before
        return True

    def producer_state(self) -> ProducerStateManager:
        """Return the state of the producers, after removing those that have expired (`ProducerStateManager#removeExpiredProducers`)."""
        broker, producers = self.broker, self.log.ensure_producer_state()
        expiration = broker.settings.us(broker.release.producer_expiration_setting, broker=broker.id)
        producers.remove_expired_if_due(broker.journal.now, expiration, broker.settings.us(EXPIRATION_CHECK_SETTING, broker=broker.id))
        return producers

    def update_last_stable_offset(self) -> None:
        """Update the LSO after a change to the HW. If transactions held back the LSO, and the LSO now rises, record the rise
        (`UnifiedLog#lastStableOffset`)."""
        log, held_back_at = self.log, self.held_back_at
        if log.producers is None:
            return
        log.producers.high_watermark_updated(log.high_watermark)
        stable = log.last_stable_offset()
        self.held_back_at = stable if stable < log.high_watermark else None
        if held_back_at is not None and stable > held_back_at:
            self.broker.journal.emit(
                events.LastStableOffsetAdvanced.kind,
                self.broker.id, self.tp.topic, self.tp.partition, held_back_at, stable, log.high_watermark,
            )  # fmt: skip

    def _complete_waiting(self) -> None:
        """Complete the waiting requests that the HW now satisfies (`Partition#tryCompleteDelayedRequests`)."""
        if self.broker.pushes_high_watermark:
            for entry in self.sessions:
                entry.session.complete()
        self._complete_delayed_produce()
        for consumer in self.consumers:
            consumer.complete_if_enough()

    def add_consumer(self, waiter: HighWatermarkWaiter) -> None:
        """Register a consumer's fetch that is waiting for the HW."""
        if waiter not in self.consumers:
            self.consumers = (*self.consumers, waiter)

    def remove_consumer(self, waiter: HighWatermarkWaiter) -> None:
        """Unregister a consumer's fetch that is waiting for the HW."""
        self.consumers = tuple(each for each in self.consumers if each is not waiter)

    def _complete_delayed_produce(self) -> None:
        """Respond to the writes that the HW has reached (`Partition#checkEnoughReplicasReachOffset`).

        If `maximal_isr` is now smaller than the effective min.insync.replicas, the response is NOT_ENOUGH_REPLICAS_AFTER_APPEND.
        """
        if self.delayed is not None and self.delayed.waiting:
            enough = self.effective_min_isr() <= len(self.maximal_isr)
            self.delayed.complete(self.log.high_watermark, errors.NONE if enough else errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    def _counts_outside_isr(self, replica: Replica) -> bool:
        """Return whether a follower outside the ISR can hold back the HW in this release."""
        release = self.broker.release
        if release.high_watermark is HighWatermarkRule.ISR:
            return False
        now, lag_max = self.broker.journal.now, self.broker.config.lag_max
        if release.high_watermark is HighWatermarkRule.ISR_OR_RECENT:
            return now - replica.caught_up_time() <= lag_max
        return replica.is_caught_up(self.log.leo, now, lag_max) and (not release.hw_needs_eligible or self.is_replica_isr_eligible(replica))

    def slowest_replicas(self) -> tuple[int, ...]:
        """Return the replicas that limit the HW: the replicas with the smallest LEO among all that can hold it back, or the leader itself
        if no replica lags.
        """
        counting = [replica for replica in self.remotes if self.counts_for_high_watermark(replica)]
        least = min([replica.leo for replica in counting], default=self.log.leo)
        return tuple([replica.broker for replica in counting if replica.leo == least]) if least < self.log.leo else (self.broker.id,)

    def counts_for_high_watermark(self, replica: Replica) -> bool:
        """Return whether this follower can hold back the HW."""
        return replica.in_maximal_isr or self._counts_outside_isr(replica)
