"""Loads the events of all logs, and finds the usable sessions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

import attrs
from pyspark.sql import functions as F

from core.kafka.events import KINDS
from scenarios.logs.line_decoder import about_unknown
from spark_reports.compute.session_settings import interpreting_session
from spark_reports.errors import ReportError
from spark_reports.logs.session_log import SessionLog, dataset_log, explain_bad_line, name_sessions, session_name
from spark_reports.rows.dataset import Dataset
from spark_reports.rows.frames import EventFrames, read_frames
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, LINE
from spark_reports.rows.staging import MarkerRow, StagedLogs
from spark_reports.summaries.inputs import occurring_kinds
from spark_reports.summaries.registry import CHARTS, SUMMARIES, columns_of, kinds_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


PrintLine = Callable[[str], object]
"""A function that reports an error."""


@attrs.frozen
class LoadedLogs:
    """The loaded events and the usable sessions.

    Attributes:
        frames: the events of the usable sessions.
        interpreting: the Spark session that interprets its query plans, for small numbers of rows.
        found: the infrequent event kinds that occur in the logs.
        logs: the usable sessions.
        refused: the number of unusable sessions, all of which have been reported.
        notices: what the report leaves out of the usable sessions, one sentence for each session, all of which have been reported.
    """

    frames: EventFrames
    interpreting: SparkSession
    found: frozenset[str]
    logs: list[SessionLog]
    refused: int
    notices: tuple[str, ...] = ()


def needed_kinds_and_columns(charts: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the event kinds and columns that a report needs."""
    wanted = (*SUMMARIES, *CHARTS) if charts else SUMMARIES
    return kinds_of(wanted), columns_of(wanted)


def load_logs(
    spark: SparkSession,
    here: Sequence[SessionLog],
    staged: StagedLogs,
    remote: Sequence[str],
    datasets: Sequence[str],
    charts: bool,
    links: Path | None,
    print_error: PrintLine,
) -> LoadedLogs:
    """Load all JSON Lines files in one pass and all datasets in another, and find the usable sessions.

    Args:
        here: the logs on this machine that have not been staged.
        staged: the staged logs.
        remote: the URIs (`hdfs:`, `s3a:` …) of JSON Lines files that only Spark can read.
        datasets: the paths or URIs of Parquet datasets.
        charts: whether the rows for charts are also needed.
        links: the directory for links to logs (see `staging` in `remote_lines_to_rows.remote_lines_to_rows`).
    """
    kinds, columns = needed_kinds_and_columns(charts)
    usable: list[Dataset] = []
    logs: list[SessionLog] = []
    refused = 0
    lines = list(here)
    unknown = {session: Counter(columns) for session, columns in staged.unknown.items()}
    for address in remote:
        elsewhere, complaints = _remote_logs(spark, address)
        for complaint in complaints:
            print_error(complaint)
        refused += len(complaints)
        lines = name_sessions([*lines, *elsewhere])
    for dataset in datasets:
        staged_dataset = staged.datasets.get(dataset)
        found, complaints = (
            _dataset_logs(spark, dataset, kinds, columns) if staged_dataset is None else logs_of_markers(dataset, staged_dataset.markers)
        )
        for complaint in complaints:
            print_error(complaint)
        refused += len(complaints)
        # If two sessions have the same name, the address of the dataset is added as a prefix.
        names = {log.session for log in (*lines, *logs, *staged.logs)}
        prefix = f"{dataset}: " if any(log.session in names for log in found) else ""
        logs += [attrs.evolve(log, session=prefix + log.session) for log in found]
        if staged_dataset is not None:
            unknown |= {prefix + log.session: Counter(staged_dataset.unknown[log.session]) for log in found}
        if found:
            usable.append(Dataset(dataset, prefix, None if staged_dataset is None else staged_dataset.infrequent.as_uri()))
    if staged.logs:
        usable.append(Dataset(staged.events.as_uri(), "", staged.infrequent.as_uri()))
        logs += staged.logs
    if not lines and not usable:
        return LoadedLogs(EventFrames(spark.range(0), spark.range(0), None), spark, frozenset(), [], refused)
    frames = read_frames(spark, lines, usable, kinds, columns, links)
    bad = {} if frames.bad is None else {row["session"]: row["count"] for row in frames.bad.collect()}
    good = []
    for log in lines:
        if bad.get(log.session, 0) <= (1 if log.torn else 0):
            good.append(log)
        else:
            print_error(explain_bad_line(log) + (f" ({bad[log.session]} such lines)" if bad[log.session] > 1 else ""))
            refused += 1
    # This also caches the events. The query uses generated code.
    occurring = occurring_kinds(frames.infrequent)
    logs = [*good, *logs]
    if not occurring <= KINDS.keys() | {DATASET_HEADER, DATASET_TAIL}:
        for session, kinds_of_session in _unknown_kinds(frames.infrequent).items():
            unknown.setdefault(session, Counter()).update(kinds_of_session)
    names = {log.session for log in logs}
    notices = tuple(f"{name}: {about_unknown(counts)}" for name, counts in sorted(unknown.items()) if counts and name in names)
    for notice in notices:
        print_error(notice)
    usable_frames = _of_sessions(frames, logs) if refused else frames
    return LoadedLogs(usable_frames, interpreting_session(spark), occurring, logs, refused, notices)


def _unknown_kinds(infrequent: DataFrame) -> dict[str, dict[str, int]]:
    """Return the number of events of each unknown kind, by session."""
    known = (*KINDS, DATASET_HEADER, DATASET_TAIL)
    rows = infrequent.where(~F.col("kind").isin(*known)).groupBy("session", "kind").count().sort("session", "kind").collect()
    found: dict[str, dict[str, int]] = {}
    for session, kind, count in rows:
        found.setdefault(session, {})[kind[:40]] = count
    return found


def _dataset_logs(
    spark: SparkSession, dataset: str, kinds: Collection[str], columns: Collection[str]
) -> tuple[list[SessionLog], list[str]]:
    """Return the usable sessions of a dataset, and the errors for unusable sessions."""
    from pyspark.errors import PySparkException

    try:
        infrequent = read_frames(spark, [], [Dataset(dataset)], kinds, columns, None).infrequent
        rows = infrequent.where(F.col("kind").isin(DATASET_HEADER, DATASET_TAIL)).select("session", "kind", "seq", "t", LINE).collect()
    except PySparkException as failure:
        return [], [f"{dataset}: cannot read event logs in Parquet: {_first_line(failure)}"]
    return logs_of_markers(dataset, [MarkerRow(*row) for row in rows])


def logs_of_markers(dataset: str, markers: Iterable[MarkerRow]) -> tuple[list[SessionLog], list[str]]:
    """Read the marker rows of a dataset, which contain the first line and the end of each log. Return the dataset's sessions, and the
    errors for unusable sessions.
    """
    heads: dict[str, MarkerRow] = {}
    tails: dict[str, MarkerRow] = {}
    for mark in markers:
        (heads if mark.kind == DATASET_HEADER else tails)[mark.session] = mark
    found, complaints = [], []
    for session in sorted(heads):
        tail = tails.get(session)
        try:
            if tail is None:
                raise ReportError(f"{dataset}: session {session} is incomplete; convert its log again")
            found.append(dataset_log(dataset, session, heads[session].line or "", tail.line or "", tail.seq - 1, tail.t))
        except ReportError as wrong:
            complaints.append(str(wrong))
    if not heads:
        complaints.append(f"{dataset}: this directory contains no event logs; name a dataset that 'isrlab log convert' wrote")
    return found, complaints


def _remote_logs(spark: SparkSession, address: str) -> tuple[list[SessionLog], list[str]]:
    """Return the logs at a URI that only Spark can read, and the errors for unusable logs."""
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
        empty = sorted(set(map(_unescaped, text.inputFiles())) - {_unescaped(row["file"]) for row in rows})
    except PySparkException as failure:
        return [], [f"{address}: cannot read this address: {_first_line(failure)}"]
    found, complaints = [], [f"{file}: this file is empty; an event log begins with a header" for file in empty]
    for row in rows:
        try:
            if row["head"] is None:
                raise ReportError(f"{row['file']}: this is not an event log; an event log begins with a header")
            session = session_name(PurePosixPath(unquote(row["file"]).removesuffix(".gz")))
            log = dataset_log(row["file"], session, row["head"], row["tail"] or "", row["last"]["seq"] or 0, row["last"]["t"] or 0)
            found.append(attrs.evolve(log, readable=unquote(row["file"])))
        except ReportError as wrong:
            complaints.append(str(wrong))
    return found, complaints


def _unescaped(address: str) -> str:
    """Unescape a URI, because parts of Spark escape URIs differently."""
    return re.sub("^file:/+", "file:///", unquote(address))


def _first_line(failure: Exception) -> str:
    return next((line.strip() for line in str(failure).splitlines() if line.strip()), type(failure).__name__)[:300]


def _of_sessions(frames: EventFrames, logs: Iterable[SessionLog]) -> EventFrames:
    of_these = F.col("session").isin([log.session for log in logs])
    return attrs.evolve(frames, events=frames.events.where(of_these), infrequent=frames.infrequent.where(of_these))
