"""Reads event logs: what a log says of itself is read here in Python, its events by Spark.

`open_log` looks at the first line and the end of a file only, whatever its size. `read_lines` gives the events of many
logs as one DataFrame with a `session` column, from one scan, lines that cannot be used marked as such; `count_bad`
counts those, and `explain_bad_line` finds the first of them for the message.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

import attrs
import msgspec

from core.journal.events import KINDS, column_types
from scenarios.errors import InputError
from scenarios.eventlog import LogReader
from spark_reports.errors import ReportError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOT_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_CHUNK: Final = 1 << 16
_TAIL_LIMIT: Final = 16 << 20


@attrs.frozen
class Log:
    """One session's log, as its first and last lines tell.

    Attributes:
        path: the file.
        session: short unique name: the file's name without `.jsonl`.
        release, seed, scenario, settings: from the header; `scenario` is None for a session played by hand.
        events: number of events (the last one's `seq`).
        end_us: virtual time at which the session ended, or of its last event when it did not end in good order.
        ended: there is an end line; without it the process was killed.
        torn: the last line was cut off in the middle of being written; it is skipped.
        capped_min_isr: the release counts min.insync.replicas as at most the number of replicas.
        min_isr: min.insync.replicas at the start, by topic; that of the whole cluster under the empty name.
    """

    path: Path
    session: str
    release: str
    seed: int
    scenario: str | None
    settings: dict[str, str]
    events: int
    end_us: int
    ended: bool
    torn: bool
    capped_min_isr: bool
    min_isr: dict[str, int]


def find_logs(paths: Iterable[Path]) -> list[Path]:
    """The files meant by `paths`: a directory stands for every `*.jsonl` in it, by name; a file named twice counts once.

    Raises:
        ReportError: a directory has no log in it.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            found.setdefault(path)
            continue
        inside = sorted(path.glob("*.jsonl"))
        if not inside:
            raise ReportError(f"{path}: no event log (*.jsonl) in this directory")
        found.update(dict.fromkeys(inside))
    return list(found)


def open_log(path: Path) -> Log:
    """What the log at `path` says of itself.

    Raises:
        ReportError: no file, no event log, or one of a newer version.
    """
    try:
        reader = LogReader(path)
        # The first event shows whether the lines are events at all; to end the iteration closes the file.
        events = cast("Generator[object]", iter(reader))
        next(events, None)
        events.close()
        with path.open("rb") as file:
            start = len(file.readline())
            last, torn = _last_line(path, file, start)
    except InputError as wrong:
        raise ReportError(str(wrong)) from wrong
    except RecursionError:
        raise ReportError(f"{path}: no event log: lines nested without end") from None
    except OSError as failure:
        raise ReportError(f"{path}: cannot be read: {failure.strerror or failure}") from failure
    end_us, count, ended = _end(last)
    header = reader.header
    return Log(
        path=path,
        session=path.name.removesuffix(".jsonl") or path.name,
        release=header.release,
        seed=header.seed,
        scenario=header.scenario,
        settings=dict(header.settings),
        events=count,
        end_us=end_us,
        ended=ended,
        torn=torn,
        capped_min_isr=reader.release.capped_min_isr,
        min_isr=_min_isr(reader),
    )


def _min_isr(reader: LogReader) -> dict[str, int]:
    """min.insync.replicas as the header has it, by topic; that of the whole cluster under the empty name."""
    name = "min.insync.replicas"
    given = {"": reader.header.settings.get(name)} | {topic.name: dict(topic.config).get(name) for topic in reader.spec.topics}
    return {subject: int(value) for subject, value in given.items() if value is not None and value.isascii() and value.isdecimal()}


def name_sessions(logs: Sequence[Log]) -> list[Log]:
    """The logs with names that tell them apart: where two files have the same name, the path is the session's name."""
    names = [log.session for log in logs]
    return [attrs.evolve(log, session=str(log.path)) if names.count(log.session) > 1 else log for log in logs]


def _last_line(path: Path, file: IO[bytes], start: int) -> tuple[dict[str, Any] | None, bool]:
    """The last complete line behind offset `start` as an object (None: there is none), and whether a torn one follows it."""
    size = file.seek(0, os.SEEK_END)
    length = min(_CHUNK, size - start)
    while True:
        file.seek(size - length)
        tail = file.read(length)
        everything = length == size - start
        # Unless all was read, the first piece may be the end of a longer line.
        lines = [line for line in tail.split(b"\n")[0 if everything else 1 :] if line.strip()]
        if everything or len(lines) > 1:
            break
        if length > _TAIL_LIMIT:
            raise ReportError(f"{path}: its last line is longer than {_TAIL_LIMIT >> 20} MB; no event is")
        length = min(length * 4, size - start)
    torn = bool(lines) and not tail.endswith(b"\n") and _object(lines[-1]) is None
    if torn:
        lines.pop()
    return (_object(lines[-1]) if lines else None), torn


def _object(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line; None when it is none."""
    try:
        parsed = msgspec.json.decode(line)
    except _NOT_JSON:
        return None
    return parsed if isinstance(parsed, dict) else None


def _end(last: dict[str, Any] | None) -> tuple[int, int, bool]:
    """Virtual end of the session, number of events, and whether it ended in good order, from the last complete line."""
    if last is None:
        return 0, 0, False
    ended = last.get("end") is True
    at, events = last.get("t"), last.get("events" if ended else "seq")
    return (at if isinstance(at, int) else 0), (events if isinstance(events, int) else 0), ended


# --- events, by Spark ----------------------------------------------------------------------------------------------


def read_lines(
    spark: SparkSession, logs: Sequence[Log], kinds: Collection[str], columns: Collection[str], staging: Path | None
) -> DataFrame:
    """Events of those kinds, with those columns, from all logs, and every line that cannot be used.

    Columns: `session`, the envelope, `columns`, and `bad`: true on a line that is not JSON, has a field of a wrong type, is
    of an unknown kind, or lacks one of `columns` that its kind has.

    Args:
        staging: a directory of this machine in which links with plain names are made for Spark to read, since it gives
            some characters in paths a meaning of their own; None when Spark runs elsewhere: it is given the paths as they are.
    """
    from pyspark.sql import functions as F

    from spark_reports.schema import CORRUPT_FIELD, END_FIELD, ENVELOPE, HEADER_FIELD, SESSION, line_schema

    if staging is None:
        sources = [os.path.abspath(log.path) for log in logs]
        index = {f"file://{source}": number for number, source in enumerate(sources)}
        session = F.create_map(*(F.lit(part) for source in index for part in (source, logs[index[source]].session)))[
            F.regexp_replace(F.url_decode(F.col("_metadata.file_path")), "^file:/+", "file:///")
        ]
    else:
        sources = [str(_link(staging, number, log.path)) for number, log in enumerate(logs)]
        names = F.array(*(F.lit(log.session) for log in logs))
        session = F.element_at(names, F.regexp_extract(F.col("_metadata.file_name"), r"(\d+)", 1).cast("int") + 1)
    raw = (
        spark.read.schema(line_schema())
        .options(mode="PERMISSIVE", columnNameOfCorruptRecord=CORRUPT_FIELD, encoding="UTF-8", lineSep="\n", allowSingleQuotes="false")
        .json(sources)
    )
    envelope = [field.name for field in ENVELOPE]
    known = ", ".join(f"'{kind}'" for kind in KINDS)
    bad = F.expr(
        f"coalesce({CORRUPT_FIELD} IS NOT NULL OR seq IS NULL OR t IS NULL OR cause IS NULL OR kind NOT IN ({known}) "
        f"OR {_lacking(kinds, columns)}, true)"
    )
    plain = F.col(HEADER_FIELD).isNull() & ~F.coalesce(F.col(END_FIELD), F.lit(False))
    return (
        raw.where(plain)
        .select(session.alias(SESSION), *envelope, *columns, bad.alias("bad"))
        .where(F.col("bad") | F.col("kind").isin(*kinds))
    )


def count_bad(lines: DataFrame) -> dict[str, int]:
    """How many lines of each session cannot be used; sessions without any are left out."""
    from pyspark.sql import functions as F

    return {row["session"]: row["count"] for row in lines.where(F.col("bad")).groupBy("session").count().collect()}


def session_table(spark: SparkSession, logs: Sequence[Log]) -> DataFrame:
    """One row a session: what its header says, its length and its end."""
    from spark_reports.schema import session_schema

    names = session_schema().names
    rows = [tuple(getattr(log, name) for name in names) for log in logs]
    return spark.createDataFrame(rows, session_schema())


def explain_bad_line(path: Path) -> str:
    """Where the first unusable line of a log is and what is wrong with it: `FILE:LINE: …`."""
    try:
        for _ in LogReader(path):
            pass
    except InputError as wrong:
        return str(wrong)
    except RecursionError:
        return f"{path}: has a line nested without end"
    return f"{path}: has lines that Spark cannot read as events"


def _lacking(kinds: Collection[str], columns: Collection[str]) -> str:
    """SQL for: a row has no value in one of `columns` that its kind, one of `kinds`, declares (one text: columns built in Python cost ms each)."""
    cases = []
    for kind in kinds:
        needed = [f"`{name}` IS NULL" for name in column_types(KINDS[kind]) if name in columns]
        if needed:
            cases.append(f"WHEN '{kind}' THEN {' OR '.join(needed)}")
    return f"CASE kind {' '.join(cases)} ELSE false END"


def _link(staging: Path, number: int, path: Path) -> Path:
    """A link to a log under a name without characters that mean something to Hadoop's file patterns."""
    link = staging / f"{number:06d}.jsonl"
    link.symlink_to(path.resolve())
    return link
