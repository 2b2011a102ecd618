"""Provides one Spark session for all tests in this directory, and computes every summary of logs."""

from __future__ import annotations

import contextlib
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from spark_reports import report
from spark_reports.compute import session_settings
from spark_reports.spark.session import spark_session
from spark_reports.tables.result import Report
from tests.spark_reports.together import WRITERS, Writer

Tables = dict[str, list[dict[str, Any]]]

CONNECT_PORT = "spark.connect.grpc.binding.port"


def free_port() -> int:
    """Return a loopback port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Provide a session that interprets its query plans, as reports on few events do. Generating and compiling code would take longer than
    running the plans.
    """
    connect = {"spark.connect.grpc.binding.address": "127.0.0.1", CONNECT_PORT: str(free_port())}
    settings = {**session_settings.INTERPRETED, "spark.sql.adaptive.enabled": "false", **connect}
    with spark_session("local[2]", settings, brief=True) as session:
        yield session


@pytest.fixture(scope="session")
def connect_url(spark: Any) -> str:
    """Serve Spark Connect from the Java of the session, on the loopback network, until the session ends. Return the URL."""
    spark._jvm.org.apache.spark.sql.connect.service.SparkConnectService.start(spark.sparkContext._jsc.sc())
    return f"sc://127.0.0.1:{spark.conf.get(CONNECT_PORT)}"


@pytest.fixture
def in_this_session(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the test runs, commands of this process use the session of all tests instead of starting another Java."""
    monkeypatch.setattr(report, "spark_session", lambda *_, **__: contextlib.nullcontext(spark))


@pytest.fixture(scope="session")
def summarise(spark: Any) -> Callable[[Sequence[Path]], Tables]:
    """Return every summary of the given logs, and their overview, with rows as dicts.

    The logs take the way of a small report on this machine. The reports of `test_clusters` take the other way: Spark reads JSON, and rows
    are in several partitions.
    """
    from spark_reports.compute.load_logs import load_logs, needed_kinds_and_columns
    from spark_reports.compute.summary_inputs import session_table, single_partition_inputs
    from spark_reports.logs.session_log import name_sessions, open_log
    from spark_reports.rows.staging import stage_logs
    from spark_reports.summaries.overview import SOURCES, overview
    from spark_reports.summaries.registry import CHARTS, SUMMARIES

    def run(paths: Sequence[Path]) -> Tables:
        every = (*SUMMARIES, *CHARTS)
        logs = name_sessions([open_log(path) for path in paths])
        refused: list[str] = []
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            staged = stage_logs(logs, [], place / "staged", *needed_kinds_and_columns(charts=True))
            unstaged = [log for log in logs if log not in staged.logs]
            loaded = load_logs(spark, unstaged, staged, [], [], True, place, refused.append)
            assert refused == []
            own = loaded.interpreting
            inputs = single_partition_inputs(loaded.frames, own, session_table(own, loaded.logs), loaded.found, few=True)
            tables, measured = {}, {"sessions": inputs.sessions}
            for summary in every:
                frame = summary(inputs)
                assert [(field.name, field.dataType) for field in frame.schema] == [(f.name, f.dataType) for f in summary.schema]
                tables[summary.name] = [row.asDict() for row in frame.collect()]
                if summary.name in SOURCES:
                    measured[summary.name] = frame
            tables["overview"] = [row.asDict() for row in overview(measured, single_partition=True).collect()]
            spark.catalog.clearCache()
        return tables

    return run


@attrs.frozen
class Reported:
    """A report with charts, and the log that it was computed from.

    Attributes:
        log: the log of the session.
        events: the number of its events.
        report: the report.
    """

    log: Path
    events: int
    report: Report


@pytest.fixture(scope="session")
def follower_killed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """Return a report on a session. In this session, b3 leads nothing, is killed at 10 s, and starts again at 40 s. Then the controller
    refuses an election, because the partition has a leader.
    """
    from spark_reports.compute import compute_tables, load_logs
    from spark_reports.logs.session_log import open_log
    from spark_reports.output import html
    from spark_reports.rows.staging import stage_logs

    place = tmp_path_factory.mktemp("follower-killed")
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics=(TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)),)),)
    )
    log = place / "killed.jsonl"
    with LogWriter(log, make_header(spec, CURRENT, 1, None)) as writer:
        cluster = Cluster(spec, CURRENT, seed=1, sink=writer)
        cluster.do(acts.Load("orders", rate=100, producer="app"))
        refused = acts.Elect("unclean", TopicPartition("orders", 0))
        for until, act in ((10, acts.Kill(3)), (40, acts.Start(3)), (41, refused)):
            cluster.run_until(until * SECOND)
            cluster.do(act)
        cluster.run_until(45 * SECOND)
        writer.close(cluster.now)
    staged = stage_logs([open_log(log)], [], place / "staged", *load_logs.needed_kinds_and_columns(charts=True))
    loaded = load_logs.load_logs(spark, [], staged, [], [], True, place, lambda _: None)
    report = compute_tables.compute_tables(loaded, html.ROWS, [], True, lambda _: None)
    return Reported(log, cluster.journal.seq, report)


@pytest.fixture(scope="session")
def logs_together(tmp_path_factory: pytest.TempPathFactory) -> dict[Writer, tuple[Sequence[Path], Any]]:
    """Write the logs of all modules."""
    return {write: write(tmp_path_factory.mktemp("logs")) for write in WRITERS}


@pytest.fixture(scope="session")
def tables_together(logs_together: dict[Writer, tuple[Sequence[Path], Any]], summarise: Callable[[Sequence[Path]], Tables]) -> Tables:
    """Compute every summary of the logs of all modules once."""
    return summarise([path for paths, _ in logs_together.values() for path in paths])


@pytest.fixture(scope="session")
def summarized(logs_together: dict[Writer, tuple[Sequence[Path], Any]], tables_together: Tables) -> Callable[[Writer], tuple[Any, Tables]]:
    """Return a function that takes a writer of logs. It returns the data that the writer returned in addition to the paths, and the rows of
    its logs.
    """

    def rows_of(write: Writer) -> tuple[Any, Tables]:
        paths, about = logs_together[write]
        names = {path.stem for path in paths}
        return about, {table: [row for row in rows if row["session"] in names] for table, rows in tables_together.items()}

    return rows_of
