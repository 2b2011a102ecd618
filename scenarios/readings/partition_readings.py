"""Readings of one partition: its replicas, offsets, leader epochs, and the keys and values of a compacted log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka.ids import TopicPartition
from core.lab.views.partition_view import PartitionView, ReplicaView
from scenarios.readings.reading import BROKER, EPOCHS, IDS, NUMBER, ROW, TEXT, WORD, Moment, Reading


def _replica_on(view: PartitionView | None, broker: int | None) -> ReplicaView | None:
    """Return the replica on a broker, or the leader's replica if no broker is given."""
    if view is None:
        return None
    wanted = view.leader if broker is None else broker
    for replica in view.replica_views:
        if replica.broker == wanted:
            return replica
    return None


def _of_partition(take: Callable[[PartitionView], Any]) -> Callable[..., Any]:
    def read(moment: Moment, tp: TopicPartition) -> Any:
        view = moment.partition(tp)
        return None if view is None else take(view)

    return read


def _of_replica(take: Callable[[ReplicaView], Any]) -> Callable[..., Any]:
    def read(moment: Moment, tp: TopicPartition, broker: int | None = None) -> Any:
        replica = _replica_on(moment.partition(tp), broker)
        return None if replica is None else take(replica)

    return read


def _of_contents(take: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that reads the log of a compacted topic. The first argument of the reading is the partition, and the last one is
    the broker.
    """

    def read(moment: Moment, tp: TopicPartition, *arguments: Any) -> Any:
        broker = arguments[-1] if arguments and isinstance(arguments[-1], int) else None
        replica = _replica_on(moment.partition(tp), broker)
        contents = None if replica is None else moment.contents(tp, replica.broker)
        return None if contents is None else take(contents, *(each for each in arguments if isinstance(each, str)))

    return read


def _last_stable_offset(moment: Moment, tp: TopicPartition) -> int | None:
    """Return the leader's last stable offset, or None if the partition has no leader."""
    view = moment.partition(tp)
    if view is None or view.offline:
        return None
    return view.replica_on(view.leader).hw if view.held_back_at is None else view.held_back_at


PARTITION_READINGS: Final = (
    Reading("leader", ("partition",), BROKER, "the leader, or none", _of_partition(lambda view: view.leader)),
    Reading("leader-epoch", ("partition",), NUMBER, "the leader epoch", _of_partition(lambda view: view.leader_epoch)),
    Reading("partition-epoch", ("partition",), NUMBER, "the partition epoch", _of_partition(lambda view: view.partition_epoch)),
    Reading("isr", ("partition",), IDS, "the in-sync replicas, in any order", _of_partition(lambda view: view.isr)),
    Reading("isr-row", ("partition",), ROW, "the in-sync replicas in the order that kafka-topics --describe "
        "prints", _of_partition(lambda view: view.isr)),
    Reading("elr", ("partition",), IDS, "the eligible leader replicas", _of_partition(lambda view: view.elr)),
    Reading("replicas", ("partition",), ROW, "the assigned replicas, the preferred leader first", _of_partition(lambda view: view.replicas)),
    Reading("min-isr", ("partition",), NUMBER, "the effective min.insync.replicas", _of_partition(lambda view: view.min_isr)),
    Reading("leo", ("partition", "broker?"), NUMBER, "the log end offset of the leader, or of a broker's "
        "replica", _of_replica(lambda replica: replica.leo)),
    Reading("lso", ("partition",), NUMBER, "the leader's last stable offset, where consumers with read_committed stop", _last_stable_offset),
    Reading("ongoing", ("partition",), NUMBER, "the number of transactions that are open in the leader's log", _of_partition(lambda view: view.ongoing)),
    Reading("hw", ("partition", "broker?"), NUMBER, "the high watermark of the leader, or of a broker's "
        "replica", _of_replica(lambda replica: replica.hw)),
    Reading(
        "log-start", ("partition", "broker?"), NUMBER, "the log start offset of the leader, or of a broker's replica",
        _of_replica(lambda replica: replica.log_start),
    ),
    Reading(
        "records", ("partition", "broker?"), NUMBER, "the number of records that log compaction left in the log of the leader or of a broker; only for compacted topics",
        _of_contents(lambda contents: contents.records()),
    ),
    Reading(
        "value", ("partition", "key", "broker?"), TEXT, "the last committed value of a key in the log of the leader or of a broker, or none; only for compacted topics",
        _of_contents(lambda contents, key: contents.value(key)),
    ),
    Reading("dir", ("partition", "broker"), NUMBER, "the number of a replica's log directory; the first one is 1", _of_replica(lambda replica: replica.dir)),
    Reading("epochs", ("partition", "broker?"), EPOCHS, "the leader-epoch cache", _of_replica(lambda replica: replica.epochs)),
    Reading(
        "role", ("partition", "broker"), WORD, "the role of a replica, as its own broker sees it", _of_replica(lambda replica: replica.role), ("leader", "follower", "offline")
    ),
    Reading(
        "fetch-state", ("partition", "broker"), WORD, "the state of the partition in the follower's "
            "fetcher", _of_replica(lambda replica: replica.fetch_state),
        ("fetching", "truncating", "delayed", "failed", "idle"),
    ),
)  # fmt: skip
