"""The steps of lookups by offset and by timestamp, and the cost of the subsequent transfer: L2 and L5."""

from __future__ import annotations

import random

from core.kafka import errors
from core.kafka.log.cleaner.compacted_term import CompactedTerm, RetainedBatch
from core.kafka.log.index.offset_index import OffsetPosition
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.log_config import LogConfig
from core.kafka.log.lookup import aborted_upper_bound, lookup_by_offset, lookup_by_timestamp
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segment_files import segment_files
from core.kafka.log.segments import largest_timestamp
from core.kafka.log.wire.transfer import Method, transfer, transfers


def log_of(batches: int, records: int = 10, size: int = 1_000, **config: int) -> ReplicaLog:
    """Return a log in which batch `n` has timestamp `n` seconds."""
    log, term = ReplicaLog(), Term(0, 1)
    log.configure(LogConfig(**config))
    for number in range(batches):
        log.append_as_leader(term, Batch(log.leo, records, size, "p", number, number * 1_000_000))
    log.update_high_watermark(log.leo)
    return log


def test_a_lookup_by_offset_step_by_step() -> None:
    log = log_of(40, segment_bytes=16_000)
    found = lookup_by_offset(log, 285, max_bytes=2_500)
    segment, index, scan, answer = found.steps
    assert (segment.step, segment.file, segment.offset) == ("segment", "00000000000000000160.log", 160)
    assert segment.sentence == "Among 3 segments, 00000000000000000160.log has the greatest base offset that is at most 285."
    assert (index.step, index.file, index.offset, index.position) == ("index", "00000000000000000160.index", 269, 10_000)
    assert "entry 2, the last one at or before offset 285: offset 269 is at position 10000." in index.sentence
    assert (scan.step, scan.offset, scan.position, scan.batches, scan.bytes) == ("scan", 280, 12_000, 3, 2_000)
    assert scan.sentence == (
        "The scan of 00000000000000000160.log reads 3 batch headers, starting at position 10000. The batch with offsets 280 to 289, at "
        "position 12000, is the first one that ends at or above offset 285."
    )
    assert (answer.offset, answer.position, answer.bytes) == (280, 12_000, 2_500)
    assert answer.sentence == (
        "A fetch gets 2500 bytes, starting at position 12000, because a fetch returns at most that many bytes. The last complete "
        "batch ends at offset 299. The client skips the 5 records below offset 285."
    )
    assert (found.error, found.offset, found.bytes, found.end) == (errors.NONE, 280, 2_500, 300)


def test_the_sentence_of_a_scan_names_one_offset_or_the_first_and_the_last() -> None:
    for records, words in ((1, "The batch with offset 4, at"), (2, "The batch with offsets 8 to 9, at")):
        (scan,) = (step for step in lookup_by_offset(log_of(6, records), 4 * records).steps if step.step == "scan")
        assert words in scan.sentence


def test_a_fetch_gets_at_least_one_batch_and_at_most_one_segment() -> None:
    log = log_of(40, segment_bytes=16_000)
    least = lookup_by_offset(log, 0, max_bytes=1)
    assert (least.bytes, least.end) == (1_000, 10)
    assert "at least one batch" in least.steps[-1].sentence
    most = lookup_by_offset(log, 0)
    assert (most.bytes, most.end) == (16_000, 160)
    assert "to the end of the segment" in most.steps[-1].sentence


def test_offsets_outside_the_log_are_out_of_range_and_its_end_is_empty() -> None:
    log = log_of(40, segment_bytes=16_000)
    log.maybe_increment_log_start(25)
    for offset in (24, 401):
        found = lookup_by_offset(log, offset)
        assert (found.error, len(found.steps)) == (errors.OFFSET_OUT_OF_RANGE, 1)
    assert lookup_by_offset(log, 25).offset == 20, "the whole batch"
    end = lookup_by_offset(log, 400)
    assert (end.error, end.offset, end.batch, end.bytes) == (errors.NONE, -1, None, 0)
    assert lookup_by_offset(ReplicaLog(), 0).error == errors.NONE


def test_a_lookup_by_timestamp_step_by_step() -> None:
    log = log_of(40, segment_bytes=16_000)
    found = lookup_by_timestamp(log, 28_500)
    assert [step.step for step in found.steps] == ["segment", "timeindex", "index", "scan", "answer"]
    segment, times, offsets, scan, answer = found.steps
    assert (segment.file, segment.timestamp) == ("00000000000000000160.log", 31_000)
    assert (times.file, times.timestamp, times.offset) == ("00000000000000000160.timeindex", 26_000, 269)
    assert (offsets.file, offsets.offset, offsets.position) == ("00000000000000000160.index", 269, 10_000)
    assert (scan.batches, scan.position) == (4, 13_000)
    assert (answer.offset, answer.timestamp) == (found.offset, found.timestamp) == (290, 29_000)
    assert (answer.bytes, found.bytes, found.end) == (0, 0, -1), "a lookup by timestamp reads no records"
    late = lookup_by_timestamp(log, 39_001)
    assert (late.offset, late.error, len(late.steps)) == (-1, errors.NONE, 1)
    assert lookup_by_timestamp(log, -5).offset == 0


def test_a_scan_reads_no_more_than_the_index_interval_and_a_batch() -> None:
    log = log_of(1_000, records=3, size=700, segment_bytes=100_000)
    for offset in range(0, log.leo, 17):
        scan = lookup_by_offset(log, offset).steps[2]
        assert scan.bytes <= 4_096 + 700


def test_lookups_find_what_the_log_finds() -> None:
    draw = random.Random("lookups")
    for _ in range(60):
        log = ReplicaLog()
        log.configure(LogConfig(segment_bytes=draw.randrange(300, 3_000), index_interval_bytes=draw.choice((0, 100, 700))))
        at = 0
        for epoch in range(draw.randrange(1, 5)):
            term = Term(epoch, 1)
            term.stamped = draw.random() < 0.3
            for _ in range(draw.randrange(1, 40)):
                at = draw.randrange(100) if term.stamped else at + draw.randrange(5)
                log.append_as_leader(term, Batch(log.leo, draw.randrange(1, 6), draw.randrange(1, 300), "p", 0, at * 1_000))
        for offset in range(log.leo):
            found = lookup_by_offset(log, offset)
            assert found.batch is not None
            assert found.batch.start <= offset < found.batch.end
            assert found.batch.position == log.records.bytes_between(
                segment_files(log)[0].base, found.batch.start
            ) - log.records.bytes_between(0, found.segment.base)
        for timestamp in range(-1, at + 3, 2):
            assert lookup_by_timestamp(log, timestamp).offset == log.offset_for_timestamp(timestamp * 1_000)


def test_lookups_in_a_compacted_log_pass_gaps_and_empty_batches() -> None:
    log = log_of(40, segment_bytes=16_000)
    source = log.records.terms[0]
    kept = [batch for batch in source.batches if not 10 <= batch.base // 10 < 20]
    retained = tuple(RetainedBatch(batch, () if batch.base == 200 else (batch.base + 4, batch.base + 7)) for batch in kept)
    log.records.terms = (CompactedTerm(source, retained),)
    log.records.tail = log.records.terms[0]
    log.bases = (0, 160, 320)
    gap = lookup_by_offset(log, 120)
    assert [step.step for step in gap.steps] == ["segment", "index", "scan", "segment", "index", "scan", "answer"]
    assert gap.steps[2].sentence.endswith("without finding offset 120 or a later one.")
    assert gap.steps[3].sentence == "00000000000000000160.log is the next segment."
    assert (gap.offset, gap.batch.records, gap.batch.position) == (200, 0, 0)
    assert lookup_by_offset(log, 215).steps[-1].sentence.endswith("The client skips the 1 record below offset 215.")
    assert [lookup_by_timestamp(log, at).offset for at in (9_000, 9_001, 20_000, 21_000)] == [94, 214, 214, 214]
    first = segment_files(log)[0]
    assert (first.size, [each.end for each in first.batches][-1]) == (10_000, 100)
    assert [largest_timestamp(log, *within) for within in ((0, 160), (120, 160), (95, 215), (215, 400))] == [
        9_000_000,
        0,
        21_000_000,
        39_000_000,
    ]


def test_aborted_transactions_are_collected_up_to_an_index_entry() -> None:
    log = log_of(40, segment_bytes=16_000)
    first, _, last = segment_files(log)
    assert aborted_upper_bound(log, first, OffsetPosition(0, 0), 5_000) == 59
    assert aborted_upper_bound(log, first, OffsetPosition(0, 0), 16_000) == 160
    assert aborted_upper_bound(log, last, OffsetPosition(320, 0), 16_000) == 400


def test_a_million_records_in_a_thousand_batches() -> None:
    log = log_of(1_000, records=1_000, size=100_000, segment_bytes=10_000_000)
    found = lookup_by_offset(log, 777_777)
    assert (found.offset, found.segment.base) == (777_000, 700_000)
    assert found.steps[1].probes <= 9


# --- the transfer --------------------------------------------------------------------------------------------------


def test_copies_and_switches_of_each_method() -> None:
    sendfile, copied, tls = transfers(1_048_576)
    assert (sendfile.cpu_bytes, copied.cpu_bytes, tls.cpu_bytes) == (0, 2 * 1_048_576, 3 * 1_048_576)
    assert (sendfile.user_bytes, copied.user_bytes, tls.user_bytes) == (0, 1_048_576, 2 * 1_048_576)
    assert (sendfile.switches, copied.switches, tls.switches) == (2 * 11, 4 * 11, 4 * 32 + 2 * 64)
    assert {each.dma_copies for each in (sendfile, copied, tls)} == {1}
    assert tls.cpu_bytes_per_record(10_000) == 314.5728
    assert sendfile.path == ("disk", "page cache", "network card")


def test_without_the_page_cache_the_disk_copies_too_and_a_plain_card_needs_one_copy() -> None:
    assert transfer(Method.SENDFILE, 100, cached=False).dma_copies == 2
    assert transfer(Method.SENDFILE, 100, scatter_gather=False).cpu_bytes == 100
    assert transfer(Method.TLS, 0).switches == 0
