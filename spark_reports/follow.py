"""`isrlab report --follow`: keeps the page of a report up to date while sessions run.

One Spark session stays up. When a log has grown and the last page is old enough, the complete lines of all logs are copied, and the page is
built again from the copies, as `isrlab report` builds it. Therefore, the page of the ended sessions is the page of a report on their logs.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from core.sim.units import format_duration
from scenarios.io.output_files import check_outputs
from scenarios.io.standard_streams import print_error, styled
from scenarios.io.termination_signals import defer_signals, raise_on_signals
from spark_reports.errors import ReportError
from spark_reports.logs.find_logs import FoundLogs, find_logs
from spark_reports.logs.session_log import SessionLog, name_sessions, open_log
from spark_reports.output.html import ROWS
from spark_reports.output.progress import Progress
from spark_reports.report import BRIEF_BYTES, summarise, with_comparison, write_html
from spark_reports.rows.log_positions import Position, latest_positions
from spark_reports.spark.master import LOCAL_MASTER, is_local, read_conf
from spark_reports.spark.session import spark_session
from spark_reports.tables import comparison
from spark_reports.tables.result import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_POLL_SECONDS: Final = 0.5
"""The interval at which the logs are looked at."""


@attrs.frozen
class _Page:
    """A page that shows the logs up to some positions.

    Attributes:
        report: the report; None if no log is usable.
        bad: the number of unusable logs, which have been reported.
    """

    report: Report | None
    bad: int


def follow_logs(
    paths: Sequence[str | Path],
    html: str | Path,
    seconds: float,
    master: str | None = None,
    conf: Sequence[str] = (),
    *,
    quiet: bool = False,
    wait: Callable[[float], object] = time.sleep,
) -> int:
    """Write the page of a report on the logs again and again, until all sessions have ended.

    If the command is stopped before that, the last page stays, without the part that makes it load again.

    Args:
        paths: logs in JSON Lines, directories, and patterns, where logs can also appear later.
        html: the path of the page.
        seconds: the time between the end of one page and the start of the next one. While sessions run, the page loads itself again at this
            interval.
        master: a Spark master on this machine; None for all cores.
        conf: Spark settings in the form `name=value`.
        quiet: whether to suppress progress messages.
        wait: the function that waits for a number of seconds.

    Returns:
        0, or 2 if a log is unusable.
    """
    progress = Progress(styled(sys.stderr), quiet=quiet)
    last = _Page(None, 0)
    ended = False
    try:
        settings = read_conf(conf)
        if not is_local(master or LOCAL_MASTER):
            raise ReportError("--follow runs Spark on this machine; omit --master, or name local[N]")
        files = find_logs(paths, or_none=True).files
        check_outputs({"--html": html}, files)
        latest_positions(paths, {})
        brief = sum(path.stat().st_size for path in files) < BRIEF_BYTES
        with raise_on_signals():
            try:
                progress("starting Spark …")
                with defer_signals():
                    from spark_reports.compute.session_settings import spark_settings
                chosen = {**spark_settings(master or LOCAL_MASTER), **settings}
                with spark_session(master, chosen, brief=brief) as spark:
                    shown: Mapping[str, Position] = {}
                    due = time.monotonic()
                    while not ended:
                        positions = latest_positions(paths, {})
                        complete = bool(positions) and all(position.ended for position in positions.values())
                        if positions == shown or not (complete or time.monotonic() >= due):
                            wait(_POLL_SECONDS)
                            continue
                        again = last.report is not None
                        steps = Progress(sys.stderr, quiet=True) if again else progress
                        page = _page(spark, paths, positions, steps, str if again and not complete else print_error)
                        if page is None:
                            continue
                        last, shown, ended = page, positions, complete
                        if last.report is not None:
                            write_html(Path(html), last.report, 0 if ended else seconds)
                            progress(f"report written to {html}: {_shown(last.report)}")
                        due = time.monotonic() + seconds
            finally:
                if not ended:
                    _leave(html, last.report, progress)
    except ReportError as wrong:
        print_error(str(wrong))
        return 2
    return 2 if last.bad else 0


def _page(
    spark: SparkSession,
    paths: Sequence[str | Path],
    positions: Mapping[str, Position],
    progress: Progress,
    complain: Callable[[str], object],
) -> _Page | None:
    """Compute a report on the logs up to the given positions. Return None if a log was shortened meanwhile."""
    with tempfile.TemporaryDirectory(prefix="isrlab-logs-") as name:
        scratch = Path(name)
        logs: list[SessionLog] = []
        bad = 0
        for number, path in enumerate(find_logs(paths, or_none=True).files):
            position = positions.get(str(path.resolve()))
            if position is None:
                continue
            copy = scratch / f"{number:06d}.complete.jsonl"
            if not _copy(path, copy, position.at):
                return None
            try:
                logs.append(open_log(path, copy))
            except ReportError as wrong:
                complain(str(wrong))
                bad += 1
        logs = name_sessions(logs)
        if not logs:
            return _Page(None, bad)
        found = FoundLogs([], [], [])
        report, refused = summarise(logs, found, None, None, [], LOCAL_MASTER, {}, ROWS, True, scratch, progress, complain, running=spark)
        _free(spark)
        if report is not None:
            report = with_comparison(report, comparison.compare(*report.tables[:2]))
        return _Page(report, bad + refused)


def _free(spark: SparkSession) -> None:
    """Free the memory of a page. Spark keeps intermediate rows and compiled queries until Java collects the objects that refer to them."""
    spark.catalog.clearCache()
    gc.collect()
    if spark._jvm is not None:
        spark._jvm.System.gc()


def _copy(path: Path, copy: Path, size: int) -> bool:
    """Copy the first `size` bytes of a log. Return whether the log has as many."""
    try:
        with path.open("rb") as log, copy.open("wb") as file:
            while size and (data := log.read(min(size, 1 << 20))):
                file.write(data)
                size -= len(data)
    except OSError as failure:
        raise ReportError(f"{path}: cannot copy this file to {copy.parent}: {failure.strerror or failure}") from failure
    return size == 0


def _shown(report: Report) -> str:
    """Say how far the sessions are shown."""
    totals = report.totals
    return f"{totals['events'] or 0:,} events, {format_duration(totals['end_us'] or 0)}"


def _leave(html: str | Path, report: Report | None, progress: Progress) -> None:
    """Write the last page without the part that makes it load again, and say what it shows."""
    if report is None:
        progress("stopped before the first page")
        return
    with defer_signals():
        write_html(Path(html), report)
    progress(f"stopped; {html} shows the sessions up to {_shown(report)}")
