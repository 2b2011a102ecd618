"""Compares Spark's tables with the state of the core during and at the end of sessions with transactions that the core runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.kafka.broker.broker_state import BrokerState
from core.kafka.events import KINDS, column_types
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from scenarios.releases import release_named
from scenarios.running.runner import Run
from tests.spark_reports.summaries import transactions_reference
from tests.spark_reports.together import Writer, summarized_together

Table = list[dict[str, Any]]

STEP = 5_000
"""The time between two samples, in µs."""

UNCLEAN = (("unclean.leader.election.enable", "true"),)
SPEC = ClusterSpec(
    brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
    topics=(TopicSpec("t", replication_factor=2, assignment=(PartitionSpec((1, 2)), PartitionSpec((3, 1))), config=UNCLEAN),),
    settings=(("transaction.state.log.num.partitions", 3),),
)

TIMELINE: tuple[tuple[float, acts.Act], ...] = (
    (1, acts.InitTransactions("t", "tx", "app")),
    (1, acts.InitTransactions("t", "ty", "slow", (("transaction.timeout.ms", "15000"),))),
    (3, acts.BeginTransaction("app")),
    (3, acts.Produce("t", 4, partition=0, producer="app")),
    (3.5, acts.Produce("t", 6, partition=0, producer="plain")),
    (4, acts.CommitTransaction("app")),
    (5, acts.BeginTransaction("slow")),
    (5, acts.Produce("t", 3, partition=1, producer="slow")),
    (6, acts.BeginTransaction("app")),
    (6, acts.Produce("t", 2, partition=0, producer="app")),
    (6, acts.Produce("t", 2, partition=1, producer="app")),
    (8, acts.Kill(2)),
    (30, acts.AbortTransaction("app")),
    (33, acts.Kill(1)),
    (35, acts.Start(2)),
    # KRaft controllers before 3.9 hold no unclean elections by themselves.
    (45, acts.Elect("unclean", TopicPartition("t", 0))),
    (45, acts.Elect("unclean", TopicPartition("t", 1))),
    (70, acts.Produce("t", 5, partition=0, producer="plain")),
    (72, acts.BeginTransaction("app")),
    (72, acts.Produce("t", 1, partition=1, producer="app")),
)
"""The acts with their times in seconds: a commit, a transaction that times out, and an abort whose marker is lost in an unclean election.
One transaction stays open.
"""

END = 75 * SECOND

RELEASES = ("3.3", "4.1")

Session = tuple[Cluster, dict[str, Table], Counter[TopicPartition], list[tuple[Any, ...]]]


Lived = dict[str, tuple[Cluster, Counter[TopicPartition], list[tuple[Any, ...]]]]
"""For each release: the cluster at the end of its session, the time during which the LSO was held back, and the events of the coordinators.
"""


@summarized_together
def write_sessions(folder: Path) -> tuple[list[Path], Lived]:
    """Write the log of a session under each release."""
    found: Lived = {}
    for name in RELEASES:
        release, held, told = Release.named(name), Counter[TopicPartition](), list[tuple[Any, ...]]()
        with LogWriter(folder / f"transactions-{name}.jsonl", make_header(SPEC, release, 3, None)) as log:

            def sink(event: tuple[Any, ...], log: LogWriter = log, told: list[tuple[Any, ...]] = told) -> None:
                log(event)
                if event[3] in ("transaction-state", "transaction-refused", "transaction-timed-out"):
                    told.append(event)

            cluster = Cluster(SPEC, release, seed=3, sink=sink)
            for second, act in TIMELINE:
                _look_until(cluster, int(second * SECOND), held)
                cluster.do(act)
            _look_until(cluster, END, held)
            log.close(cluster.now)
        found[name] = cluster, held, told
    return [folder / f"transactions-{name}.jsonl" for name in RELEASES], found


@pytest.fixture(scope="module")
def sessions(summarized: Callable[[Writer], tuple[Lived, dict[str, Table]]]) -> dict[str, Session]:
    """Return, for each release, the cluster, the tables, the time during which the LSO was held back, and the events of the coordinators."""
    found, tables = summarized(write_sessions)
    return {
        name: (
            cluster,
            {table: [row for row in rows if row["session"] == f"transactions-{name}"] for table, rows in tables.items()},
            held,
            told,
        )
        for name, (cluster, held, told) in found.items()
    }


@pytest.fixture(params=RELEASES)
def session(request: pytest.FixtureRequest, sessions: dict[str, Session]) -> Session:
    return sessions[request.param]


def _look_until(cluster: Cluster, time: int, held: Counter[TopicPartition]) -> None:
    while cluster.now < time:
        cluster.run_until(min(cluster.now + STEP, time))
        for broker in cluster.brokers.values():
            if broker.context.state is not BrokerState.STOPPED:
                for partition in broker.partitions.values():
                    if partition.is_leader and partition.held_back_at is not None:
                        held[partition.tp] += STEP


@pytest.mark.spark
def test_held_time(session: Session) -> None:
    cluster, tables, held, _ = session
    rows = {TopicPartition(row["topic"], row["partition"]): row for row in tables["stable_offsets"]}
    assert rows.keys() == held.keys()
    for tp, row in rows.items():
        assert row["held_us"] == pytest.approx(held[tp], abs=2 * STEP * row["windows"]), tp
        assert row["held_us"] > 5 * SECOND
    at_end = {each.tp: each.high_watermark - each.last_stable_offset for each in cluster.transaction_report().held}
    assert {tp for tp, row in rows.items() if row["held_at_end"]} == at_end.keys()
    assert all(rows[tp]["largest_gap"] >= gap for tp, gap in at_end.items())
    assert rows[TopicPartition("t", 0)]["largest_gap"] >= 5, "the records of the other producer are behind the hanging transaction"


@pytest.mark.spark
def test_hanging_transactions(session: Session) -> None:
    cluster, tables, _, _ = session
    report = cluster.transaction_report()
    states = {each.transactional_id: each.state for each in report.transactions}
    assert {
        (row["topic"], row["partition"]): (row["producer_id"], row["first_offset"], row["status"] == "hanging", row["coordinator_state"])
        for row in tables["hanging_transactions"]
    } == {
        tuple(each.tp): (each.producer_id, each.first_offset, each.hanging, states.get(each.transactional_id, "")) for each in report.held
    }
    assert {row["status"] for row in tables["hanging_transactions"]} == {"hanging", "open"}


@pytest.mark.spark
def test_outcomes(session: Session) -> None:
    _, tables, _, told = session
    decided = Counter((event[5], event[9]) for event in told if event[3] == "transaction-state" and event[9].startswith("Prepare"))
    words = {"PrepareCommit": "committed", "PrepareAbort": "aborted"}
    counted = {(row["transactional_id"], row["outcome"]): row["transactions"] for row in tables["transactions"]}
    assert counted == {(name, words[state]): count for (name, state), count in decided.items()} | {("tx", "open"): 1}
    shares = {row["transactional_id"]: (row["decided"], row["aborted"], row["timed_out"]) for row in tables["aborted_transactions"]}
    timed_out = Counter(event[5] for event in told if event[3] == "transaction-timed-out")
    assert shares == {
        name: (decided[name, "PrepareCommit"] + decided[name, "PrepareAbort"], decided[name, "PrepareAbort"], timed_out[name])
        for name in ("tx", "ty")
    }
    assert timed_out["ty"] == 1
    refused = Counter((event[6], event[7]) for event in told if event[3] == "transaction-refused")
    coordinators = {
        (row["request"], row["error"]): row["refusals"]
        for row in tables["refusals"]
        if row["request"] not in ("WriteTxnMarkers", "Produce")
    }
    assert coordinators == refused


SCENARIOS = [
    (name, release)
    for name in catalogue.names()
    if "transaction" in catalogue.path_of(name).read_text(encoding="utf-8")
    for release in catalogue.load(name).releases
]
"""Every scenario of the library with transactions, under each of its releases."""


@pytest.mark.parametrize(("name", "release"), SCENARIOS)
def test_plain_python_finds_the_open_transactions_of_the_library(name: str, release: str) -> None:
    events: list[tuple[Any, ...]] = []
    run = Run(catalogue.load(name), release_named(release), None, events.append)
    run.run()
    lines = [
        {"seq": event[0], "t": event[1], "cause": event[2], "kind": event[3]}
        | dict(zip(column_types(KINDS[event[3]]), event[4:], strict=False))
        for event in events
    ]
    held = run.cluster.transaction_report().held
    found = transactions_reference.hanging_transactions(lines, run.cluster.now)
    assert {
        (topic, number): (producer, row["first_offset"], row["status"] == "hanging") for (topic, number, producer), row in found.items()
    } == {tuple(each.tp): (each.producer_id, each.first_offset, each.hanging) for each in held if each.producer_id >= 0}
    stable = transactions_reference.stable_offsets(lines, run.cluster.now)
    assert {where for where, row in stable.items() if row["held_at_end"]} == {tuple(each.tp) for each in held}
