"""Compares Spark's tables with the core's own accounts, for sessions with groups and services that the core runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.trace.record_life import SpanKind
from core.lab.trace.record_trace import RecordTrace
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.exports.observed_session import observe_session
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from scenarios.releases import release_named
from scenarios.running.runner import Run
from tests.spark_reports.summaries import groups_reference, reference
from tests.spark_reports.together import Writer, summarized_together

pytestmark = pytest.mark.spark

Table = list[dict[str, Any]]

STEP = 20_000
"""The time between two samples, in µs."""

SPEC = ClusterSpec(
    brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
    topics=(TopicSpec("t", 3, 3),),
    settings=(("offsets.topic.num.partitions", 1), ("group.initial.rebalance.delay.ms", 1000)),
)

SHORT = (("session.timeout.ms", "8000"), ("heartbeat.interval.ms", "2000"))

TIMELINE: tuple[tuple[float, acts.Act], ...] = (
    (1, acts.Load("t", rate=60, every=SECOND // 5, producer="p")),
    (1, acts.JoinGroup(("t",), "m1", "g", commit="after", config=SHORT)),
    (4, acts.JoinGroup(("t",), "m2", "g", commit="after", record_time=20_000, config=SHORT)),
    (4, acts.JoinGroup(("t",), "n1", "h", protocol="consumer")),
    (6, acts.JoinGroup(("t",), "n2", "h", protocol="consumer")),
    (12, acts.KillConsumer("m2")),
    (13, acts.CloseConsumer("n2")),
    (18, acts.Kill(1)),
    (24, acts.FreezeConsumer("m1")),
    (28, acts.JoinGroup(("t",), "m3", "g", commit="before", config=SHORT)),
    (36, acts.ThawConsumer("m1")),
    (38, acts.Start(1)),
    (40, acts.StallConsumer(2 * SECOND, "n1")),
)
"""The acts with their times in seconds: members of both protocols die, leave, freeze, and come back, and their coordinator dies."""

END = 50 * SECOND

SCENARIOS = (
    ("j3-crash-order", "4.1"), ("k1-crash", "4.3"), ("k1-bound", "4.3"), ("k2-retry-topics", "4.3"), ("k2-crash", "4.3"),
    ("k2-commit-first", "4.3"), ("k1-record-too-large", "4.3"), ("k2-dead-letter-handler", "4.3"), ("i2-at-least-once", "4.3"),
    ("j3-beyond-the-log", "4.1"), ("s3-fast-failover", "1.1"), ("e1-data-loss", "0.10.2"),
)  # fmt: skip


@attrs.define
class Seen:
    """The samples taken from a session with groups.

    Attributes:
        lags: the known lags, by time, group, and partition.
        unowned: the time without an owner, by group and partition, in µs.
        most_unowned: the greatest number of partitions without an owner, by group.
        rebalancing: the time during which the classic group was rebalancing, in µs.
    """

    lags: dict[tuple[int, str, TopicPartition], int] = attrs.Factory(dict)
    unowned: Counter[tuple[str, TopicPartition]] = attrs.Factory(Counter)
    most_unowned: Counter[str] = attrs.Factory(Counter)
    rebalancing: int = 0

    def look(self, cluster: Cluster) -> None:
        members = [view for view in cluster.view().members if view.running]
        for group in {view.group for view in members}:
            owned = {tp for view in members if view.group == group for tp in view.owned}
            missing = [tp for number in range(3) if (tp := TopicPartition("t", number)) not in owned]
            self.unowned.update(dict.fromkeys([(group, tp) for tp in missing], STEP))
            self.most_unowned[group] = max(self.most_unowned[group], len(missing))
        for report in cluster.group_report():
            self.rebalancing += STEP * (report.state in ("PreparingRebalance", "CompletingRebalance"))
            for part in report.partitions:
                if part.lag is not None:
                    self.lags[cluster.now, report.name, part.tp] = part.lag


Session = tuple[Cluster, Seen]


@summarized_together
def write_sessions(folder: Path) -> tuple[list[Path], dict[str, Session]]:
    """Write the logs of a session with groups and of scenarios. Return the clusters at the end."""
    seen, release = Seen(), Release.named("4.1")
    with LogWriter(folder / "groups.jsonl", make_header(SPEC, release, 5, None)) as log:
        cluster = Cluster(SPEC, release, seed=5, sink=log)
        for second, act in (*TIMELINE, (END / SECOND, None)):
            while cluster.now < second * SECOND:
                cluster.run_until(cluster.now + STEP)
                seen.look(cluster)
            if act is not None:
                cluster.do(act)
        log.close(cluster.now)
    found = {"groups": (cluster, seen)}
    for name, played in SCENARIOS:
        script = catalogue.load(name)
        with LogWriter(folder / f"{name}.jsonl", make_header(script.spec, release_named(played), script.seed, name)) as log:
            run = Run(script, release_named(played), None, log)
            run.run()
            log.close(run.cluster.now)
        found[name] = run.cluster, Seen()
    return [folder / f"{name}.jsonl" for name in found], found


@pytest.fixture(scope="module")
def sessions(summarized: Callable[[Writer], tuple[dict[str, Session], dict[str, Table]]]) -> tuple[dict[str, Session], dict[str, Table]]:
    return summarized(write_sessions)


Sessions = tuple[dict[str, Session], dict[str, Table]]


def rows_of(sessions: Sessions, table: str, session: str) -> Table:
    return [row for row in sessions[1][table] if row["session"] == session]


def test_lag(sessions: Sessions, logs_together: dict[Writer, tuple[list[Path], Any]]) -> None:
    _, seen = sessions[0]["groups"]
    at_end = {
        (row["group"], TopicPartition(row["topic"], row["partition"])): row["lag"] for row in rows_of(sessions, "group_lag", "groups")
    }
    assert at_end == {(group, tp): lag for (time, group, tp), lag in seen.lags.items() if time == END}
    assert len(at_end) == 6
    most: dict[tuple[str, TopicPartition], int] = defaultdict(int)
    for (_, group, tp), lag in seen.lags.items():
        most[group, tp] = max(most[group, tp], lag)
    for row in rows_of(sessions, "group_lag", "groups"):
        assert row["max_lag"] >= most[row["group"], TopicPartition(row["topic"], row["partition"])] > 0
    # The steps of which the table consists are those of the core at every look.
    paths = logs_together[write_sessions][0]
    steps = groups_reference.lags(*reference.read(next(path for path in paths if path.stem == "groups")))
    for (time, group, tp), lag in seen.lags.items():
        now = [step["lag"] for step in steps[group, tp.topic, tp.partition] if step["t"] <= time < step["until"]]
        assert time == END or now[-1:] == [lag], (time, group, tp)


def test_rebalances_and_owners(sessions: Sessions) -> None:
    _, seen = sessions[0]["groups"]
    rows = {row["group"]: row for row in rows_of(sessions, "groups", "groups")}
    for group in ("g", "h"):
        total = sum(time for (name, _), time in seen.unowned.items() if name == group)
        assert rows[group]["unowned_us"] == pytest.approx(total, abs=3 * STEP * 10), group
        assert rows[group]["max_unowned"] >= seen.most_unowned[group] > 0
        each = [row for row in rows_of(sessions, "rebalances", "groups") if row["group"] == group]
        assert rows[group]["rebalances"] == len(each) >= 3
        assert rows[group]["rebalancing_us"] == sum(row["lasts_us"] for row in each)
    assert rows["g"]["rebalancing_us"] == pytest.approx(seen.rebalancing, abs=2 * STEP * rows["g"]["rebalances"])
    assert rows["g"]["max_unowned"] == seen.most_unowned["g"] == 3
    assert rows["g"]["unowned_us"] > 8 * SECOND, "the session timeout of the killed member"


def test_deliveries_of_consumers(sessions: Sessions) -> None:
    told = set()
    for name in ("groups", "j3-crash-order"):
        cluster, _ = sessions[0][name]
        account = cluster.account
        for group in account.consumption.groups:
            counts = account.consumption_counts(group)
            rows = {
                TopicPartition(row["topic"], row["partition"]): row
                for row in rows_of(sessions, "deliveries", name)
                if row["group"] == group
            }
            columns = ("processed", "twice", "repeats", "never", "committed", "reset", "deleted", "truncated", "left_out", "out_of_order")
            assert {tp: tuple(row[column] for column in columns) for tp, row in rows.items()} == {
                tp: tuple(found) for tp, found in counts.items() if any(found)
            }, (name, group)
            assert all(row["once"] + row["twice"] == row["processed"] for row in rows.values())
            told |= {what for row in rows.values() for what in ("twice", "never") if row[what]}
    assert told == {"twice", "never"}


def test_overview_has_the_sums_of_groups(sessions: Sessions) -> None:
    for name in ("groups", "j3-crash-order", "k2-retry-topics"):
        (overview,) = rows_of(sessions, "overview", name)
        lags = [row["lag"] or 0 for row in rows_of(sessions, "group_lag", name)]
        groups, deliveries = rows_of(sessions, "groups", name), rows_of(sessions, "deliveries", name)
        dead = [row["records"] for row in rows_of(sessions, "retry_outcomes", name) if row["outcome"] == "dead letter"]
        assert overview["group_lag"] == sum(max(lag, 0) for lag in lags)
        assert overview["max_group_lag"] == max((row["max_lag"] or 0 for row in rows_of(sessions, "group_lag", name)), default=0)
        assert (overview["rebalances"], overview["unowned_us"]) == tuple(
            sum(row[figure] for row in groups) for figure in ("rebalances", "unowned_us")
        )
        assert overview["longest_unowned_us"] == max((row["longest_unowned_us"] for row in groups), default=0)
        assert (overview["records_never_delivered"], overview["records_delivered_twice"], overview["dead_letters"]) == (
            sum(row["never"] for row in deliveries), sum(row["twice"] for row in deliveries), sum(dead)
        )  # fmt: skip
    assert overview["dead_letters"] > 0


@pytest.mark.parametrize("name", ["k1-crash", "k1-bound", "k1-record-too-large"])
def test_delay_services(sessions: Sessions, name: str) -> None:
    cluster, _ = sessions[0][name]
    views = {view.name: view for view in cluster.view().services if view.source}
    rows = {row["worker"]: row for row in rows_of(sessions, "delays", name)}
    assert rows.keys() == views.keys()
    harm = {row["topic"]: row for row in rows_of(sessions, "deliveries", name) if row["does"] == "forward"}
    by_group: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of(sessions, "deliveries", name):
        by_group[row["group"]].append(row)
    for worker, view in views.items():
        row = rows[worker]
        assert (row["early"], row["inversions"]) == (view.too_early, view.inversions)
        assert {mark: row[f"{mark}_late_us"] for mark in ("p50", "p95", "p99", "max", "mean")} == view.lateness
        assert [row[f"mean_{mark}_us"] for mark in ("rounding", "total_error")] == [view.rounding["mean"], view.total_error["mean"]]
        dead = [row for row in rows_of(sessions, "retry_outcomes", name) if (row["outcome"], row["topic"]) == ("dead letter", view.source)]
        assert (sum(row["records"] for row in dead), sum(row["times"] - row["records"] for row in dead)) == (view.dead, view.dead_twice)
        own = by_group[view.name.rpartition("-")[0]]
        assert (sum(each["twice"] for each in own), sum(each["never"] for each in own)) == (view.forwarded_twice, view.never_forwarded)
    if name == "k1-crash":
        assert rows["delay-10s"]["forgotten"] == 1000
        assert harm


@pytest.mark.parametrize("name", ["k2-retry-topics", "k2-crash", "k2-commit-first", "k2-dead-letter-handler"])
def test_retry_services(sessions: Sessions, name: str) -> None:
    cluster, _ = sessions[0][name]
    outcomes = rows_of(sessions, "retry_outcomes", name)
    views = cluster.view().retries
    assert views
    for view in views:
        tried: Counter[int] = Counter()
        failed: Counter[int] = Counter()
        for row in rows_of(sessions, "retries", name):
            if row["worker"].startswith(f"{view.name}-"):
                tried[row["number"]] += row["tried"]
                failed[row["number"]] += row["failed"]
                assert row["succeeded"] == row["tried"] - row["failed"]
        assert (tried, +failed) == (view.tried, {number: count for number, count in view.failed.items() if count})
        dead = [row for row in outcomes if row["outcome"] == "dead letter" and row["topic"] == view.topic]
        assert (sum(row["records"] for row in dead), sum(row["times"] - row["records"] for row in dead)) == (view.dead, view.dead_twice)
        twice = [row for row in outcomes if row["outcome"] == "succeeded twice" and row["detail"].startswith(f"{view.name}-")]
        assert sum(row["times"] for row in twice) == view.succeeded_twice
        dropped = [row for row in outcomes if row["outcome"] == "dropped" and row["detail"].startswith(view.name)]
        assert sum(row["records"] for row in dropped) == view.dropped


def test_deliveries_of_processes(sessions: Sessions) -> None:
    cluster, _ = sessions[0]["i2-at-least-once"]
    (view,) = cluster.view().processes
    (row,) = rows_of(sessions, "deliveries", "i2-at-least-once")
    assert (row["group"], row["does"], row["processed"]) == ("app", "forward", None)
    assert (row["twice"], row["half"], row["never"]) == (view.processed_twice, view.half_visible, view.never_processed) == (10, 0, 0)


STEPS = {
    SpanKind.APPENDED: "appended", SpanKind.COPIED: "copied", SpanKind.COMMITTED: "committed", SpanKind.ACKED: "acked", SpanKind.READ: "read",
    SpanKind.PROCESSED: "processed", SpanKind.OFFSET_COMMITTED: "offset committed", SpanKind.LOST: "lost", SpanKind.RECOVERED: "recovered",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "release", "whys"),
    [
        (*SCENARIOS[0], {"processed again", "skipped"}),
        (*SCENARIOS[-1], {"lost"}),
        ("j3-beyond-the-log", "4.1", {"lost", "skipped"}),
        ("s3-fast-failover", "1.1", {"lost"}),
    ],
)
def test_traces(sessions: Sessions, name: str, release: str, whys: set[str]) -> None:
    """The steps agree with those of `isrlab trace` for one of the records that were written at the offset: the harmed one."""
    rows = rows_of(sessions, "traces", name)
    assert {row["why"] for row in rows} == whys
    for topic, partition, offset in {(row["topic"], row["partition"], row["offset"]) for row in rows}:
        trace = RecordTrace(TopicPartition(topic, partition), offset)
        observe_session(name, None, trace, log=False, release=release_named(release))
        lives = [
            sorted((span.event, STEPS[span.kind], span.node) for span in life.spans if span.kind in STEPS and span.event)
            for life in trace.lives
        ]
        own = [row for row in rows if (row["topic"], row["partition"], row["offset"]) == (topic, partition, offset)]
        steps = [(row["event"], row["step"], row["node"]) for row in own if row["step"] in STEPS.values()]
        assert lives.count(steps) == 1
        assert len(steps) > 3
        lost_and_written_again = name in ("j3-beyond-the-log", "s3-fast-failover")
        assert len(lives) == 1 + lost_and_written_again
