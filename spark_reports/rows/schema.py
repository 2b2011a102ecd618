"""The Spark schema of an event log: one wide table with the columns of all event kinds, all nullable.

The schema is derived from `core.kafka.events`, where each kind of event declares its columns. A column has the same type in every event
kind. The same schema is used for the header and the last line of a log, which `HEADER_FIELD` and `END_FIELD` distinguish from events. If a
line is not JSON with the types of the schema, `CORRUPT_FIELD` contains the text of the line.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pyspark.sql.types import ArrayType, BooleanType, DataType, IntegerType, LongType, MapType, StringType, StructField, StructType

from core.kafka.events import EVENTS, column_types

SESSION: Final = "session"
"""The column that contains the name of an event's session. Because logs do not contain the session's name, the column is added when a log
is read.
"""

HEADER_FIELD: Final = "isrlab"
"""The name of the field that occurs only in the first line of a log."""

END_FIELD: Final = "end"
"""The name of the field that is true in the last line of a session that ended normally."""

CORRUPT_FIELD: Final = "_corrupt"
"""The field that contains the text of a line that Spark cannot parse."""

_TYPES: Final[dict[str, DataType]] = {
    "int": LongType(),
    "str": StringType(),
    "bool": BooleanType(),
    "tuple[int, ...]": ArrayType(IntegerType()),
}
"""The Spark type for each declared column type. Offsets and times in µs need 64 bits, and broker IDs need 32 bits."""

ENVELOPE: Final = (
    StructField("seq", LongType()),
    StructField("t", LongType()),
    StructField("cause", LongType()),
    StructField("kind", StringType()),
)
"""The fields of every event: its number in the session (1 for the first event), the virtual time in µs, the number of the causing event,
and the kind."""

MORE_CAUSES: Final = "more_causes"
"""The column that contains the causes of an event after the first one, most important first; null if the event has at most one cause."""

ENVELOPE_NAMES: Final = ("seq", "t", "cause", "kind")
"""The names of the fields in `ENVELOPE`."""


def event_columns() -> dict[str, str]:
    """Return all columns of all event kinds with their declared types, in the order of declaration.

    Raises:
        TypeError: two kinds declare a column with the same name but different types.
    """
    columns: dict[str, str] = {}
    for event in EVENTS:
        for name, declared in column_types(event).items():
            if columns.setdefault(name, declared) != declared:
                raise TypeError(
                    f"column {name} is {declared} in {event.kind} and {columns[name]} elsewhere; one wide table cannot hold both"
                )
    return {**columns, MORE_CAUSES: "tuple[int, ...]"}


def event_schema(columns: Collection[str] | None = None) -> StructType:
    """Return the wide schema of events, with the fields that the lines of a log have. If `columns` is given, include only these event
    columns."""
    chosen = {name: declared for name, declared in event_columns().items() if columns is None or name in columns}
    return StructType([*ENVELOPE, *(StructField(name, _TYPES[declared]) for name, declared in chosen.items())])


def line_schema(columns: Collection[str] | None = None) -> StructType:
    """Return the schema of the lines of a log: all event columns or only `columns`, the fields of lines that are not events, and
    `CORRUPT_FIELD`.
    """
    marks = (StructField(HEADER_FIELD, StringType()), StructField(END_FIELD, BooleanType()), StructField(CORRUPT_FIELD, StringType()))
    return StructType([*event_schema(columns).fields, *marks])


FREQUENT_KINDS: Final = frozenset(
    {"append", "consumed", "follower-append", "follower-fetched", "follower-high-watermark", "high-watermark", "produce-acked"}
)
"""The kinds to which nearly all events in a session belong: those that occur each time a client or a follower exchanges records with a
leader."""

LINE: Final = "line"
"""The name of the dataset column that contains the original text of a line, or null for an event whose line can be rebuilt exactly.
"""

DATASET_HEADER: Final = "log-header"
"""The kind of the dataset row that contains the first line of the log. In this row, `seq` is 0."""

DATASET_TAIL: Final = "log-tail"
"""The kind of the dataset row with the text after the last event: an end line, an incomplete line, or nothing."""


def dataset_schema(columns: Collection[str] | None = None) -> StructType:
    """Return the schema of a dataset that `isrlab log convert` writes: the wide table of events, the column `line`, and the session, by
    which the dataset is partitioned.
    """
    return StructType([*event_schema(columns).fields, StructField(LINE, StringType()), StructField(SESSION, StringType())])


SESSION_SHOWN: Final = (SESSION, "release", "seed", "scenario", "events", "end_us", "ended", "torn")
"""The columns of the session table that the output shows. Only the summaries use the other columns of the session table."""


def session_schema() -> StructType:
    """Return the schema of the session table. Each row comes from the header and the last line of the log of one session.

    `logs.session_log.SessionLog` explains `min_isr` and `threads`.
    """
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
