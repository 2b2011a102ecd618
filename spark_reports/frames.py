"""From logs to the frames that summaries are computed from, in as few passes over the events as can be.

JSON Lines on this machine are staged as a dataset (`staging`). Those elsewhere, and those with wrong lines, are parsed once by Spark and
kept in memory: the columns that frequent events have side by side, those of the others in one structure that is empty for the
frequent ones, since every column kept of a million events costs time. A Parquet dataset needs no keeping: what a summary needs of
it is read again in less time than it would take to keep it. The events that are not frequent, a few in a hundred, are kept ready
for the summaries that need no others; of a dataset on this machine they have been staged as a dataset of their own. Of the frequent
ones what they come to is kept (`counted`, `lag.behind`), some ten thousand rows of a million events.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka.events import KINDS, column_types, required_columns
from spark_reports.schema import BULK, CORRUPT_FIELD, DATASET_HEADER, DATASET_TAIL, END_FIELD, HEADER_FIELD, LINE, SESSION
from spark_reports.summaries.counted import counted
from spark_reports.summaries.lag import behind
from spark_reports.summaries.partition_states import down_times, partition_states
from spark_reports.summaries.stalls import behind_disks, clients, cut_times, ended, held_up, leading, stalled, standing_still, unserved
from spark_reports.summaries.summary import Inputs, Once, having

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_reports.sessions import Log

ENVELOPE: Final = ("seq", "t", "cause", "kind")
_REST: Final = "rest"


@attrs.frozen
class Frames:
    """Events of several logs.

    Attributes:
        events: `session`, the envelope and the columns asked for.
        rare: those of no `BULK` kind, kept in memory as soon as they have been computed; with those of datasets that say what a log's
            header says, of kinds of their own.
        bad: lines that cannot be used, counted by session: `session`, `count`; None when there are no JSON Lines.
    """

    events: DataFrame
    rare: DataFrame
    bad: DataFrame | None


@attrs.frozen
class Dataset:
    """Logs in Parquet that summaries are to be computed from.

    Attributes:
        address: of the dataset.
        prefix: what its sessions' names begin with, to tell them from those of other datasets.
        rare: the address of its events of no `BULK` kind alone, if they have been staged.
    """

    address: str
    prefix: str = ""
    rare: str | None = None


def read_frames(
    spark: SparkSession,
    lines: Sequence[Log],
    datasets: Sequence[Dataset],
    kinds: Collection[str],
    columns: Collection[str],
    staging: Path | None,
) -> Frames:
    """The events of those kinds, with those columns, from logs as JSON Lines and from datasets.

    Args:
        staging: as for `read_lines`.
    """
    parts: list[DataFrame] = []
    rare: list[DataFrame] = []
    bad = None
    wanted = [SESSION, *ENVELOPE, *columns]
    here = [log for log in lines if isinstance(log.readable, Path)]
    read = [read_lines(spark, logs, kinds, columns, staging) for logs in (here, [log for log in lines if log not in here]) if logs]
    if read:
        kept = _union(read).cache()
        often = _bulk_columns(columns)
        unpacked = [f"{_REST}.`{name}` AS `{name}`" for name in columns if name not in often]
        bad = kept.where("bad").groupBy(SESSION).count()
        good = kept.where("NOT bad")
        # A column of the frequent ones is null nowhere it is needed; the others are null in frequent events as they are in a dataset.
        parts.append(good.selectExpr(*(f"`{name}`" for name in [SESSION, *ENVELOPE, *often]), *unpacked).select(*wanted))
        rare.append(parts[-1].where(_is_rare()).selectExpr(*(f"`{name}`" for name in wanted), f"CAST(NULL AS STRING) AS {LINE}").cache())
    for dataset in datasets:
        every = read_dataset(spark, dataset.address, columns, dataset.prefix)
        parts.append(every.where(f"kind NOT IN ('{DATASET_HEADER}', '{DATASET_TAIL}')").select(*wanted))
        if dataset.rare is not None:
            few = read_dataset(spark, dataset.rare, columns, dataset.prefix)
        else:
            also = (DATASET_HEADER, DATASET_TAIL)
            these = ", ".join(f"'{kind}'" for kind in (*sorted(set(kinds) - BULK), *also))
            few = every.where(f"kind IN ({these})")
        rare.append(few.select(*wanted, LINE).cache())
    return Frames(_union(parts), _union(rare), bad)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), frames)


def _is_rare() -> str:
    return f"kind NOT IN ({', '.join(repr(kind) for kind in sorted(BULK))})"


def _bulk_columns(columns: Collection[str]) -> list[str]:
    """Those of the columns that a frequent kind has."""
    have = {name for kind in BULK for name in column_types(KINDS[kind])}
    return [name for name in columns if name in have]


def read_dataset(spark: SparkSession, path: str, columns: Collection[str] | None = None, prefix: str = "") -> DataFrame:
    """A dataset that `isrlab log convert` wrote, or one session's part of it, in `schema.dataset_schema` and with its `session`.

    Args:
        columns: those of the events that are wanted; None for all.
        prefix: what to put before sessions' names.
    """
    from pyspark.sql import functions as F

    from spark_reports.schema import dataset_schema

    reader = spark.read.schema(dataset_schema(columns))
    trimmed = path.rstrip("/")
    name = trimmed.rpartition("/")[2]
    if name.startswith(f"{SESSION}="):
        reader = reader.option("basePath", trimmed.rpartition("/")[0])
    every = reader.parquet(path)
    return every.withColumn(SESSION, F.concat(F.lit(prefix), F.col(SESSION))) if prefix else every


def read_lines(
    spark: SparkSession, logs: Sequence[Log], kinds: Collection[str], columns: Collection[str], staging: Path | None
) -> DataFrame:
    """Events of those kinds, with those columns, from all logs, and every line that cannot be used.

    Columns: `session`, the envelope, those of `columns` that a `BULK` kind has, the others in `rest` (null for `BULK` kinds), and
    `bad`: true on a line that is not JSON, has a field of a wrong type, is of an unknown kind, or lacks one of `columns` that its
    kind has.

    Args:
        staging: a directory of this machine in which links with plain names are made for Spark to read, since it gives
            some characters in paths a meaning of their own; None when Spark runs elsewhere: it is given the paths as they are.
    """
    from pyspark.sql import functions as F

    from spark_reports.schema import line_schema

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
    often = _bulk_columns(columns)
    known = ", ".join(f"'{kind}'" for kind in KINDS)
    bad = (
        f"coalesce({CORRUPT_FIELD} IS NOT NULL OR seq IS NULL OR t IS NULL OR cause IS NULL OR kind NOT IN ({known}) "
        f"OR {_lacking(kinds, columns)}, true) AS bad"
    )
    rest = ", ".join(f"'{name}', `{name}`" for name in columns if name not in often)
    packed = [f"CASE WHEN {_is_rare()} THEN named_struct({rest}) END AS {_REST}"] if rest else []
    wanted = ", ".join(f"'{kind}'" for kind in kinds)
    return (
        raw.where(f"{HEADER_FIELD} IS NULL AND NOT coalesce({END_FIELD}, false)")
        .withColumn(SESSION, session)
        .selectExpr(SESSION, *ENVELOPE, *(f"`{name}`" for name in often), *packed, bad)
        .where(f"bad OR kind IN ({wanted})")
    )


def _lacking(kinds: Collection[str], columns: Collection[str]) -> str:
    """SQL for: a row has no value in one of `columns` that its kind, one of `kinds`, declares (one text: columns built in Python cost ms each)."""
    cases = []
    for kind in kinds:
        needed = [f"`{name}` IS NULL" for name in required_columns(KINDS[kind]) if name in columns]
        if needed:
            cases.append(f"WHEN '{kind}' THEN {' OR '.join(needed)}")
    return f"CASE kind {' '.join(cases)} ELSE false END"


def _link(staging: Path, number: int, path: Path) -> Path:
    """A link to a log under a name without characters that mean something to Hadoop's file patterns."""
    link = staging / f"{number:06d}.jsonl"
    if not link.is_symlink():
        link.symlink_to(path.resolve())
    return link


def session_table(spark: SparkSession, logs: Sequence[Log]) -> DataFrame:
    """One row a session: what its header says, its length and its end."""
    import msgspec
    from pyspark.sql import functions as F

    from spark_reports.schema import session_schema

    schema = session_schema()
    rows = msgspec.json.encode([{name: getattr(log, name) for name in schema.names} for log in logs]).decode()
    # A constant in the plan: rows made from Python objects would be unpickled by every job that looks at them.
    return spark.range(1).select(F.inline(F.from_json(F.lit(rows), f"array<{schema.simpleString()}>")))


def inputs_of(frames: Frames, sessions: DataFrame, found: frozenset[str]) -> Inputs:
    """What summaries are computed from; what several of them need is kept in memory.

    Args:
        found: the kinds that occur among the rare events.
    """
    still = Once(lambda: standing_still(frames.events))
    return _inputs(
        frames.events,
        frames.rare,
        sessions,
        found,
        still,
        Once(lambda: counted(frames.events).cache()),
        Once(lambda: behind(frames.events)),
    )


def gathered_inputs(frames: Frames, quick: SparkSession, sessions: DataFrame, found: frozenset[str], few: bool) -> Inputs:
    """The same for another session of the same Spark, `quick`, with all but the frequent events in one partition each.

    Args:
        sessions: as a frame of the other session.
        found: as for `inputs_of`.
        few: frequent events are so few that they are aggregated in the other session, too.
    """

    def there(frame: DataFrame, name: str) -> DataFrame:
        frame.createOrReplaceGlobalTempView(name)
        return quick.table(f"global_temp.{name}")

    def gathered(summed: Callable[[DataFrame], DataFrame], name: str) -> DataFrame:
        frame = summed(events).coalesce(1).cache()
        if few:
            return frame
        # Computed by the session that is meant to, not by the first one that looks.
        frame.count()
        return there(frame, name)

    events = there(frames.events, "events") if few else frames.events
    rare = there(frames.rare, "rare").coalesce(1)
    still = Once(lambda: gathered(standing_still, "still"))
    sums = Once(lambda: gathered(counted, "counted")), Once(lambda: gathered(behind, "behind"))
    return _inputs(events, rare, sessions, found, still, *sums, gathered=True)


def _inputs(
    events: DataFrame,
    rare: DataFrame,
    sessions: DataFrame,
    found: frozenset[str],
    still: Once[DataFrame],
    counts: Once[DataFrame],
    lags: Once[DataFrame],
    gathered: bool = False,
) -> Inputs:
    """Inputs with what follows from the rare events, the sessions and `still` (`standing_still`)."""

    def one(frame: DataFrame) -> DataFrame:
        return frame.coalesce(1) if gathered else frame

    def of(*kinds: str) -> DataFrame:
        return having(rare, found, kinds)

    states = Once(lambda: one(partition_states(rare, sessions)).cache())
    down = Once(lambda: down_times(of("broker-stopped", "broker-paused"), sessions))
    cuts = Once(lambda: cut_times(of("link-cut"), sessions))
    disks = Once(lambda: behind_disks(of("disk-slowed", "disk-behind"), sessions))
    # Of what clients experienced only the rows are kept: how they came about is a plan that each table made from them would go through again.
    closed = Once(lambda: one(unserved(states(), down(), cuts(), clients(rare), leading(rare))).localCheckpoint())
    held = Once(lambda: one(held_up(states(), down(), cuts(), ended(still(), sessions), disks())).localCheckpoint())
    return Inputs(
        events,
        rare,
        sessions,
        found=found,
        states_once=states,
        unserved_once=closed,
        stalled_once=Once(lambda: one(stalled(states(), closed(), held())).localCheckpoint()),
        counted_once=counts,
        behind_once=lags,
        gathered=gathered,
    )
