"""The transactions of a cluster: each transactional ID as its coordinator knows it, and each partition whose last stable offset is held back.

`Cluster.transaction_report` makes the report. The report contains what `kafka-transactions list`, `describe`, and `find-hanging` would
show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import NO_LEADER, NO_OFFSET, TopicPartition
from core.kafka.transaction.transaction_queries import is_hanging
from core.lab.views.partition_health import missing_coordinators

if TYPE_CHECKING:
    from core.kafka.broker.broker import Broker
    from core.kafka.broker.partition import Partition
    from core.kafka.transaction.transaction_metadata import TransactionMetadata
    from core.lab.cluster_nodes import ClusterNodes


@attrs.frozen
class TransactionView:
    """One transactional ID, as its coordinator knows it.

    Attributes:
        transactional_id: the transactional ID.
        coordinator: the broker that coordinates the transactional ID.
        coordinator_epoch: the leader epoch of the partition of `__transaction_state` that holds the transactional ID.
        producer_id: the producer ID that the transactional ID has now.
        producer_epoch: the epoch of the current producer.
        state: the transaction's state in the log, such as `Ongoing`.
        pending: the transaction's new state while this state is being written to the log; empty otherwise.
        timeout_us: transaction.timeout.ms, in µs.
        open_us: the time since the transaction began, in µs; -1 if no partition was added yet.
        partitions: the partitions of the transaction; once the coordinator has decided to commit or abort, only those without a marker.
    """

    transactional_id: str
    coordinator: int
    coordinator_epoch: int
    producer_id: int
    producer_epoch: int
    state: str
    pending: str
    timeout_us: int
    open_us: int
    partitions: tuple[TopicPartition, ...]

    @property
    def waits_for_markers(self) -> bool:
        """Whether the coordinator has decided to commit or abort the transaction, but some partitions have no marker yet."""
        return self.state in ("PrepareCommit", "PrepareAbort")


@attrs.frozen
class HeldPartition:
    """A partition whose last stable offset (LSO) is below its high watermark.

    Attributes:
        tp: the topic and the number of the partition.
        leader: the leader of the partition.
        last_stable_offset: the LSO, up to which read_committed consumers read.
        high_watermark: the high watermark of the partition.
        first_offset: the first offset of the oldest open transaction; the LSO if only a transaction marker is not committed yet.
        producer_id: the producer ID of the oldest open transaction; -1 if only a transaction marker is not committed yet.
        producer_epoch: the producer epoch of the oldest open transaction.
        coordinator_epoch: the epoch of the last coordinator that wrote a marker for that producer; -1 if no coordinator has written one.
        idle_us: the time since that producer's last batch, in µs.
        transactional_id: the transactional ID that has the producer ID; empty if no transactional ID has it.
        hanging: whether no coordinator will ever end the transaction.
        missing_coordinators: if no running coordinator knows the transaction, the partitions of `__transaction_state` that no broker
            coordinates now. A coordinator that is down or still loading its log might know the transaction.
    """

    tp: TopicPartition
    leader: int
    last_stable_offset: int
    high_watermark: int
    first_offset: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    idle_us: int
    transactional_id: str
    hanging: bool
    missing_coordinators: tuple[int, ...] = ()

    @property
    def abort_command(self) -> str:
        """The command that ends a hanging transaction."""
        topic, number = self.tp
        return f"kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic {topic} --partition {number} --start-offset {self.first_offset}"


@attrs.frozen
class TransactionReport:
    """The transactions of a cluster at one moment.

    Attributes:
        transactions: the transactional IDs, in alphabetical order.
        held: the partitions whose LSO is held back, hanging transactions first.
    """

    transactions: tuple[TransactionView, ...] = ()
    held: tuple[HeldPartition, ...] = ()


def transaction_report(cluster: ClusterNodes) -> TransactionReport:
    """Return the report on all running brokers."""
    running = [broker for broker in cluster.brokers.values() if broker.context.state is not BrokerState.STOPPED]
    known = {
        metadata.transactional_id: (broker, cache.coordinator_epoch, metadata)
        for broker in running
        for cache in broker.transactions.states.caches.values()
        for metadata in cache.entries.values()
    }
    transactions = tuple(_transaction(cluster.now, *known[name]) for name in sorted(known))
    by_producer = {metadata.producer_id: metadata for _, _, metadata in known.values()}
    missing = tuple(missing_coordinators(cluster))
    held = [
        _held(cluster.now, partition, by_producer, missing)
        for broker in running
        for partition in broker.partitions.values()
        if partition.is_leader and partition.held_back_at is not None
    ]
    return TransactionReport(transactions, tuple(sorted(held, key=lambda each: (not each.hanging, each.tp))))


def _transaction(now: int, broker: Broker, coordinator_epoch: int, metadata: TransactionMetadata) -> TransactionView:
    return TransactionView(
        metadata.transactional_id,
        broker.id,
        coordinator_epoch,
        metadata.producer_id,
        metadata.producer_epoch,
        metadata.state.value,
        "" if metadata.pending_state is None else metadata.pending_state.value,
        metadata.timeout_us,
        now - metadata.start_time if metadata.start_time >= 0 else -1,
        metadata.partitions,
    )


def _held(now: int, partition: Partition, by_producer: dict[int, TransactionMetadata], missing: tuple[int, ...]) -> HeldPartition:
    log = partition.log
    stable = log.last_stable_offset()
    producers = log.ensure_producer_state()
    first, producer_id = next(iter(producers.ongoing.items()), (stable, -1))
    entry = producers.entries.get(producer_id)
    owner = by_producer.get(producer_id)
    waits = missing if entry is not None and owner is None else ()
    hanging = entry is not None and is_hanging(partition.tp, owner) and producer_id != -1 and not waits
    return HeldPartition(
        partition.tp,
        partition.leader if partition.is_leader else NO_LEADER,
        stable,
        log.high_watermark,
        first,
        producer_id,
        -1 if entry is None else entry.epoch,
        -1 if entry is None else entry.coordinator_epoch,
        0 if entry is None else now - entry.last_timestamp,
        "" if owner is None else owner.transactional_id,
        hanging and first != NO_OFFSET,
        waits,
    )
