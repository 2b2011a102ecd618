"""What a summary is: a question, the events it needs, the table it gives, and the function between them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from threading import Lock
from typing import Generic, TypeVar

import attrs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_reports.schema import BULK

T = TypeVar("T")


def table(
    names: tuple[str, ...], numbers: tuple[str, ...], more_names: tuple[str, ...] = (), more_numbers: tuple[str, ...] = ()
) -> StructType:
    """The schema of a summary's table: columns of text, then columns of whole numbers, and the same once more."""
    return StructType(
        [
            *(StructField(name, StringType()) for name in names),
            *(StructField(name, LongType()) for name in numbers),
            *(StructField(name, StringType()) for name in more_names),
            *(StructField(name, LongType()) for name in more_numbers),
        ]
    )


class Once(Generic[T]):
    """What some summaries share, made when the first of them asks, while those that need nothing of it are under way."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: T | None = None

    def __call__(self) -> T:
        """It, made by now."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def kinds_in(events: DataFrame) -> frozenset[str]:
    """The event kinds that occur."""
    return frozenset(row[0] for row in events.select("kind").distinct().collect())


def having(events: DataFrame, found: Container[str], kinds: Iterable[str]) -> DataFrame:
    """The events if one of these kinds was found among theirs; else none of them, so that Spark drops whatever is made from them from its plans."""
    return events if any(kind in found for kind in kinds) else events.where("false")


@attrs.frozen
class Inputs:
    """What summaries are computed from; what several of them need is prepared once.

    Attributes:
        events: every event, in the columns of `schema.event_schema` that are needed, with its `session`.
        rare: those of them that are of no `BULK` kind, kept ready: most summaries look at nothing else.
        sessions: a row a session (`schema.session_schema`).
        found: the kinds that occur among `rare` (`kinds_in`), perhaps with more.
        states_once, unserved_once, stalled_once, counted_once, behind_once: what the properties of these names come from.
        gathered: all frames but `events` are of one partition, so that nothing has to be shuffled.
    """

    events: DataFrame
    rare: DataFrame
    sessions: DataFrame
    found: frozenset[str]
    states_once: Once[DataFrame]
    unserved_once: Once[DataFrame]
    stalled_once: Once[DataFrame]
    counted_once: Once[DataFrame]
    behind_once: Once[DataFrame]
    gathered: bool = False

    @property
    def states(self) -> DataFrame:
        """`partition_states.partition_states` of the events."""
        return self.states_once()

    @property
    def unserved(self) -> DataFrame:
        """`stalls.unserved` of the events."""
        return self.unserved_once()

    @property
    def stalled(self) -> DataFrame:
        """`stalls.stalled` of all that."""
        return self.stalled_once()

    @property
    def counted(self) -> DataFrame:
        """`counted.counted` of the events."""
        return self.counted_once()

    @property
    def behind(self) -> DataFrame:
        """`lag.behind` of the events."""
        return self.behind_once()

    def of(self, kinds: Iterable[str]) -> DataFrame:
        """The events of those kinds."""
        wanted = sorted(kinds)
        frame = having(self.rare, self.found, wanted) if BULK.isdisjoint(wanted) else self.events
        return frame.where(F.col("kind").isin(wanted))


@attrs.frozen
class Summary:
    """One question about sessions.

    Attributes:
        name: of the dataset, and of the table in JSON.
        title: the question in a few words, for people.
        notes: what the columns mean, for people.
        kinds: event kinds that the table is made from.
        columns: event columns that it is made from, beside `session`, `seq`, `t`, `cause` and `kind`.
        schema: of the result; columns that end in `_us` are µs.
        keys: columns by which rows are told apart and sorted.
        worst: columns that decide which rows are the worst (`severity`), the first one first.
        compute: from what it needs of the inputs to the table. Pure: same rows in, same rows out.
    """

    name: str
    title: str
    notes: str
    kinds: tuple[str, ...]
    columns: tuple[str, ...]
    schema: StructType
    keys: tuple[str, ...]
    compute: Callable[[Inputs], DataFrame]
    worst: tuple[str, ...] = ()

    def shaped(self, inputs: Inputs) -> DataFrame:
        """The table, in its declared columns and types, in no order."""
        result = self.compute(inputs)
        shaped = result.selectExpr(*(f"CAST(`{field.name}` AS {field.dataType.simpleString()})" for field in self.schema.fields))
        return shaped.coalesce(1) if inputs.gathered else shaped

    def __call__(self, inputs: Inputs) -> DataFrame:
        """The table, in its declared columns and types, sorted by its keys in one partition."""
        shaped = self.shaped(inputs)
        return (shaped if inputs.gathered else shaped.repartition(1)).sortWithinPartitions(*self.keys)


def count_if(condition: Column) -> Column:
    """How many rows of a group meet a condition, 0 for none."""
    return F.count(F.when(condition, F.lit(1)))


def sum_if(condition: Column, value: Column) -> Column:
    """Sum of `value` over the rows of a group that meet a condition, 0 for none."""
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0))
