"""Sessions of many events are aggregated by code that is generated for their plans, those of few without: the tables are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from spark_reports.compute import compute_tables, load_logs
from spark_reports.logs.session_log import open_log
from spark_reports.rows.staging import stage_logs

pytestmark = pytest.mark.spark


def test_the_tables_of_many_and_of_few_events_are_the_same(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "session.jsonl"
    spec = ClusterSpec(brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics=(TopicSpec("orders", partitions=2),))
    with LogWriter(path, make_header(spec, CURRENT, 1, None)) as log:
        cluster = Cluster(spec, CURRENT, seed=1, sink=log)
        cluster.do(acts.Load("orders", rate=50, producer="app"))
        for act in (acts.Kill(2), acts.Start(2)):
            cluster.run_until(cluster.now + 15 * SECOND)
            cluster.do(act)
        log.close(cluster.now)
    generating = spark.newSession()
    for name, value in (("spark.sql.codegen.wholeStage", "true"), ("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")):
        generating.conf.set(name, value)
    reports = []
    for few in (0, cluster.journal.seq):
        monkeypatch.setattr(compute_tables, "SMALL_EVENTS", few)
        staged = stage_logs([open_log(path)], [], tmp_path / f"staged-{few}", *load_logs.needed_kinds_and_columns(charts=False))
        loaded = load_logs.load_logs(generating, [], staged, [], [], False, tmp_path, lambda _: None)
        assert loaded.interpreting is not generating
        reports.append(compute_tables.compute_tables(loaded, 10_000, [], False, lambda _: None))
    assert reports[0] == reports[1]
    assert all(len(table.rows) > 0 for table in reports[0].tables if table.name in ("elections", "records", "produce_latency", "lag"))
