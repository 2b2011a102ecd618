"""A frozen view of the segments of one replica, and of a lookup in them.

`Cluster.segment_report` makes the report. The report needs a pass over all batches of the listed segments, so it is made only on request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.log.lookup import MAX_BYTES, Lookup, lookup_by_offset, lookup_by_timestamp
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segment_files import SegmentFiles, segment_files

if TYPE_CHECKING:
    from core.lab.cluster_nodes import ClusterNodes

MOST_SEGMENTS: Final = 40
"""The number of newest segments that a report lists by default."""


@attrs.frozen
class SegmentRow:
    """One segment.

    Attributes:
        base: the base offset of the segment.
        end: the base offset of the next segment, or the LEO.
        active: whether the log appends to the segment.
        batches: the number of batches in the segment.
        bytes: the size of the segment in the model, which segment.bytes limits.
        wire_bytes: the size of the segment's batches in Kafka's format, uncompressed.
        offset_entries: the number of entries in the offset index.
        time_entries: the number of entries in the time index.
        aborted: the number of entries in the transaction index; 0 if the segment has no transaction index.
        snapshot: whether there is a producer snapshot at the base offset.
    """

    base: int
    end: int
    active: bool
    batches: int
    bytes: int
    wire_bytes: int
    offset_entries: int
    time_entries: int
    aborted: int
    snapshot: bool


@attrs.frozen
class SegmentReport:
    """The segments of one replica.

    Attributes:
        tp: the partition of the replica.
        broker: the ID of the replica's broker.
        log_start: the log start offset of the replica.
        high_watermark: the high watermark of the replica.
        leo: the log end offset of the replica.
        settings: the settings that determine the files, with their values.
        rows: the segments, oldest first: all of them, or only the newest ones and those that the lookup reads.
        omitted: the number of older segments that are not listed.
        lookup: the requested lookup; None if there is none.
    """

    tp: TopicPartition
    broker: int
    log_start: int
    high_watermark: int
    leo: int
    settings: tuple[tuple[str, int], ...]
    rows: tuple[SegmentRow, ...]
    omitted: int
    lookup: Lookup | None


def report_of_log(
    tp: TopicPartition,
    broker: int,
    log: ReplicaLog,
    *,
    offset: int | None = None,
    timestamp: int | None = None,
    max_bytes: int = MAX_BYTES,
    most: int | None = None,
) -> SegmentReport:
    """Return the report on a log.

    Args:
        tp, broker, log: the partition, the broker, and the log of the replica.
        offset: the offset to look up.
        timestamp: the timestamp to look up, in ms, if no offset is given.
        max_bytes: the maximum number of bytes that the lookup by offset fetches.
        most: the maximum number of newest segments to list; None for all.
    """
    lookup = None
    if offset is not None:
        lookup = lookup_by_offset(log, offset, max_bytes)
    elif timestamp is not None:
        lookup = lookup_by_timestamp(log, timestamp)
    config = log.config
    settings = (
        ("segment.bytes", config.segment_bytes),
        ("index.interval.bytes", config.index_interval_bytes),
        ("segment.index.bytes", config.segment_index_bytes),
    )
    segments = segment_files(log)
    read = set() if lookup is None else {step.file.partition(".")[0] for step in lookup.steps}
    newest = 0 if most is None else len(segments) - most
    shown = [each for number, each in enumerate(segments) if number >= newest or each.name("") in read]
    rows = tuple(map(_row, shown))
    omitted = len(segments) - len(rows)
    return SegmentReport(tp, broker, log.log_start, log.high_watermark, log.leo, settings, rows, omitted, lookup)


def _row(segment: SegmentFiles) -> SegmentRow:
    return SegmentRow(
        segment.base,
        segment.end,
        segment.active,
        len(segment.batches),
        segment.size,
        sum(each.wire_size for each in segment.batches),
        segment.indexes.offsets.entries,
        segment.indexes.times.entries,
        len(segment.transactions),
        segment.has_snapshot,
    )


def replica_log(cluster: ClusterNodes, tp: TopicPartition, broker: int) -> ReplicaLog | None:
    """Return the log of a replica, even if the log directory is offline; None if the broker has no replica."""
    node = cluster.brokers.get(broker)
    return None if node is None else node.disk.logs.get(tp) or node.disk.offline.get(tp)


def segment_report(
    cluster: ClusterNodes, tp: TopicPartition, broker: int, offset: int | None = None, timestamp: int | None = None
) -> SegmentReport | None:
    """Return the report on a replica, with its `MOST_SEGMENTS` newest segments; None if the broker has no replica."""
    log = replica_log(cluster, tp, broker)
    return None if log is None else report_of_log(tp, broker, log, offset=offset, timestamp=timestamp, most=MOST_SEGMENTS)
