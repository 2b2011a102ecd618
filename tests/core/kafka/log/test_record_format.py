"""Sizes of batches in format v2: BAT-09, BAT-10, BAT-12, and batches recorded on Kafka 4.1.1."""

from __future__ import annotations

import random

import pytest

from core.kafka.clients.accumulator.adaptive_partitioner import choose_partition, cumulative_weights
from core.kafka.log.control_record import ABORT, MARKER_BYTES, EndTransactionMarker
from core.kafka.log.leader_term import Batch
from core.kafka.log.wire.record_format import (
    HEADER_BYTES,
    RecordShape,
    batch_size,
    compressed_batch_size,
    record_size,
    record_size_upper_bound,
    records_size,
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
    ("size", "values"),
    [
        (1, (0, -1, 1, 63, -64)), (2, (64, -65, 8191, -8192)), (3, (8192, -8193, 1048575)), (4, (1048576,)), (5, (2**31 - 1, -(2**31))),
        (10, (2**63 - 1, -(2**63))),
    ],
)  # fmt: skip
def test_bat_09_a_varint_has_seven_bits_per_byte(size: int, values: tuple[int, ...]) -> None:
    assert [varint_size(value) for value in values] == [size] * len(values)


# --- BAT-10: sizes -------------------------------------------------------------------------------------------------


def test_bat_10_sizes_of_records() -> None:
    assert record_size(RecordShape()) == 7
    assert record_size(RecordShape(key=1, value=1)) == 9
    assert record_size(RecordShape(value=4)) == 11
    assert batch_size(1, RecordShape(value=4)) == 72
    assert [record_size(VALUE_100, delta) for delta in (0, 63, 64)] == [109, 109, 110]
    assert batch_size(100, VALUE_100, timestamp_step=1) == 11033
    assert HEADER_BYTES + record_size(RecordShape(key=4, value=6)) == MARKER_BYTES


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
