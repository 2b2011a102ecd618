"""Prints the segment files of a replica, the entries of their indexes, and the steps of a lookup. The output is text or JSON."""

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
from core.lab.reports.segment_report import SegmentReport, replica_log
from scenarios.errors import InputError, did_you_mean

NOTES = (
    "Positions and sizes count only the keys and values of records, as segment.bytes and events do in this model.",
    "'format v2' is the size with the headers of batches and records, uncompressed.",
)
"""The explanatory notes that are printed below the table of segment files."""


def replica_of(cluster: Cluster, partition: str, broker: int | None) -> tuple[TopicPartition, int, ReplicaLog]:
    """Return a partition, a broker, and the log of the partition's replica on this broker. The default broker is the leader of the
    partition.

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
    log = replica_log(cluster, found.tp, broker)
    if log is None:
        raise InputError(f"--broker: b{broker} has no replica of {partition}; its replicas are on {', '.join(map(str, found.replicas))}")
    return found.tp, broker, log


# --- the files -----------------------------------------------------------------------------------------------------


def file_lines(report: SegmentReport) -> Iterator[str]:
    """Yield a table with a line for each segment."""
    rows = [("segment", "offsets", "batches", LOG, "format v2", OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, PRODUCER_SNAPSHOT)]
    for each in report.rows:
        rows.append(
            (
                file_name(each.base, "") + (" (active)" if each.active else ""),
                f"{each.base} to {each.end - 1}" if each.base < each.end else "none",
                str(each.batches),
                str(each.bytes),
                str(each.wire_bytes),
                _entries(each.offset_entries),
                _entries(each.time_entries),
                _entries(each.aborted) if each.aborted else "no file",
                "yes" if each.snapshot else "no file",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def heading(report: SegmentReport) -> list[str]:
    """Return the lines that are printed above the segment table: the offsets and the settings of the log."""
    count = len(report.rows) + report.omitted
    return [
        f"{report.tp} on b{report.broker}: {count} {'segment' if count == 1 else 'segments'}, log start offset {report.log_start}, high "
        f"watermark {report.high_watermark}, log end offset {report.leo}",
        ", ".join(f"{name}={value}" for name, value in report.settings),
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
        "uncompressed, including the header of 61 bytes."
    )
    if lookup.bytes:
        sent = sum(each.records for each in lookup.segment.batches if found.start <= each.start < lookup.end) if lookup.segment else 0
        yield f"To send {lookup.bytes} bytes from the page cache:"
        for each in transfers(lookup.bytes):
            yield (
                f"  {each.method.value:<10}  {' → '.join(each.path)}: the CPU copies {each.cpu_bytes} bytes "
                f"({each.cpu_bytes_per_record(sent):.0f} per record), {each.user_bytes} bytes pass through user space, {each.switches} "
                f"mode switches"
            )


# --- data ----------------------------------------------------------------------------------------------------------


def as_data(report: SegmentReport, segments: Sequence[SegmentFiles]) -> dict[str, Any]:
    """Return the segments, index entries, and lookup of a report as data for `--json`. Timestamps are in ms."""
    lookup = report.lookup
    data: dict[str, Any] = {
        "partition": str(report.tp),
        "broker": report.broker,
        "log_start": report.log_start,
        "high_watermark": report.high_watermark,
        "leo": report.leo,
        "settings": dict(report.settings),
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
