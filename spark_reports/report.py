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
from spark_reports.render.result import Result
from spark_reports.sessions import Log, count_bad, explain_bad_line, find_logs, name_sessions, open_log, read_lines, session_table
from spark_reports.spark import LOCAL_MASTER, is_local, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_reports.summaries.summary import Summary

SHOWN_ROWS: Final = 100
"""Rows of a table printed on the terminal; all of them go into Parquet and JSON."""

BRIEF_BYTES: Final = 32 << 20
"""Logs smaller than this together are not worth Java's slow compiler."""

AT_ONCE: Final = 3
"""Summaries that are computed at the same time."""

Say = Callable[[str], None]
"""Tells the user something, on stderr."""


def main_report(
    paths: Sequence[str | Path], out_dir: str | Path | None = None, master: str | None = None, as_json: bool = False, quiet: bool = False
) -> int:
    """Report on the sessions logged in `paths` (files, or directories of `*.jsonl`).

    Tables go to stdout, progress and complaints to stderr.

    Args:
        paths: the logs.
        out_dir: where to write each table as a Parquet dataset of its name; what is there under that name is replaced.
        master: a Spark master instead of this machine's cores.
        as_json: print one JSON document instead of tables.
        quiet: no progress.

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
            results, unreadable = _summarise(logs, out, master, SHOWN_ROWS if not as_json else None, progress, complain)
            bad += unreadable
            if results:
                _show(results, as_json)
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
    logs: list[Log], out: Path | None, master: str | None, limit: int | None, progress: Say, complain: Say
) -> tuple[list[Result], int]:
    """Every table of the usable logs, and how many logs turned out unusable."""
    size = sum(log.path.stat().st_size for log in logs)
    with spark_session(master, brief=size < BRIEF_BYTES) as spark, tempfile.TemporaryDirectory(prefix="isrlab-logs-") as links:
        from spark_reports.summaries import COLUMNS, KINDS, SUMMARIES

        progress(f"reading {len(logs)} log{'s' if len(logs) > 1 else ''} ({size / 1e6:,.1f} MB) …")
        staging = Path(links) if is_local(master or LOCAL_MASTER) else None
        lines = read_lines(spark, logs, KINDS, COLUMNS, staging).cache()
        good = _usable(logs, count_bad(lines), complain)
        if not good:
            return [], len(logs)
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
            first = _finish("sessions", "Sessions", "", sessions, out, limit)
            results = [first, *pool.map(finish, SUMMARIES)]
    return results, len(logs) - len(good)


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
