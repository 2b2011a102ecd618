"""Computes the tables of a report, several summaries at a time.

Most of the time of a small report goes into preparing queries, not into running them. So two queries with generated code aggregate
the frequent events. A second session of the same Spark works on the remaining rows (some ten thousand): it interprets its plans and
keeps all rows in one partition, because generating code and shuffling would take longer than they save.
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
from spark_reports.summaries.overview import NAME, NOTES, SOURCES, TITLE, WORST, overview
from spark_reports.summaries.registry import CHARTS, SUMMARIES
from spark_reports.summaries.summary import Summary
from spark_reports.tables.comparison import MOST
from spark_reports.tables.result import Report, Result
from spark_reports.tables.spark_table import Table, Write
from spark_reports.thread_pool import pool_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


PARALLEL_SUMMARIES: Final = 3
"""Summaries that are computed at the same time."""

CHARTED_PARTITIONS: Final = 60
"""Partitions with a chart in an HTML report, shared among its sessions."""

CHARTED_PARTITIONS_EACH: Final = 5
"""Partitions with a chart that each of these sessions gets."""

CHARTED_SESSIONS: Final = 12
"""Sessions with charts in an HTML report at most, the worst."""

CHART_ROWS: Final = 12_000
"""Rows that charts are drawn from at most, for each kind of chart."""

Progress = Callable[[str], None]
"""Tells what is being done."""


@attrs.frozen
class Computation:
    """The summaries of some logs, ready to be computed.

    Attributes:
        inputs: what they are computed from.
        logs: the sessions.
        wanted: how many rows of each table are shown at most; 0: of the sessions and their overview only.
        write: what writes each table.
    """

    inputs: SummaryInputs
    logs: Sequence[SessionLog]
    wanted: int
    write: Sequence[Write]
    progress: Progress

    def report(self, charts: bool) -> Report:
        """Every table, with what the charts are drawn from if they are asked for."""
        wanted = SUMMARIES if self.wanted or self.write else [summary for summary in SUMMARIES if summary.name in SOURCES]
        # What takes long begins first, and is not waited for while there is anything else to do.
        order = sorted(wanted, key=lambda summary: not FREQUENT_KINDS.isdisjoint(summary.kinds))
        with pool_of(PARALLEL_SUMMARIES) as pool:
            for once in (self.inputs.behind_once, self.inputs.counted_once):
                pool.submit(once)
            finished = dict(zip((summary.name for summary in order), pool.map(self._finish, order), strict=True))
        tables = {name: table for name, (table, _) in finished.items()}
        overview, totals = self._overview(tables)
        found = [self._sessions(overview), overview, *(result for summary in wanted if (result := finished[summary.name][1]) is not None)]
        if not charts:
            return Report(found, totals)
        self.progress("computing what the charts show …")
        return Report(found, totals, *self._drawn(overview, tables))

    def _finish(self, summary: Summary) -> tuple[Table, Result | None]:
        """A summary's table, all of it written, with the rows to show; None if none are. What is looked at more than once is kept."""
        frame = summary.shaped(self.inputs)
        if summary.name in SOURCES or self.write or len(self.logs) > 1:
            frame = frame.cache()
        table = Table(summary.name, summary.title, summary.notes, summary.keys, summary.worst, frame, self.inputs.gathered)
        if not (self.wanted or self.write):
            return table, None
        result = table.fetched(max(self.wanted, 1))
        if self.write:
            table.written(self.write, result.count)
        self.progress(f"  {table.title}: {result.count:,} row{'' if result.count == 1 else 's'}")
        return table, result

    def _sessions(self, overview: Result) -> Result:
        """The sessions by name; of more than are shown those that the overview shows, in its order."""
        frame = self.inputs.sessions.select(*SESSION_SHOWN)
        if self.write:
            Table("sessions", "", "", ("session",), (), frame, self.inputs.gathered).written(self.write, len(self.logs))
        by_name = {log.session: log for log in self.logs}
        names = [str(row[0]) for row in overview.rows] if overview.more else sorted(by_name)
        rows = [tuple(getattr(by_name[name], column) for column in SESSION_SHOWN) for name in names]
        return Result("sessions", "Sessions", "", SESSION_SHOWN, rows, overview.more, worst=overview.worst)

    def _overview(self, tables: Mapping[str, Table]) -> tuple[Result, dict[str, int | None]]:
        """The figures of the sessions, the worst first, and those of all of them together."""
        frames = {"sessions": self.inputs.sessions} | {name: tables[name].frame for name in sorted(SOURCES)}
        every = overview(frames, gathered=self.inputs.gathered)
        if self.write:
            every = every.cache()
        rows = every.orderBy(F.desc(F.isnull("session")), *sql_order(WORST, ("session",))).limit(max(self.wanted, MOST) + 1).collect()
        totals, *worst = [tuple(row) for row in rows]
        if self.write:
            own = every.where("session IS NOT NULL")
            Table(NAME, "", "", ("session",), (), own, self.inputs.gathered).written(self.write, len(self.logs))
        result = Result(NAME, TITLE, NOTES, tuple(every.columns), worst, len(self.logs) - len(worst), worst=WORST)
        return result, dict(zip(every.columns[1:], totals[1:], strict=True))

    def _drawn(self, overview: Result, tables: Mapping[str, Table]) -> tuple[list[Result], int]:
        """What charts are drawn from, of the worst partitions of the worst sessions, and how many partitions there are."""
        sessions = [str(row[0]) for row in overview.rows[:CHARTED_SESSIONS]]
        ranked, where = _rank_partitions(tables).cache(), list(PARTITION)
        most = max(CHARTED_PARTITIONS // len(sessions), CHARTED_PARTITIONS_EACH)
        chosen = F.broadcast(ranked.where((F.col("rank") <= most) & F.col("session").isin(sessions)).drop("rank"))
        states = self.inputs.states.join(chosen, where, "left_semi")
        events = self.inputs.events.join(chosen, where, "left_semi")
        inputs = attrs.evolve(self.inputs, events=events, states_once=Lazy(lambda: states))

        def draw(summary: Summary) -> Result:
            windows = tables[summary.name].frame.join(chosen, where, "left_semi") if summary is UNAVAILABILITY else None
            frame = summary.shaped(inputs) if windows is None else windows
            return Table(summary.name, summary.title, "", summary.keys, summary.worst, frame, self.inputs.gathered).fetched(CHART_ROWS)

        with pool_of(PARALLEL_SUMMARIES) as pool:
            results = list(pool.map(draw, (*CHARTS, UNAVAILABILITY)))
        return results, ranked.count()


def _rank_partitions(tables: Mapping[str, Table]) -> DataFrame:
    """The partitions with their `rank` in their session, from 1: those that lost records, then those that clients could not use for long."""
    made = {
        "availability": "1 AS known, 0 AS lost, 0 AS closed_us, offline_us, under_replicated_us",
        "unavailability": "0 AS known, 0 AS lost, lasts_us AS closed_us, 0 AS offline_us, 0 AS under_replicated_us",
        "records": "0 AS known, lost, 0 AS closed_us, 0 AS offline_us, 0 AS under_replicated_us",
    }
    parts = [tables[name].frame.selectExpr(*PARTITION, *columns.split(", ")) for name, columns in made.items()]
    worst = ("lost", "closed_us", "offline_us", "under_replicated_us")
    every = reduce(lambda one, other: one.unionAll(other), parts)
    summed = every.groupBy(*PARTITION).agg(F.sum("known").alias("known"), *(F.sum(name).alias(name) for name in worst))
    rank = F.row_number().over(Window.partitionBy("session").orderBy(*sql_order(worst, ("topic", "partition"))))
    return summed.where("known > 0").select(*PARTITION, rank.alias("rank"))


def compute_tables(loaded: LoadedLogs, wanted: int, write: Sequence[Write], charts: bool, progress: Progress) -> Report:
    """Every table of the sessions, and what charts are drawn from if they are asked for.

    Args:
        wanted: how many rows of each table are shown at most; 0: of the sessions and their overview only.
        write: what writes each table.
    """
    sessions = session_table(loaded.quick, loaded.logs)
    if loaded.quick is loaded.frames.events.sparkSession:
        inputs = summary_inputs(loaded.frames, sessions, loaded.found)
    else:
        few = sum(log.events for log in loaded.logs) <= SMALL_EVENTS
        inputs = single_partition_inputs(loaded.frames, loaded.quick, sessions, loaded.found, few)
    progress(f"computing {len(SUMMARIES)} summaries …")
    return Computation(inputs, loaded.logs, wanted, write, progress).report(charts)
