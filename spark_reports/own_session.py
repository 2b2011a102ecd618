"""Functions for a Spark session that the caller has started, for example in a notebook or on a cluster.

Use `from spark_reports import register, summary, list_summaries, count_unknown`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from core.kafka.events import KINDS
from spark_reports.compute.load_logs import logs_of_markers
from spark_reports.compute.summary_inputs import session_table, summary_inputs
from spark_reports.errors import ReportError
from spark_reports.rows.frames import EventFrames
from spark_reports.rows.lines_to_rows import columns_of
from spark_reports.rows.log_source import LogSource
from spark_reports.rows.remote_lines_to_rows import is_infrequent
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, LINE, SESSION
from spark_reports.rows.staging import MarkerRow
from spark_reports.spark.executor_modules import ship_modules
from spark_reports.summaries.inputs import occurring_kinds
from spark_reports.summaries.registry import SUMMARIES
from spark_reports.summaries.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def register(spark: SparkSession) -> None:
    """Register the data source `isrlab` in a session: `spark.read.format("isrlab").load("logs/")`.

    `load` takes a file, a directory, or a pattern of logs (`.jsonl`, `.jsonl.zst`), or a list of these. Each log becomes one partition. The
    rows have the columns of a dataset that `isrlab log convert` writes. The rows of kinds `log-header` and `log-tail` are not events, but
    the first and last line of a log. `spark.readStream.format("isrlab").load("logs/")` reads logs while they grow (`log_source.LogStreamReader`).
    Executors on other machines get the modules that they need from this process, and read the logs at the same paths as this machine.
    """
    master = spark.sparkContext.master if hasattr(spark, "_jsparkSession") else "sc://"
    shipped = contextlib.ExitStack()
    shipped.enter_context(ship_modules(spark, master, "spark_reports"))
    atexit.register(shipped.close)
    spark.dataSource.register(LogSource)


def list_summaries() -> tuple[Summary, ...]:
    """Return all summaries in the order of a report. Each has a `name`, a `title`, a definition (`notes`), and a `schema`."""
    return SUMMARIES


def count_unknown(events: DataFrame) -> DataFrame:
    """Count what a newer version of isrlab wrote: the events of each unknown kind (`column` is null), and the events of each known kind with
    each unknown column. Their whole lines are in the column `line`.

    Returns:
        The columns `session`, `kind`, `column`, and `events`.
    """
    columns = [{"kind": kind, "known": sorted(columns_of(kind))} for kind in KINDS]
    of_kinds = F.inline(F.from_json(F.lit(json.dumps(columns)), "array<struct<kind string, known array<string>>>"))
    written = events.where(F.col(LINE).isNotNull() & ~F.col("kind").isin(DATASET_HEADER, DATASET_TAIL)).select(SESSION, "kind", LINE)
    joined = written.join(F.broadcast(events.sparkSession.range(1).select(of_kinds)), "kind", "left")
    others = F.when(F.col("known").isNull(), F.array(F.lit(None).cast("string"))).otherwise(
        F.array_except(F.json_object_keys(LINE), "known")
    )
    return (
        joined.select(SESSION, "kind", F.explode(others).alias("column"))
        .groupBy(SESSION, "kind", "column")
        .agg(F.count("*").alias("events"))
    )


def summary(events: DataFrame, name: str) -> DataFrame:
    """Return the table `name` of a report on sessions, with its declared columns, sorted by its keys.

    Spark runs two jobs at once, to read the first and last lines of the sessions, and to find the event kinds that occur. If several
    summaries are computed, cache `events` first.

    Args:
        events: all rows of the sessions, as the data source `isrlab` loads them.
        name: the name of a summary (`list_summaries`).

    Raises:
        ReportError: there is no summary with this name, or rows of a session are missing.
    """
    chosen = next((each for each in SUMMARIES if each.name == name), None)
    if chosen is None:
        raise ReportError(f"there is no summary {name!r}; list_summaries() returns all of them")
    is_marker = F.col("kind").isin(DATASET_HEADER, DATASET_TAIL)
    markers = [MarkerRow(*row) for row in events.where(is_marker).select(SESSION, "kind", "seq", "t", LINE).collect()]
    logs, complaints = logs_of_markers("events", markers)
    if not markers or complaints:
        missing = f"some rows of the kinds {DATASET_HEADER} and {DATASET_TAIL} are missing; pass all rows of the sessions"
        raise ReportError(complaints[0] if markers else missing)
    every = events.where(~is_marker)
    infrequent = every.where(is_infrequent())
    sessions = session_table(events.sparkSession, logs)
    return chosen(summary_inputs(EventFrames(every, infrequent, None), sessions, occurring_kinds(infrequent)))
