"""Prints the segment files of a replica, their index entries, and the steps of a lookup, as text or as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from core.kafka import errors
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.index.transaction_index import ENTRY_BYTES
from core.kafka.log.lookup import Lookup
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segment_files import LOG, OFFSET_INDEX, PRODUCER_SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX, SegmentFiles, file_name
from core.kafka.log.wire.transfer import transfers
from core.lab.cluster import Cluster
from scenarios.errors import InputError, did_you_mean

NOTES = (
    "Positions and sizes count the keys and values of records, like segment.bytes and events do.",
    "'format v2' is the size with the headers of batches and records, uncompressed.",
)
"""The notes below the table of files."""


def replica_of(cluster: Cluster, partition: str, broker: int | None) -> tuple[TopicPartition, int, ReplicaLog]:
    """Return a partition, a broker, and the log of its replica. By default, the broker is the leader.

    Raises:
        InputError: the partition, the broker, or the replica does not exist.
    """
    view = cluster.view()
    known = {str(each.tp): each for each in view.partitions}
    found = known.get(partition)
    if found is None:
        raise InputError(f"--partition: no partition '{partition[:80]}'; {did_you_mean(partition, known)}")
    if broker is None:
        if found.leader == NO_LEADER:
            raise InputError(f"--broker: {partition} has no leader now; name one of {', '.join(map(str, found.replicas))}")
        broker = found.leader
    disk = cluster.brokers[broker].disk if broker in cluster.brokers else None
    log = None if disk is None else disk.logs.get(found.tp) or disk.offline.get(found.tp)
    if log is None:
        raise InputError(f"--broker: b{broker} has no replica of {partition}; its replicas are on {', '.join(map(str, found.replicas))}")
    return found.tp, broker, log


# --- the files -----------------------------------------------------------------------------------------------------


def file_lines(segments: Sequence[SegmentFiles]) -> Iterator[str]:
    """Yield a table with a line for each segment."""
    rows = [("segment", "offsets", "batches", LOG, "format v2", OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, PRODUCER_SNAPSHOT)]
    for segment in segments:
        indexes, aborted = segment.indexes, len(segment.transactions)
        rows.append(
            (
                file_name(segment.base, "") + (" (active)" if segment.active else ""),
                f"{segment.base} to {segment.end - 1}" if segment.base < segment.end else "none",
                str(len(segment.batches)),
                str(segment.size),
                str(sum(each.wire_size for each in segment.batches)),
                _entries(indexes.offsets.entries),
                _entries(indexes.times.entries),
                _entries(aborted) if aborted else "no file",
                "yes" if segment.has_snapshot else "no file",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def heading(tp: TopicPartition, broker: int, log: ReplicaLog, count: int) -> list[str]:
    """Return the lines above the table: the offsets of the log, and its settings."""
    config = log.config
    return [
        f"{tp} on b{broker}: {count} {'segment' if count == 1 else 'segments'}, log start offset {log.log_start}, high watermark "
        f"{log.high_watermark}, log end offset {log.leo}",
        f"segment.bytes={config.segment_bytes}, index.interval.bytes={config.index_interval_bytes}, "
        f"segment.index.bytes={config.segment_index_bytes}",
    ]


def entry_lines(segments: Sequence[SegmentFiles]) -> Iterator[str]:
    """Yield the entries of all indexes."""
    for segment in segments:
        offsets, times = segment.indexes.offsets, segment.indexes.times
        for name, entries, size in (
            (OFFSET_INDEX, [f"offset {key} at position {value}" for key, value in zip(offsets.keys, offsets.values, strict=True)], offsets),
            (TIME_INDEX, [f"timestamp {key} up to offset {value}" for key, value in zip(times.keys, times.values, strict=True)], times),
        ):
            yield f"{segment.name(name)}: {_entries(len(entries))} of {size.entry_bytes} bytes, a file of {size.file_bytes} bytes"
            for entry in entries:
                yield f"  {entry}"
        if segment.transactions:
            yield f"{segment.name(TRANSACTION_INDEX)}: {_entries(len(segment.transactions))} of {ENTRY_BYTES} bytes"
            for each in segment.transactions:
                yield (
                    f"  producer ID {each.producer_id}, offsets {each.first_offset} to {each.last_offset}, last stable offset "
                    f"{each.last_stable_offset}"
                )


# --- a lookup ------------------------------------------------------------------------------------------------------


def lookup_lines(lookup: Lookup) -> Iterator[str]:
    """Yield the steps of a lookup, the size of the batch that it finds, and the cost of the transfer to a client."""
    for number, step in enumerate(lookup.steps, start=1):
        yield f"{number}. {step.sentence}"
    found = lookup.batch
    if found is None:
        return
    records = found.records
    yield (
        f"Batch {found.start}: {records} {'record' if records == 1 else 'records'}, {found.bytes} bytes; in format v2, {found.wire_size} bytes "
        "uncompressed, of which the header has 61."
    )
    if lookup.bytes:
        sent = sum(each.records for each in lookup.segment.batches if found.start <= each.start < lookup.end) if lookup.segment else 0
        yield f"To send {lookup.bytes} bytes from the page cache:"
        for each in transfers(lookup.bytes):
            yield (
                f"  {each.method.value:<10}  {' → '.join(each.path)}: the CPU copies {each.cpu_bytes} bytes "
                f"({each.cpu_bytes_per_record(sent):.0f} per record), {each.user_bytes} bytes pass user space, {each.switches} mode switches"
            )


# --- data ----------------------------------------------------------------------------------------------------------


def as_data(tp: TopicPartition, broker: int, log: ReplicaLog, segments: Sequence[SegmentFiles], lookup: Lookup | None) -> dict[str, Any]:
    """Return everything as data for `--json`. Timestamps are in ms."""
    config = log.config
    data: dict[str, Any] = {
        "partition": str(tp),
        "broker": broker,
        "log_start": log.log_start,
        "high_watermark": log.high_watermark,
        "leo": log.leo,
        "settings": {
            "segment.bytes": config.segment_bytes,
            "index.interval.bytes": config.index_interval_bytes,
            "segment.index.bytes": config.segment_index_bytes,
        },
        "segments": [_segment_data(segment) for segment in segments],
    }
    if lookup is not None:
        data["lookup"] = {
            "steps": [step._asdict() for step in lookup.steps],
            "error": "" if lookup.error == errors.NONE else lookup.error,
            "offset": lookup.offset,
            "timestamp": lookup.timestamp,
            "bytes": lookup.bytes,
            "end": lookup.end,
        }
        data["transfers"] = [
            {
                "method": each.method.value,
                "path": list(each.path),
                "bytes": each.bytes,
                "cpu_bytes": each.cpu_bytes,
                "dma_copies": each.dma_copies,
                "user_bytes": each.user_bytes,
                "switches": each.switches,
            }
            for each in transfers(lookup.bytes)
        ]
    return data


def _segment_data(segment: SegmentFiles) -> dict[str, Any]:
    offsets, times = segment.indexes.offsets, segment.indexes.times
    return {
        "file": segment.name(),
        "base": segment.base,
        "end": segment.end,
        "active": segment.active,
        "bytes": segment.size,
        "batches": [
            {
                "start": each.start,
                "end": each.end,
                "records": each.records,
                "position": each.position,
                "bytes": each.bytes,
                "wire_bytes": each.wire_size,
            }
            for each in segment.batches
        ],
        "offset_index": [*zip(offsets.keys, offsets.values, strict=True)],
        "offset_index_bytes": offsets.file_bytes,
        "time_index": [*zip(times.keys, times.values, strict=True)],
        "time_index_bytes": times.file_bytes,
        "transaction_index": [each._asdict() for each in segment.transactions],
        "snapshot": segment.has_snapshot,
    }
