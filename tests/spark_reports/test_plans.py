"""What a report costs by Spark's plans, which say so on every machine alike: how often events are shuffled, and what is dropped before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_reports.frames import Frames, inputs_of, read_frames, session_table
from spark_reports.sessions import open_log
from spark_reports.summaries import SUMMARIES, columns_of, kinds_of
from spark_reports.summaries.harm import HARM
from spark_reports.summaries.lag import behind
from spark_reports.summaries.settings import SETTINGS
from spark_reports.summaries.stalls import leading, standing_still
from spark_reports.summaries.summary import kinds_in
from tests.spark_reports.logs import event, write_log

pytestmark = pytest.mark.spark


def plan_of(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan())


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One broker starts, and nothing else happens."""
    return write_log(tmp_path_factory.mktemp("plans") / "session.jsonl", [event(0, "broker-started", broker=1)], 10)


@pytest.fixture
def frames(log: Path, spark: Any, tmp_path: Path) -> Frames:
    return read_frames(spark, [open_log(log)], [], kinds_of(SUMMARIES), columns_of(SUMMARIES), tmp_path)


def test_lag_shuffles_events_once_and_what_it_counts_once(frames: Frames) -> None:
    assert plan_of(behind(frames.events)).count("Exchange hashpartitioning") == 2


def test_a_high_watermark_that_stands_still_is_found_by_sorting_events_once(frames: Frames) -> None:
    plan = plan_of(standing_still(frames.events))
    assert plan.count("Exchange hashpartitioning(of_partition") == 1
    assert plan.count("Sort [") == 1


def test_no_window_goes_through_all_later_rows_of_each_row(frames: Frames) -> None:
    assert "unboundedfollowing" not in plan_of(leading(frames.rare)).lower()


def test_what_is_made_from_events_that_do_not_occur_is_nothing(frames: Frames, log: Path, spark: Any) -> None:
    found = kinds_in(frames.rare)
    assert found == {"broker-started"}
    inputs = inputs_of(frames, session_table(spark, [open_log(log)]), found)
    for summary in (HARM, SETTINGS):
        plan = plan_of(summary.shaped(inputs))
        assert "LocalTableScan <empty>" in plan
        assert "Join" not in plan
