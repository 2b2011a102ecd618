"""Has Spark compute the tables of a report: one pass to keep what is needed, then all summaries, several at a time.

Nearly all of a small report's time is Spark preparing queries, not running them. So frequent events are aggregated in generated
code, by two queries, and what is left after that, some ten thousand rows, by a second session of the same Spark that interprets its
plans and has all rows in one partition: to generate and compile code for them, and to shuffle them, would take longer than it saves.
Plans are not revised while they run, for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import attrs
from pyspark.sql import Window
from pyspark.sql import functions as F

from spark_reports.errors import ReportError
from spark_reports.frames import Dataset, Frames, gathered_inputs, inputs_of, read_frames, session_table
from spark_reports.pools import pool_of
from spark_reports.render.comparison import MOST
from spark_reports.render.result import Report, Result
from spark_reports.schema import BULK, DATASET_HEADER, DATASET_TAIL, LINE, SESSION_SHOWN
from spark_reports.sessions import Log, dataset_log, explain_bad_line, name_sessions, session_name
from spark_reports.severity import sql_order
from spark_reports.spark import is_local
from spark_reports.staging import Mark, Staged
from spark_reports.summaries import CHARTS, SUMMARIES, columns_of, kinds_of
from spark_reports.summaries.overview import MEASURED, NAME, NOTES, TITLE, WORST, overview
from spark_reports.summaries.partition_states import PARTITION
from spark_reports.summaries.summary import Inputs, Once, Summary, kinds_in
from spark_reports.summaries.unavailability import UNAVAILABILITY
from spark_reports.tables import Table, Write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT_ONCE: Final = 3
"""Summaries that are computed at the same time."""

CHARTED: Final = 60
"""Partitions with a chart in an HTML report, shared among its sessions."""

CHARTED_EACH: Final = 5
"""Partitions with a chart that each of these sessions gets."""

CHARTED_SESSIONS: Final = 12
"""Sessions with charts in an HTML report at most, the worst."""

DRAWN_ROWS: Final = 12_000
"""Rows that charts are drawn from at most, for each kind of chart."""

SMALL_EVENTS: Final = 20_000
"""So many events, frequent ones and all, are aggregated sooner by interpreting plans than by generating and compiling code for them."""

INTERPRETED: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings of the session that works on few rows."""

Progress = Callable[[str], None]
"""Tells what is being done."""

Complain = Callable[[str], None]
"""Tells what is wrong."""


def spark_settings(master: str) -> dict[str, str]:
    """Settings of a session for reports, weaker than what a user asks for."""
    chosen = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
    if is_local(master):
        chosen |= {
            "spark.sql.adaptive.enabled": "false",
            # What is shuffled stays on this machine; windows of more rows than 4,096 would be kept in a form that is slower to go through.
            "spark.shuffle.compress": "false",
            "spark.sql.windowExec.buffer.in.memory.threshold": "200000",
        }
    return chosen


@attrs.frozen
class Computation:
    """The summaries of some logs, ready to be computed.

    Attributes:
        inputs: what they are computed from.
        logs: the sessions.
        wanted: how many rows of each table are shown at most; 0: of the sessions and their overview only.
        write: what writes each table.
    """

    inputs: Inputs
    logs: Sequence[Log]
    wanted: int
    write: Sequence[Write]
    progress: Progress

    def report(self, charts: bool) -> Report:
        """Every table, with what the charts are drawn from if they are asked for."""
        wanted = SUMMARIES if self.wanted or self.write else [summary for summary in SUMMARIES if summary.name in MEASURED]
        # What takes long begins first, and is not waited for while there is anything else to do.
        order = sorted(wanted, key=lambda summary: not BULK.isdisjoint(summary.kinds))
        with pool_of(AT_ONCE) as pool:
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
        if summary.name in MEASURED or self.write or len(self.logs) > 1:
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
        frames = {"sessions": self.inputs.sessions} | {name: tables[name].frame for name in sorted(MEASURED)}
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
        ranked, where = _ranked(tables).cache(), list(PARTITION)
        most = max(CHARTED // len(sessions), CHARTED_EACH)
        chosen = F.broadcast(ranked.where((F.col("rank") <= most) & F.col("session").isin(sessions)).drop("rank"))
        states = self.inputs.states.join(chosen, where, "left_semi")
        events = self.inputs.events.join(chosen, where, "left_semi")
        inputs = attrs.evolve(self.inputs, events=events, states_once=Once(lambda: states))

        def draw(summary: Summary) -> Result:
            windows = tables[summary.name].frame.join(chosen, where, "left_semi") if summary is UNAVAILABILITY else None
            frame = summary.shaped(inputs) if windows is None else windows
            return Table(summary.name, summary.title, "", summary.keys, summary.worst, frame, self.inputs.gathered).fetched(DRAWN_ROWS)

        with pool_of(AT_ONCE) as pool:
            results = list(pool.map(draw, (*CHARTS, UNAVAILABILITY)))
        return results, ranked.count()


def _ranked(tables: Mapping[str, Table]) -> DataFrame:
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


@attrs.frozen
class Loaded:
    """Events that were read, and the sessions that can be reported.

    Attributes:
        frames: what summaries are computed from.
        quick: the session that works on few rows.
        found: the kinds that occur among the rare events.
        logs: the sessions that can be used.
        refused: how many cannot; each was complained about.
    """

    frames: Frames
    quick: SparkSession
    found: frozenset[str]
    logs: list[Log]
    refused: int


def needed(charts: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The event kinds and columns that a report is made from."""
    wanted = (*SUMMARIES, *CHARTS) if charts else SUMMARIES
    return kinds_of(wanted), columns_of(wanted)


def load(
    spark: SparkSession,
    here: Sequence[Log],
    staged: Staged,
    remote: Sequence[str],
    datasets: Sequence[str],
    charts: bool,
    links: Path | None,
    complain: Complain,
) -> Loaded:
    """Read logs as JSON Lines and datasets in one pass over each, and find out which of their sessions can be used.

    Args:
        here: logs on this machine that were not staged.
        staged: what was.
        remote: addresses of JSON Lines elsewhere.
        datasets: addresses of datasets.
        charts: whether what charts are drawn from is needed too.
        links: as `staging` for `frames.read_lines`.
    """
    kinds, columns = needed(charts)
    usable: list[Dataset] = []
    logs: list[Log] = []
    refused = 0
    lines = list(here)
    for address in remote:
        elsewhere, complaints = _remote_logs(spark, address)
        for complaint in complaints:
            complain(complaint)
        refused += len(complaints)
        lines = name_sessions([*lines, *elsewhere])
    for dataset in datasets:
        picked = staged.picked.get(dataset)
        found, complaints = _dataset_logs(spark, dataset, kinds, columns) if picked is None else logs_of(dataset, picked.marks)
        for complaint in complaints:
            complain(complaint)
        refused += len(complaints)
        # Sessions of one name are told apart by where they come from.
        names = {log.session for log in (*lines, *logs, *staged.logs)}
        prefix = f"{dataset}: " if any(log.session in names for log in found) else ""
        logs += [attrs.evolve(log, session=prefix + log.session) for log in found]
        if found:
            usable.append(Dataset(dataset, prefix, None if picked is None else picked.rare.as_uri()))
    if staged.logs:
        usable.append(Dataset(staged.events.as_uri(), "", staged.rare.as_uri()))
        logs += staged.logs
    if not lines and not usable:
        return Loaded(Frames(spark.range(0), spark.range(0), None), spark, frozenset(), [], refused)
    frames = read_frames(spark, lines, usable, kinds, columns, links)
    bad = {} if frames.bad is None else {row["session"]: row["count"] for row in frames.bad.collect()}
    good = []
    for log in lines:
        if bad.get(log.session, 0) <= (1 if log.torn else 0):
            good.append(log)
        else:
            complain(explain_bad_line(log) + (f" ({bad[log.session]} such lines)" if bad[log.session] > 1 else ""))
            refused += 1
    # Keeps them, too, by generated code.
    occurring = kinds_in(frames.rare)
    logs = [*good, *logs]
    return Loaded(_only(frames, logs) if refused else frames, _quick_session(spark), occurring, logs, refused)


def _dataset_logs(spark: SparkSession, dataset: str, kinds: Collection[str], columns: Collection[str]) -> tuple[list[Log], list[str]]:
    """The sessions of a dataset, and what is to be said about those that cannot be used."""
    from pyspark.errors import PySparkException

    try:
        rare = read_frames(spark, [], [Dataset(dataset)], kinds, columns, None).rare
        rows = rare.where(F.col("kind").isin(DATASET_HEADER, DATASET_TAIL)).select("session", "kind", "seq", "t", LINE).collect()
    except PySparkException as failure:
        return [], [f"{dataset}: cannot be read as event logs in Parquet: {_first_line(failure)}"]
    return logs_of(dataset, [Mark(*row) for row in rows])


def logs_of(dataset: str, marks: Iterable[Mark]) -> tuple[list[Log], list[str]]:
    """The sessions of a dataset by what it has beside events, and what is to be said about those that cannot be used."""
    heads: dict[str, Mark] = {}
    tails: dict[str, Mark] = {}
    for mark in marks:
        (heads if mark.kind == DATASET_HEADER else tails)[mark.session] = mark
    found, complaints = [], []
    for session in sorted(heads):
        tail = tails.get(session)
        try:
            if tail is None:
                raise ReportError(f"{dataset}: session {session} is not whole; convert its log again")
            found.append(dataset_log(dataset, session, heads[session].line or "", tail.line or "", tail.seq - 1, tail.t))
        except ReportError as wrong:
            complaints.append(str(wrong))
    if not heads:
        complaints.append(f"{dataset}: no event logs; this would be a directory that 'isrlab log convert' wrote")
    return found, complaints


def _remote_logs(spark: SparkSession, address: str) -> tuple[list[Log], list[str]]:
    """The logs as JSON Lines at an address that only Spark can read, and what is to be said about those that cannot be used."""
    from pyspark.errors import PySparkException

    try:
        text = spark.read.option("lineSep", "\n").text(address).select("value", F.col("_metadata.file_path").alias("file"))
        last = F.max(
            F.struct(
                F.get_json_object("value", "$.seq").cast("long").alias("seq"), F.get_json_object("value", "$.t").cast("long").alias("t")
            )
        )
        rows = (
            text.groupBy("file")
            .agg(
                F.max(F.when(F.col("value").startswith('{"isrlab"'), F.col("value"))).alias("head"),
                F.max(F.when(F.col("value").startswith('{"end"'), F.col("value"))).alias("tail"),
                last.alias("last"),
            )
            .sort("file")
            .collect()
        )
        empty = sorted(set(map(_plain, text.inputFiles())) - {_plain(row["file"]) for row in rows})
    except PySparkException as failure:
        return [], [f"{address}: cannot be read: {_first_line(failure)}"]
    found, complaints = [], [f"{file}: is empty; its first line would be a header" for file in empty]
    for row in rows:
        try:
            if row["head"] is None:
                raise ReportError(f"{row['file']}: this is no event log; its first line would be a header")
            session = session_name(PurePosixPath(unquote(row["file"]).removesuffix(".gz")))
            log = dataset_log(row["file"], session, row["head"], row["tail"] or "", row["last"]["seq"] or 0, row["last"]["t"] or 0)
            found.append(attrs.evolve(log, readable=unquote(row["file"])))
        except ReportError as wrong:
            complaints.append(str(wrong))
    return found, complaints


def _plain(address: str) -> str:
    """An address without escapes, as Spark's different parts all mean it."""
    return re.sub("^file:/+", "file:///", unquote(address))


def _first_line(failure: Exception) -> str:
    return next((line.strip() for line in str(failure).splitlines() if line.strip()), type(failure).__name__)[:300]


def _quick_session(spark: SparkSession) -> SparkSession:
    """A second session of the same Spark for what has few rows; the same one where Spark is not in this process's JVM."""
    if not hasattr(spark, "_jsparkSession") or not is_local(spark.sparkContext.master or ""):
        return spark
    quick = spark.newSession()
    for name, value in INTERPRETED.items():
        quick.conf.set(name, value)
    return quick


def _only(frames: Frames, logs: Iterable[Log]) -> Frames:
    of_these = F.col("session").isin([log.session for log in logs])
    return attrs.evolve(frames, events=frames.events.where(of_these), rare=frames.rare.where(of_these))


def compute(loaded: Loaded, wanted: int, write: Sequence[Write], charts: bool, progress: Progress) -> Report:
    """Every table of the sessions, and what charts are drawn from if they are asked for.

    Args:
        wanted: how many rows of each table are shown at most; 0: of the sessions and their overview only.
        write: what writes each table.
    """
    sessions = session_table(loaded.quick, loaded.logs)
    if loaded.quick is loaded.frames.events.sparkSession:
        inputs = inputs_of(loaded.frames, sessions, loaded.found)
    else:
        few = sum(log.events for log in loaded.logs) <= SMALL_EVENTS
        inputs = gathered_inputs(loaded.frames, loaded.quick, sessions, loaded.found, few)
    progress(f"computing {len(SUMMARIES)} summaries …")
    return Computation(inputs, loaded.logs, wanted, write, progress).report(charts)
