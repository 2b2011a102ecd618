"""Builds `PartitionDetail`. The builder reads the nodes of a running cluster and changes nothing."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.disk import Disk
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import NEVER, Replica
from core.kafka.ids import TopicPartition
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.partition_registration import PartitionRegistration
from core.lab.cluster_nodes import ClusterNodes
from core.lab.reports.partition_detail import (
    FollowerState,
    LeaderState,
    PartitionDetail,
    ReplicaDetail,
    SegmentView,
    TermRun,
    WaitingWrite,
)
from core.lab.views import view_builder
from core.sim.kernel_messages import Timer

MAX_WAITING_WRITES: Final = 200
"""The maximum number of waiting writes that a `LeaderState` lists."""


def partition_detail(cluster: ClusterNodes, tp: TopicPartition) -> PartitionDetail:
    """Build the detail of one partition.

    Raises:
        KeyError: the partition does not exist.
    """
    registration = cluster.controller.registry.partitions[tp]
    leads = cluster.brokers.get(registration.leader)
    leading = None if leads is None else leads.partitions.get(tp)
    if leading is not None and not leading.is_leader:
        leading = None
    account = cluster.account.of(tp)
    return PartitionDetail(
        now=cluster.now,
        view=view_builder.partition_view(cluster, tp),
        leads=None if leading is None else _leader_state(cluster, leading),
        replicas=tuple(
            _replica(cluster.brokers[broker].disk, broker, tp, account.log) for broker in registration.replicas if broker in cluster.brokers
        ),
        session_us=cluster.settings.us("zookeeper.session.timeout.ms" if cluster.zookeeper else "broker.session.timeout.ms"),
        eligible=_eligible(cluster, tp, registration),
        lost=tuple((term.epoch, start, end) for term, lost in account.lost.items() for start, end in lost),
        exposed=tuple(cluster.exposure.exposed_offsets(tp)),
    )


def _replica(disk: Disk, broker: int, tp: TopicPartition, counts: ReplicaLog | None) -> ReplicaDetail:
    log = disk.logs.get(tp) or disk.offline.get(tp)
    runs: tuple[TermRun, ...] = ()
    pieces: tuple[SegmentView, ...] = ()
    flushed = 0
    diverged: tuple[tuple[int, int], ...] = ()
    if log is not None:
        runs = tuple(TermRun(run.start, run.end, run.term.epoch, run.term.leader) for run in log.runs())
        bases, flushed = log.known_segments()
        ends = [*bases[1:], log.leo]
        pieces = tuple(SegmentView(base, end, log.records.bytes_between(base, end)) for base, end in zip(bases, ends, strict=True))
        if counts is not None and counts is not log:
            diverged = tuple(log.differences(counts))
    return ReplicaDetail(
        broker,
        runs,
        pieces,
        flushed,
        disk.high_watermarks.get(tp, -1),
        disk.recovery_points.get(tp, -1),
        disk.log_starts.get(tp, -1),
        diverged,
    )


def _leader_state(cluster: ClusterNodes, leading: Partition) -> LeaderState:
    broker, now = cluster.brokers[leading.broker.id], cluster.now
    delayed = () if leading.delayed is None else tuple(leading.delayed.waiting)
    followers = tuple(_follower(leading, replica, now) for each in leading.replicas if (replica := leading.replica(each)) is not None)
    waiting = []
    for write in delayed[:MAX_WAITING_WRITES]:
        missing = tuple(each.broker for each in followers if each.counts and each.leo < write.required_offset)
        waiting.append(
            WaitingWrite(write.writer, write.required_offset - write.base, write.base, write.required_offset, write.deadline - now, missing)
        )
    return LeaderState(
        broker=broker.id,
        epoch_start=leading.leader_epoch_start_offset,
        isr=leading.isr,
        maximal_isr=leading.maximal_isr,
        pending=leading.pending,
        proposed=leading.proposal.isr if leading.pending and leading.proposal is not None else (),
        min_isr=leading.effective_min_isr(),
        under_min_isr=leading.under_min_isr,
        strict_min_isr=broker.context.release.strict_min_isr,
        lag_max_us=broker.context.config.lag_max,
        by_fetch=broker.context.release.counts_lag,
        check_period_us=broker.context.config.isr_check_interval,
        next_check_us=_next_check(cluster, broker.address, broker.incarnation),
        writes_isr=cluster.zookeeper and broker.context.release.leader_writes_isr,
        followers=followers,
        waiting=tuple(waiting),
        waiting_total=len(delayed),
    )


def _follower(leading: Partition, replica: Replica, now: int) -> FollowerState:
    entry = leading.session(replica.broker)
    session = None if entry is None else entry.session
    caught_up = replica.caught_up_time()
    expires = -1 if session is None else session.expires_at()
    fetched = replica.last_fetch_time if session is None else max(replica.last_fetch_time, session.fetched_at())
    return FollowerState(
        broker=replica.broker,
        leo=replica.leo,
        fetched_us=-1 if fetched <= NEVER else now - fetched,
        caught_up_us=-1 if caught_up <= NEVER else now - caught_up,
        counts=leading.counts_for_high_watermark(replica),
        waits_us=-1 if expires < 0 else max(0, expires - now),
    )


def _next_check(cluster: ClusterNodes, address: str, incarnation: int) -> int:
    """Return the time until a broker's isr-expiration task runs, in µs; -1 if the task is not scheduled."""
    due = [
        entry.time
        for entry in cluster.agenda.entries
        if entry.node == address
        and entry.connection == incarnation
        and type(entry.message) is Timer
        and entry.message.name == "isr-expiration"
    ]
    return min(due) - cluster.now if due else -1


def _eligible(cluster: ClusterNodes, tp: TopicPartition, registration: PartitionRegistration) -> tuple[tuple[int, str], ...]:
    """Return the brokers that could be elected if the leader failed now (`PartitionChangeBuilder#electLeader`).

    The members of the ISR come first, then those of the ELR, then any active replicas.
    """
    words = {
        broker: "ISR" if broker in registration.isr else "ELR" if broker in registration.elr else "unclean"
        for broker, _ in cluster.exposure.electable(tp)
        if broker != registration.leader
    }
    return tuple(sorted(words.items(), key=lambda each: ("ISR", "ELR", "unclean").index(each[1])))
