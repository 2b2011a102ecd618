"""The DataFrames that summaries are computed from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from threading import Lock
from typing import Generic, TypeVar

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.rows.schema import FREQUENT_KINDS

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that several summaries share. The value is computed when the first summary needs it, while other summaries are running."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: T | None = None

    def __call__(self) -> T:
        """Return the value. The first call computes the value."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def occurring_kinds(events: DataFrame) -> frozenset[str]:
    """Return the event kinds that occur in a DataFrame of events."""
    return frozenset(row[0] for row in events.select("kind").distinct().collect())


def only_if_found(events: DataFrame, found: Container[str], kinds: Iterable[str]) -> DataFrame:
    """Return the events if at least one of the given kinds occurs in `found`, or an empty DataFrame otherwise.

    Spark removes everything that depends on an empty DataFrame from its query plans.
    """
    return events if any(kind in found for kind in kinds) else events.where("false")


@attrs.frozen
class SummaryInputs:
    """The inputs of summaries. An input that several summaries need is prepared only once.

    Attributes:
        events: all events, with their `session` and the required columns of `schema.event_schema`.
        infrequent: the infrequent events, which are cached because most summaries need no other events.
        sessions: a row for each session (`schema.session_schema`).
        found: the event kinds that occur among `infrequent` (`occurring_kinds`), and possibly more kinds.
        states_once: the shared value that the property `states` returns. In the same way, each other field `NAME_once` is the shared value
            that the property `NAME` returns.
        single_partition: whether all frames except `events` have a single partition, so that nothing needs to be shuffled.
    """

    events: DataFrame
    infrequent: DataFrame
    sessions: DataFrame
    found: frozenset[str]
    states_once: Lazy[DataFrame]
    unserved_once: Lazy[DataFrame]
    stalled_once: Lazy[DataFrame]
    event_counts_once: Lazy[DataFrame]
    lag_counts_once: Lazy[DataFrame]
    transactions_once: Lazy[DataFrame]
    held_once: Lazy[DataFrame]
    group_lags_once: Lazy[DataFrame]
    rebalances_once: Lazy[DataFrame]
    owned_once: Lazy[DataFrame]
    unowned_once: Lazy[DataFrame]
    single_partition: bool = False

    @property
    def states(self) -> DataFrame:
        """The states of partitions, as returned by `partition_states.partition_states`."""
        return self.states_once()

    @property
    def unserved(self) -> DataFrame:
        """The intervals without service to clients, as returned by `stall_intervals.unserved_intervals`."""
        return self.unserved_once()

    @property
    def stalled(self) -> DataFrame:
        """The intervals with stalls, as returned by `stall_intervals.stalled_intervals`."""
        return self.stalled_once()

    @property
    def event_counts(self) -> DataFrame:
        """The counts of frequent events, as returned by `event_counts.event_counts`."""
        return self.event_counts_once()

    @property
    def lag_counts(self) -> DataFrame:
        """The number of samples for each lag, as returned by `lag_counts.lag_counts`."""
        return self.lag_counts_once()

    @property
    def partition_transactions(self) -> DataFrame:
        """The transactions of partitions, as returned by `partition_transactions.partition_transactions`."""
        return self.transactions_once()

    @property
    def held(self) -> DataFrame:
        """The intervals in which the last stable offset was held back, as returned by `held_intervals.held_intervals`."""
        return self.held_once()

    @property
    def group_lags(self) -> DataFrame:
        """The lags of groups over time, as returned by `group_offsets.group_lags`."""
        return self.group_lags_once()

    @property
    def rebalances(self) -> DataFrame:
        """The rebalances of groups, as returned by `group_rebalances.group_rebalances`."""
        return self.rebalances_once()

    @property
    def owned_partitions(self) -> DataFrame:
        """The intervals in which a consumer has a partition, as returned by `partition_owners.owned_intervals`."""
        return self.owned_once()

    @property
    def unowned_partitions(self) -> DataFrame:
        """The intervals in which a partition has no consumer in a group, as returned by `partition_owners.unowned_intervals`."""
        return self.unowned_once()

    def can_occur(self, kinds: Collection[str]) -> bool:
        """Whether at least one of the given event kinds occurs. Frequent event kinds are always assumed to occur."""
        return not (FREQUENT_KINDS.isdisjoint(kinds) and self.found.isdisjoint(kinds))

    def events_of(self, kinds: Iterable[str]) -> DataFrame:
        """Return the events of the given kinds."""
        wanted = sorted(kinds)
        frame = only_if_found(self.infrequent, self.found, wanted) if FREQUENT_KINDS.isdisjoint(wanted) else self.events
        return frame.where(F.col("kind").isin(wanted))
