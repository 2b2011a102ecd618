"""Converts logs from JSON Lines to a Parquet dataset.

The dataset has a directory for each session (`session=NAME`). The rows are the events in chronological order. In addition, there are two
rows that are not events: the header line, and the text after the last event (the end line, an incomplete line, or nothing). The line of an
event is not stored, because `rows_to_lines` rebuilds the line from the columns. If the rebuilt line would differ from the original, the
column `line` keeps the original.

pyarrow writes local datasets, and is five times as fast as Spark. Spark writes remote datasets.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from scenarios.logs.log_file import is_packed, open_log_file
from spark_reports.convert.log_parts import PrintLine
from spark_reports.errors import ReportError
from spark_reports.logs.find_logs import escape_glob
from spark_reports.logs.session_log import session_name
from spark_reports.logs.unpack import unpack
from spark_reports.rows.dataset import read_dataset
from spark_reports.rows.lines_to_rows import LogParts, NotStageable, arrow_schema, log_to_tables
from spark_reports.rows.rows_to_lines import row_to_line
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, LINE, SESSION, event_columns, event_schema
from spark_reports.rows.staging import escape_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_ROW_GROUP_BYTES: Final = 8 << 20
"""The size of the row groups in a Parquet file, in bytes.

The row groups are small enough for all cores to share the work on a file with 10^6 events.
"""


def parquet_target(files: Sequence[Path], out: str) -> str:
    """Return the path or URI of the dataset to which the sessions in the given files are added. The content of a remote dataset is not
    checked here.
    """
    if "://" in out or out.startswith("file:"):
        _check_names(files, set(), out)
        return out
    if Path(out).is_file():
        raise ReportError(f"{out}: this is a file; Parquet needs a directory")
    _check_names(files, {unquote(part.name.partition("=")[2]) for part in Path(out).glob(f"{SESSION}=*")}, out)
    return f"file://{Path(out).resolve()}"


def _check_names(files: Sequence[Path], there: Collection[str], out: str) -> None:
    """Check that each session has a unique name.

    Raises:
        ReportError: two sessions have the same name, or the dataset already contains a session with that name.
    """
    names = [session_name(path) for path in files]
    for name in names:
        if names.count(name) > 1 or name in there:
            raise ReportError(f"{out}: this dataset would have two sessions called {name}; name another directory")


def _sessions_there(spark: SparkSession, target: str) -> set[str]:
    """Return the names of the sessions that a dataset contains."""
    from pyspark.errors import AnalysisException

    try:
        return {row[SESSION] for row in read_dataset(spark, _readable(target)).select(SESSION).distinct().collect()}
    except AnalysisException as failure:
        if failure.getCondition() != "PATH_NOT_FOUND":
            raise
        return set()


def to_parquet(spark: SparkSession, logs: Sequence[tuple[Path, LogParts]], target: str, print_line: PrintLine) -> None:
    """Add logs to the dataset at the given path or URI. Each log becomes a session.

    Raises:
        ReportError: the dataset already contains a session with the same name, or Spark finds a different number of events. In the first
            case, nothing is written.
    """
    from pyspark.sql import functions as F

    _check_names([path for path, _ in logs], _sessions_there(spark, target), target)
    with tempfile.TemporaryDirectory(prefix="isrlab-logs-") as scratch:
        for number, (path, ends) in enumerate(logs):
            plain = Path(scratch) / f"{number:06d}.jsonl"
            if is_packed(path):
                with open_log_file(path) as log, plain.open("wb") as file:
                    file.writelines(log)
            else:
                plain.symlink_to(path.resolve())
            name = session_name(path)
            written = _dataset_rows(spark, str(plain), name, ends).write.mode("append").partitionBy(SESSION)
            written.option("parquet.block.size", _ROW_GROUP_BYTES).option("compression", "zstd").parquet(target)
            there = (
                read_dataset(spark, _readable(target))
                .where((F.col(SESSION) == name) & ~F.col("kind").isin(DATASET_HEADER, DATASET_TAIL))
                .count()
            )
            if there != ends.events:
                raise ReportError(f"{path}: Spark finds {there:,} of its {ends.events:,} events; its session in {target} is incomplete")
            print_line(f"{target}: session {name}, {ends.events:,} events of {path}")


def to_parquet_locally(logs: Sequence[tuple[Path, LogParts]], dataset: Path, print_line: PrintLine) -> list[tuple[Path, LogParts]]:
    """Add logs to a dataset on this machine without Spark. Each log becomes a session that appears only when it is complete.

    Returns:
        The logs that Spark has to convert, for example because pyarrow rejects lines in which a key occurs twice.
    """
    import pyarrow as pa

    left = []
    with tempfile.TemporaryDirectory(prefix="isrlab-logs-") as scratch:
        for path, ends in logs:
            plain = unpack(path, Path(scratch)) or path
            name = session_name(path)
            half = dataset / f"_half-{escape_session(name)}"
            try:
                shutil.rmtree(half, ignore_errors=True)
                half.mkdir(parents=True)
                _write_dataset(plain, ends, half / "events.parquet")
                half.replace(dataset / f"{SESSION}={escape_session(name)}")
            except (pa.ArrowException, NotStageable):
                left.append((path, ends))
                continue
            except OSError as wrong:
                raise ReportError(f"{dataset}: cannot write this dataset: {wrong.strerror or wrong}") from None
            finally:
                shutil.rmtree(half, ignore_errors=True)
            print_line(f"{dataset}: session {name}, {ends.events:,} events of {path}")
    return left


def _write_dataset(path: Path, ends: LogParts, target: Path) -> None:
    """Write a log as a file of a dataset, in the order of its lines."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = arrow_schema(event_columns()).append(pa.field(LINE, pa.string()))
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    with path.open("rb") as file, parquet.ParquetWriter(target, schema, compression="zstd", use_dictionary=texts) as writer:
        for table in log_to_tables(str(path), file, ends):
            writer.write_table(table)


def _readable(target: str) -> str:
    """Return the path or URI for reading a dataset, given the path or URI for writing it."""
    local = target.removeprefix("file://")
    return f"file://{escape_glob(Path(local))}" if local.startswith("/") else target


def _dataset_rows(spark: SparkSession, source: str, session: str, ends: LogParts) -> DataFrame:
    """Return the lines of a log as rows of a dataset, in the same order."""
    from pyspark.sql import functions as F

    text = spark.read.option("lineSep", "\n").text(source)
    parsed = text.select("value", F.from_json("value", event_schema()).alias("e")).where("e.seq IS NOT NULL AND e.kind IS NOT NULL")
    line = F.when(F.col("value") != row_to_line(), F.col("value")).alias(LINE)
    rows = parsed.select("value", "e.*").select(*event_schema().names, line).sortWithinPartitions("seq")
    others = ((0, 0, DATASET_HEADER, ends.header), (ends.events + 1, ends.end_us, DATASET_TAIL, ends.tail))
    for seq, t, kind, written in others:
        row = {
            "seq": F.lit(seq).cast("long"),
            "t": F.lit(t).cast("long"),
            "cause": F.lit(0).cast("long"),
            "kind": F.lit(kind),
            LINE: F.lit(written),
        }
        rows = rows.unionByName(spark.range(1).select(*(value.alias(name) for name, value in row.items())), allowMissingColumns=True)
    return rows.withColumn(SESSION, F.lit(session))
