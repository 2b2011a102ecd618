"""The command `segments`: files, index entries, lookups, and dumps, for scenarios and logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.kafka.log.segment_files import segment_files
from scenarios.errors import InputError
from scenarios.exports import dump_log, segments
from scenarios.exports.cluster_at import cluster_at
from tests.scenarios.exports.scripts import TWO_TRANSACTIONS
from tui.cli import main

ABORTED = f"""
scenario: aborted
cluster: {{brokers: 3, topics: {{orders: {{replicas: [[1, 2, 3]]}}}}}}
timeline:
{TWO_TRANSACTIONS}
expect: [never records-lost]
"""


@pytest.fixture
def aborted(tmp_path: Path) -> str:
    path = tmp_path / "aborted.yaml"
    path.write_text(ABORTED, encoding="utf-8")
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> list[str]:
    """Return the lines that the command prints to stdout."""
    assert main(["segments", *arguments]) == code
    return capsys.readouterr().out.splitlines()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the error message of a command with wrong arguments."""
    assert main(["segments", *arguments]) == 2
    return capsys.readouterr().err


def test_files_entries_and_the_steps_of_a_lookup(capsys: pytest.CaptureFixture[str]) -> None:
    orders = ("l2-segment-lookup", "--partition", "orders-0")
    lines = printed(capsys, *orders, "--at", "20s", "--offset", "1234", "--max-bytes", "3000")
    assert lines[0] == "orders-0 on b1: 7 segments, log start offset 1234, high watermark 3000, log end offset 3000"
    assert lines[1] == "segment.bytes=50000, index.interval.bytes=4096, segment.index.bytes=10485760"
    assert " ".join(lines[4].split()) == "00000000000000000000 0 to 494 33 49500 55968 10 entries 11 entries no file no file"
    steps = [line for line in lines if line[:1].isdigit() and line[1] == "."]
    assert len(steps) == 4
    assert "00000000000000000990.index has 10 entries. After 5 comparisons" in steps[1]
    assert steps[3].startswith("4. A fetch gets 3000 bytes, starting at position 24000, because a fetch returns at most that many bytes")
    assert "Batch 1230: 15 records, 1500 bytes; in format v2, 1696 bytes uncompressed, including the header of 61 bytes." in lines
    assert [line.split()[0] for line in lines[-3:]] == ["sendfile", "read+write", "TLS"]
    assert "the CPU copies 9000 bytes (300 per record)" in lines[-1]

    at_four = printed(capsys, *orders, "--at", "12s", "--time", "4s")
    assert at_four[-2].endswith("The answer is offset 1185 with timestamp 4000.")
    assert printed(capsys, *orders, "--time", "4s")[-2].endswith("The answer is offset 1234 with timestamp 4150."), "the log starts there"
    entries = printed(capsys, *orders, "--entries")
    assert "00000000000000000990.index: 10 entries of 8 bytes, a file of 80 bytes" in entries
    assert "  offset 1229 at position 22500" in entries


def test_the_replay_of_a_log_has_the_same_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = str(tmp_path / "session.jsonl")
    assert main(["run", "l2-segment-lookup", "--log", log]) == 0
    capsys.readouterr()
    for rest in (("--broker", "3", "--entries"), ("--at", "9s", "--json", "--offset", "777")):
        arguments = ("--partition", "orders-0", *rest)
        assert printed(capsys, log, *arguments) == printed(capsys, "l2-segment-lookup", *arguments)


def test_json_has_every_batch_entry_and_step(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads("\n".join(printed(capsys, "l2-segment-lookup", "--partition", "audit-0", "--at", "9s", "--offset", "70", "--json")))
    assert (data["partition"], data["broker"], data["settings"]["segment.index.bytes"]) == ("audit-0", 1, 60)
    first = data["segments"][0]
    assert (first["base"], first["end"], first["active"], len(first["batches"])) == (0, 65, False, 13)
    assert first["batches"][1] == {"start": 5, "end": 10, "records": 5, "position": 500, "bytes": 500, "wire_bytes": 606}
    assert first["offset_index"][0] == [19, 1500]
    assert [step["step"] for step in data["lookup"]["steps"]] == ["segment", "index", "scan", "answer"]
    assert (data["lookup"]["offset"], data["lookup"]["error"]) == (70, "")
    assert [each["method"] for each in data["transfers"]] == ["sendfile", "read+write", "TLS"]


def test_an_aborted_transaction_is_skipped_and_its_marker_is_dumped(capsys: pytest.CaptureFixture[str], aborted: str) -> None:
    orders = (aborted, "--partition", "orders-0")
    lines = printed(capsys, *orders, "--offset", "0")
    assert (
        "5. For a read_committed consumer, the search covers the transaction indexes starting with 00000000000000000000.txnindex, up to offset "
        "7. The consumer skips offsets 3 to 6 of producer ID 0." in lines
    )
    assert "  producer ID 0, offsets 3 to 6, last stable offset 7" in printed(capsys, *orders, "--entries")
    dumped = printed(capsys, *orders, "--dump", "0.log", "--deep-iteration")
    assert dumped[:2] == ["Dumping 00000000000000000000.log", "Log starting offset: 0"]
    assert dumped[2].startswith("baseOffset: 0 lastOffset: 1 count: 2 baseSequence: 0 lastSequence: 1 producerId: 0 producerEpoch: 0 ")
    assert dumped[4].startswith("| offset: 1 CreateTime: ")
    assert dumped[4].endswith(" keySize: -1 valueSize: 100 sequence: 1 headerKeys: []")
    assert [line.partition("sequence: -1 headerKeys: [] ")[2] for line in dumped if "endTxnMarker" in line] == [
        "endTxnMarker: COMMIT coordinatorEpoch: 0",
        "endTxnMarker: ABORT coordinatorEpoch: 0",
    ]
    assert " isControl: true deleteHorizonMs: OptionalLong.empty position: 200 " in dumped[5]
    assert printed(capsys, *orders, "--dump", "00000000000000000000.txnindex")[1:] == [
        "version: 0 producerId: 0 firstOffset: 3 lastOffset: 6 lastStableOffset: 7"
    ]
    assert printed(capsys, *orders, "--dump", "0.index")[1:] == ["00000000000000000000.index is empty."]
    shallow = printed(capsys, *orders, "--dump", "0.log")
    assert [line for line in dumped if not line.startswith("|")] == shallow


def test_indexes_and_snapshots_are_dumped_as_kafka_prints_them(capsys: pytest.CaptureFixture[str], aborted: str) -> None:
    audit = ("l2-segment-lookup", "--partition", "audit-0", "--at", "9s")
    assert printed(capsys, *audit, "--dump", "65.index")[1:3] == ["offset: 84 position: 1500", "offset: 99 position: 3000"]
    assert printed(capsys, *audit, "--dump", "65.timeindex")[1].endswith(" offset: 84")
    log = segments.replica_of(cluster_at(aborted, None, log=False), "orders-0", None)[2]
    log.take_producer_snapshot()
    lines = [*dump_log.dump_lines(log, segment_files(log), "7.snapshot", deep=False)]
    assert lines[0] == "Dumping 00000000000000000007.snapshot"
    assert "coordinatorEpoch: 0 currentTxnFirstOffset: None lastTimestamp: " in lines[1]
    with pytest.raises(InputError, match=r"there is no file 00000000000000000000\.snapshot"):
        dump_log.dump_lines(log, segment_files(log), "0.snapshot", deep=False)


def test_what_is_not_there_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    orders = ("l2-segment-lookup", "--partition", "orders-0", "--at", "1s")
    assert "OFFSET_OUT_OF_RANGE" in printed(capsys, *orders, "--offset", "9999", code=1)[-1]
    assert "so the answer is unknown (-1)" in printed(capsys, *orders, "--time", "1h", code=1)[-1]
    for arguments, message in (
        (("--partition", "order-0"), "no partition 'order-0'; did you mean 'orders-0'?"),
        (("--partition", "orders-0", "--broker", "9"), "b9 has no replica of orders-0; its replicas are on 1, 2, 3"),
        (("--partition", "orders-0", "--broker", "x"), "--broker: 'x' is not a whole number"),
        (("--partition", "orders-0", "--time", "15us"), "has a fraction of a millisecond"),
        (("--partition", "orders-0", "--time", "soon"), "--time: 'soon' is not a duration"),
        (("--partition", "orders-0", "--dump", "7.log"), "there is no file 00000000000000000007.log; the segments are 0"),
        (("--partition", "orders-0", "--dump", "0.txnindex"), "there is no file 00000000000000000000.txnindex"),
        (("--partition", "orders-0", "--dump", "orders.log"), "'orders.log' is not a file of a segment"),
        (("--partition", "orders-0", "--max-bytes", "1"), "--max-bytes needs --offset"),
        (("--partition", "orders-0", "--deep-iteration"), "--deep-iteration needs --dump"),
        (("--partition", "orders-0", "--dump", "0.log", "--json"), "--dump cannot be combined with --json"),
    ):
        assert message in refused(capsys, "l2-segment-lookup", *arguments, "--at", "1s")
