"""Changes to a broker's role in a partition, and the delayed operations that these changes complete.

Kafka: `Partition#makeLeader`, `#makeFollower`.
"""

from __future__ import annotations

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.leader_term import Term
from core.kafka.partition_registration import PartitionRegistration


def make_leader(partition: Partition, registration: PartitionRegistration) -> bool:
    """Make this broker the partition's leader (`Partition#makeLeader`). Return True if a new leader epoch began."""
    if registration.partition_epoch < partition.partition_epoch:
        return False
    broker, log, tp = partition.broker, partition.log, partition.tp
    me, now = broker.id, broker.journal.now
    was_leader = partition.leader == me
    new_epoch = registration.leader_epoch > partition.leader_epoch
    _apply_registration(partition, registration)
    if new_epoch:
        partition.leader_epoch_start_offset = log.leo
        if log.keeps_epochs and broker.release.epoch_at_start:
            log.epochs.assign(partition.leader_epoch, log.leo)
        partition.term = Term(partition.leader_epoch, me)
        partition.uncommitted_since = now
    broker.maybe_out_of_sync[tp] = None
    known = [replica for replica in partition.remotes if replica.broker in registration.replicas]
    new = [Replica(follower) for follower in registration.replicas if follower != me and partition.replica(follower) is None]
    partition.remotes = (*known, *new)
    if new_epoch:
        for replica in partition.remotes:
            replica.reset(now, log.leo, new_leader=not was_leader, in_isr=replica.broker in registration.isr)
    partition.isr = registration.isr
    partition.set_maximal_isr(registration.isr)
    partition.pending = ""
    partition.update_under_min_isr()
    for entry in partition.sessions:
        entry.unlink()
        if new_epoch or entry.session.follower not in partition.isr:
            entry.session.mark_to_send(entry)  # the next fetch counts in the new epoch, or can add this follower to the ISR
    if new_epoch:
        if broker.release.fetch_epoch_fencing or not was_leader:
            _complete_fetches(partition, fenced_only=was_leader)
        journal = broker.journal
        before = journal.cause
        journal.cause = journal.emit(
            events.BecameLeader.kind, me, tp.topic, tp.partition, partition.leader_epoch, log.leo, log.high_watermark, partition.isr
        )
        broker.account.became_leader(tp, me, partition.leader_epoch, log)
        partition.account = broker.account.of(tp)
        partition.maybe_increment_leader_hw()
        if log.producer_state() is not None:
            partition.update_last_stable_offset()  # an open transaction can come from the former leader
        journal.cause = before
    else:
        partition.maybe_increment_leader_hw()
    return new_epoch


def make_follower(partition: Partition, registration: PartitionRegistration) -> bool:
    """Make this broker a follower, with or without a leader (`Partition#makeFollower`). Return True if a new leader epoch began."""
    if registration.partition_epoch < partition.partition_epoch:
        return False
    new_epoch = registration.leader_epoch > partition.leader_epoch
    if partition.is_leader:
        partition.broker.account.leadership_ended(partition.tp, partition.log)
    _apply_registration(partition, registration)
    partition.isr = ()
    partition.remotes = ()
    partition.set_maximal_isr(())
    partition.pending = ""
    for entry in partition.sessions:
        entry.unlink()
    partition.update_under_min_isr()
    partition.term = None
    partition.held_back_at = None
    if new_epoch:
        broker, log, tp = partition.broker, partition.log, partition.tp
        broker.journal.emit(
            events.BecameFollower.kind,
            broker.id, tp.topic, tp.partition, partition.leader, partition.leader_epoch, log.leo, log.high_watermark,
        )  # fmt: skip
        _complete_delayed_operations(partition)
    return new_epoch


def _apply_registration(partition: Partition, registration: PartitionRegistration) -> None:
    partition.changed_by = partition.broker.journal.cause
    partition.leader = registration.leader
    partition.leader_epoch = registration.leader_epoch
    partition.partition_epoch = registration.partition_epoch
    partition.replicas = registration.replicas
    partition.adding = registration.adding


def why_not_leader(broker: BrokerContext, tp: TopicPartition) -> tuple[int, ...]:
    """Return the events because of which a broker does not lead a partition, most important first; empty if there are none: the last
    election and, if this broker won it, what kept the broker from hearing of that.
    """
    leader, event, time = broker.account.last_election(tp)
    unheard = broker.network.disturbances.touching(broker.node.address, time, broker.journal.now) if leader == broker.id else ()
    return (event, *unheard) if event else ()


def _complete_delayed_operations(partition: Partition) -> None:
    """Complete the operations that are waiting on this broker, which is no longer the leader. Delayed produce requests fail, and the
    responses to delayed fetches report the new leader."""
    journal = partition.broker.journal
    before = journal.cause
    leader, elected, _ = partition.broker.account.last_election(partition.tp)
    if elected and leader == partition.leader:
        journal.cause = elected
    _refuse_delayed_produce(partition, errors.NOT_LEADER_OR_FOLLOWER)
    journal.cause = before
    _complete_fetches(partition)


def stop_partition(partition: Partition) -> None:
    """Complete the operations that are waiting on a removed partition (`ReplicaManager#completeDelayedOperationsWhenNotPartitionLeader`)."""
    if partition.is_leader:
        partition.broker.account.leadership_ended(partition.tp, partition.log)
        partition.leader = NO_LEADER
        _complete_delayed_operations(partition)
    else:
        _complete_consumer_fetches(partition)


def mark_offline(partition: Partition) -> None:
    """Fail the operations that are waiting on a partition whose log directory failed (`Partition#markOffline`)."""
    if partition.is_leader:
        partition.broker.account.leadership_ended(partition.tp, partition.log)
    _refuse_delayed_produce(partition, errors.KAFKA_STORAGE_ERROR)
    partition.leader = NO_LEADER
    partition.update_under_min_isr()
    _complete_fetches(partition)


def _refuse_delayed_produce(partition: Partition, error: str) -> None:
    if partition.delayed is not None:
        partition.delayed.refuse(error)


def _complete_fetches(partition: Partition, *, fenced_only: bool = False) -> None:
    """Complete the delayed fetches that arrived in a former leader epoch, or with `fenced_only` only those that carry this epoch.

    The senders of the delayed fetches detect the change of leader from the leader epoch or the leader's ID.
    """
    for entry in partition.sessions:
        entry.session.mark_to_send(entry)
        if entry.session.has_epochs or not fenced_only:
            entry.session.complete()
    _complete_consumer_fetches(partition)


def _complete_consumer_fetches(partition: Partition) -> None:
    for consumer in partition.consumers:
        consumer.complete()
