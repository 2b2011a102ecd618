"""The DataFrames that summaries are computed from."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from threading import Lock
from typing import Generic, TypeVar

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.rows.schema import FREQUENT_KINDS

T = TypeVar("T")


class Lazy(Generic[T]):
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


def occurring_kinds(events: DataFrame) -> frozenset[str]:
    """The event kinds that occur."""
    return frozenset(row[0] for row in events.select("kind").distinct().collect())


def only_if_found(events: DataFrame, found: Container[str], kinds: Iterable[str]) -> DataFrame:
    """The events if one of these kinds was found among theirs; else none of them, so that Spark drops whatever is made from them from its plans."""
    return events if any(kind in found for kind in kinds) else events.where("false")


@attrs.frozen
class SummaryInputs:
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
    states_once: Lazy[DataFrame]
    unserved_once: Lazy[DataFrame]
    stalled_once: Lazy[DataFrame]
    counted_once: Lazy[DataFrame]
    behind_once: Lazy[DataFrame]
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
        frame = only_if_found(self.rare, self.found, wanted) if FREQUENT_KINDS.isdisjoint(wanted) else self.events
        return frame.where(F.col("kind").isin(wanted))
