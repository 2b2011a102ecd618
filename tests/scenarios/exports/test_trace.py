"""The command `trace`, for scenarios and logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from core.kafka.ids import TopicPartition
from core.lab.trace.record_trace import RecordTrace
from scenarios.exports.observed_session import observe_session
from tests.scenarios.exports.scripts import TWO_TRANSACTIONS, log_of
from tui.cli import main

TRANSACTIONS: Final = f"""
scenario: traced
cluster: {{brokers: 3, topics: {{orders: {{replicas: [[1, 2, 3]]}}}}, settings: {{min.insync.replicas: 2}}}}
timeline:
  - consume: {{topic: orders, consumer: sure, reset: earliest, isolation: read_committed}}
  - consume: {{topic: orders, consumer: quick, reset: earliest}}
{TWO_TRANSACTIONS}
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    return log_of(TRANSACTIONS, tmp_path_factory.mktemp("trace"))


def lives(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """Return the traces that the command prints."""
    capsys.readouterr()
    assert main(["trace", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["lives"]


def kinds(life: dict[str, Any]) -> list[str]:
    """Return the spans of a trace as `kind node`."""
    return [f"{span['kind']} {span['node']}" for span in life["spans"]]


def test_the_life_of_a_record_in_a_transaction(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    (life,) = lives(capsys, log, "--record", "orders-0@1")
    found = kinds(life)
    assert found[:2] == ["created pay", "appended b1"]
    assert sorted(found[2:4]) == ["copied b2", "copied b3"]
    assert found[4] == "committed b1"
    assert sorted(found[5:7]) == ["acked pay", "read quick"]
    assert found[7:] == ["marker b1", "stable b1", "read sure"]
    assert (life["producer"], life["counter"], life["brokers"], life["lost"]) == ("pay", 1, [1, 2, 3], False)
    assert life["batch"]["transactional"]
    spans = {span["kind"]: span["time"] for span in reversed(life["spans"])}
    assert life["durations"] == {
        "round_trip": spans["acked"] - spans["created"],
        "commit": spans["committed"] - spans["appended"],
        "end_to_end": spans["read"] - spans["created"],
    }
    (aborted,) = lives(capsys, log, "--record", "orders-0@4")
    assert "skipped sure" in kinds(aborted)
    assert "read sure" not in kinds(aborted)
    (marker,) = lives(capsys, log, "--record", "orders-0@2")
    assert (marker["counter"], kinds(marker)[0]) == (-1, "appended b1")


def test_a_log_that_was_not_closed_is_traced_with_a_message(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(Path(log).read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    assert main(["trace", str(cut), "--record", "orders-0@1"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("orders-0@1: ")
    assert captured.err == f"{cut}: the log has no end line, because its process was killed; all events up to that point are read\n"


def test_the_batch_of_a_record_is_a_sentence(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    sentences = []
    for offset in (1, 2, 3):
        assert main(["trace", log, "--record", f"orders-0@{offset}"]) == 0
        sentences.append(capsys.readouterr().out.splitlines()[1])
    assert sentences == [
        "  Batch at offsets 0–1: 2 records, 200 bytes, producer ID 0, epoch 0, first sequence 0, transactional.",
        "  Batch at offset 2: 1 record, 78 bytes, producer ID 0, epoch 1, transactional.",
        "  Batch at offsets 3–5: 3 records, 300 bytes, producer ID 0, epoch 1, first sequence 0, transactional.",
    ]


def test_each_record_of_an_offset_has_its_life(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = lives(capsys, "e2-divergence", "--release", "0.10.2", "--record", "orders-0@1")
    assert kinds(first) == ["created producer", "appended b2", "copied b1", "committed b2", "truncated b1"]
    assert kinds(second) == ["created second", "appended b1", "committed b1", "acked second"]
    assert (first["brokers"], second["brokers"]) == ([2], [1])
    assert main(["trace", "e2-divergence", "--release", "0.10.2", "--record", "orders-0@1"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "@" in line] == [
        "orders-0@1: producer#1, leader epoch 0 (record 1 of 2 at this offset)",
        "orders-0@1: second#0, leader epoch 1 (record 2 of 2 at this offset)",
    ]
    assert main(["trace", "e1-data-loss", "--release", "0.10.2", "--record", "orders-0@1"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "orders-0@1: producer#1, leader epoch 0"
    assert printed[-3].endswith("is the leader but lacks it: it is LOST (epoch 1; caused by event 26) (event 36)")
    assert printed[-1] == "  Now on no broker; LOST; round trip 0s, commit 0s."


def test_attempts_and_copies(capsys: pytest.CaptureFixture[str]) -> None:
    trace = RecordTrace(TopicPartition("orders", 0), 0)
    cluster = observe_session("f4-retries-duplicate", None, trace, log=False)
    log = cluster.account.of(trace.tp).log
    assert log is not None
    batches = [batch for run in log.runs() for batch in run.term.batches_within(run.start, run.end)]
    doubled = next(batch for batch in batches if sum(each.batch_id == batch.batch_id for each in batches) == 2)
    (life,) = lives(capsys, "f4-retries-duplicate", "--record", f"orders-0@{doubled.base}")
    spans = kinds(life)
    assert "failed app" in spans
    assert any(each.startswith("duplicated b") for each in spans)
    assert spans.index("failed app") < spans.index("acked app")


def test_compaction_removes_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    (life,) = lives(capsys, "l5-compaction", "--record", "orders-0@3")
    assert kinds(life)[-3:] == ["cleaned b1", "cleaned b2", "cleaned b3"]
    assert life["brokers"] == []


def test_what_is_refused(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_text("".join(Path(log).read_text("utf-8").splitlines(keepends=True)[:5]) + "{nothing\n", "utf-8")
    for arguments, message in (
        ((log, "--record", "orders-0"), "write PARTITION@OFFSET, for example orders-0@137"),
        ((log, "--record", "order-0@1"), "no partition 'order-0'; did you mean 'orders-0'?"),
        ((log, "--record", "orders-0@1000"), "no record was written at offset 1000 of orders-0; the log ends at 7"),
        ((str(torn), "--record", "orders-0@1"), f"{torn}:6: "),
    ):
        assert main(["trace", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
