"""The bytes of a batch in Kafka's format v2: encoding, checks, and decoding (Kafka: `DefaultRecordBatch`, `DefaultRecord`).

The simulation replicates batches without encoding them. This module shows how one batch is encoded, and how a broker checks the bytes of a
batch.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.log.producer_state_entry import NO_SEQUENCE, increment_sequence
from core.kafka.log.wire.record_format import HEADER_BYTES, LOG_OVERHEAD, decode_varint, encode_varint

MAGIC: Final = 2
"""The version of the batch format."""

NONE: Final = 0
"""The codec of an uncompressed batch."""

GZIP: Final = 1
"""The codec of a batch that is compressed with gzip."""

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_CRC_AT: Final = 17
_CRC_FROM: Final = 21
_TRANSACTIONAL: Final = 1 << 4
_CONTROL: Final = 1 << 5
_CODEC: Final = 0b111
_GZIP_WINDOW: Final = 31


class Record(NamedTuple):
    """A record in a batch. The record's deltas are relative to the batch's base offset and base timestamp (ms)."""

    offset_delta: int
    key: bytes | None = None
    value: bytes | None = None
    timestamp_delta: int = 0
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


class RecordBatchHeader(NamedTuple):
    """The fields of a batch header that cannot be derived from the records. Timestamps are in ms, and -1 means none."""

    base_offset: int = 0
    last_offset_delta: int = 0
    partition_leader_epoch: int = -1
    base_timestamp: int = -1
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = NO_SEQUENCE
    record_count: int = 0
    codec: int = NONE
    transactional: bool = False
    control: bool = False

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The base offset of the next batch."""
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; NO_SEQUENCE if the batch is not idempotent."""
        return NO_SEQUENCE if self.base_sequence == NO_SEQUENCE else increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def attributes(self) -> int:
        """The attributes of the batch: bits 0 to 2 identify the codec, bit 4 marks a transactional batch, and bit 5 marks a control batch."""
        return self.codec | (_TRANSACTIONAL if self.transactional else 0) | (_CONTROL if self.control else 0)


def _crc_table() -> tuple[int, ...]:
    table = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
        table.append(entry)
    return tuple(table)


_TABLE: Final = _crc_table()


def crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli) checksum of the given bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _encode_field(data: bytes | None) -> bytes:
    return encode_varint(-1) if data is None else encode_varint(len(data)) + data


def encode_record(record: Record) -> bytes:
    """Encode a record (`DefaultRecord#writeTo`)."""
    parts = [b"\0", encode_varint(record.timestamp_delta), encode_varint(record.offset_delta), _encode_field(record.key)]
    parts += [_encode_field(record.value), encode_varint(len(record.headers))]
    for key, value in record.headers:
        parts += [_encode_field(key), _encode_field(value)]
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def encode_batch(header: RecordBatchHeader, records: Iterable[Record] = ()) -> bytes:
    """Encode a batch (`DefaultRecordBatch#writeHeader`). The CRC covers the attributes and everything after them."""
    body = b"".join(map(encode_record, records))
    if header.codec == GZIP:
        packer = zlib.compressobj(wbits=_GZIP_WINDOW)
        body = packer.compress(body) + packer.flush()
    length = HEADER_BYTES + len(body) - LOG_OVERHEAD
    head = _HEADER.pack(
        header.base_offset, length, header.partition_leader_epoch, MAGIC, 0, header.attributes, header.last_offset_delta,
        header.base_timestamp, header.max_timestamp, header.producer_id, header.producer_epoch, header.base_sequence, header.record_count,
    )  # fmt: skip
    covered = head[_CRC_FROM:] + body
    return head[:_CRC_AT] + crc32c(covered).to_bytes(4, "big") + covered


def ensure_valid(data: bytes) -> None:
    """Check the length and the CRC of a batch (`DefaultRecordBatch#ensureValid`).

    Raises:
        KafkaError: CORRUPT_MESSAGE, if the length or the CRC is wrong.
    """
    length = int.from_bytes(data[8:12], "big", signed=True) + LOG_OVERHEAD
    if length < HEADER_BYTES or len(data) < length:
        raise errors.KafkaError(
            errors.CORRUPT_MESSAGE,
            f"the length field is {length}, but a batch has at least {HEADER_BYTES} bytes, and {len(data)} bytes are available",
        )
    stored, computed = int.from_bytes(data[_CRC_AT:_CRC_FROM], "big"), crc32c(data[_CRC_FROM:length])
    if stored != computed:
        raise errors.KafkaError(errors.CORRUPT_MESSAGE, f"stored CRC {stored}, computed CRC {computed}")


def decode_header(data: bytes) -> RecordBatchHeader:
    """Return the header of a batch without checking it."""
    base, _, leader_epoch, _, _, bits, last, first_time, last_time, producer_id, epoch, sequence, count = _HEADER.unpack_from(data)
    return RecordBatchHeader(
        base, last, leader_epoch, first_time, last_time, producer_id, epoch, sequence, count, bits & _CODEC,
        bool(bits & _TRANSACTIONAL), bool(bits & _CONTROL),
    )  # fmt: skip


def decode_records(data: bytes) -> list[Record]:
    """Return the records of a batch (`DefaultRecordBatch#iterator`).

    Raises:
        KafkaError: INVALID_RECORD, if the number of records in the header differs from the number in the batch, or if a record is
            incomplete.
    """
    header = decode_header(data)
    body = data[HEADER_BYTES:]
    if header.codec == GZIP:
        body = zlib.decompress(body, wbits=_GZIP_WINDOW)
    found, at = [], 0
    try:
        for _ in range(header.record_count):
            record, at = _decode_record(body, at)
            found.append(record)
    except ValueError as wrong:
        raise errors.KafkaError(errors.INVALID_RECORD, f"the header counts {header.record_count} records; {wrong}") from None
    if at != len(body):
        raise errors.KafkaError(
            errors.INVALID_RECORD, f"the header counts {header.record_count} records, but {len(body) - at} bytes follow the last one"
        )
    return found


def _decode_record(data: bytes, at: int) -> tuple[Record, int]:
    size, at = decode_varint(data, at)
    end = at + size
    if size < 0 or end > len(data):
        raise ValueError("a record is incomplete")
    timestamp_delta, at = decode_varint(data, at + 1)
    offset_delta, at = decode_varint(data, at)
    key, at = _decode_field(data, at)
    value, at = _decode_field(data, at)
    count, at = decode_varint(data, at)
    headers = []
    for _ in range(count):
        name, at = _decode_field(data, at)
        content, at = _decode_field(data, at)
        headers.append((name or b"", content))
    if at != end:
        raise ValueError("the size of a record is wrong")
    return Record(offset_delta, key, value, timestamp_delta, tuple(headers)), end


def _decode_field(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = decode_varint(data, at)
    if size < 0:
        return None, at
    if at + size > len(data):
        raise ValueError("a field is incomplete")
    return data[at : at + size], at + size
