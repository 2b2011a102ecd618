"""`isrlab report`: reads sessions' logs, has Spark summarise them, shows the tables and writes them as Parquet.

The events are scanned once and kept; every summary is computed from what was kept, and only finished tables leave Spark.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_reports.errors import ReportError
from spark_reports.render import as_json as json_document
from spark_reports.render.result import Report, Result
from spark_reports.sessions import Log, count_bad, explain_bad_line, find_logs, name_sessions, open_log, read_lines, session_table
from spark_reports.spark import LOCAL_MASTER, is_local, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_reports.summaries.summary import Summary

SHOWN_ROWS: Final = 100
"""Rows of a table printed on the terminal; all of them go into Parquet and JSON."""

BRIEF_BYTES: Final = 32 << 20
"""Logs smaller than this together are not worth Java's slow compiler."""

HTML_ROWS: Final = 300
"""Rows of a table in an HTML report."""

CHARTED: Final = 60
"""Partitions with a chart in an HTML report, shared among its sessions."""

CHARTED_EACH: Final = 5
"""Partitions with a chart that each session gets, however many sessions there are."""

DRAWN_ROWS: Final = 12_000
"""Rows that charts are drawn from at most, for each kind of chart."""

AT_ONCE: Final = 3
"""Summaries that are computed at the same time."""

Say = Callable[[str], None]
"""Tells the user something, on stderr."""


def main_report(
    paths: Sequence[str | Path],
    out_dir: str | Path | None = None,
    master: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
    html: str | Path | None = None,
) -> int:
    """Report on the sessions logged in `paths` (files, or directories of `*.jsonl`).

    Tables go to stdout, progress and complaints to stderr.

    Args:
        paths: the logs.
        out_dir: where to write each table as a Parquet dataset of its name; what is there under that name is replaced.
        master: a Spark master instead of this machine's cores.
        as_json: print one JSON document instead of tables.
        quiet: no progress.
        html: write one self-contained HTML file with charts and tables there; the tables then stay off stdout, unless `as_json`.

    Returns:
        0, or 2 when a log could not be used; the good ones are reported all the same.
    """

    def complain(message: str) -> None:
        print(f"isrlab: {message}", file=sys.stderr, flush=True)

    def progress(message: str) -> None:
        if not quiet:
            print(message, file=sys.stderr, flush=True)

    try:
        logs, bad = _open_all([Path(path) for path in paths], complain)
        out = _out_dir(out_dir)
        if logs:
            progress("starting Spark …")
            limit = None if as_json else SHOWN_ROWS if html is None else HTML_ROWS
            report, unreadable = _summarise(logs, out, master, limit, html is not None, progress, complain)
            bad += unreadable
            if report is not None:
                if html is not None:
                    _write_html(Path(html), report)
                    progress(f"report written to {html}")
                if html is None or as_json:
                    _show(report.tables, as_json)
                if out is not None:
                    progress(f"tables written to {out}")
    except ReportError as wrong:
        complain(str(wrong))
        return 2
    return 2 if bad else 0


def _open_all(paths: Sequence[Path], complain: Say) -> tuple[list[Log], int]:
    """The logs that can be used, and how many cannot, each complained about."""
    logs, bad = [], 0
    for path in find_logs(paths):
        try:
            log = open_log(path)
        except ReportError as wrong:
            complain(str(wrong))
            bad += 1
            continue
        logs.append(log)
        if log.torn:
            complain(f"{path}: the last line is cut off (the session was killed while writing it); it is skipped")
    return name_sessions(logs), bad


def _out_dir(out_dir: str | Path | None) -> Path | None:
    """The directory for the tables, made if need be."""
    if out_dir is None:
        return None
    out = Path(out_dir)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise ReportError(f"{out}: tables cannot be written there: {failure.strerror or failure}") from failure
    return out.resolve()


def _summarise(
    logs: list[Log], out: Path | None, master: str | None, limit: int | None, charts: bool, progress: Say, complain: Say
) -> tuple[Report | None, int]:
    """Every table of the usable logs, with what the charts are drawn from if asked, and how many logs turned out unusable."""
    size = sum(log.path.stat().st_size for log in logs)
    with spark_session(master, brief=size < BRIEF_BYTES) as spark, tempfile.TemporaryDirectory(prefix="isrlab-logs-") as links:
        from spark_reports.schema import SESSION_SHOWN
        from spark_reports.summaries import CHARTS, SUMMARIES, columns_of, kinds_of
        from spark_reports.summaries.unavailability import UNAVAILABILITY

        progress(f"reading {len(logs)} log{'s' if len(logs) > 1 else ''} ({size / 1e6:,.1f} MB) …")
        staging = Path(links) if is_local(master or LOCAL_MASTER) else None
        wanted = (*SUMMARIES, *CHARTS) if charts else SUMMARIES
        lines = read_lines(spark, logs, kinds_of(wanted), columns_of(wanted), staging).cache()
        good = _usable(logs, count_bad(lines), complain)
        if not good:
            return None, len(logs)
        events = lines.where(~lines["bad"])
        if len(good) < len(logs):
            events = events.where(events["session"].isin(*(log.session for log in good)))
        sessions = session_table(spark, good)
        progress(f"computing {len(SUMMARIES)} summaries …")

        def finish(summary: Summary) -> Result:
            result = _finish(summary.name, summary.title, summary.notes, summary(events, sessions), out, limit)
            progress(f"  {summary.title}: {len(result.rows) + result.more:,} row{'' if len(result.rows) + result.more == 1 else 's'}")
            return result

        # Small jobs leave cores idle, so several are under way at a time.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            first = _finish("sessions", "Sessions", "", sessions.select(*SESSION_SHOWN), out, limit)
            results = [first, *pool.map(finish, SUMMARIES)]
            drawn: list[Result] = []
            partitions = 0
            if charts:
                progress("computing what the charts show …")
                some, partitions = _charted(spark, events, sessions, len(good))
                drawn = list(pool.map(lambda summary: _draw(summary, some, sessions), (*CHARTS, UNAVAILABILITY)))
    return Report(results, drawn, partitions), len(logs) - len(good)


def _charted(spark: SparkSession, events: DataFrame, sessions: DataFrame, count: int) -> tuple[DataFrame, int]:
    """The events of the partitions that get a chart, those with the most trouble of each session, and how many there are in all."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from spark_reports.summaries.availability import AVAILABILITY

    most = max(CHARTED // count, CHARTED_EACH)
    troubled = F.desc(F.col("offline_us") * 4 + F.col("under_replicated_us"))
    ranked = AVAILABILITY(events, sessions).withColumn(
        "rank", F.row_number().over(Window.partitionBy("session").orderBy(troubled, "topic", "partition"))
    )
    ranked = ranked.select("session", "topic", "partition", "rank").cache()
    chosen = ranked.where(F.col("rank") <= most).drop("rank")
    # Settings and acts belong to no partition and stay.
    of_chosen = events.join(F.broadcast(chosen), ["session", "topic", "partition"], "left_semi")
    return of_chosen.unionByName(events.where(F.col("partition").isNull())), ranked.count()


def _draw(summary: Summary, events: DataFrame, sessions: DataFrame) -> Result:
    """What a chart is drawn from; more than anybody can see is left out."""
    frame = summary(events, sessions)
    rows = [tuple(row) for row in frame.take(DRAWN_ROWS + 1)]
    return Result(summary.name, summary.title, summary.notes, tuple(frame.columns), rows[:DRAWN_ROWS], max(0, len(rows) - DRAWN_ROWS))


def _write_html(path: Path, report: Report) -> None:
    from spark_reports.render import html

    try:
        path.write_text(html.render(report), encoding="utf-8", newline="\n")
    except OSError as failure:
        raise ReportError(f"{path}: the report cannot be written there: {failure.strerror or failure}") from failure


def _usable(logs: list[Log], bad_lines: dict[str, int], complain: Say) -> list[Log]:
    """The logs in which every line but a torn last one is an event; the others are complained about."""
    good = []
    for log in logs:
        bad = bad_lines.get(log.session, 0)
        if bad <= (1 if log.torn else 0):
            good.append(log)
        else:
            complain(explain_bad_line(log.path) + (f" ({bad} such lines)" if bad > 1 else ""))
    return good


def _finish(name: str, title: str, notes: str, frame: DataFrame, out: Path | None, limit: int | None) -> Result:
    """Compute a table once, write it, and fetch the rows to show."""
    frame = frame.coalesce(1).cache()
    rows = [tuple(row) for row in (frame.collect() if limit is None else frame.take(limit + 1))]
    more = frame.count() - limit if limit is not None and len(rows) > limit else 0
    if out is not None:
        frame.write.mode("overwrite").parquet((out / name).as_uri())
    return Result(name, title, notes, tuple(frame.columns), rows[:limit], more)


def _show(results: Sequence[Result], as_json: bool) -> None:
    """Write the tables to stdout."""
    if as_json:
        sys.stdout.write(json_document.render(results))
    else:
        from spark_reports.render import terminal

        terminal.render(results, sys.stdout)
    sys.stdout.flush()
