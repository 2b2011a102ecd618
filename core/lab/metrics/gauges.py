"""Gauges that events do not determine: fetches that wait, and metadata offsets. They are read from the running cluster.

Kafka's metrics of metadata timestamps and lags are left out. In Kafka they stay small because the active controller writes a NoOpRecord
every metadata.max.idle.interval.ms; the laboratory's controller writes none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka.broker.broker_state import BrokerState
from core.lab.metrics import CONTROLLER
from core.lab.metrics.observer import Sample

if TYPE_CHECKING:
    from core.kafka.broker.broker import Broker
    from core.lab.cluster_nodes import ClusterNodes

PURGATORY: Final = "kafka.server:type=DelayedOperationPurgatory,name={name},delayedOperation=Fetch"


def cluster_gauges(cluster: ClusterNodes) -> list[Sample]:
    """The gauges of every broker with a process, and under KRaft those of the active controller, by name and broker."""
    found = []
    for broker in cluster.brokers.values():
        if broker.state is BrokerState.STOPPED:
            continue
        waiting, watched = delayed_fetches(broker)
        found.append(Sample(PURGATORY.format(name="NumDelayedOperations"), broker.id, (("Value", waiting),)))
        found.append(Sample(PURGATORY.format(name="PurgatorySize"), broker.id, (("Value", watched),)))
        if not cluster.zookeeper:
            found.append(
                Sample(
                    "kafka.server:type=broker-metadata-metrics",
                    broker.id,
                    (
                        ("last-applied-record-offset", broker.metadata_offset - 1),
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


def delayed_fetches(broker: Broker) -> tuple[int, int]:
    """The number of fetches in a broker's purgatory, and the number of partitions at which they wait, in all.

    Kafka: `DelayedOperationPurgatory#numDelayed`, `#watched`.

    A follower's fetch waits at every partition of its session, a consumer's fetch at every partition that it requests. Kafka also counts
    completed fetches until their watchers are purged (at most 1,000); the laboratory does not.
    """
    sizes = [len(session.partitions) for session in broker.fetch_manager.sessions.values() if session.expires_at() >= 0]
    sizes += [len(waiting.request.partitions) for waiting in broker.replicas.consumer_fetches.values() if not waiting.done]
    return len(sizes), sum(sizes)


def metadata_offsets(cluster: ClusterNodes) -> tuple[int, int]:
    """The offsets of the last metadata record that the active controller has applied, and of the last committed one.

    Kafka: `QuorumControllerMetrics`.

    The active controller applies records before they are committed (`OffsetControlManager#handleScheduleAppend`); an uncommitted write
    counts as one record. Without an active controller both are those of the voter with the highest high watermark.
    """
    quorum = cluster.quorum
    if quorum is None:
        return len(cluster.metadata) - 1, len(cluster.metadata) - 1
    active = quorum.active()
    voter = active or max(quorum.voters.values(), key=lambda voter: voter.high_watermark)
    committed = quorum.metadata_end(voter.high_watermark) - 1
    return committed + (0 if active is None else len(active.log) - active.high_watermark), committed
