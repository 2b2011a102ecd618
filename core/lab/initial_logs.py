"""The logs that partitions start with (`PartitionSpec.logs`), which reproduce a moment of a real cluster.

The records in the initial logs were written before the start of the session. Two replicas hold the same record at an offset if they have
the same leader epoch at that offset. Records below the leader's high watermark count as acknowledged. If a later leader lacks acknowledged
records, these records are lost. The counters of the session's producers do not include the records in the initial logs.
"""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker import Broker
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.leader_term import Term
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.topic_spec import LogSpec, PartitionSpec
from core.lab.cluster_nodes import ClusterNodes
from core.lab.initial_offsets import load_groups, offsets_partitions, place_offsets, record_consumed

PRELOADED_PRODUCER: Final = "before the start"
"""The producer name that is used for records that are in logs at the start."""

RECORD_BYTES: Final = 100
"""The size of a record that is in a log at the start, in bytes."""

MAX_BATCHES: Final = 1_000
"""The maximum number of batches for the records of one leader epoch.

If a leader epoch has at most this many records, each record is in a separate batch.
"""

MOST_BATCHES: Final = 200_000
"""The maximum total number of batches in all partitions, if the log of each partition has a single leader epoch. Each batch takes about 300
bytes.
"""


def place_logs(cluster: ClusterNodes) -> None:
    """Put the logs on the disks of the brokers, before their processes start."""
    filled = sum(bool(partition.logs) for topic in cluster.spec.topics for partition in topic.assignment)
    most = max(min(MAX_BATCHES, MOST_BATCHES // max(filled, 1)), 1)
    for topic in cluster.spec.topics:
        for number, partition in enumerate(topic.assignment):
            if partition.logs:
                _place(cluster, TopicPartition(topic.name, number), partition, most)
    place_offsets(cluster)


def _place(cluster: ClusterNodes, tp: TopicPartition, partition: PartitionSpec, most_batches: int) -> None:
    leader = cluster.controller.registry.partitions[tp].leader
    terms = _terms(partition.logs, leader if leader != NO_LEADER else partition.replicas[0], most_batches)
    for given in partition.logs:
        broker = cluster.brokers[given.broker]
        log = broker.disk.create(tp, broker.log_manager.config_of(tp.topic), cluster.release)
        broker.log_directories.assign(tp)
        _fill(log, given, terms)
        _write_checkpoints(broker, tp, log)


def _terms(logs: tuple[LogSpec, ...], leader: int, most_batches: int) -> dict[int, Term]:
    """Return a term for each leader epoch. The term contains all records from this epoch that any replica has."""
    found: dict[int, tuple[int, int]] = {}
    for log in logs:
        for start, end, epoch in log.epoch_ranges():
            low, high = found.get(epoch, (start, end))
            found[epoch] = (min(low, start), max(high, end))
    terms: dict[int, Term] = {}
    for epoch, (start, end) in found.items():
        term = terms[epoch] = Term(epoch, leader)
        size = (end - start - 1) // most_batches + 1
        for base in range(start, end, size):
            records = min(size, end - base)
            term.append((base, records, records * RECORD_BYTES, PRELOADED_PRODUCER, 0, 0, -1, -1, -1, False, None))
    return terms


def _fill(log: ReplicaLog, given: LogSpec, terms: dict[int, Term]) -> None:
    if given.log_start:
        log.truncate_fully_and_start_at(given.log_start)
    for start, end, epoch in given.epoch_ranges():
        term = terms[epoch]
        log.append_as_follower((start, end, term, term.bytes_before(end) - term.bytes_before(start), None))
    if log.keeps_epochs:
        for epoch, start in given.epochs:
            if start == log.leo:
                log.epochs.assign(epoch, start)
    log.update_high_watermark(given.hw)
    log.flush()


def _write_checkpoints(broker: Broker, tp: TopicPartition, log: ReplicaLog) -> None:
    disk = broker.disk
    disk.high_watermarks[tp] = log.high_watermark
    disk.recovery_points[tp] = log.leo


def resume_leaderships(cluster: ClusterNodes) -> None:
    """Set the leader epochs to those in which leaders have already written, and record the committed records as acknowledged.

    The records below the committed offsets of groups are recorded as consumed, and the coordinators load these groups.

    Call this function after the processes have started.
    """
    for topic in cluster.spec.topics:
        for number, partition in enumerate(topic.assignment):
            if partition.logs:
                tp = TopicPartition(topic.name, number)
                _resume(cluster, tp)
                _record_acknowledged(cluster, tp, partition)
    for tp in offsets_partitions(cluster):
        _resume(cluster, tp)
    record_consumed(cluster)
    load_groups(cluster)


def _resume(cluster: ClusterNodes, tp: TopicPartition) -> None:
    leader = cluster.controller.registry.partitions[tp].leader
    led = cluster.brokers[leader].partitions.get(tp) if leader != NO_LEADER else None
    if led is None or not led.is_leader:
        return
    log = led.log
    if log.records.tail is not None and log.records.tail.epoch == led.leader_epoch:
        led.term = log.records.tail
        led.leader_epoch_start_offset = log.records.starts[-1]


def _record_acknowledged(cluster: ClusterNodes, tp: TopicPartition, partition: PartitionSpec) -> None:
    leader = cluster.controller.registry.partitions[tp].leader
    known = {given.broker: given for given in partition.logs}
    counts = known[leader] if leader in known else max(partition.logs, key=lambda given: given.hw)
    log = cluster.brokers[counts.broker].disk.logs[tp]
    account = cluster.account.of(tp)
    for run in log.runs():
        end = min(run.end, counts.hw)
        if run.start < end:
            account.acked.setdefault(run.term, OffsetSet()).add(run.start, end)
