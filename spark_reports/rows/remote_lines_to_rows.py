"""Turns lines of logs into rows with Spark, and marks lines that are not events.

This module parses logs that only the executors can read, and logs that Arrow cannot parse (`lines_to_rows`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.kafka.events import KINDS, column_types, required_columns
from spark_reports.rows.schema import CORRUPT_FIELD, END_FIELD, ENVELOPE_NAMES, FREQUENT_KINDS, HEADER_FIELD, SESSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_reports.logs.session_log import SessionLog


REST: Final = "rest"
"""The name of the struct with the columns that frequent events lack."""


def remote_lines_to_rows(
    spark: SparkSession, logs: Sequence[SessionLog], kinds: Collection[str], columns: Collection[str], staging: Path | None
) -> DataFrame:
    """Return the events of the given kinds, and of unknown kinds, from all logs, with the given columns, and every unusable line.

    The result has the columns `session` and `bad`, the fields that all events have, and those of `columns` that events of frequent kinds
    have. The remaining columns are in `rest`, which is null for events of frequent kinds. `bad` is true for a line that is not JSON, has a
    field with a wrong type, or lacks one of `columns` that its kind requires.

    Args:
        staging: a directory on this machine for links with plain names, which are needed because Spark interprets some characters in paths;
            None if Spark runs elsewhere and uses the original paths.
    """
    from pyspark.sql import functions as F

    from spark_reports.rows.schema import line_schema

    paths = [log.readable for log in logs if isinstance(log.readable, Path)]
    if staging is None or not paths:
        sources = [os.path.abspath(path) for path in paths] or [str(log.readable) for log in logs]
        index = {re.sub("^(file:)?/+", "file:///", source): log.session for source, log in zip(sources, logs, strict=True)}
        session = F.create_map(*(F.lit(part) for pair in index.items() for part in pair))[
            F.regexp_replace(F.url_decode(F.replace(F.col("_metadata.file_path"), F.lit("+"), F.lit("%2B"))), "^file:/+", "file:///")
        ]
    else:
        sources = [str(_link(staging, number, path)) for number, path in enumerate(paths)]
        names = F.array(*(F.lit(log.session) for log in logs))
        session = F.element_at(names, F.regexp_extract(F.col("_metadata.file_name"), r"(\d+)", 1).cast("int") + 1)
    raw = (
        spark.read.schema(line_schema(columns))
        .options(mode="PERMISSIVE", columnNameOfCorruptRecord=CORRUPT_FIELD, encoding="UTF-8", lineSep="\n", allowSingleQuotes="false")
        .json(sources)
    )
    often = frequent_columns(columns)
    known = ", ".join(f"'{kind}'" for kind in KINDS)
    bad = (
        f"coalesce({CORRUPT_FIELD} IS NOT NULL OR seq IS NULL OR t IS NULL OR cause IS NULL OR kind IS NULL "
        f"OR {_missing_columns(kinds, columns)}, true) AS bad"
    )
    rest = ", ".join(f"'{name}', `{name}`" for name in columns if name not in often)
    packed = [f"CASE WHEN {is_infrequent()} THEN named_struct({rest}) END AS {REST}"] if rest else []
    wanted = ", ".join(f"'{kind}'" for kind in kinds)
    return (
        raw.where(f"{HEADER_FIELD} IS NULL AND NOT coalesce({END_FIELD}, false)")
        .withColumn(SESSION, session)
        .selectExpr(SESSION, *ENVELOPE_NAMES, *(f"`{name}`" for name in often), *packed, bad)
        .where(f"bad OR kind IN ({wanted}) OR kind NOT IN ({known})")
    )


def _missing_columns(kinds: Collection[str], columns: Collection[str]) -> str:
    """Return an SQL condition that is true if a row lacks one of `columns` that its kind requires.

    The condition is a single string instead of several Column objects, because creating each Column object takes milliseconds.
    """
    cases = []
    for kind in kinds:
        needed = [f"`{name}` IS NULL" for name in required_columns(KINDS[kind]) if name in columns]
        if needed:
            cases.append(f"WHEN '{kind}' THEN {' OR '.join(needed)}")
    return f"CASE kind {' '.join(cases)} ELSE false END"


def is_infrequent() -> str:
    return f"kind NOT IN ({', '.join(repr(kind) for kind in sorted(FREQUENT_KINDS))})"


def frequent_columns(columns: Collection[str]) -> list[str]:
    """Return those of the given columns that at least one frequent kind has."""
    have = {name for kind in FREQUENT_KINDS for name in column_types(KINDS[kind])}
    return [name for name in columns if name in have]


def _link(staging: Path, number: int, path: Path) -> Path:
    """Create a link to a log, under a name that contains none of the special characters in Hadoop's file patterns."""
    link = staging / f"{number:06d}.jsonl"
    if not link.is_symlink():
        link.symlink_to(path.resolve())
    return link
