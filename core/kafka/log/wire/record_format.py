"""The sizes of records and batches in Kafka's format v2 (Kafka: `DefaultRecord`, `DefaultRecordBatch`, `ByteUtils`).

In the simulation, the `bytes` of a batch count only its keys and values. The functions in this module add the overhead of the format: a
header of 61 bytes for each batch, and at least 7 bytes for each record. Nothing in the simulation depends on the sizes that these functions
return.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Final, NamedTuple

from core.kafka.log.control_record import MARKER_BYTES
from core.kafka.log.leader_term import Batch

HEADER_BYTES: Final = 61
"""The size of a batch header, in bytes."""

MAX_RECORD_OVERHEAD: Final = 21
"""The maximum size of a record that has no key, no value, and no headers. Producers reserve `MAX_RECORD_OVERHEAD` for each record because
they do not know the deltas yet."""


def zigzag(value: int) -> int:
    """Return the zigzag encoding of a signed number, which turns 0, -1, 1, -2 into 0, 1, 2, 3."""
    return value * 2 if value >= 0 else -value * 2 - 1


def varint_size(value: int) -> int:
    """Return the size of an encoded number: 1 byte for numbers from -64 to 63, 2 bytes for numbers from -8192 to 8191, and so on."""
    return max(1, -(-zigzag(value).bit_length() // 7))


class RecordShape(NamedTuple):
    """The sizes of the parts of a record, in bytes.

    Attributes:
        key: the size of the key; None for a null key.
        value: the size of the value; None for a null value, as in a tombstone.
        headers: for each header, the size of its key and the size of its value (None for a null value).
    """

    key: int | None = None
    value: int | None = None
    headers: tuple[tuple[int, int | None], ...] = ()


def _field_size(size: int | None) -> int:
    """Return the size of a key or value, including its length field. The length of null is -1."""
    return varint_size(-1) if size is None else varint_size(size) + size


def record_size(shape: RecordShape, offset_delta: int = 0, timestamp_delta: int = 0) -> int:
    """Return the size of a record (`DefaultRecord#sizeInBytes`). The deltas are relative to the batch's base offset and base timestamp
    (ms)."""
    body = 1 + varint_size(timestamp_delta) + varint_size(offset_delta) + _field_size(shape.key) + _field_size(shape.value)
    body += varint_size(len(shape.headers)) + sum(varint_size(key) + key + _field_size(value) for key, value in shape.headers)
    return varint_size(body) + body


def record_size_upper_bound(shape: RecordShape) -> int:
    """Return the size that a producer assumes for a record before it knows the deltas (`DefaultRecord#recordSizeUpperBound`)."""
    headers = varint_size(len(shape.headers)) + sum(varint_size(key) + key + _field_size(value) for key, value in shape.headers)
    return MAX_RECORD_OVERHEAD + _field_size(shape.key) + _field_size(shape.value) + headers


def records_size(count: int, shape: RecordShape, timestamp_step: int = 0) -> int:
    """Return the size of `count` records that have the same shape (key, value, and header sizes). The timestamp of each record is
    `timestamp_step` ms later than that of the record before it.

    The computation time does not depend on `count`, because the size of a record changes only when a delta needs one more byte.
    """
    changes = {0, count}
    for power in range(6, 63, 7):
        changes.add(min(2**power, count))
        if timestamp_step > 0:
            changes.add(min(-(-(2**power) // timestamp_step), count))
    points = sorted(changes)
    return sum((stop - start) * record_size(shape, start, start * timestamp_step) for start, stop in pairwise(points))


def batch_size(count: int, shape: RecordShape, timestamp_step: int = 0) -> int:
    """Return the size of an uncompressed batch of `count` records that have the same shape (key, value, and header sizes)."""
    return HEADER_BYTES + records_size(count, shape, timestamp_step)


def compressed_batch_size(records_bytes: int, ratio: float) -> int:
    """Return the size of a compressed batch: an uncompressed header, and one compressed block that contains all records at `ratio` times
    their size."""
    return HEADER_BYTES + ceil(records_bytes * ratio)


def wire_size(batch: Batch, records: int, size: int) -> int:
    """Return the size that a simulated batch has in Kafka's format, uncompressed, on disk and on the network.

    The simulation knows only the total size of the records. Therefore, `wire_size` assumes that all values have the same size, that keys
    are null, and that timestamps are equal. A control batch is 78 bytes long. For batches of internal topics, `bytes` already includes the
    overhead of the format.

    Args:
        batch: the simulated batch.
        records: the number of the batch's records that are in the log.
        size: the total size of these records, in bytes.
    """
    if batch.marker is not None:
        return MARKER_BYTES if records else HEADER_BYTES
    if batch.content is not None:
        return size
    if not records:
        return HEADER_BYTES
    return _plain_size(records, size)


@lru_cache(maxsize=10_000)  # most batches of a log have the same size
def _plain_size(records: int, size: int) -> int:
    """Return the size of a batch whose values all have the same size and total `size` bytes."""
    value, larger = divmod(size, records)
    grown = records_size(records, RecordShape(value=value))
    if larger:  # the records that the division leaves over have a value that is one byte longer
        grown += larger * (record_size(RecordShape(value=value + 1)) - record_size(RecordShape(value=value)))
    return HEADER_BYTES + grown
