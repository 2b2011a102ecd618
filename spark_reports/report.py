"""`isrlab report`: finds sessions' logs, has Spark summarise them, and shows the tables or writes them.

What can be said without Spark, such as that a file is no log, is said before it starts; what is wrong with one session does not
keep the others from being reported. Only finished tables leave Spark.
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
from typing import Final

import attrs

from scenarios.output_files import check_outputs, whole_entries, write_whole
from scenarios.printing import complain, say_json, styled
from scenarios.stopping import stoppable, whole
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

SHOWN_ROWS: Final = 100
"""Rows of a table printed on the terminal, the worst if there are more; all of them go into files."""

JSON_ROWS: Final = 10_000
"""Rows of a table in a JSON document."""

BRIEF_BYTES: Final = 1 << 30
"""Logs smaller than this together are not worth Java's slow compiler: of 10^6 events it would take more time than it saves."""

Say = Callable[[str], None]
"""Tells the user something, on stderr."""


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
    """Report on the sessions logged in `paths`: files, directories, patterns, datasets, addresses of other file systems.

    Tables go to stdout, progress and complaints to stderr.

    Args:
        paths: the logs, as `sessions.find_logs` understands them.
        out_dir: where to write each table as a Parquet dataset of its name; what is there under that name is replaced. An address
            (`hdfs:`, `s3a:` …) is as good as a directory.
        csv: write the tables as CSV there instead; with `parquet` both. Not to an address.
        compare: of the tables only the sessions, side by side, on stdout.
        master: a Spark master or a Spark Connect URL instead of this machine's cores.
        as_json: print one JSON document instead of tables.
        quiet: no progress.
        html: write one self-contained HTML file with charts and tables there; the tables then stay off stdout, unless `as_json`.
        conf: Spark settings, each `name=value`.

    Returns:
        0, or 2 when a log could not be used; the good ones are reported all the same.
    """

    progress = Progress(styled(sys.stderr), quiet=quiet)
    try:
        settings = read_conf(conf)
        found = find_logs(paths)
        check_outputs({"--json": "-" if as_json else None, "--html": html}, found.files)
        out = _out_dir(out_dir, csv)
        if isinstance(out, Path) and f"file://{escape_glob(out)}" in found.datasets:
            raise ReportError(f"{out}: is what is read; name another directory for the tables")
        with stoppable(), contextlib.ExitStack() as whole_at_end:
            scratch = whole_at_end.enter_context(tempfile.TemporaryDirectory(prefix="isrlab-logs-"))
            logs, bad = _open_all(found.files, Path(scratch), complain)
            if not (logs or found.datasets or found.remote):
                return 2
            # Datasets on this machine appear together, when all of them are there; what stood under their names stays until then.
            place = whole_at_end.enter_context(whole_entries(out)) if isinstance(out, Path) else out
            only_compared = compare and html is None and not as_json
            limit = JSON_ROWS if as_json else 0 if only_compared else HTML_ROWS if html is not None else SHOWN_ROWS
            kinds = (["parquet"] if parquet or not csv else []) + (["csv"] if csv else [])
            report, refused = _summarise(
                logs, found, out, place, kinds, master, settings, limit, html is not None, Path(scratch), progress, complain
            )
        bad += refused
        if report is not None:
            sessions, overview, *others = report.tables
            compared = comparison.compare(sessions, overview)
            if compare and compared is None:
                complain(f"--compare: there are {sessions.count:,} sessions; 2 to {comparison.MOST} can stand side by side")
                bad += 1
            if compared is not None and csv and isinstance(out, Path):
                csv_files.write(compared.name, compared.columns, compared.rows, out, len(compared.rows))
            report = attrs.evolve(report, tables=[sessions, *([compared] if compared is not None else []), overview, *others])
            if html is not None:
                _write_html(Path(html), report)
                progress(f"report written to {html}")
            if as_json:
                say_json(json_document.render(report))
            elif html is None:
                _show(report.tables[: len(report.tables) - len(others)] if compare else report.tables)
            if out is not None:
                progress(f"tables written to {out}")
    except ReportError as wrong:
        complain(str(wrong))
        return 2
    return 2 if bad else 0


def _summarise(
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
    complain: Say,
) -> tuple[Report | None, int]:
    """Every table of the usable logs, with what the charts are drawn from if asked, and how many logs turned out unusable."""
    with whole():
        from spark_reports.compute import compute_tables, load_logs, session_settings
        from spark_reports.rows.staging import stage_logs
        from spark_reports.tables import spark_table

    size = sum(Path(log.readable).stat().st_size for log in logs)
    progress("starting Spark …")
    chosen = {**session_settings.spark_settings(master or LOCAL_MASTER), **settings}
    local = is_local(master or LOCAL_MASTER)
    stop = Event()
    with pool_of(1) as pool, contextlib.ExitStack() as at_end:
        # While Spark starts. Not logs beside remote ones: only when those are known are the sessions' names.
        to_stage = logs if local and not found.remote else [], found.datasets if local else []
        staging = pool.submit(stage_logs, *to_stage, scratch / "staged", *load_logs.needed_kinds_and_columns(charts), stop)
        # Nothing is to be staged in a scratch directory that is gone.
        at_end.callback(wait, [staging])
        at_end.callback(stop.set)
        with spark_session(master, chosen, brief=size < BRIEF_BYTES) as spark:
            more = [*found.remote, *found.datasets]
            progress(f"reading {_counted(len(logs), size)}{' and ' if logs and more else ''}{', '.join(more)} …")
            staged = staging.result()
            left = [log for log in logs if log not in staged.logs]
            links = scratch if local else None
            loaded = load_logs.load_logs(spark, left, staged, found.remote, found.datasets, charts, links, complain)
            if not loaded.logs:
                return None, loaded.refused
            with progress.watching(spark):
                write = [spark_table.parquet(place)] if place is not None and "parquet" in kinds else []
                write += [spark_table.csv(out)] if isinstance(out, Path) and "csv" in kinds else []
                return compute_tables.compute_tables(loaded, limit, write, charts, progress), loaded.refused


def _counted(logs: int, size: int) -> str:
    return f"{logs} log{'s' if logs > 1 else ''} ({size / 1e6:,.1f} MB)" if logs else ""


def _open_all(files: Sequence[Path], scratch: Path, complain: Say) -> tuple[list[SessionLog], int]:
    """The logs that can be used, and how many cannot, each complained about; packed ones are unpacked to `scratch`."""
    logs, bad = [], 0
    for path in files:
        try:
            log = open_log(path, unpack(path, scratch))
        except ReportError as wrong:
            complain(str(wrong))
            bad += 1
            continue
        logs.append(log)
        if log.torn:
            complain(f"{path}: the last line is cut off (the session was killed while writing it); it is skipped")
    return name_sessions(logs), bad


def _out_dir(out_dir: str | Path | None, csv: bool) -> Path | str | None:
    """The directory for the tables; an address of another file system is for Spark."""
    if out_dir is None:
        return None
    if is_remote(str(out_dir)):
        if csv:
            raise ReportError(f"{out_dir}: CSV is written on this machine only; leave out --csv to write Parquet there")
        return str(out_dir)
    out = Path(local_path(str(out_dir)))
    there = next(each for each in (out, *out.absolute().parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        why = os.strerror(errno.EACCES if there.is_dir() else errno.ENOTDIR)
        raise ReportError(f"{out}: tables cannot be written there: {why}")
    return out.resolve()


def _write_html(path: Path, report: Report) -> None:
    from spark_reports.output import html

    write_whole(path, html.render(report))


def _show(results: Sequence[Result]) -> None:
    """Write the tables to stdout."""
    from spark_reports.output import terminal

    terminal.render([result.cut(SHOWN_ROWS) for result in comparison.for_people(results)], styled(sys.stdout))
    sys.stdout.flush()
