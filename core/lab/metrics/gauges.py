"""Gauges that cannot be computed from events, and are read from the running cluster: waiting fetches, open transactions, and metadata
offsets.

Kafka's metrics for metadata timestamps and lags are left out. In Kafka, these metrics stay small because the active controller writes a
NoOpRecord every metadata.max.idle.interval.ms. The laboratory's controller writes no NoOpRecords.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from core.kafka.broker.broker_state import BrokerState
from core.lab.metrics import CONTROLLER
from core.lab.metrics.observer import Sample
from core.lab.views.view_builder import network_use

if TYPE_CHECKING:
    from core.kafka.broker.broker import Broker
    from core.lab.cluster_nodes import ClusterNodes

PURGATORY: Final = "kafka.server:type=DelayedOperationPurgatory,name={name},delayedOperation=Fetch"

LATE_TRANSACTIONS: Final = "kafka.server:type=ReplicaManager,name=PartitionsWithLateTransactionsCount"

MAX_DIRTY_PERCENT: Final = "kafka.log:type=LogCleanerManager,name=max-dirty-percent"


INTERFACE: Final = "isrlab.network:type=Interface,name={name},direction={direction}"
"""The gauges of a network interface of limited bandwidth. Kafka has none of them, because the operating system counts these bytes."""


def cluster_gauges(cluster: ClusterNodes) -> list[Sample]:
    """Return the gauges of every broker with a process and, under KRaft, of the active controller, by name and broker."""
    found = []
    for broker in cluster.brokers.values():
        if broker.context.state is BrokerState.STOPPED:
            continue
        waiting, watched = delayed_fetches(broker)
        found.append(Sample(PURGATORY.format(name="NumDelayedOperations"), broker.id, (("Value", waiting),)))
        found.append(Sample(PURGATORY.format(name="PurgatorySize"), broker.id, (("Value", watched),)))
        found.extend(_transactions(broker, cluster.now))
        if any(config.compact for config in broker.log_manager.configs.values()):
            found.append(Sample(MAX_DIRTY_PERCENT, broker.id, (("Value", int(100 * broker.log_manager.cleaner.dirtiest)),)))
        found.extend(_network(cluster, broker))
        if not cluster.zookeeper:
            found.append(
                Sample(
                    "kafka.server:type=broker-metadata-metrics",
                    broker.id,
                    (
                        ("last-applied-record-offset", broker.context.metadata_cache.offset - 1),
                        ("metadata-load-error-count", 0),
                        ("metadata-apply-error-count", 0),
                    ),
                )
            )
    if not cluster.zookeeper:
        applied, committed = metadata_offsets(cluster)
        name = "kafka.controller:type=KafkaController,name="
        found.append(Sample(name + "LastAppliedRecordOffset", CONTROLLER, (("Value", applied),)))
        found.append(Sample(name + "LastCommittedRecordOffset", CONTROLLER, (("Value", committed),)))
    return sorted(found, key=lambda sample: (sample.name, sample.broker))


def _network(cluster: ClusterNodes, broker: Broker) -> Iterator[Sample]:
    """Yield which share of a limited bandwidth was used in the last full second, and how many bytes wait, for each direction."""
    use = network_use(cluster, broker.address)
    if use is not None:
        for direction, passed, waiting in (("out", use.sent, use.to_send), ("in", use.received, use.to_receive)):
            yield Sample(INTERFACE.format(name="Utilization", direction=direction), broker.id, (("Value", passed / use.rate),))
            yield Sample(INTERFACE.format(name="BytesWaiting", direction=direction), broker.id, (("Value", waiting),))


def _transactions(broker: Broker, now: int) -> Iterator[Sample]:
    """Yield how far transactions hold consumers with read_committed back in each partition that a broker leads, and the number of partitions
    with a transaction that nobody has ended in time.

    Kafka: `UnifiedLog#lastStableOffsetLag`, `Partition#hasLateTransaction`. Kafka has the latter since 3.2; isrlab computes it for every
    release with transactions.
    """
    if not broker.context.release.transactions:
        return
    late, limit = 0, broker.context.settings.us("transaction.max.timeout.ms", broker=broker.id)
    for tp, partition in broker.partitions.items():
        if partition.is_leader:
            producers = partition.log.producer_state()
            late += producers is not None and producers.has_late_transaction(now, limit)
            lag = partition.log.high_watermark - partition.log.last_stable_offset()
            yield Sample(
                f"kafka.cluster:type=Partition,name=LastStableOffsetLag,topic={tp.topic},partition={tp.partition}",
                broker.id,
                (("Value", lag),),
            )
    yield Sample(LATE_TRANSACTIONS, broker.id, (("Value", late),))


def delayed_fetches(broker: Broker) -> tuple[int, int]:
    """Return the number of fetches in a broker's purgatory, and the sum of the numbers of partitions on which each of these fetches waits.

    Kafka: `DelayedOperationPurgatory#numDelayed`, `#watched`.

    A follower's fetch waits on every partition of its session. A consumer's fetch waits on every partition that it requests. Kafka also
    counts completed fetches until their watchers are purged (at most 1,000). The laboratory does not count completed fetches.
    """
    sizes = [len(session.partitions) for session in broker.fetch_manager.sessions.values() if session.expires_at() >= 0]
    sizes += [len(waiting.request.partitions) for waiting in broker.replicas.consumer_fetches.values() if not waiting.done]
    return len(sizes), sum(sizes)


def metadata_offsets(cluster: ClusterNodes) -> tuple[int, int]:
    """Return the offset of the last metadata record that the active controller has applied, and the offset of the last committed metadata
    record.

    Kafka: `QuorumControllerMetrics`.

    The active controller applies records before they are committed (`OffsetControlManager#handleScheduleAppend`). An uncommitted write
    counts as one record. If there is no active controller, both returned offsets are the last committed offset of the voter with the
    highest high watermark.
    """
    quorum = cluster.quorum
    if quorum is None:
        return len(cluster.metadata) - 1, len(cluster.metadata) - 1
    active = quorum.active()
    voter = active or max(quorum.voters.values(), key=lambda voter: voter.high_watermark)
    committed = quorum.log.metadata_end(voter.high_watermark) - 1
    return committed + (0 if active is None else len(active.log) - active.high_watermark), committed
