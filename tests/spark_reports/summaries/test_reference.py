"""For random sessions, Spark's tables equal those of the implementation in plain Python (`reference`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.kafka.events import KINDS, column_types
from spark_reports.summaries.registry import CHARTS, SUMMARIES, kinds_of
from tests.spark_reports.event_logs import event as event_at
from tests.spark_reports.event_logs import write_log
from tests.spark_reports.summaries import reference
from tests.spark_reports.together import Writer, summarized_together

pytestmark = pytest.mark.spark

Session = tuple[list[dict[str, Any]], int | None]
EVERY = (*SUMMARIES, *CHARTS)
CREATED = event_at(0, "topic-created", topic="a", partitions=3, replication_factor=3)
"""The first event of each session, which creates its topic."""
BROKERS = st.integers(1, 4)
WORDS: dict[str, st.SearchStrategy[Any]] = {
    "topic": st.sampled_from(["a", "b", "<script>alert(1)</script>", "naïve 話題 \u2028"]),
    "partition": st.integers(0, 2),
    "election": st.sampled_from(["clean", "unclean", "preferred", "eligible", "last-known"]),
    "error": st.sampled_from(["", "NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"]),
    "leader": st.sampled_from([-1, 1, 2, 3]),
    "broker": BROKERS,
    "acks": st.sampled_from([-1, 0, 1]),
    "from_offset": st.integers(0, 50),
    "to_offset": st.integers(51, 2**40),
    "latency_us": st.integers(0, 30) | st.sampled_from([1_000_000, 1_000_001, 5_000_000, 31_000_000]) | st.integers(0, 10**10),
    "records": st.integers(1, 2**40),
    "producer": st.sampled_from(["app", "load"]),
    "waited_us": st.sampled_from([0, 1_000_001, 5_000_000, 31_000_000]),
    "attempt": st.integers(1, 4),
    "name": st.sampled_from(["min.insync.replicas", "replica.lag.time.max.ms"]),
    "subject": st.sampled_from(["", "a", "b", "b1"]),
    "new": st.sampled_from(["1", "2", "3", "4"]),
    "act": st.sampled_from(["create-topic", "kill", "load", "consume"]),
    "src": st.sampled_from(["b1", "b2", "b3", "app", "load"]),
    "dst": st.sampled_from(["b1", "b2", "b3", "consumer"]),
    "leader_epoch": st.integers(0, 2),
    "args": st.sampled_from(
        [
            '{"topic": "a", "producer": "app"}',
            '{"topic": "b"}',
            '{"topic": "a", "config": [["min.insync.replicas", "3"], ["retention.ms", "1"]]}',
            '{"broker": 1}',
            "{}",
        ]
    ),
    "follower": BROKERS,
    "old_offset": st.integers(0, 50),
    "new_offset": st.integers(0, 100),
    "offset": st.integers(0, 100),
    "high_watermark": st.integers(0, 100),
    "bytes": st.integers(0, 1000),
    "doomed_by": st.integers(0, 20),
    "partitions": st.integers(0, 3),
    "controller": st.sampled_from(["b1", "b2", "c1"]),
    "delay_us": st.sampled_from([0, 500_000, 2_000_000]),
    "transactional_id": st.sampled_from(["tx", "ty"]),
    "transaction_state": st.sampled_from(["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"]),
    "partitions_named": st.sampled_from(["", "a-0", "a-0,a-1,b-0", "b-2,a-1"]),
    "producer_id": st.integers(0, 1),
    "marker_offset": st.integers(0, 60),
    "first_offset": st.integers(-1, 50),
    "request": st.sampled_from(["InitProducerId", "EndTxn"]),
    "group": st.sampled_from(["g", "h"]),
    "committed_offset": st.integers(0, 2**40),
    "client": st.sampled_from(["c1", "c2"]),
    "worker": st.sampled_from(["w1", "w2"]),
    "partition_names": st.sampled_from(["", "a-0", "a-0, a-1", "b-2, a-1"]),
    "topics": st.sampled_from(["a", "a, b"]),
    "reason": st.sampled_from(["", "IllegalStateException"]),
    "real_topic": st.sampled_from(["a", "b"]),
    "late_us": st.sampled_from([-5, 0, 3, 10_000_000]),
    "rounding_us": st.sampled_from([0, 13_000_000]),
    "total_error_us": st.sampled_from([-5, 0, 13_000_003]),
    "new_state": st.sampled_from(["Stable", "Reconciling", "Empty"]),
    "write_wait_us": st.sampled_from([1_000_001, 3_000_000, 40_000_000]),
}
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-1, 2**40),
    "str": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    "bool": st.booleans(),
    "tuple[int, ...]": st.lists(BROKERS, unique=True, max_size=4),
}


def events_of(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    few = {name: st.sampled_from(words) for name, words in KINDS[kind].words.items()}
    columns = {
        name: few[name] if name in few else WORDS.get(name, BY_TYPE[declared]) for name, declared in column_types(KINDS[kind]).items()
    }
    return st.fixed_dictionaries(
        {"t": st.integers(0, 500) | st.sampled_from([0, 5_000_000, 31_000_000]), "cause": st.just(0), "kind": st.just(kind), **columns}
    )


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Generate events, the times between them, and how long the session continues after the last event (None: it is killed)."""
    heavy = (
        "controller-elected",
        "records-lost",
        "records-exposed",
        "append",
        "partition-changed",
        "produce-acked",
        "produce-failed",
        "produce-waiting",
        "produce-given-up",
        "isr-shrunk",
        "isr-expanded",
        "leader-elected",
        "setting-changed",
        "broker-stopped",
        "link-cut",
        "became-leader",
        "high-watermark",
        "disk-behind",
        "transaction-begun",
        "transaction-state",
        "marker-appended",
        "high-watermark",
    )
    kinds = st.sampled_from([*heavy, *heavy, *kinds_of(EVERY), "broker-unfenced", "follower-append"])
    events = draw(st.lists(kinds.flatmap(events_of), max_size=30))
    now = 0
    for event in events:
        now += event["t"]
        event["t"] = now
    after = draw(st.none() | st.integers(0, 500))
    return events, None if after is None else now + after


def transactional_session(random: Random) -> Session:
    """Generate transactions by two producers on one partition. There are so few offsets and brokers that the events fit together."""
    often = ("append", "high-watermark", "high-watermark", "marker-appended") * 2
    seldom = ("became-leader", "became-follower", "broker-stopped", "transaction-begun", "transaction-state", "topic-deleted")
    values: dict[str, Any] = {
        "topic": ["a"],
        "partition": [0],
        "partitions": [0, 1],
        "broker": [1, 1, 1, 2],
        "producer": ["app", "load"],
        "producer_id": [0, 1],
        "transactional_id": ["tx", "ty"],
        "transaction_state": ["Ongoing", "PrepareCommit", "CompleteCommit", "PrepareAbort", "Dead"],
        "former_state": ["Ongoing", "Ongoing", "Empty"],
        "producer_epoch": [0, 0, 1],
        "partitions_named": ["", "a-0"],
        "from_offset": range(7),
        "first_offset": range(-1, 7),
        "high_watermark": range(7),
        "offset": range(20),
        "marker_offset": range(4, 14),
        "new_offset": range(1, 20),
    }
    events = [event_at(0, "became-leader", topic="a", broker=1), event_at(0, "transaction-begun", producer="app", transactional_id="tx")]
    now = 0
    for _ in range(random.randint(10, 40)):
        kind = random.choice([*often, *seldom])
        now += random.randint(0, 3)
        events.append(event_at(now, kind, **{name: random.choice(values[name]) for name in column_types(KINDS[kind]) if name in values}))
        if kind == "append" and events[-2]["kind"] == "marker-appended":
            events[-1]["cause"] = len(events)  # the marker itself: one event is before these
    return events, random.choice([None, now, now + 10])


def session_of_groups(random: Random) -> Session:
    """Generate members of two groups that come and go, and services. There are so few offsets that the events fit together."""
    often = (
        "partitions-assigned", "partitions-revoked", "member-started", "member-ended", "offset-committed", "high-watermark", "records-processed",
        "processed-again", "records-skipped", "delayed-forwarded", "group-rebalancing", "group-stable",
    )  # fmt: skip
    seldom = (
        "partitions-lost", "became-leader", "offset-expired", "offset-deleted", "offset-removed", "group-emptied", "group-epoch", "group-state", "processed-twice", "never-processed",
        "half-visible", "dead-lettered", "succeeded-twice", "retry-dropped", "records-tried", "service-started", "service-ended", "partition-changed",
    )  # fmt: skip
    values: dict[str, Any] = {
        "group": ["g", "g", "h"],
        "client": ["c1", "c2"],
        "worker": ["w1", "w2"],
        "topic": ["a"],
        "partition": [0, 1],
        "broker": [1, 1, 2],
        "partition_names": ["a-0", "a-1", "a-0, a-1", ""],
        "topics": ["a", "a, b"],
        "committed_offset": range(20),
        "new_offset": range(1, 20),
        "high_watermark": range(5),
        "from_offset": range(6),
        "to_offset": range(6, 12),
        "epoch": [0, 0, 1],
        "late_us": [-5, 0, 3, 9],
        "rounding_us": [0, 4],
        "total_error_us": [-5, 0, 7],
        "real_topic": ["a"],
        "reason": ["", "IllegalStateException"],
        "how": ["stopped", "killed"],
        "held": range(5),
        "members": range(3),
        "generation": range(5),
        "group_epoch": range(5),
        "new_state": ["Stable", "Reconciling", "Empty"],
    }
    events = [event_at(0, "partition-changed", topic="a", partition=number) for number in (0, 1)]
    events += [event_at(0, "became-leader", topic="a", partition=number, broker=1) for number in (0, 1)]
    now = 0
    for _ in range(random.randint(10, 50)):
        kind = random.choice([*often, *often, *seldom])
        now += random.randint(0, 3)
        events.append(event_at(now, kind, **{name: random.choice(values[name]) for name in column_types(KINDS[kind]) if name in values}))
    return events, random.choice([None, now, now + 10])


def drawn() -> list[Session]:
    """Return several hundred random sessions."""
    found: list[Session] = []

    @settings(
        max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate]
    )
    @given(st.lists(sessions(), min_size=4, max_size=10))
    def draw(several: list[Session]) -> None:
        found.extend(several)

    draw()
    return [*found, *(make(Random(seed)) for make in (transactional_session, session_of_groups) for seed in range(60))]


@summarized_together
def write_drawn_sessions(directory: Path) -> tuple[list[Path], list[Path]]:
    several = drawn()
    assert len(several) > 30
    paths = [write_log(directory / f"s{number}.jsonl", [CREATED, *events], end) for number, (events, end) in enumerate(several)]
    return paths, paths


# All sessions go through Spark together: to shrink one would take minutes, the assertion names table and rows.
def test_spark_and_plain_python_agree(summarized: Callable[[Writer], tuple[list[Path], dict[str, list[dict[str, Any]]]]]) -> None:
    paths, tables = summarized(write_drawn_sessions)
    for summary in EVERY:
        expected = {}
        for path in paths:
            for key, row in reference.ALL[summary.name](*reference.read(path)).items():
                expected[(path.stem, *key)] = row
        got = {tuple(row.pop(key) for key in summary.keys): row for row in map(dict, tables[summary.name])}
        assert got == expected, summary.name
