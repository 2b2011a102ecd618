"""The command `isrlab log convert`, which finds the inputs and chooses the output format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from scenarios.errors import InputError
from scenarios.io.output_files import check_outputs
from scenarios.io.termination_signals import raise_on_signals
from scenarios.logs.log_file import open_log_file
from scenarios.logs.log_reader import LogReader
from spark_reports.convert.log_parts import PrintLine, read_log_parts
from spark_reports.convert.to_json_lines import sessions_of, to_json_lines, write_lines, write_session
from spark_reports.convert.to_parquet import parquet_target, to_parquet, to_parquet_locally
from spark_reports.errors import ReportError
from spark_reports.logs.find_logs import find_logs
from spark_reports.rows.lines_to_rows import has_arrow
from spark_reports.spark.master import LOCAL_MASTER
from spark_reports.spark.session import spark_session


def convert_logs(paths: Sequence[str], out: str, master: str | None, settings: Mapping[str, str], print_line: PrintLine) -> None:
    """Convert logs to JSON Lines or to Parquet.

    The output is JSON Lines if `out` ends in `.jsonl` or `.jsonl.zst`, or if the input is a dataset; in all other cases, the output is
    Parquet.

    Args:
        paths: the logs, in any form that `logs.find_logs` accepts.
        out: a file, or a directory in which each log becomes a file or a part of the dataset.

    Raises:
        ReportError, InputError: an input cannot be read, or the output cannot be written. Existing output remains unchanged.
    """
    with raise_on_signals():
        _convert(paths, out, master, settings, print_line)


def _convert(paths: Sequence[str], out: str, master: str | None, settings: Mapping[str, str], print_line: PrintLine) -> None:
    found = find_logs(paths)
    if found.remote:
        raise ReportError(f"{found.remote[0]}: isrlab log convert reads JSON Lines only from this machine")
    if out.endswith((".jsonl", ".jsonl.zst")):
        _to_one_file(found.files, found.datasets, Path(out), master, settings, print_line)
    elif found.datasets:
        if found.files:
            raise ReportError(
                "name either JSON Lines files, which are converted to Parquet, or datasets, which are converted to JSON Lines, but not both"
            )
        with spark_session(master or LOCAL_MASTER, settings) as spark:
            to_json_lines(spark, found.datasets, Path(out), print_line)
    else:
        target = parquet_target(found.files, out)
        logs = [(path, read_log_parts(path)) for path in found.files]
        if target.startswith("file:///") and has_arrow():
            logs = to_parquet_locally(logs, Path(target.removeprefix("file://")), print_line)
        if not logs:
            return
        with spark_session(master or LOCAL_MASTER, settings) as spark:
            to_parquet(spark, logs, target, print_line)


def _to_one_file(
    files: Sequence[Path], datasets: Sequence[str], out: Path, master: str | None, settings: Mapping[str, str], print_line: PrintLine
) -> None:
    if len(files) + len(datasets) != 1:
        raise ReportError(f"{out}: one file cannot hold {len(files) + len(datasets)} logs; name a directory")
    if files:
        check_outputs({"-o": out}, files)
        LogReader(files[0]).close()
        try:
            with open_log_file(files[0]) as log:
                count = write_lines(out, iter(log))
        except OSError as wrong:
            raise InputError(f"{files[0]}: cannot read this file: {wrong.strerror or wrong}") from None
        print_line(f"{out}: {count:,} lines of {files[0]}")
        return
    with spark_session(master or LOCAL_MASTER, settings) as spark:
        sessions = sessions_of(spark, datasets[0])
        if len(sessions) != 1:
            raise ReportError(
                f"{datasets[0]}: this dataset has {len(sessions)} sessions ({', '.join(sessions[:4])} …); name a directory, or give one session"
            )
        write_session(spark, datasets[0], sessions[0], out, print_line)
