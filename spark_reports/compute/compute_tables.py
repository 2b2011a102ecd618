"""Computes the tables of a report. Several summaries are computed at the same time.

For a small report, preparing queries takes longer than running them. Therefore, only two queries, which aggregate the frequent events, use
generated code. A second session of the same Spark instance handles the remaining rows (about ten thousand). The second session interprets
its query plans and keeps all rows in one partition, because generating code and shuffling would take more time than they save.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

import attrs
from pyspark.sql import Window
from pyspark.sql import functions as F

from spark_reports.compute.load_logs import LoadedLogs
from spark_reports.compute.session_settings import SMALL_EVENTS
from spark_reports.compute.summary_inputs import session_table, single_partition_inputs, summary_inputs
from spark_reports.logs.session_log import SessionLog
from spark_reports.rows.schema import FREQUENT_KINDS, SESSION_SHOWN
from spark_reports.severity import sql_order
from spark_reports.summaries.clients.unavailability import UNAVAILABILITY
from spark_reports.summaries.inputs import Lazy, SummaryInputs
from spark_reports.summaries.intermediate.partition_states import PARTITION
from spark_reports.summaries.overview import FIGURES, NAME, NOTES, SOURCES, TITLE, WORST, overview
from spark_reports.summaries.registry import CHARTS, SUMMARIES, WHOLE_SESSIONS
from spark_reports.summaries.summary import Summary
from spark_reports.tables.comparison import MOST
from spark_reports.tables.result import Report, Result
from spark_reports.tables.spark_table import Table, Write
from spark_reports.thread_pool import pool_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


PARALLEL_SUMMARIES: Final = 3
"""The number of summaries that are computed at the same time."""

CHARTED_PARTITIONS: Final = 60
"""The maximum number of partitions with a chart in an HTML report. The limit applies to all sessions together."""

CHARTED_PARTITIONS_EACH: Final = 5
"""Each session can have charts for at least this number of partitions, however many sessions have charts."""

CHARTED_SESSIONS: Final = 12
"""The maximum number of sessions with charts in an HTML report. The report shows charts for the worst sessions."""

CHART_ROWS: Final = 12_000
"""The maximum number of rows for each kind of chart."""

Progress = Callable[[str], None]
"""A function that reports the current step to the user."""


@attrs.frozen
class Computation:
    """Computes the summaries of the given logs.

    Attributes:
        inputs: the inputs of the summaries.
        logs: the logs of the sessions.
        wanted: the maximum number of rows to show for each table, or 0 to show only the tables `sessions` and `overview`.
        write: the functions that are called to write each table.
        progress: the function that shows progress.
    """

    inputs: SummaryInputs
    logs: Sequence[SessionLog]
    wanted: int
    write: Sequence[Write]
    progress: Progress

    def report(self, charts: bool) -> Report:
        """Compute every table and, if `charts` is set, the rows for charts."""
        wanted = SUMMARIES if self.wanted or self.write else [summary for summary in SUMMARIES if summary.name in SOURCES]
        # The longest computations start first.
        order = sorted(wanted, key=lambda summary: not FREQUENT_KINDS.isdisjoint(summary.kinds))
        with pool_of(PARALLEL_SUMMARIES) as pool:
            for once in (self.inputs.lag_counts_once, self.inputs.event_counts_once):
                pool.submit(once)
            finished = dict(zip((summary.name for summary in order), pool.map(self._finish, order), strict=True))
        tables = {name: table for name, (table, _) in finished.items() if table is not None}
        overview, totals = self._overview(tables)
        found = [self._sessions(overview), overview, *(result for summary in wanted if (result := finished[summary.name][1]) is not None)]
        if not charts:
            return Report(found, totals)
        self.progress("computing the charts …")
        return Report(found, totals, *self._drawn(overview, tables))

    def _finish(self, summary: Summary) -> tuple[Table | None, Result | None]:
        """Compute and write the table of a summary. Return the table and the rows to show.

        The rows are None if the report neither shows nor writes the table. The table is None if the log has no events that produce rows; in
        this case, an empty table is written but not kept. A table that is read more than once is cached.
        """
        if not summary.can_have_rows(self.inputs):
            return None, self._finish_empty(summary)
        frame = summary.with_schema(self.inputs)
        if summary.name in SOURCES or self.write or len(self.logs) > 1:
            frame = frame.cache()
        table = Table(summary.name, summary.title, summary.notes, summary.keys, summary.worst, frame, self.inputs.single_partition)
        if not (self.wanted or self.write):
            return table, None
        result = table.fetched(max(self.wanted, 1))
        if self.write:
            table.written(self.write, result.count, None if result.more else list(result.rows))
        self._tell(result)
        return table, result

    def _finish_empty(self, summary: Summary) -> Result | None:
        """Write the table of a summary that has no rows. Return the rows to show, as `_finish` does."""
        if not (self.wanted or self.write):
            return None
        result = Result(summary.name, summary.title, summary.notes, tuple(summary.schema.names), [], worst=summary.worst)
        if self.write:
            frame = summary.with_schema(self.inputs)
            Table(summary.name, summary.title, summary.notes, summary.keys, summary.worst, frame, True).written(self.write, 0, [])
        self._tell(result)
        return result

    def _tell(self, result: Result) -> None:
        self.progress(f"  {result.title}: {result.count:,} row{'' if result.count == 1 else 's'}")

    def _sessions(self, overview: Result) -> Result:
        """Return the sessions, sorted by name. If there are too many sessions, return only the sessions in the overview, in the order of
        the overview.
        """
        frame = self.inputs.sessions.select(*SESSION_SHOWN)
        if self.write:
            Table("sessions", "", "", ("session",), (), frame, self.inputs.single_partition).written(self.write, len(self.logs))
        by_name = {log.session: log for log in self.logs}
        names = [str(row[0]) for row in overview.rows] if overview.more else sorted(by_name)
        rows = [tuple(getattr(by_name[name], column) for column in SESSION_SHOWN) for name in names]
        return Result("sessions", "Sessions", "", SESSION_SHOWN, rows, overview.more, worst=overview.worst)

    def _overview(self, tables: Mapping[str, Table]) -> tuple[Result, dict[str, int | None]]:
        """Return the figures of each session, with the worst session first, and the figures of all sessions together."""
        frames = {"sessions": self.inputs.sessions} | {name: tables[name].frame for name in sorted(SOURCES & tables.keys())}
        every = overview(frames, single_partition=self.inputs.single_partition)
        if self.write:
            every = every.cache()
        rows = every.orderBy(F.desc(F.isnull("session")), *sql_order(WORST, ("session",))).limit(max(self.wanted, MOST) + 1).collect()
        totals, *worst = [tuple(row) for row in rows]
        if self.write:
            own = every.where("session IS NOT NULL")
            Table(NAME, "", "", ("session",), (), own, self.inputs.single_partition).written(self.write, len(self.logs))
        columns = ("session", *FIGURES)
        result = Result(NAME, TITLE, NOTES, columns, worst, len(self.logs) - len(worst), worst=WORST)
        return result, dict(zip(FIGURES, totals[1:], strict=True))

    def _drawn(self, overview: Result, tables: Mapping[str, Table]) -> tuple[list[Result], int]:
        """Return the rows for charts of the worst partitions in the worst sessions, and the total number of partitions."""
        sessions = [str(row[0]) for row in overview.rows[:CHARTED_SESSIONS]]
        ranked, where = _rank_partitions(tables).cache(), list(PARTITION)
        most = max(CHARTED_PARTITIONS // len(sessions), CHARTED_PARTITIONS_EACH)
        chosen = F.broadcast(ranked.where((F.col("rank") <= most) & F.col("session").isin(sessions)).drop("rank"))
        states = self.inputs.states.join(chosen, where, "left_semi")
        events = self.inputs.events.join(chosen, where, "left_semi")
        held = self.inputs.held.join(chosen, where, "left_semi")
        of_these = F.col("session").isin(sessions)
        inputs = attrs.evolve(
            self.inputs,
            events=events,
            states_once=Lazy(lambda: states),
            held_once=Lazy(lambda: held),
            group_lags_once=Lazy(lambda: self.inputs.group_lags.where(of_these)),
            owned_once=Lazy(lambda: self.inputs.owned_partitions.where(of_these)),
            unowned_once=Lazy(lambda: self.inputs.unowned_partitions.where(of_these)),
        )

        # What concerns whole sessions, not single partitions.
        whole = attrs.evolve(
            self.inputs,
            events=self.inputs.events.where(of_these),
            infrequent=self.inputs.infrequent.where(of_these),
            sessions=self.inputs.sessions.where(of_these),
            states_once=Lazy(lambda: self.inputs.states.where(of_these)),
        )

        def draw(summary: Summary) -> Result:
            if summary in WHOLE_SESSIONS and summary.can_have_rows(whole):
                frame = summary.with_schema(whole)
                return Table(summary.name, summary.title, "", summary.keys, summary.worst, frame, self.inputs.single_partition).fetched(
                    CHART_ROWS
                )
            if not summary.can_have_rows(inputs):
                return Result(summary.name, summary.title, "", tuple(summary.schema.names), [], worst=summary.worst)
            windows = tables[summary.name].frame.join(chosen, where, "left_semi") if summary is UNAVAILABILITY else None
            frame = summary.with_schema(inputs) if windows is None else windows
            return Table(summary.name, summary.title, "", summary.keys, summary.worst, frame, self.inputs.single_partition).fetched(
                CHART_ROWS
            )

        with pool_of(PARALLEL_SUMMARIES) as pool:
            results = list(pool.map(draw, (*CHARTS, UNAVAILABILITY)))
        return results, ranked.count()


def _rank_partitions(tables: Mapping[str, Table]) -> DataFrame:
    """Rank the partitions of each session, starting with 1: partitions that lost records come first, and then partitions that were
    unavailable for the longest time.
    """
    made = {
        "availability": "1 AS known, 0 AS lost, 0 AS closed_us, offline_us, under_replicated_us",
        "unavailability": "0 AS known, 0 AS lost, lasts_us AS closed_us, 0 AS offline_us, 0 AS under_replicated_us",
        "records": "0 AS known, lost, 0 AS closed_us, 0 AS offline_us, 0 AS under_replicated_us",
    }
    parts = [tables[name].frame.selectExpr(*PARTITION, *columns.split(", ")) for name, columns in made.items() if name in tables]
    worst = ("lost", "closed_us", "offline_us", "under_replicated_us")
    every = reduce(lambda one, other: one.unionAll(other), parts)
    summed = every.groupBy(*PARTITION).agg(F.sum("known").alias("known"), *(F.sum(name).alias(name) for name in worst))
    rank = F.row_number().over(Window.partitionBy("session").orderBy(*sql_order(worst, ("topic", "partition"))))
    return summed.where("known > 0").select(*PARTITION, rank.alias("rank"))


def compute_tables(loaded: LoadedLogs, wanted: int, write: Sequence[Write], charts: bool, progress: Progress) -> Report:
    """Compute every table of the sessions and, if `charts` is set, the rows for charts.

    Args:
        wanted: the maximum number of rows to show for each table, or 0 to show only the tables `sessions` and `overview`.
        write: the functions that are called to write each table.
    """
    sessions = session_table(loaded.interpreting, loaded.logs)
    few = sum(log.events for log in loaded.logs) <= SMALL_EVENTS
    if loaded.interpreting is loaded.frames.events.sparkSession:
        inputs = summary_inputs(loaded.frames, sessions, loaded.found, few)
    else:
        inputs = single_partition_inputs(loaded.frames, loaded.interpreting, sessions, loaded.found, few)
    progress(f"computing {len(SUMMARIES)} summaries …")
    return attrs.evolve(Computation(inputs, loaded.logs, wanted, write, progress).report(charts), notices=loaded.notices)
