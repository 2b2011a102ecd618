"""Prints the trace of a record as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from core.kafka.ids import TopicPartition
from core.lab.trace.record_life import Life
from core.lab.trace.record_trace import RecordTrace
from core.sim.units import format_clock, format_duration
from scenarios.errors import InputError, did_you_mean

_MOST_DIGITS = 18


def parse_record(text: str) -> tuple[TopicPartition, int]:
    """Parse `orders-0@137` as a partition and an offset.

    Raises:
        InputError: the text does not have the form PARTITION@OFFSET.
    """
    partition, at, offset = text.rpartition("@")
    if at and offset.isascii() and offset.isdecimal() and len(offset) <= _MOST_DIGITS:
        try:
            return TopicPartition.parse(partition), int(offset)
        except ValueError:
            pass
    raise InputError(f"--record: '{text[:80]}' is not a record; write PARTITION@OFFSET, for example orders-0@137")


def check_trace(trace: RecordTrace, view_partitions: dict[str, Any]) -> None:
    """Check that the partition exists, and that a record was written at the offset.

    Raises:
        InputError: the partition does not exist, or no record was written at the offset.
    """
    if str(trace.tp) not in view_partitions and not trace.lives:
        raise InputError(f"--record: no partition '{str(trace.tp)[:80]}'; {did_you_mean(str(trace.tp), view_partitions)}")
    if not trace.lives:
        end = trace.log_end()
        words = f"the log ends at {end}" if trace.offset >= end else "the event log does not show which record was at this offset"
        raise InputError(f"--record: no record was written at offset {trace.offset} of {trace.tp}; {words}")


def record_name(life: Life) -> str:
    """Return the identity of a record, for example `app#1234`."""
    if life.batch.marker is not None:
        return f"marker of producer ID {life.batch.producer_id}"
    return f"{life.batch.producer}#{life.counter}" if life.counter >= 0 else f"a record from {life.batch.producer or 'an unknown producer'}"


class TraceLine(NamedTuple):
    """A line of a trace: the columns or the indentation at its start, and the words, which can be wrapped."""

    prefix: str
    words: str


def trace_lines(trace: RecordTrace) -> Iterator[TraceLine]:
    """Yield the histories of the records at an offset."""
    for number, life in enumerate(trace.lives, start=1):
        if number > 1:
            yield TraceLine("", "")
        which = f" (record {number} of {len(trace.lives)} at this offset)" if len(trace.lives) > 1 else ""
        yield TraceLine("", f"{trace.tp}@{trace.offset}: {record_name(life)}, leader epoch {life.term.epoch}{which}")
        yield TraceLine("  ", batch_sentence(life))
        last = -1
        width = max((len(span.node) for span in life.spans), default=0)
        for span in life.spans:
            after = f"+{format_duration(span.time - last)}" if last >= 0 else ""
            last = span.time
            event = f" (event {span.event})" if span.event else ""
            yield TraceLine(f"  {format_clock(span.time)}  {after:>8}  {span.node.ljust(width)}  ", span.words + event)
        yield TraceLine("  ", outcome(trace, life))


def batch_sentence(life: Life) -> str:
    """Return a sentence that describes the batch that contains a record."""
    batch = life.batch
    last = batch.base + batch.records - 1
    where = f"offset {batch.base}" if batch.records == 1 else f"offsets {batch.base}–{last}"
    words = f"Batch at {where}: {batch.records} {'record' if batch.records == 1 else 'records'}, {batch.bytes} bytes"
    if batch.producer_id >= 0:
        words += f", producer ID {batch.producer_id}, epoch {batch.producer_epoch}"
        words += f", first sequence {batch.first_sequence}" if batch.first_sequence >= 0 else ""
    return f"{words}{', transactional' if batch.transactional else ''}."


def outcome(trace: RecordTrace, life: Life) -> str:
    """Return text that says where a record is now and how long each part of its history took."""
    holders = trace.holders(life)
    where = f"Now on {', '.join(f'b{broker}' for broker in holders)}" if holders else "Now on no broker"
    lost = "; LOST" if life.is_lost else ""
    took = [
        f"{name} {format_duration(value)}"
        for name, value in zip(("round trip", "commit", "end to end"), life.durations(), strict=True)
        if value >= 0
    ]
    return f"{where}{lost}{'; ' + ', '.join(took) if took else ''}."


def trace_data(trace: RecordTrace) -> dict[str, Any]:
    """Return the histories as data for `--json`. Times are in µs."""
    return {
        "partition": str(trace.tp),
        "offset": trace.offset,
        "lives": [
            {
                "producer": life.batch.producer,
                "counter": life.counter,
                "leader_epoch": life.term.epoch,
                "leader": life.term.leader,
                "batch": {
                    "base": life.batch.base,
                    "records": life.batch.records,
                    "bytes": life.batch.bytes,
                    "producer_id": life.batch.producer_id,
                    "producer_epoch": life.batch.producer_epoch,
                    "first_sequence": life.batch.first_sequence,
                    "transactional": life.batch.transactional,
                },
                "spans": [span._asdict() for span in life.spans],
                "brokers": trace.holders(life),
                "lost": life.is_lost,
                "durations": life.durations()._asdict(),
            }
            for life in trace.lives
        ],
    }
