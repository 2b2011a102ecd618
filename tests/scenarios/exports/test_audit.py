"""The command `audit`, for scenarios and logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.scenarios.exports.scripts import log_of
from tui.cli import main

LATE: Final = """
scenario: late
cluster: {brokers: 3, topics: {orders: {partitions: 1, replication-factor: 3}}, settings: {min.insync.replicas: 2}}
timeline:
  - consume: {topic: orders, consumer: reader, reset: earliest}
  - produce: {topic: orders, records: 99, producer: app}
  - wait: 1s
  - stop-consume: reader
  - init-transactions: {topic: orders, transactional-id: pay, producer: pay}
  - wait: 1s
  - begin-transaction: {producer: pay}
  - produce: {topic: orders, records: 3, producer: pay}
  - wait: 1s
  - abort-transaction: {producer: pay}
  - wait: 130s
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    return log_of(LATE, tmp_path_factory.mktemp("audit"))


def test_the_audit_of_a_log(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", log, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    total = data["buckets"][-1]
    assert total["start"] is None
    assert (total["produced"], total["acked"], total["stored"], total["aborted"], total["lost"]) == (102, 102, 102, 3, 0)
    reader = next(row for row in data["tiers"] if row["tier"] == "reader" and row["start"] is None)
    assert (reader["records"], reader["unread"], reader["pending"]) == (99, 3, 3)
    assert data["account"] == {"lost_acknowledged": 0, "copies": 0, "equal": True}
    assert main(["audit", log]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "The durability account finds 0 acknowledged records lost, the same records as this audit."
    assert printed[2].split()[:5] == ["topic", "bucket", "produced", "acked", "stored"]


def test_a_lost_record_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "e1-data-loss", "--release", "0.10.2"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == [
        "lost: producer#1 of orders-0, written in leader epoch 0 and acknowledged by b2",
        "The durability account finds 1 acknowledged record lost, the same records as this audit.",
    ]


def test_what_is_refused(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path(log).read_text("utf-8").splitlines(keepends=True)
    changed = tmp_path / "changed.jsonl"
    edited = next(number for number, line in enumerate(lines) if '"kind":"append"' in line.replace(" ", ""))
    lines[edited] = lines[edited].replace('"app"', '"ape"')
    changed.write_text("".join(lines), "utf-8")
    for arguments, message in (
        ((log, "--bucket", "0s"), "--bucket: a bucket must be longer than 0"),
        ((log, "--seed", "3"), "a log always has its own release and seed"),
        ((str(changed),), f"{changed}:{edited + 1}: a replay of the log produces a different event here"),
        ((str(tmp_path / "none.jsonl"),), "cannot be read"),
    ):
        assert main(["audit", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_delayed_records_that_a_level_lost_are_missing_from_the_tier_of_the_service(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "k1-unclean-election", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    lost = {row["topic"]: row["lost"] for row in data["buckets"] if row["start"] is None}
    tiers = {(row["topic"], row["tier"]): row["records"] for row in data["tiers"] if row["start"] is None}
    assert lost == {"delay_topic_20s": 0, "delay_topic_30s": 10, "orders": 0}
    assert (tiers["delay_topic_30s", "acked"], tiers["delay_topic_30s", "delayed by delay"]) == (10, 0)
    assert (tiers["delay_topic_20s", "acked"], tiers["delay_topic_20s", "delayed by safe"]) == (10, 10)
    assert [(each["producer"], each["start"], each["end"]) for each in data["lost"]] == [("delayed-30s", 0, 10)]


OVERRUN: Final = """
scenario: overrun
cluster:
  brokers: 1
  topics: {orders: {partitions: 1, replication-factor: 1, config: {retention.bytes: 50000, segment.bytes: 10000}}}
  settings: {offsets.topic.num.partitions: 1, offsets.topic.replication.factor: 1, log.retention.check.interval.ms: 5000}
timeline:
  - produce: {topic: orders, records: 20, bytes: 1000, producer: app}
  - consume: {topic: orders, consumer: reader, reset: earliest}
  - join-group: {topics: [orders], consumer: c, group: g, reset: RESET, commit: after}
  - wait: 10s
  - kill-consumer: c
  - stop-consume: reader
  - load: {topic: orders, rate: 100, bytes: 1000, producer: app}
  - wait: 2s
    stop-load: app
  - wait: 28s
    join-group: {topics: [orders], consumer: c, group: g, reset: RESET, commit: after}
  - consume: {topic: orders, consumer: late, reset: latest}
  - wait: 60s
  - produce: {topic: orders, records: 5, bytes: 1000, producer: app}
  - wait: 5s
expect:
  - skipped-deleted(g) == 150
"""


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_records_that_retention_deleted_before_a_group_read_them(reset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The audit names the records, with the reason, and fails. A consumer that begins at the end leaves records out, which is no failure."""
    path = log_of(OVERRUN.replace("RESET", reset), tmp_path)
    capsys.readouterr()
    assert main(["audit", path, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    rows = {row["tier"]: row for row in data["tiers"] if row["start"] is None}
    skips = {(each["consumer"], each["reason"]): (each["start"], each["end"]) for each in data["skipped"]}
    end, start = rows["late"]["left_out"], skips["group g", "deleted"][1]
    assert (rows["late"]["skipped"], rows["late"]["records"]) == (0, 5)
    expected = {("reader", "deleted"): (20, skips["reader", "deleted"][1]), ("group g", "deleted"): (20, start)}
    if reset == "latest":
        expected["group g", "reset"] = (start, end)
    assert skips == expected
    skipped = (start if reset == "earliest" else end) - 20
    assert rows["group g"]["left_out"] == (0 if reset == "earliest" else 20)
    assert (rows["group g"]["skipped"], rows["group g"]["pending"]) == (skipped, 0)
    assert rows["group g"]["unread"] == skipped + rows["group g"]["left_out"]
    assert main(["audit", path]) == 1
    assert f"skipped: offsets 20–{start - 1} of orders-0, by group g: deleted before they were processed" in capsys.readouterr().out


def test_a_consumer_that_begins_at_the_end_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = LATE.replace("reset: earliest", "reset: latest").replace(
        "  - wait: 130s\n", "  - join-group: {topics: [orders], consumer: c, group: g, reset: latest, commit: after}\n  - wait: 130s\n"
    )
    path = log_of(text, tmp_path)
    capsys.readouterr()
    assert main(["audit", path, "--json"]) == 0
    rows = {row["tier"]: row for row in json.loads(capsys.readouterr().out)["tiers"] if row["start"] is None}
    assert (rows["group g"]["left_out"], rows["group g"]["skipped"]) == (99, 0)
