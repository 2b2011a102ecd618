"""Gauges that no event tells: fetches that wait, and how far the metadata have come. They are read off the cluster as it stands.

Kafka's timestamps and lags beside the metadata offsets are not here: they stay small because the active controller writes a
NoOpRecord every metadata.max.idle.interval.ms, and the laboratory's writes none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka.broker.broker_state import BrokerState
from core.lab.metrics import CONTROLLER
from core.lab.metrics.observer import Sample

if TYPE_CHECKING:
    from core.kafka.broker.broker import Broker
    from core.lab.cluster import Cluster

PURGATORY: Final = "kafka.server:type=DelayedOperationPurgatory,name={name},delayedOperation=Fetch"


def of_cluster(cluster: Cluster) -> list[Sample]:
    """The gauges of every broker with a process, and under KRaft of the active controller, by name and broker."""
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
    """How many fetches wait in a broker's purgatory, and at how many partitions in all.

    Kafka: `DelayedOperationPurgatory#numDelayed`, `#watched`.

    A follower's fetch waits at every partition of its session, a consumer's at every one that it asks for. Kafka also counts a
    fetch that is over until its watchers are purged, of which at most 1,000 are left.
    """
    sizes = [len(session.partitions) for session in broker.fetch_manager.sessions.values() if session.expires_at() >= 0]
    sizes += [len(waiting.request.partitions) for waiting in broker.replicas.consumer_fetches.values() if not waiting.done]
    return len(sizes), sum(sizes)


def metadata_offsets(cluster: Cluster) -> tuple[int, int]:
    """Offset of the last metadata record that the active controller has applied, and of the last one that is committed.

    Kafka: `QuorumControllerMetrics`.

    It applies what it writes before that is committed (`OffsetControlManager#handleScheduleAppend`); a write on its way counts as
    one record. Without an active controller both are of the voter that knows most to be committed.
    """
    quorum = cluster.quorum
    if quorum is None:
        return len(cluster.metadata) - 1, len(cluster.metadata) - 1
    active = quorum.active()
    voter = active or max(quorum.voters.values(), key=lambda voter: voter.high_watermark)
    committed = quorum.end_of(voter.high_watermark) - 1
    return committed + (0 if active is None else len(active.log) - active.high_watermark), committed
