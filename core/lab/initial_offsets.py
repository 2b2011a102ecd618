"""The committed offsets that groups start with (`ClusterSpec.groups`), as records in `__consumer_offsets`.

The coordinators load the committed offsets when they start, as after a restart of the whole cluster. The records of a partition below the
committed offset count as consumed before the start, so the group has not skipped them.
"""

from __future__ import annotations

from core.kafka import events
from core.kafka.group_coordinator.offsets_log import LOG_WRITER, CommittedOffset, OffsetKey, partition_of, records_bytes
from core.kafka.ids import NO_LEADER, NO_OFFSET, TopicPartition
from core.kafka.log.leader_term import Term
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, partition_for
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import GroupSpec


def offsets_partitions(cluster: ClusterNodes) -> dict[TopicPartition, list[GroupSpec]]:
    """Return the partitions of `__consumer_offsets` that have records at the start, each with its groups."""
    found: dict[TopicPartition, list[GroupSpec]] = {}
    if cluster.spec.groups:
        count = next(topic.count for topic in cluster.spec.topics if topic.name == GROUP_METADATA_TOPIC)
        for group in cluster.spec.groups:
            if group.offsets:
                found.setdefault(partition_of(partition_for(group.name, count)), []).append(group)
    return found


def place_offsets(cluster: ClusterNodes) -> None:
    """Put the committed offsets on the disks of the in-sync replicas, before the processes of the brokers start.

    Raises:
        ValueError: the release has no group coordinators.
    """
    if cluster.spec.groups and not cluster.release.consumer_groups:
        raise ValueError(f"release {cluster.release.name} has no group coordinator; omit the groups, or use 0.9 or later")
    for tp, groups in offsets_partitions(cluster).items():
        registration = cluster.controller.registry.partitions[tp]
        term = Term(registration.leader_epoch, registration.leader if registration.leader != NO_LEADER else registration.replicas[0])
        end = 0
        for group in groups:
            records = tuple((OffsetKey(group.name, of), CommittedOffset(offset, epoch, 0)) for of, offset, epoch in group.offsets)
            term.append((end, len(records), records_bytes(records), LOG_WRITER, 0, 0, -1, -1, -1, False, records))
            end += len(records)
        for replica in registration.isr:
            disk = cluster.brokers[replica].disk
            log = disk.create(tp, cluster.brokers[replica].log_manager.config_of(tp.topic), cluster.release)
            cluster.brokers[replica].log_directories.assign(tp)
            log.append_as_follower((0, end, term, term.bytes, None))
            log.update_high_watermark(end)
            log.flush()
            disk.high_watermarks[tp], disk.recovery_points[tp] = end, end


def record_consumed(cluster: ClusterNodes) -> None:
    """Record that the records below the committed offsets were consumed before the simulation started."""
    for group in cluster.spec.groups:
        for tp, offset, _ in group.offsets:
            leader = cluster.controller.registry.partitions[tp].leader
            log = None if leader == NO_LEADER else cluster.brokers[leader].disk.logs.get(tp)
            for run in () if log is None else log.runs():
                cluster.account.consumption.consumed_before(group.name, tp, run.start, min(run.end, offset), run.term.epoch)


def load_groups(cluster: ClusterNodes) -> None:
    """Let the coordinators load the groups at time 0, and report the offsets, so that the event log contains them."""
    for broker in cluster.brokers.values() if cluster.spec.groups else ():
        broker.groups.finish_loading()
    for of, groups in offsets_partitions(cluster).items():
        coordinator = cluster.controller.registry.partitions[of].leader
        if coordinator != NO_LEADER:
            for group in groups:
                for tp, offset, _ in group.offsets:
                    cluster.journal.emit(events.OffsetCommitted.kind, coordinator, group.name, tp.topic, tp.partition, offset, NO_OFFSET)
