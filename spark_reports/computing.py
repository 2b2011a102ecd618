"""Has Spark compute the tables of a report: one pass to keep what is needed, then all summaries, several at a time.

Nearly all of a small report's time is Spark preparing queries, not running them. So frequent events are aggregated in generated
code, by two queries, and what is left after that, some ten thousand rows, by a second session of the same Spark that interprets its
plans and has all rows in one partition: to generate and compile code for them, and to shuffle them, would take longer than it saves.
Plans are not revised while they run, for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import attrs

from spark_reports.errors import ReportError
from spark_reports.frames import Dataset, Frames, gathered_inputs, inputs_of, read_frames, session_table
from spark_reports.pools import pool_of
from spark_reports.render.result import Report, Result
from spark_reports.schema import BULK, DATASET_HEADER, DATASET_TAIL, LINE, SESSION_SHOWN
from spark_reports.sessions import Log, dataset_log, explain_bad_line, name_sessions, session_name
from spark_reports.spark import is_local
from spark_reports.staging import Mark, Staged
from spark_reports.summaries import CHARTS, SUMMARIES, columns_of, kinds_of
from spark_reports.summaries.summary import Inputs, Once, Summary
from spark_reports.summaries.unavailability import UNAVAILABILITY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT_ONCE: Final = 3
"""Summaries that are computed at the same time."""

CHARTED: Final = 60
"""Partitions with a chart in an HTML report, shared among its sessions."""

CHARTED_EACH: Final = 5
"""Partitions with a chart that each session gets, however many sessions there are."""

DRAWN_ROWS: Final = 12_000
"""Rows that charts are drawn from at most, for each kind of chart."""

SMALL_EVENTS: Final = 20_000
"""So many events, frequent ones and all, are aggregated sooner by interpreting plans than by generating and compiling code for them."""

_INTERPRETED: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings of the session that works on few rows."""

Progress = Callable[[str], None]
"""Tells what is being done."""

Complain = Callable[[str], None]
"""Tells what is wrong."""

Write = Callable[[str, "DataFrame"], None]
"""Writes a table of that name."""


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
        wanted: how many rows of each are shown; None for all of them.
        write: writes a table, given its name and rows as a frame; None when nothing is written.
    """

    inputs: Inputs
    wanted: int | None
    write: Write | None
    progress: Progress

    def tables(self) -> list[Result]:
        """The sessions and every summary, in the order they are shown."""

        def finish(summary: Summary) -> Result:
            result = self._finish(summary.name, summary.title, summary.notes, summary(self.inputs))
            count = len(result.rows) + result.more
            self.progress(f"  {summary.title}: {count:,} row{'' if count == 1 else 's'}")
            return result

        # What takes long begins first, and is not waited for while there is anything else to do.
        order = sorted(SUMMARIES, key=lambda summary: not BULK.isdisjoint(summary.kinds))
        with pool_of(AT_ONCE) as pool:
            for once in (self.inputs.behind_once, self.inputs.counted_once):
                pool.submit(once)
            done = dict(zip((summary.name for summary in order), pool.map(finish, order), strict=True))
            sessions = self._finish("sessions", "Sessions", "", self.inputs.sessions.select(*SESSION_SHOWN).coalesce(1).sort("session"))
        return [sessions, *(done[summary.name] for summary in SUMMARIES)]

    def _finish(self, name: str, title: str, notes: str, frame: DataFrame) -> Result:
        """Compute a table once, write it, and fetch the rows to show."""
        if self.write is not None:
            frame = frame.coalesce(1).cache()
        rows = [tuple(row) for row in (frame.collect() if self.wanted is None else frame.limit(self.wanted + 1).collect())]
        more = frame.count() - self.wanted if self.wanted is not None and len(rows) > self.wanted else 0
        if self.write is not None:
            self.write(name, frame)
        return Result(name, title, notes, tuple(frame.columns), rows[: self.wanted], more)

    def drawn(self, sessions: int) -> tuple[list[Result], int]:
        """What charts are drawn from, of the partitions that had the most trouble, and how many partitions there are."""
        inputs, partitions = self._of_charted(sessions)

        def draw(summary: Summary) -> Result:
            frame = summary(inputs)
            rows = [tuple(row) for row in frame.limit(DRAWN_ROWS + 1).collect()]
            more = max(0, len(rows) - DRAWN_ROWS)
            return Result(summary.name, summary.title, summary.notes, tuple(frame.columns), rows[:DRAWN_ROWS], more)

        with pool_of(AT_ONCE) as pool:
            results = list(pool.map(draw, (*CHARTS, UNAVAILABILITY)))
        return results, partitions.count()

    def _of_charted(self, sessions: int) -> tuple[Inputs, DataFrame]:
        """The inputs, of the partitions that get a chart only."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        from spark_reports.summaries.availability import AVAILABILITY

        most = max(CHARTED // sessions, CHARTED_EACH)
        troubled = F.desc(F.col("offline_us") * 4 + F.col("under_replicated_us"))
        ranked = AVAILABILITY(self.inputs).select(
            "session",
            "topic",
            "partition",
            F.row_number().over(Window.partitionBy("session").orderBy(troubled, "topic", "partition")).alias("rank"),
        )
        ranked = ranked.cache()
        chosen = F.broadcast(ranked.where(F.col("rank") <= most).drop("rank"))
        where = ["session", "topic", "partition"]
        states = self.inputs.states.join(chosen, where, "left_semi")
        events = self.inputs.events.join(chosen, where, "left_semi")
        return attrs.evolve(self.inputs, events=events, states_once=Once(lambda: states)), ranked


@attrs.frozen
class Loaded:
    """Events that were read, and the sessions that can be reported.

    Attributes:
        frames: what summaries are computed from.
        quick: the session that works on few rows.
        logs: the sessions that can be used.
        refused: how many cannot; each was complained about.
    """

    frames: Frames
    quick: SparkSession
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
        return Loaded(Frames(spark.range(0), spark.range(0), None), spark, [], refused)
    frames = read_frames(spark, lines, usable, kinds, columns, links)
    bad = {} if frames.bad is None else {row["session"]: row["count"] for row in frames.bad.collect()}
    good = []
    for log in lines:
        if bad.get(log.session, 0) <= (1 if log.torn else 0):
            good.append(log)
        else:
            complain(explain_bad_line(log) + (f" ({bad[log.session]} such lines)" if bad[log.session] > 1 else ""))
            refused += 1
    if lines or any(dataset.rare is None for dataset in usable):
        # Kept by generated code.
        frames.rare.count()
    logs = [*good, *logs]
    return Loaded(_only(frames, logs) if refused else frames, _quick_session(spark), logs, refused)


def _dataset_logs(spark: SparkSession, dataset: str, kinds: Collection[str], columns: Collection[str]) -> tuple[list[Log], list[str]]:
    """The sessions of a dataset, and what is to be said about those that cannot be used."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

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
    from pyspark.sql import functions as F

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
    for name, value in _INTERPRETED.items():
        quick.conf.set(name, value)
    return quick


def _only(frames: Frames, logs: Iterable[Log]) -> Frames:
    from pyspark.sql import functions as F

    of_these = F.col("session").isin([log.session for log in logs])
    return attrs.evolve(frames, events=frames.events.where(of_these), rare=frames.rare.where(of_these))


def compute(loaded: Loaded, wanted: int | None, write: Write | None, charts: bool, progress: Progress) -> Report:
    """Every table of the sessions, and what charts are drawn from if they are asked for.

    Args:
        wanted: how many rows of each table are shown; None for all of them.
        write: writes a table, given its name and its rows as a frame; None when nothing is written.
    """
    sessions = session_table(loaded.quick, loaded.logs)
    if loaded.quick is loaded.frames.events.sparkSession:
        inputs = inputs_of(loaded.frames, sessions)
    else:
        few = sum(log.events for log in loaded.logs) <= SMALL_EVENTS
        inputs = gathered_inputs(loaded.frames, loaded.quick, sessions, few)
    computation = Computation(inputs, wanted, write, progress)
    progress(f"computing {len(SUMMARIES)} summaries …")
    tables = computation.tables()
    if not charts:
        return Report(tables)
    progress("computing what the charts show …")
    return Report(tables, *computation.drawn(len(loaded.logs)))
