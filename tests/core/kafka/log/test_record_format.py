"""Sizes and bytes of batches in format v2: BAT-01, BAT-05, BAT-06, BAT-09, BAT-10, BAT-12, and batches recorded on Kafka 4.1.1."""

from __future__ import annotations

import random

import pytest

from core.kafka.clients.accumulator.adaptive_partitioner import choose_partition, cumulative_weights
from core.kafka.errors import KafkaError
from core.kafka.log.control_record import ABORT, MARKER_BYTES, EndTransactionMarker
from core.kafka.log.leader_term import Batch
from core.kafka.log.wire.record_batch import (
    GZIP,
    NONE,
    Record,
    RecordBatchHeader,
    crc32c,
    decode_header,
    decode_records,
    encode_batch,
    encode_record,
    ensure_valid,
)
from core.kafka.log.wire.record_format import (
    HEADER_BYTES,
    RecordShape,
    batch_size,
    compressed_batch_size,
    decode_varint,
    encode_varint,
    record_size,
    record_size_upper_bound,
    records_size,
    records_that_fit,
    varint_size,
    wire_size,
)

VALUE_100 = RecordShape(value=100)

RECORDED = {
    "text": {"gzip": (101, 177, 840), "snappy": (108, 255, 1570), "lz4": (104, 240, 1514), "zstd": (98, 171, 598)},
    "zero": {"gzip": (92, 128, 390), "snappy": (98, 173, 899), "lz4": (96, 144, 599), "zstd": (88, 118, 281)},
    "random": {"gzip": (193, 1174, 10607), "snappy": (193, 1176, 11024), "lz4": (185, 1161, 10884), "zstd": (182, 1163, 10510)},
}
"""Kafka 4.1.1: the sizes in bytes of batches with 1, 10, and 100 records of 100 bytes, by content and codec. Uncompressed, the sizes are
170, 1151, and 10997.
"""


# --- BAT-09: varints -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101"), (8191, "fe7f"), (8192, "808001"),
        (1048575, "feff7f"), (2**31 - 1, "feffffff0f"), (-(2**31), "ffffffff0f"),
    ],
)  # fmt: skip
def test_bat_09_varints(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded
    assert decode_varint(bytes.fromhex(encoded)) == (value, len(encoded) // 2)
    assert varint_size(value) == len(encoded) // 2


def test_the_size_of_a_varint_is_that_of_its_encoding() -> None:
    draw = random.Random("varints")
    for bits in range(64):
        for value in (2**bits - 1, 2**bits, draw.randrange(2**bits, 2 ** (bits + 1))):
            for signed in (value, -value):
                if -(2**63) <= signed < 2**63:
                    assert varint_size(signed) == len(encode_varint(signed))
                    assert decode_varint(encode_varint(signed))[0] == signed
    assert varint_size(2**63 - 1) == 10


def test_an_incomplete_or_endless_varint_is_an_error() -> None:
    with pytest.raises(ValueError, match="ends within"):
        decode_varint(b"\x80")
    with pytest.raises(ValueError, match="64 bits"):
        decode_varint(b"\x80" * 10 + b"\x01")


# --- BAT-10: sizes -------------------------------------------------------------------------------------------------


def test_bat_10_sizes_of_records() -> None:
    assert record_size(RecordShape()) == 7
    assert record_size(RecordShape(key=1, value=1)) == 9
    assert record_size(RecordShape(value=4)) == 11
    assert batch_size(1, RecordShape(value=4)) == 72
    assert [record_size(VALUE_100, delta) for delta in (0, 63, 64)] == [109, 109, 110]
    assert batch_size(100, VALUE_100, timestamp_step=1) == 11033
    assert HEADER_BYTES + record_size(RecordShape(key=4, value=6)) == MARKER_BYTES


def test_a_default_batch_has_room_for_148_records_of_100_bytes() -> None:
    assert records_that_fit(16_384, VALUE_100) == 148
    assert batch_size(148, VALUE_100) == 16_277
    assert records_that_fit(169, VALUE_100) == 0
    assert records_that_fit(170, VALUE_100) == 1


def test_recorded_batches_of_kafka_4_1_1_have_these_sizes() -> None:
    assert [batch_size(count, VALUE_100) for count in (1, 10, 100, 104)] == [170, 1_151, 10_997, 11_437]
    assert batch_size(1, RecordShape()) == 68
    assert batch_size(1, RecordShape(key=3, value=4)) == 75


def test_recorded_compression_pays_for_repeated_values_only() -> None:
    for content, by_codec in RECORDED.items():
        for sizes in by_codec.values():
            for count, size in zip((1, 10, 100), sizes, strict=True):
                plain = records_size(count, VALUE_100)
                ratio = (size - HEADER_BYTES) / plain
                assert compressed_batch_size(plain, ratio) in (size, size + 1)
                assert (ratio > 0.9) is (content == "random")


def test_a_producer_reserves_the_longest_varints_for_what_it_does_not_know_yet() -> None:
    """`DefaultRecord.MAX_RECORD_OVERHEAD`: the attributes, and the longest length (int), offset delta (int), and timestamp delta (long)."""
    reserved = 1 + 2 * varint_size(2**31 - 1) + varint_size(2**63 - 1)
    assert record_size_upper_bound(RecordShape()) == reserved + 3 == 24, "and a null key, a null value, and the number of headers"
    assert record_size_upper_bound(RecordShape(3, 100, ((3, None),))) == reserved + (1 + 3) + (2 + 100) + 1 + (1 + 3 + 1)


def test_the_size_of_many_records_is_the_sum_of_their_sizes() -> None:
    draw = random.Random("records")
    for _ in range(60):
        shape = RecordShape(draw.choice((None, 0, 5, 70)), draw.choice((None, 0, 40, 9_000)), ((3, None), (70, 5))[: draw.randrange(3)])
        count, step = draw.choice((1, 63, 64, 65, 9_000)), draw.choice((0, 1, 7, 1_000))
        sizes = [record_size(shape, delta, delta * step) for delta in range(count)]
        assert records_size(count, shape, step) == sum(sizes)
        assert max(sizes) <= record_size_upper_bound(shape)
    assert records_size(10**12, VALUE_100) > 10**14


# --- the bytes -----------------------------------------------------------------------------------------------------


def test_crc32c_has_the_known_check_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize(("transactional", "control"), [(False, False), (False, True), (True, False), (True, True)])
def test_bat_01_an_empty_batch_is_its_header(transactional: bool, control: bool) -> None:
    header = RecordBatchHeader(
        15, 22, 7, -1, 1_700_000_000_000, producer_id=1, producer_epoch=0, base_sequence=983, transactional=transactional, control=control
    )
    data = encode_batch(header)
    assert len(data) == HEADER_BYTES
    ensure_valid(data)
    decoded = decode_header(data)
    assert decoded == header
    assert (decoded.last_offset, decoded.next_offset, decoded.last_sequence) == (37, 38, 1005)
    assert (decoded.record_count, decoded.base_timestamp, decoded.max_timestamp) == (0, -1, 1_700_000_000_000)
    assert decode_records(data) == []


def three_records(codec: int) -> bytes:
    records = [Record(n, None if n else b"k", b"value" * 20, n, ((b"h", None), (b"i", b"v"))) for n in range(3)]
    return encode_batch(RecordBatchHeader(last_offset_delta=2, record_count=3, codec=codec), records)


@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_a_batch_is_decoded_to_what_was_encoded(codec: int) -> None:
    data = three_records(codec)
    ensure_valid(data)
    assert [record.offset_delta for record in decode_records(data)] == [0, 1, 2]
    assert encode_batch(decode_header(data), decode_records(data)) == data
    assert len(three_records(GZIP)) < len(three_records(NONE))


def test_bytes_and_sizes_agree() -> None:
    record = Record(64, b"key", b"v" * 100, 8_192, ((b"name", None), (b"n", b"12")))
    shape = RecordShape(3, 100, ((4, None), (1, 2)))
    assert len(encode_record(record)) == record_size(shape, 64, 8_192)


def test_bat_05_a_wrong_length_or_crc_is_corrupt() -> None:
    data = three_records(NONE)
    for changed in (data[:8] + (10).to_bytes(4, "big") + data[12:], data[:23] + b"\0\0\0\x17" + data[27:], data[:-1]):
        with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
            ensure_valid(changed)
    ensure_valid(b"\0" * 7 + b"\x63" + data[8:]), "the CRC does not cover the base offset"
    ensure_valid(data[:12] + b"\0\0\0\x63" + data[16:]), "nor the leader epoch"


@pytest.mark.parametrize("codec", [NONE, GZIP])
@pytest.mark.parametrize("named", [5, 2])
def test_bat_06_too_many_or_too_few_records_are_invalid(codec: int, named: int) -> None:
    data = three_records(codec)
    with pytest.raises(KafkaError, match=f"INVALID_RECORD: the header counts {named} records"):
        decode_records(data[:57] + named.to_bytes(4, "big") + data[61:])


# --- batches of the model ------------------------------------------------------------------------------------------


def test_a_batch_of_the_model_has_its_header_beside_its_bytes() -> None:
    plain = Batch(0, 100, 10_000, "p", 0, 0)
    assert wire_size(plain, 100, 10_000) == 10_997
    assert wire_size(plain, 3, 301) == 61 + 2 * 109 + 110, "one value has a byte more"
    assert wire_size(plain, 10, 1_000) == 1_151, "a log can hold a part of a batch"
    marker = Batch(0, 1, 78, "p", 0, 0, content=EndTransactionMarker(ABORT, 0))
    assert [wire_size(marker, records, 78) for records in (1, 0)] == [78, 61], "the cleaner can remove the marker and keep the batch"
    assert wire_size(Batch(0, 1, 120, "p", 0, 0, content=(("key", "value"),)), 1, 120) == 120


# --- BAT-12: the adaptive partitioner ------------------------------------------------------------------------------


def test_bat_12_partitions_with_shorter_queues_are_chosen_more_often() -> None:
    weights = cumulative_weights((0, 3, 1))
    assert weights == (4, 5, 8)
    assert [choose_partition(weights, number) for number in range(9)] == [0, 0, 0, 0, 1, 2, 2, 2, 0]
    assert cumulative_weights((2, 2, 2)) is None
    assert cumulative_weights((7,)) is None
