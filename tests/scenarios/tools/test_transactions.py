"""kafka-transactions, byte for byte: each sub-command at several moments of a session whose unclean election loses a marker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.kafka.transaction.transaction_queries import is_hanging
from scenarios.describe.java_hash_table import hash_order, java_hash, long_hash, partition_hash
from scenarios.tools.transactions import table
from tui.cli import main

SCRIPT = """\
scenario: lost-marker
about: An unclean election loses the marker of an aborted transaction, which therefore stays open on t-0.
cluster:
  brokers: 3
  settings: {transaction.state.log.num.partitions: 3}
  topics:
    t: {replicas: [[1, 2], [3]], config: {unclean.leader.election.enable: true}}
releases: [0.10.2, 2.7, 3.3, 3.9, 4.1]
timeline:
  - at: 1s
    init-transactions: {topic: t, transactional-id: tx}
  - at: 3s
    begin-transaction: producer
  - produce: {topic: t, records: 4, partition: 0}
  - produce: {topic: t, records: 2, partition: 1}
  - at: 5s
    kill: 2
  - at: 25s
    abort-transaction: producer
  - at: 28s
    begin-transaction: producer
  - produce: {topic: t, records: 3, partition: 1}
  - at: 30s
    commit-transaction: producer
  - at: 32s
    kill: 1
  - at: 34s
    start: 2
  - at: 20m
    begin-transaction: producer
  - produce: {topic: t, records: 1, partition: 1}
  - wait: 1s
"""
"""The transaction of t-0 is aborted at 25 s, and another one of t-1 is committed at 30 s. The marker of t-0 is lost at 34 s."""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("transactions") / "lost-marker.yaml"
    path.write_text(SCRIPT)
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], source: str, *arguments: str, release: str | None = "3.9") -> list[str]:
    """Return the lines of a sub-command. The timestamp of the first batch, a few ms after 3 s, becomes 3003."""
    command, *options = arguments
    assert main(["transactions", command, source, *options, *(["--release", release] if release else [])]) == 0
    out, _ = capsys.readouterr()
    return re.sub(r"\t30[01]\d         \t", "\t3003         \t", out).splitlines()


def refused(capsys: pytest.CaptureFixture[str], source: str, *arguments: str, release: str | None = "3.9") -> str:
    """Return the error message of a sub-command that is refused."""
    command, *options = arguments
    assert main(["transactions", command, source, *options, *(["--release", release] if release else [])]) == 2
    out, wrong = capsys.readouterr()
    assert not out
    assert wrong.count("\n") == 1
    return wrong.removeprefix("isrlab: ").rstrip("\n")


def test_cells_are_padded_and_a_tab_follows_each() -> None:
    assert table(("A", "LongHeader"), [("wide cell", 1), ("x", None)]) == [
        "A        \tLongHeader\t",
        "wide cell\t1         \t",
        "x        \tNone      \t",
    ]
    assert table(("A", "B"), []) == ["A\tB\t"]


def test_keys_are_in_the_order_of_java_hash_tables() -> None:
    assert hash_order([17, 3, 1, 16, 2], long_hash) == [16, 17, 1, 2, 3], "16 buckets: 16 and 17 share those of 0 and 1"
    assert hash_order([*range(20, 0, -1)], long_hash) == [*range(1, 21)], "more than 12 keys need 32 buckets"
    assert (long_hash(5), long_hash(2**32)) == (5, 1)
    assert partition_hash(TopicPartition("a", 0)) == 31 * 31 + 97
    assert hash_order(["b", "a", "q"], java_hash) == ["a", "q", "b"], "q falls into the bucket of a, and came later"


def test_list(capsys: pytest.CaptureFixture[str], script: str) -> None:
    header = "TransactionalId\tCoordinator\tProducerId\tTransactionState\t"
    assert printed(capsys, script, "list", "--at", "500ms") == [header]
    states = {"2500ms": "Empty", "4s": "Ongoing", "27s": "CompleteAbort", "31s": "CompleteCommit", "20m1s": "Ongoing"}
    for at, state in states.items():
        padded = state.ljust(len("TransactionState"))
        coordinator = "2" if at in ("2500ms", "4s", "20m1s") else "3"
        assert printed(capsys, script, "list", "--at", at) == [
            header,
            f"tx             \t{coordinator}          \t0         \t{padded}\t",
        ], at


def test_list_by_duration(capsys: pytest.CaptureFixture[str], script: str) -> None:
    assert len(printed(capsys, script, "list", "--duration-filter", "900", "--at", "4s")) == 2
    assert len(printed(capsys, script, "list", "--duration-filter", "1000", "--at", "4s")) == 1
    assert refused(capsys, script, "list", "--duration-filter", "900", release="3.3") == (
        "--duration-filter: kafka-transactions of 3.3 does not have this option; use 3.8 or later (KIP-994)"
    )


def test_describe(capsys: pytest.CaptureFixture[str], script: str) -> None:
    header = (
        "CoordinatorId\tTransactionalId\tProducerId\tProducerEpoch\tTransactionState\tTransactionTimeoutMs\tCurrentTransactionStartTimeMs"
        "\tTransactionDurationMs\tTopicPartitions\t"
    )
    none = "None                         "
    assert printed(capsys, script, "describe", "--transactional-id", "tx", "--at", "2500ms") == [
        header,
        f"2            \ttx             \t0         \t0            \tEmpty           \t60000               \t{none}\tNone                 \t               \t",
    ]
    assert printed(capsys, script, "describe", "--transactional-id", "tx", "--at", "4500ms") == [
        header,
        "2            \ttx             \t0         \t0            \tOngoing         \t60000               \t3000                         "
        "\t1500                 \tt-1,t-0        \t",
    ]
    *_, complete = printed(capsys, script, "describe", "--transactional-id", "tx", "--at", "27s")
    assert complete.split("\t")[4:] == [
        "CompleteAbort   ", "60000               ", "3000                         ", "24000                ", "               ", "",
    ], "the start remains, and the duration grows"  # fmt: skip
    *_, version_2 = printed(capsys, script, "describe", "--transactional-id", "tx", "--at", "27s", release="4.1")
    assert version_2.split("\t")[3].strip() == "1", "with transaction.version 2, each transaction has its own epoch"


def test_describe_producers(capsys: pytest.CaptureFixture[str], script: str) -> None:
    header = "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\t"
    partition = ("describe-producers", "--topic", "t", "--partition", "0")
    assert printed(capsys, script, *partition, "--at", "2s") == [header]
    open_row = "0         \t0            \t-1                    \t3           \t3003         \t0                            \t"
    assert printed(capsys, script, *partition, "--at", "4s") == [header, open_row]
    assert printed(capsys, script, *partition, "--at", "4s", "--broker-id", "2") == [header, open_row]
    _, ended = printed(capsys, script, *partition, "--at", "27s")
    assert ended.split("\t")[2].strip() == "1"
    assert ended.split("\t")[5] == "None                         "
    assert printed(capsys, script, *partition, "--at", "1m") == [header, open_row], "the marker is lost"


def test_find_hanging(capsys: pytest.CaptureFixture[str], script: str) -> None:
    header = "Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\tDuration(min)\t"
    row = "t    \t0        \t0         \t0            \t-1              \t0          \t3003         \t{:13}\t"
    assert printed(capsys, script, "find-hanging", "--topic", "t", "--at", "10m") == [header], "idle for less than 15 minutes"
    for where in (("--topic", "t"), ("--topic", "t", "--partition", "0"), ("--broker-id", "2")):
        assert printed(capsys, script, "find-hanging", *where) == [header, row.format("19")], "t-1 has an open transaction that will end"
    assert printed(capsys, script, "find-hanging", "--topic", "t", "--partition", "1", "--max-transaction-timeout", "0") == [header]
    assert printed(capsys, script, "find-hanging", "--broker-id", "3") == [header]
    assert printed(capsys, script, "find-hanging", "--topic", "t", "--max-transaction-timeout", "0", "--at", "1m") == [
        header,
        row.format("0"),
    ]


def test_find_hanging_says_which_transactions_are_too_young_for_it(capsys: pytest.CaptureFixture[str], script: str) -> None:
    assert main(["transactions", "find-hanging", script, "--topic", "t", "--at", "1m", "--release", "3.9"]) == 0
    out, told = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert told == ("1 hanging transaction is left out: idle for 15 minutes or less; to see it, add --max-transaction-timeout 0\n")


def test_a_transaction_hangs_if_its_coordinator_does_not_have_its_partition() -> None:
    tp = TopicPartition("t", 0)
    owner = TransactionMetadata("tx", 7, 60_000_000, 0)
    assert is_hanging(tp, owner)
    owner.partitions = (tp,)
    assert not is_hanging(tp, owner)
    assert is_hanging(tp, None)


def test_a_recorded_log(capsys: pytest.CaptureFixture[str], script: str, tmp_path: Path) -> None:
    log = str(tmp_path / "session.jsonl")
    assert main(["run", script, "--release", "3.9", "--log", log]) == 0
    capsys.readouterr()
    for arguments in (("list",), ("find-hanging", "--topic", "t"), ("describe", "--transactional-id", "tx", "--at", "4s")):
        assert printed(capsys, log, *arguments, release=None) == printed(capsys, script, *arguments)
    assert "a log always has its own release" in refused(capsys, log, "list")


def test_a_release_without_the_tool(capsys: pytest.CaptureFixture[str], script: str) -> None:
    assert main(["transactions", "list", script, "--release", "2.7", "--at", "4s"]) == 0
    out, told = capsys.readouterr()
    assert out.splitlines()[1].endswith("\tOngoing         \t")
    assert told == "release 2.7 has no kafka-transactions; this is the output of the tool in release 3.0 (KIP-664)\n"
    assert refused(capsys, script, "list", "--at", "500ms", release="0.10.2") == (
        "release 0.10.2 has no transactions; use 0.11 or later (KIP-98)"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("find-hanging",), "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"),
        (("find-hanging", "--broker-id", "1", "--partition", "0"), "The --partition argument requires --topic to be provided"),
        (("find-hanging", "--broker-id", "7"), "--broker-id: there is no broker 7; use one of 1, 2, 3"),
        (("find-hanging", "--topic", "t", "--max-transaction-timeout", "-1"), "--max-transaction-timeout: '-1' is not a whole number; write, for example, 0"),
        (("find-hanging", "--topic", "u"), "--topic: there is no topic 'u'; use one of __transaction_state, t"),
        (("describe", "--transactional-id", ""), "--transactional-id: the transactional ID must not be empty"),
        (("describe-producers", "--topic", "t", "--partition", "2"), "--partition: topic t has no partition 2; its partitions are 0 to 1"),
        (("describe-producers", "--topic", "u", "--partition", "0"), "--topic: there is no topic 'u'; use one of __transaction_state, t"),
        (("describe-producers", "--topic", "t", "--partition", "x"), "--partition: 'x' is not a whole number; write, for example, 0"),
        (("describe-producers", "--topic", "t", "--partition", "0", "--broker-id", "3"), "Failed to describe producers for partition t-0 on broker 3: broker 3 has no replica of t-0"),
        (("describe-producers", "--topic", "t", "--partition", "0", "--broker-id", "2"), "Failed to describe producers for partition t-0 on broker 2: broker 2 does not answer"),
    ],
)  # fmt: skip
def test_bad_input_is_one_message(capsys: pytest.CaptureFixture[str], script: str, arguments: tuple[str, ...], message: str) -> None:
    assert refused(capsys, script, *arguments, "--at", "10s").replace("\\", "") == message


def test_an_id_that_nobody_knows(capsys: pytest.CaptureFixture[str], script: str) -> None:
    why = {
        ("tz", "500ms"): "no producer has used transactions yet",
        ("tz", "4s"): "the ID could not be found; use one of tx",
        ("tx", "10s"): "its coordinator, broker 2, does not answer",
    }
    for (name, at), words in why.items():
        told = refused(capsys, script, "describe", "--transactional-id", name, "--at", at)
        assert told == f"Failed to describe transaction state of transactional-id `{name}`: {words}"
