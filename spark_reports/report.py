"""`isrlab report`: finds the logs of sessions, summarizes them with Spark, and prints the tables or writes them to files.

Errors that can be detected without Spark, for example a file that is not a log, are reported before Spark starts. If one session is
unusable, the report covers the other sessions. Spark computes all tables, and this process reads only the finished tables.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

import attrs

from scenarios.io.output_files import atomic_entries, check_outputs, write_atomically
from scenarios.io.standard_streams import print_error, print_json, styled
from scenarios.io.termination_signals import defer_signals, raise_on_signals
from spark_reports.errors import ReportError
from spark_reports.logs.find_logs import FoundLogs, escape_glob, find_logs, is_remote, local_path
from spark_reports.logs.session_log import SessionLog, name_sessions, open_log
from spark_reports.logs.unpack import unpack
from spark_reports.output import json_document
from spark_reports.output.html import ROWS as HTML_ROWS
from spark_reports.output.progress import Progress
from spark_reports.spark.master import LOCAL_MASTER, is_local, read_conf
from spark_reports.spark.session import spark_session
from spark_reports.tables import comparison, csv_files
from spark_reports.tables.result import Report, Result
from spark_reports.thread_pool import pool_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SHOWN_ROWS: Final = 100
"""The maximum number of rows that the terminal shows for each table.

If a table has more rows, the worst rows are shown. Output files contain all rows.
"""

JSON_ROWS: Final = 10_000
"""The maximum number of rows of a table in a JSON document."""

BRIEF_BYTES: Final = 1 << 30
"""If the total size of the logs, in bytes, is below this value, Java's optimizing compiler takes more time than it saves.

`BRIEF_BYTES` comes from measurements with 10^6 events.
"""

PrintLine = Callable[[str], object]
"""A function that writes a message for the user to stderr."""


def main_report(
    paths: Sequence[str | Path],
    out_dir: str | Path | None = None,
    master: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
    html: str | Path | None = None,
    conf: Sequence[str] = (),
    csv: bool = False,
    parquet: bool = False,
    compare: bool = False,
) -> int:
    """Report on the sessions logged in `paths`: files, directories, patterns, datasets, and URIs in other file systems.

    Tables are written to stdout. Progress and errors are written to stderr.

    Args:
        paths: the logs, in any form that `logs.find_logs` accepts.
        out_dir: the directory or URI (`hdfs:`, `s3a:` …) to which each table is written as a Parquet dataset with the name of the table; an
            existing dataset is replaced.
        csv: whether to write the tables as CSV instead of Parquet; CSV can be written only to a local directory, not to a URI such as
            `s3a://…`.
        parquet: whether to also write Parquet if `csv` is set.
        compare: whether to print only the comparison of sessions instead of all tables.
        master: a Spark master or a Spark Connect URL; None for the cores of this machine.
        as_json: whether to print one JSON document instead of tables.
        quiet: whether to suppress progress messages.
        html: the path of an HTML page with charts and tables; if a path is given, nothing is written to stdout unless `as_json` is set.
        conf: Spark settings in the form `name=value`.

    Returns:
        0, or 2 if a log is unusable; in that case, the report covers the other logs.
    """

    progress = Progress(styled(sys.stderr), quiet=quiet)
    try:
        settings = read_conf(conf)
        found = find_logs(paths)
        check_outputs({"--json": "-" if as_json else None, "--html": html}, found.files)
        out = _out_dir(out_dir, csv)
        if isinstance(out, Path) and f"file://{escape_glob(out)}" in found.datasets:
            raise ReportError(f"{out}: this directory is the input; name another directory for the tables")
        with raise_on_signals(), contextlib.ExitStack() as whole_at_end:
            scratch = whole_at_end.enter_context(tempfile.TemporaryDirectory(prefix="isrlab-logs-"))
            logs, bad = _open_all(found.files, Path(scratch), print_error)
            if not (logs or found.datasets or found.remote):
                return 2
            # Tables on this machine appear together when all of them are complete. Until then, existing ones are kept.
            place = whole_at_end.enter_context(atomic_entries(out)) if isinstance(out, Path) else out
            only_compared = compare and html is None and not as_json
            limit = JSON_ROWS if as_json else 0 if only_compared else HTML_ROWS if html is not None else SHOWN_ROWS
            kinds = (["parquet"] if parquet or not csv else []) + (["csv"] if csv else [])
            report, refused = summarise(
                logs, found, out, place, kinds, master, settings, limit, html is not None, Path(scratch), progress, print_error
            )
            compared = comparison.compare(*report.tables[:2]) if report is not None else None
            if isinstance(place, Path) and csv and compared is not None:
                csv_files.write(compared.name, compared.columns, compared.rows, place, len(compared.rows))
            tables = csv_files.names_in(place) if isinstance(place, Path) else []
        if isinstance(out, Path):
            csv_files.remove_earlier_parts(out, tables)
        bad += refused
        if report is not None:
            if compare and compared is None:
                print_error(f"--compare: isrlab compares 2 to {comparison.MOST} sessions, but there are {report.tables[0].count:,}")
                bad += 1
            others = report.tables[2:]
            report = with_comparison(report, compared)
            if html is not None:
                write_html(Path(html), report)
                progress(f"report written to {html}")
            if as_json:
                print_json(json_document.render(report))
            elif html is None:
                _show(report.tables[: len(report.tables) - len(others)] if compare else report.tables)
            if out is not None:
                progress(f"tables written to {out}")
    except ReportError as wrong:
        print_error(str(wrong))
        return 2
    return 2 if bad else 0


def summarise(
    logs: list[SessionLog],
    found: FoundLogs,
    out: Path | str | None,
    place: Path | str | None,
    kinds: Sequence[str],
    master: str | None,
    settings: Mapping[str, str],
    limit: int,
    charts: bool,
    scratch: Path,
    progress: Progress,
    print_error: PrintLine,
    running: SparkSession | None = None,
) -> tuple[Report | None, int]:
    """Return a report on the usable logs, and the number of unusable logs.

    If `charts` is set, the report also contains the rows for charts. Spark is started and stopped, unless it is already `running`.
    """
    with defer_signals():
        from spark_reports.compute import compute_tables, load_logs, session_settings
        from spark_reports.rows.staging import stage_logs
        from spark_reports.tables import spark_table

    size = sum(Path(log.readable).stat().st_size for log in logs)
    if running is None:
        progress("starting Spark …")
    chosen = {**session_settings.spark_settings(master or LOCAL_MASTER), **settings}
    local = is_local(master or LOCAL_MASTER)
    stop = Event()
    with pool_of(1) as pool, contextlib.ExitStack() as at_end:
        # Staging runs while Spark starts. If there are remote logs, nothing is staged, because session names depend on the remote logs.
        to_stage = logs if local and not found.remote else [], found.datasets if local else []
        staging = pool.submit(stage_logs, *to_stage, scratch / "staged", *load_logs.needed_kinds_and_columns(charts), stop)
        # Staging must end before the scratch directory is deleted.
        at_end.callback(wait, [staging])
        at_end.callback(stop.set)
        write = [spark_table.parquet(place, out)] if place is not None and "parquet" in kinds else []
        write += [spark_table.csv(place, out)] if isinstance(place, Path) and isinstance(out, Path) and "csv" in kinds else []
        # Writing must end before the directory is moved or deleted, and after Spark has been stopped, so that it does not take long.
        until_closed = at_end.enter_context(contextlib.closing(spark_table.UntilClosed(write)))
        session = spark_session(master, chosen, brief=size < BRIEF_BYTES) if running is None else contextlib.nullcontext(running)
        with session as spark:
            more = [*found.remote, *found.datasets]
            progress(f"reading {_counted(len(logs), size)}{' and ' if logs and more else ''}{', '.join(more)} …")
            staged = staging.result()
            left = [log for log in logs if log not in staged.logs]
            links = scratch if local else None
            loaded = load_logs.load_logs(spark, left, staged, found.remote, found.datasets, charts, links, print_error)
            if not loaded.logs:
                return None, loaded.refused
            with progress.watching(spark):
                return compute_tables.compute_tables(loaded, limit, until_closed.writers, charts, progress), loaded.refused


def _counted(logs: int, size: int) -> str:
    return f"{logs} log{'s' if logs > 1 else ''} ({size / 1e6:,.1f} MB)" if logs else ""


def _open_all(files: Sequence[Path], scratch: Path, print_error: PrintLine) -> tuple[list[SessionLog], int]:
    """Return the usable logs and the number of unusable logs. Unusable logs are reported, and compressed logs are unpacked to `scratch`."""
    logs, bad = [], 0
    for path in files:
        try:
            log = open_log(path, unpack(path, scratch))
        except ReportError as wrong:
            print_error(str(wrong))
            bad += 1
            continue
        logs.append(log)
        if log.torn:
            print_error(f"{path}: the last line is incomplete (the process was killed while it was writing); isrlab skips this line")
    return name_sessions(logs), bad


def _out_dir(out_dir: str | Path | None, csv: bool) -> Path | str | None:
    """Return the directory for the tables, or the URI (`hdfs:`, `s3a:` …) that Spark writes to."""
    if out_dir is None:
        return None
    if is_remote(str(out_dir)):
        if csv:
            raise ReportError(f"{out_dir}: isrlab writes CSV only on this machine; to write Parquet to this URI, omit --csv")
        return str(out_dir)
    out = Path(local_path(str(out_dir)))
    there = next(each for each in (out, *out.absolute().parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        why = os.strerror(errno.EACCES if there.is_dir() else errno.ENOTDIR)
        raise ReportError(f"{out}: cannot write the tables: {why}")
    return out.resolve()


def with_comparison(report: Report, compared: Result | None) -> Report:
    """Return the report with the comparison of its sessions, if there is one."""
    sessions, *others = report.tables
    return report if compared is None else attrs.evolve(report, tables=[sessions, compared, *others])


def write_html(path: Path, report: Report, reload_seconds: float = 0) -> None:
    """Write the page of a report (`html.render`)."""
    from spark_reports.output import html

    write_atomically(path, html.render(report, reload_seconds))


def _show(results: Sequence[Result]) -> None:
    """Print the tables on stdout."""
    from spark_reports.output import terminal

    terminal.render([result.cut(SHOWN_ROWS) for result in comparison.for_people(results)], styled(sys.stdout))
    sys.stdout.flush()
