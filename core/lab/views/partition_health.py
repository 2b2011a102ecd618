"""The facts of a running cluster that determine the status of a partition (`core.kafka.health`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus, effective_min_isr, status_of
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.kafka.transaction.transaction_queries import is_hanging

if TYPE_CHECKING:
    from core.kafka.broker.partition import Partition
    from core.kafka.transaction.transaction_metadata import TransactionMetadata
    from core.lab.cluster_nodes import ClusterNodes


class PartitionHealth(NamedTuple):
    """The status of a partition and the facts that determine it (see `core.kafka.health.status_of`)."""

    status: PartitionStatus
    min_isr: int
    not_fetching: tuple[int, ...]
    uncommitted_us: int


def partition_health(cluster: ClusterNodes, tp: TopicPartition, registration: PartitionRegistration) -> PartitionHealth:
    """Return the health of a partition now."""
    leader = registration.leader
    leads = cluster.brokers.get(leader)
    leading = None if leads is None else leads.partitions.get(tp)
    min_isr = effective_min_isr(
        cluster.settings.integer("min.insync.replicas", broker=leader, topic=tp.topic),
        len(registration.replicas),
        capped=cluster.release.capped_min_isr,
    )
    serves = leading is not None and leading.is_leader and _runs(cluster, leader) and not _is_cut_from_client(cluster, leader, tp.topic)
    not_fetching = (
        tuple([member for member in registration.isr if member != leader and not _can_fetch(cluster, member, leader)]) if serves else ()
    )
    waits = uncommitted_us(cluster, leading) if serves and leading is not None else 0
    disk = leads.log_directories.write_wait() if serves and leads is not None else 0
    held = serves and leading is not None and reads_are_held(cluster, leading)
    status = status_of(
        registration, min_isr, leader_serves=serves, not_fetching=not_fetching, uncommitted_us=waits, disk_us=disk, reads_held=held
    )
    return PartitionHealth(status, min_isr, not_fetching, waits)


def uncommitted_us(cluster: ClusterNodes, leading: Partition) -> int:
    """Return how long a leader's high watermark has not advanced although it is below the log end offset, in µs; 0 if everything is
    committed.
    """
    log = leading.log
    return cluster.now - leading.uncommitted_since if log.high_watermark < log.leo else 0


def reads_are_held(cluster: ClusterNodes, leading: Partition) -> bool:
    """Return whether a hanging transaction, which no coordinator will end, holds a leader's last stable offset below the high watermark.

    While a coordinator that might know the transaction is down or is loading its log, the result is False, because the coordinator might
    end the transaction later.
    """
    if leading.held_back_at is None:
        return False
    oldest = next(iter(leading.log.ensure_producer_state().ongoing.values()), None)
    if oldest is None:
        return False
    owner = transaction_of(cluster, oldest)
    return is_hanging(leading.tp, owner) and (owner is not None or not missing_coordinators(cluster))


def missing_coordinators(cluster: ClusterNodes) -> list[int]:
    """Return the partitions of `__transaction_state` that no broker coordinates now, because the leader is down or is loading its log."""
    topic = cluster.controller.registry.topics.get(TRANSACTION_STATE_TOPIC)
    missing = []
    for tp in () if topic is None else topic.partitions:
        leader = cluster.controller.registry.partitions[tp].leader
        if not _runs(cluster, leader) or tp.partition not in cluster.brokers[leader].transactions.states.caches:
            missing.append(tp.partition)
    return missing


def transaction_of(cluster: ClusterNodes, producer_id: int) -> TransactionMetadata | None:
    """Return the state of the transactional ID that has a producer ID, as a running coordinator knows it; None if no running coordinator
    knows the state.
    """
    return next(
        (
            metadata
            for broker in cluster.brokers.values()
            if broker.context.state is not BrokerState.STOPPED
            for cache in broker.transactions.states.caches.values()
            for metadata in cache.entries.values()
            if metadata.producer_id == producer_id
        ),
        None,
    )


def _runs(cluster: ClusterNodes, broker: int) -> bool:
    """Return whether a broker's process is running and is not paused."""
    node = cluster.brokers.get(broker)
    return node is not None and node.context.state is not BrokerState.STOPPED and node.address not in cluster.paused


def _is_cut_from_client(cluster: ClusterNodes, broker: int, topic: str) -> bool:
    """Return whether the link between a broker and a client of the topic is cut."""
    links = cluster.network.links
    if not links:
        return False
    address = broker_address(broker)
    return any(client.topic == topic and _is_cut(cluster, client.name, address) for client in cluster.clients.values())


def _can_fetch(cluster: ClusterNodes, follower: int, leader: int) -> bool:
    """Return whether a follower's process is running and the link to the leader is not cut."""
    return _runs(cluster, follower) and not _is_cut(cluster, broker_address(follower), broker_address(leader))


def _is_cut(cluster: ClusterNodes, one: str, other: str) -> bool:
    """Return whether a link is cut, in one direction or both."""
    links = cluster.network.links
    there, back = links.get((one, other)), links.get((other, one))
    return (there is not None and there.cut) or (back is not None and back.cut)
