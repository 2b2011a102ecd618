"""The Spark schema of an event log: one wide table with the columns of all event kinds, all nullable.

It follows from `core.kafka.events`, where each kind declares its columns. A column has the same type in every kind. The same schema
reads the header and the last line of a log (`HEADER_FIELD` and `END_FIELD` distinguish them from events). `CORRUPT_FIELD` keeps the text of
a line that is not JSON of these types.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pyspark.sql.types import ArrayType, BooleanType, DataType, IntegerType, LongType, MapType, StringType, StructField, StructType

from core.kafka.events import EVENTS, column_types

SESSION: Final = "session"
"""Column with the session an event belongs to; not in the log, added on reading."""

HEADER_FIELD: Final = "isrlab"
"""Set on the first line of a log only."""

END_FIELD: Final = "end"
"""True on the last line of a session that ended in good order."""

CORRUPT_FIELD: Final = "_corrupt"
"""The text of a line that could not be read."""

_TYPES: Final[dict[str, DataType]] = {
    "int": LongType(),
    "str": StringType(),
    "bool": BooleanType(),
    "tuple[int, ...]": ArrayType(IntegerType()),
}
"""Spark's types for the types columns are declared with; offsets and µs need 64 bits, broker ids 32."""

ENVELOPE: Final = (
    StructField("seq", LongType()),
    StructField("t", LongType()),
    StructField("cause", LongType()),
    StructField("kind", StringType()),
)
"""What every event has: its number in the session from 1, virtual µs, the seq of the event that led to it, its kind."""

ENVELOPE_NAMES: Final = ("seq", "t", "cause", "kind")


def event_columns() -> dict[str, str]:
    """Every column of every kind with its declared type, in the order the kinds declare them.

    Raises:
        TypeError: two kinds declare a column of the same name with different types.
    """
    columns: dict[str, str] = {}
    for event in EVENTS:
        for name, declared in column_types(event).items():
            if columns.setdefault(name, declared) != declared:
                raise TypeError(
                    f"column {name} is {declared} in {event.kind} and {columns[name]} elsewhere: one wide table cannot hold both"
                )
    return columns


def event_schema(columns: Collection[str] | None = None) -> StructType:
    """The wide table of events, as the log's lines have it, or of its columns some."""
    chosen = {name: declared for name, declared in event_columns().items() if columns is None or name in columns}
    return StructType([*ENVELOPE, *(StructField(name, _TYPES[declared]) for name, declared in chosen.items())])


def line_schema(columns: Collection[str] | None = None) -> StructType:
    """What a line of a log is read with: an event's columns (or some of them), the two marks of other lines, and the unreadable rest."""
    marks = (StructField(HEADER_FIELD, StringType()), StructField(END_FIELD, BooleanType()), StructField(CORRUPT_FIELD, StringType()))
    return StructType([*event_schema(columns).fields, *marks])


FREQUENT_KINDS: Final = frozenset(
    {"append", "consumed", "follower-append", "follower-fetched", "follower-high-watermark", "high-watermark", "produce-acked"}
)
"""Event kinds that every round trip makes: nearly all of a session's events are of these."""

LINE: Final = "line"
"""Column of a dataset: the text of a line that is no event, or that would not come back as it was; null for every other."""

DATASET_HEADER: Final = "log-header"
"""Kind of a dataset's row that holds a log's first line; its `seq` is 0."""

DATASET_TAIL: Final = "log-tail"
"""Kind of a dataset's row that holds what stands behind a log's last event: its end line, a torn line or nothing."""


def dataset_schema(columns: Collection[str] | None = None) -> StructType:
    """A dataset of logs as `isrlab log convert` writes it: the wide table of events, `line`, and the session it is partitioned by."""
    return StructType([*event_schema(columns).fields, StructField(LINE, StringType()), StructField(SESSION, StringType())])


SESSION_SHOWN: Final = (SESSION, "release", "seed", "scenario", "events", "end_us", "ended", "torn")
"""Columns of a session's row that are shown; the others are for the summaries."""


def session_schema() -> StructType:
    """One row a session: from the log's header and its last line. `min_isr`, `threads`: as in `sessions.Log`."""
    return StructType(
        [
            StructField(SESSION, StringType()),
            StructField("release", StringType()),
            StructField("seed", LongType()),
            StructField("scenario", StringType()),
            StructField("events", LongType()),
            StructField("end_us", LongType()),
            StructField("ended", BooleanType()),
            StructField("torn", BooleanType()),
            StructField("capped_min_isr", BooleanType()),
            StructField("min_isr", MapType(StringType(), LongType())),
            StructField("threads", MapType(StringType(), LongType())),
        ]
    )
