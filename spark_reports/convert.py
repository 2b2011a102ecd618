"""`isrlab log convert`: event logs from JSON Lines to Parquet and back, byte for byte, and packed or not.

A dataset has a directory for each session (`session=NAME`), its events in order of time in the columns of `schema`, and two rows
that are no events: the header line, and what stands behind the last event (the end line, a torn line, or nothing). An event's
line is not stored: it is made again from its columns. A line that would come out otherwise than it was, because somebody wrote
it by hand or an older version wrote it, is kept as text in the column `line`; that is looked at for every line when it is stored.
On this machine pyarrow writes the dataset, in a fifth of the time that Spark takes; elsewhere Spark does.
"""

from __future__ import annotations

import base64
import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import attrs

from core.kafka.events import EVENTS
from scenarios.errors import InputError
from scenarios.eventlog import LogReader, encode_event
from scenarios.logfile import is_packed, is_packed_name, open_log_file, packer
from scenarios.output_files import check_outputs, whole_file
from scenarios.stopping import stoppable
from spark_reports.errors import ReportError
from spark_reports.frames import read_dataset
from spark_reports.schema import DATASET_HEADER, DATASET_TAIL, LINE, SESSION, event_columns, event_schema
from spark_reports.sessions import find_logs, glob_free, session_name, unpacked
from spark_reports.spark import LOCAL_MASTER, spark_session
from spark_reports.staging import arrow_schema, blocks, escaped, has_arrow, parsed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

NO_NEWLINE: Final = "no-newline"
"""What stands behind the last event of a log whose last line lacks its line break."""

BASE64: Final = "base64:"
"""What a torn line begins with that is no text, having been cut in the middle of a character."""

_WRITTEN_OTHERWISE: Final = re.compile(rb"\\u00.[a-f]")
"""A control character whose number Spark writes in capitals."""

_FRAME_LINES: Final = 20_000
_BLOCK_BYTES: Final = 8 << 20
"""Of a Parquet file's row groups: small enough that every core has some of a file of 10^6 events."""

Say = Callable[[str], None]


def convert(paths: Sequence[str], out: str, master: str | None, settings: Mapping[str, str], say: Say) -> None:
    """Convert logs: to JSON Lines if `out` ends in `.jsonl` or `.jsonl.zst` or what is given is a dataset, else to Parquet.

    Args:
        paths: as `sessions.find_logs` understands them.
        out: a file, or a directory, in which each log gets a file or a part of the dataset.

    Raises:
        ReportError, InputError: something cannot be read or written; what was there before is untouched.
    """
    with stoppable():
        _convert(paths, out, master, settings, say)


def _convert(paths: Sequence[str], out: str, master: str | None, settings: Mapping[str, str], say: Say) -> None:
    found = find_logs(paths)
    if found.remote:
        raise ReportError(f"{found.remote[0]}: convert reads JSON Lines from this machine only")
    if out.endswith((".jsonl", ".jsonl.zst")):
        _to_one_file(found.files, found.datasets, Path(out), master, settings, say)
    elif found.datasets:
        if found.files:
            raise ReportError("give either logs as JSON Lines, to make Parquet of them, or datasets, to make JSON Lines of them; not both")
        with spark_session(master or LOCAL_MASTER, settings) as spark:
            to_lines(spark, found.datasets, Path(out), say)
    else:
        target = _parquet_target(found.files, out)
        logs = [(path, _checked(path)) for path in found.files]
        if target.startswith("file:///") and has_arrow():
            logs = to_parquet_here(logs, Path(target.removeprefix("file://")), say)
        if not logs:
            return
        with spark_session(master or LOCAL_MASTER, settings) as spark:
            to_parquet(spark, logs, target, say)


def _to_one_file(
    files: Sequence[Path], datasets: Sequence[str], out: Path, master: str | None, settings: Mapping[str, str], say: Say
) -> None:
    if len(files) + len(datasets) != 1:
        raise ReportError(f"{out}: one file for {len(files) + len(datasets)} logs; name a directory")
    if files:
        check_outputs({"-o": out}, files)
        LogReader(files[0]).close()
        try:
            with open_log_file(files[0]) as log:
                count = _write(out, iter(log))
        except OSError as wrong:
            raise InputError(f"{files[0]}: cannot be read: {wrong.strerror or wrong}") from None
        say(f"{out}: {count:,} lines of {files[0]}")
        return
    with spark_session(master or LOCAL_MASTER, settings) as spark:
        sessions = _sessions(spark, datasets[0])
        if len(sessions) != 1:
            raise ReportError(
                f"{datasets[0]}: has {len(sessions)} sessions ({', '.join(sessions[:4])} …); name a directory, or one of them"
            )
        _back(spark, datasets[0], sessions[0], out, say)


# --- to Parquet ----------------------------------------------------------------------------------------------------


@attrs.frozen
class _Ends:
    """What a log has beside its events.

    Attributes:
        header: the header line.
        tail: what stands behind the last event.
        events: how many there are.
        end_us: the time of the end.
        ended, torn: whether the last line is an end line, and whether it is torn.
        kept: events by number whose lines would not come back as they were.
    """

    header: str
    tail: str
    events: int
    end_us: int
    ended: bool
    torn: bool
    kept: dict[int, str]


def _parquet_target(files: Sequence[Path], out: str) -> str:
    """The address of a dataset in which sessions of those files can be put; of one elsewhere only Spark can tell what it has already."""
    if "://" in out or out.startswith("file:"):
        _check_names(files, set(), out)
        return out
    if Path(out).is_file():
        raise ReportError(f"{out}: is a file; Parquet needs a directory")
    _check_names(files, {unquote(part.name.partition("=")[2]) for part in Path(out).glob(f"{SESSION}=*")}, out)
    return f"file://{Path(out).resolve()}"


def _check_names(files: Sequence[Path], there: Collection[str], out: str) -> None:
    """See that each file makes a session of a name of its own.

    Raises:
        ReportError: two would have one, or one is there already.
    """
    names = [session_name(path) for path in files]
    for name in names:
        if names.count(name) > 1 or name in there:
            raise ReportError(f"{out}: would have two sessions called {name}; name another directory")


def _sessions_there(spark: SparkSession, target: str) -> set[str]:
    """The sessions of which a dataset has anything, if there is one."""
    from pyspark.errors import AnalysisException

    try:
        return {row[SESSION] for row in read_dataset(spark, _readable(target)).select(SESSION).distinct().collect()}
    except AnalysisException as failure:
        if failure.getCondition() != "PATH_NOT_FOUND":
            raise
        return set()


def to_parquet(spark: SparkSession, logs: Sequence[tuple[Path, _Ends]], target: str, say: Say) -> None:
    """Add logs, each a session, to the dataset at an address.

    Raises:
        ReportError: it has such a session already, in which case nothing is written, or Spark takes something else for events.
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
            written = _dataset(spark, str(plain), name, ends).write.mode("append").partitionBy(SESSION)
            written.option("parquet.block.size", _BLOCK_BYTES).option("compression", "zstd").parquet(target)
            there = (
                read_dataset(spark, _readable(target))
                .where((F.col(SESSION) == name) & ~F.col("kind").isin(DATASET_HEADER, DATASET_TAIL))
                .count()
            )
            if there != ends.events:
                raise ReportError(
                    f"{path}: Spark takes {there:,} of its {ends.events:,} events for events; what is in {target} of it is not whole"
                )
            say(f"{target}: session {name}, {ends.events:,} events of {path}")


def to_parquet_here(logs: Sequence[tuple[Path, _Ends]], dataset: Path, say: Say) -> list[tuple[Path, _Ends]]:
    """Add logs, each a session, to a dataset on this machine, without Spark; each is there when it is whole.

    Returns:
        those left to Spark: pyarrow does not take lines for JSON that have a key twice, for example.
    """
    import pyarrow as pa

    left = []
    with tempfile.TemporaryDirectory(prefix="isrlab-logs-") as scratch:
        for path, ends in logs:
            plain = unpacked(path, Path(scratch)) or path
            name = session_name(path)
            half = dataset / f"_half-{escaped(name)}"
            try:
                shutil.rmtree(half, ignore_errors=True)
                half.mkdir(parents=True)
                _write_dataset(plain, ends, half / "events.parquet")
                half.replace(dataset / f"{SESSION}={escaped(name)}")
            except pa.ArrowException:
                left.append((path, ends))
                continue
            except OSError as wrong:
                raise ReportError(f"{dataset}: cannot be written: {wrong.strerror or wrong}") from None
            finally:
                shutil.rmtree(half, ignore_errors=True)
            say(f"{dataset}: session {name}, {ends.events:,} events of {path}")
    return left


def _write_dataset(path: Path, ends: _Ends, target: Path) -> None:
    """A log as a file of a dataset, in the order of its lines."""
    import pyarrow as pa
    from pyarrow import parquet

    events = arrow_schema(event_columns())
    schema = events.append(pa.field(LINE, pa.string()))
    texts = [field.name for field in schema if pa.types.is_string(field.type)]

    def alone(seq: int, t: int, kind: str, line: str) -> pa.Table:
        return pa.Table.from_pylist([{"seq": seq, "t": t, "cause": 0, "kind": kind, LINE: line}], schema)

    with path.open("rb") as file, parquet.ParquetWriter(target, schema, compression="zstd", use_dictionary=texts) as writer:
        file.readline()
        writer.write_table(alone(0, 0, DATASET_HEADER, ends.header))
        count = 0
        for block in blocks(file, ended=ends.ended, torn=ends.torn):
            table = parsed(block, events)
            numbers = range(count + 1, count + table.num_rows + 1)
            lines = [ends.kept.get(seq) for seq in numbers] if ends.kept else [None] * len(numbers)
            writer.write_table(table.append_column(LINE, pa.array(lines, pa.string())))
            count = numbers.stop - 1
        if count != ends.events:
            raise ReportError(f"{path}: {count:,} of its {ends.events:,} events were read again; it was written to meanwhile")
        writer.write_table(alone(count + 1, ends.end_us, DATASET_TAIL, ends.tail))


def _readable(target: str) -> str:
    """The address of a dataset as it is read, of one as it is written."""
    local = target.removeprefix("file://")
    return f"file://{glob_free(Path(local))}" if local.startswith("/") else target


def _checked(path: Path) -> _Ends:
    """What a log has beside its events, if its lines are all in order.

    Raises:
        LogError: a line is wrong.
    """
    reader = LogReader(path)
    events = end_us = 0
    kept = {}
    with open_log_file(path) as log:
        last = header = log.readline()
        for event in reader:
            events, end_us = event[0], event[1]
            last = log.readline()
            line = last.removesuffix(b"\n")
            if line != encode_event(event) or _WRITTEN_OTHERWISE.search(line):
                kept[events] = line.decode()
        tail = log.read()
    if reader.end is not None:
        end_us = reader.end.t
    ended, torn = reader.end is not None, bool(reader.torn)
    if not last.endswith(b"\n"):
        return _Ends(header.decode().rstrip("\n"), NO_NEWLINE, events, end_us, ended, torn, kept)
    try:
        text = tail.decode()
    except UnicodeDecodeError:
        text = BASE64 + base64.b64encode(tail).decode()
    return _Ends(header.decode()[:-1], text, events, end_us, ended, torn, kept)


def _dataset(spark: SparkSession, source: str, session: str, ends: _Ends) -> DataFrame:
    """A log as rows of a dataset, in the order of its lines."""
    from pyspark.sql import functions as F

    text = spark.read.option("lineSep", "\n").text(source)
    parsed = text.select("value", F.from_json("value", event_schema()).alias("e")).where("e.seq IS NOT NULL AND e.kind IS NOT NULL")
    line = F.when(F.col("value") != line_of(), F.col("value")).alias(LINE)
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


def line_of() -> Column:
    """An event's line as `scenarios.eventlog.encode_event` writes it, made of its columns: those of its kind, in their order.

    The columns of other kinds are null and are left out by themselves; so kinds whose orders agree share an expression.
    """
    from pyspark.sql import functions as F

    orders = column_orders()
    texts = [F.to_json(F.struct("seq", "t", "cause", "kind", *columns)) for columns, _ in orders]
    result = texts[0]
    for text, (_, kinds) in zip(texts[1:], orders[1:], strict=True):
        result = F.when(F.col("kind").isin(kinds), text).otherwise(result)
    return result


def column_orders() -> list[tuple[list[str], list[str]]]:
    """Orders of columns such that each kind's columns stand in its own order in one of them, with those kinds."""
    orders: list[tuple[list[str], list[str]]] = []
    for event in EVENTS:
        columns = list(event.columns)
        for known, kinds in orders:
            merged = _merged(known, columns)
            if merged is not None:
                known[:] = merged
                kinds.append(event.kind)
                break
        else:
            orders.append((columns, [event.kind]))
    return orders


def _merged(order: list[str], columns: list[str]) -> list[str] | None:
    """An order with more columns, whose own order is kept; None if the two do not agree."""
    places = [order.index(name) for name in columns if name in order]
    if places != sorted(places):
        return None
    merged, at = list(order), 0
    for name in columns:
        if name in merged:
            at = merged.index(name) + 1
        else:
            merged.insert(at, name)
            at += 1
    return merged


# --- back to JSON Lines --------------------------------------------------------------------------------------------


def to_lines(spark: SparkSession, datasets: Sequence[str], directory: Path, say: Say) -> None:
    """Write every session of some datasets as the log it was, to a file of its name."""
    for dataset in datasets:
        for session in _sessions(spark, dataset):
            _back(spark, dataset, session, directory / f"{_file_name(session)}.jsonl", say)


def _sessions(spark: SparkSession, dataset: str) -> list[str]:
    rows = read_dataset(spark, dataset).where(f"kind = '{DATASET_HEADER}'").select(SESSION).distinct().collect()
    if not rows:
        raise ReportError(f"{dataset}: no event logs; this would be a directory that 'isrlab log convert' wrote")
    return sorted(row[SESSION] for row in rows)


def _back(spark: SparkSession, dataset: str, session: str, out: Path, say: Say) -> None:
    """Write a session of a dataset as the log it was."""
    from pyspark.sql import functions as F

    rows = read_dataset(spark, dataset).where(F.col(SESSION) == session)
    texts = rows.orderBy("seq").select(F.coalesce(LINE, line_of()).alias("text"), (F.col("kind") == DATASET_TAIL).alias("tail"))
    lines = (_bytes_of(row["text"], row["tail"]) for row in texts.toLocalIterator(prefetchPartitions=True))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InputError(f"{out.parent}: cannot be made: {wrong.strerror or wrong}") from None
    count = _write(out, _with_tail(lines))
    say(f"{out}: {count:,} lines of session {session}")


def _bytes_of(text: str, tail: bool) -> tuple[bytes, bool]:
    if tail and text.startswith(BASE64):
        return base64.b64decode(text[len(BASE64) :]), True
    return text.encode(), tail


def _with_tail(lines: Iterable[tuple[bytes, bool]]) -> Iterator[bytes]:
    """Whole lines, and what stands behind them."""
    before: bytes | None = None
    for text, tail in lines:
        if tail and text == NO_NEWLINE.encode():
            break
        if before is not None:
            yield before + b"\n"
            before = None
        if tail:
            yield text
        else:
            before = text
    if before is not None:
        yield before


def _write(out: Path, lines: Iterator[bytes]) -> int:
    """Write lines to a file, packed if its name says so; it appears under its name when it is whole."""
    pack = packer() if is_packed_name(out) else bytes
    count = 0
    with whole_file(out) as file:
        while chunk := list(itertools.islice(lines, _FRAME_LINES)):
            count += len(chunk)
            file.write(pack(b"".join(chunk)))
    return count


def _file_name(session: str) -> str:
    """A session's name as a file's."""
    return session.replace("/", "-").lstrip(".") or "session"
