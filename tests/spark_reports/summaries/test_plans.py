"""Checks the cost of a report in Spark's query plans, which are the same on every machine: how often events are shuffled, and what is
dropped before the query runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_reports.compute.summary_inputs import session_table, summary_inputs
from spark_reports.logs.session_log import open_log
from spark_reports.rows.frames import EventFrames, read_frames
from spark_reports.summaries.clients.harm import HARM
from spark_reports.summaries.cluster.settings import SETTINGS
from spark_reports.summaries.inputs import occurring_kinds
from spark_reports.summaries.intermediate.fault_intervals import leadership_intervals
from spark_reports.summaries.intermediate.high_watermark_stalls import high_watermark_stalls
from spark_reports.summaries.intermediate.lag_counts import lag_counts
from spark_reports.summaries.registry import SUMMARIES, columns_of, kinds_of
from tests.spark_reports.event_logs import event, write_log

pytestmark = pytest.mark.spark


def plan_of(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan())


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log of a session in which one broker starts, and nothing else happens."""
    return write_log(tmp_path_factory.mktemp("plans") / "session.jsonl", [event(0, "broker-started", broker=1)], 10)


@pytest.fixture
def frames(log: Path, spark: Any, tmp_path: Path) -> EventFrames:
    return read_frames(spark, [open_log(log)], [], kinds_of(SUMMARIES), columns_of(SUMMARIES), tmp_path)


def test_lag_shuffles_events_once_and_what_it_counts_once(frames: EventFrames) -> None:
    assert plan_of(lag_counts(frames.events)).count("Exchange hashpartitioning") == 2


def test_a_high_watermark_that_stands_still_is_found_by_sorting_events_once(frames: EventFrames) -> None:
    plan = plan_of(high_watermark_stalls(frames.events))
    assert plan.count("Exchange hashpartitioning(of_partition") == 1
    assert plan.count("Sort [") == 1


def test_no_window_goes_through_all_later_rows_of_each_row(frames: EventFrames) -> None:
    assert "unboundedfollowing" not in plan_of(leadership_intervals(frames.infrequent)).lower()


def test_what_is_made_from_events_that_do_not_occur_is_nothing(frames: EventFrames, log: Path, spark: Any) -> None:
    found = occurring_kinds(frames.infrequent)
    assert found == {"broker-started"}
    inputs = summary_inputs(frames, session_table(spark, [open_log(log)]), found)
    for summary in (HARM, SETTINGS):
        plan = plan_of(summary.with_schema(inputs))
        assert "LocalTableScan <empty>" in plan
        assert "Join" not in plan
