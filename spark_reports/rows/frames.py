"""Combines all sources of events into the DataFrames from which summaries are computed.

Spark parses JSON Lines once and caches the result. The fields of frequent events are stored as separate columns. Because every cached
column costs time, all other fields are in one struct, which is null for frequent events. Parquet files are not cached, but are read again
each time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from core.kafka.events import KINDS
from spark_reports.rows.dataset import Dataset, read_dataset
from spark_reports.rows.remote_lines_to_rows import REST, frequent_columns, is_infrequent, remote_lines_to_rows
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, ENVELOPE_NAMES, FREQUENT_KINDS, LINE, SESSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_reports.logs.session_log import SessionLog


@attrs.frozen
class EventFrames:
    """The events of several logs.

    Attributes:
        events: the events with `session`, the fields that all events have, and the requested columns.
        infrequent: the infrequent events, and the marker rows of datasets; they are cached when they are first computed.
        bad: the number of unusable lines in each session (`session`, `count`); None if no log is a JSON Lines file.
    """

    events: DataFrame
    infrequent: DataFrame
    bad: DataFrame | None


def read_frames(
    spark: SparkSession,
    lines: Sequence[SessionLog],
    datasets: Sequence[Dataset],
    kinds: Collection[str],
    columns: Collection[str],
    staging: Path | None,
) -> EventFrames:
    """Return the events of the given kinds, with the given columns, from JSON Lines and from datasets.

    Args:
        staging: the directory for links to logs (see `staging` in `remote_lines_to_rows.remote_lines_to_rows`).
    """
    parts: list[DataFrame] = []
    infrequent: list[DataFrame] = []
    bad = None
    wanted = [SESSION, *ENVELOPE_NAMES, *columns]
    here = [log for log in lines if isinstance(log.readable, Path)]
    read = [
        remote_lines_to_rows(spark, logs, kinds, columns, staging) for logs in (here, [log for log in lines if log not in here]) if logs
    ]
    if read:
        kept = _union(read).cache()
        often = frequent_columns(columns)
        unpacked = [f"{REST}.`{name}` AS `{name}`" for name in columns if name not in often]
        bad = kept.where("bad").groupBy(SESSION).count()
        good = kept.where("NOT bad")
        # As in a dataset, the unpacked columns are null for frequent events.
        parts.append(good.selectExpr(*(f"`{name}`" for name in [SESSION, *ENVELOPE_NAMES, *often]), *unpacked).select(*wanted))
        infrequent.append(
            parts[-1].where(is_infrequent()).selectExpr(*(f"`{name}`" for name in wanted), f"CAST(NULL AS STRING) AS {LINE}").cache()
        )
    for dataset in datasets:
        every = read_dataset(spark, dataset.address, columns, dataset.prefix)
        parts.append(every.where(f"kind NOT IN ('{DATASET_HEADER}', '{DATASET_TAIL}')").select(*wanted))
        if dataset.infrequent is not None:
            few = read_dataset(spark, dataset.infrequent, columns, dataset.prefix)
        else:
            also = (DATASET_HEADER, DATASET_TAIL)
            these = ", ".join(f"'{kind}'" for kind in (*sorted(set(kinds) - FREQUENT_KINDS), *also))
            # Events of unknown kinds are kept, so that the report can count them.
            few = every.where(f"kind IN ({these}) OR kind NOT IN ({', '.join(repr(kind) for kind in sorted(KINDS))})")
        infrequent.append(few.select(*wanted, LINE).cache())
    return EventFrames(_union(parts), _union(infrequent), bad)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), frames)
