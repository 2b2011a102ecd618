"""Builds the inputs of the summaries, and caches the inputs that several summaries share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spark_reports.rows.frames import EventFrames
from spark_reports.summaries.inputs import Lazy, SummaryInputs, only_if_found
from spark_reports.summaries.intermediate.event_counts import event_counts
from spark_reports.summaries.intermediate.fault_intervals import (
    broker_down_intervals,
    leadership_intervals,
    link_cut_intervals,
    slow_disk_intervals,
    topic_clients,
)
from spark_reports.summaries.intermediate.group_offsets import COMMIT_KINDS, group_lags
from spark_reports.summaries.intermediate.group_rebalances import STARTS, group_rebalances
from spark_reports.summaries.intermediate.held_intervals import held_intervals
from spark_reports.summaries.intermediate.high_watermark_stalls import end_with_session, high_watermark_stalls
from spark_reports.summaries.intermediate.lag_counts import lag_counts
from spark_reports.summaries.intermediate.partition_owners import owned_intervals, unowned_intervals
from spark_reports.summaries.intermediate.partition_states import partition_states
from spark_reports.summaries.intermediate.partition_transactions import TRANSACTIONS_FROM, partition_transactions
from spark_reports.summaries.intermediate.stall_intervals import blocked_intervals, stalled_intervals, unserved_intervals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_reports.logs.session_log import SessionLog


def session_table(spark: SparkSession, logs: Sequence[SessionLog]) -> DataFrame:
    """Return a frame with the header, the length, and the end of each session, one session per row."""
    from spark_reports.rows.schema import session_schema

    fields = session_schema().fields
    rows = ", ".join(f"({', '.join(_literal(getattr(log, field.name)) for field in fields)})" for log in logs)
    columns = ", ".join(f"CAST(`{field.name}` AS {field.dataType.simpleString()}) AS `{field.name}`" for field in fields)
    # Spark evaluates these constants while it plans. If it computed the rows, each of many joins would start a job for them.
    return spark.sql(f"SELECT {columns} FROM VALUES {rows} AS sessions({', '.join(f'`{field.name}`' for field in fields)})")


def _literal(value: object) -> str:
    """Return a value of the session table as an SQL literal."""
    if isinstance(value, str):
        # Spark would replace `${name}` in a literal.
        return "'" + re.sub(r"[\x00-\x1f\x7f\\'$]", lambda found: f"\\u{ord(found[0]):04x}", value) + "'"
    if isinstance(value, dict):
        return f"map({', '.join(_literal(each) for pair in value.items() for each in pair)})"
    return "NULL" if value is None else str(value) if isinstance(value, bool) else f"{value}L"


def summary_inputs(frames: EventFrames, sessions: DataFrame, found: frozenset[str], few: bool = False) -> SummaryInputs:
    """Return the inputs of the summaries. Inputs that several summaries need are cached.

    Args:
        found: the infrequent event kinds that occur in the logs.
        few: whether there are so few events that preparing a query takes longer than running it.
    """
    events, infrequent = frames.events, frames.infrequent
    if few:
        events, infrequent, sessions = _checkpoints(events, infrequent, sessions)
    return _inputs(
        events,
        infrequent,
        sessions,
        found,
        Lazy(lambda: high_watermark_stalls(events)),
        Lazy(lambda: event_counts(events).cache()),
        Lazy(lambda: lag_counts(events)),
        few=few,
    )


def _checkpoints(*frames: DataFrame) -> tuple[DataFrame, ...]:
    """Compute the frames, and return them without the query plans that led to them. If the frames kept their plans, each query would
    contain the plans of its inputs several times, and Spark would analyze all of them."""
    return tuple(frame.localCheckpoint() for frame in frames)


def single_partition_inputs(
    frames: EventFrames, interpreting: SparkSession, sessions: DataFrame, found: frozenset[str], few: bool
) -> SummaryInputs:
    """Return the inputs as frames of the Spark session `interpreting`. All DataFrames have a single partition, except for DataFrames of
    frequent events.

    Args:
        sessions: a row for each session, as a frame of the session `interpreting`.
        found: the infrequent event kinds that occur in the logs.
        few: whether there are so few frequent events that the session `interpreting` also aggregates them.
    """

    def there(frame: DataFrame, name: str) -> DataFrame:
        frame.createOrReplaceGlobalTempView(name)
        return interpreting.table(f"global_temp.{name}")

    def in_one_partition(aggregate: Callable[[DataFrame], DataFrame], name: str) -> DataFrame:
        frame = aggregate(events).coalesce(1).cache()
        if few:
            return frame
        # This computes the frame in its own session instead of the first session that reads the frame.
        frame.count()
        return there(frame, name)

    events = there(frames.events, "events") if few else frames.events
    infrequent = there(frames.infrequent, "rare").coalesce(1)
    if few:
        events, infrequent, sessions = _checkpoints(events.coalesce(1), infrequent, sessions)
    still = Lazy(lambda: in_one_partition(high_watermark_stalls, "still"))
    sums = Lazy(lambda: in_one_partition(event_counts, "counted")), Lazy(lambda: in_one_partition(lag_counts, "behind"))
    return _inputs(events, infrequent, sessions, found, still, *sums, single_partition=True, few=few)


def _inputs(
    events: DataFrame,
    infrequent: DataFrame,
    sessions: DataFrame,
    found: frozenset[str],
    still: Lazy[DataFrame],
    counts: Lazy[DataFrame],
    lags: Lazy[DataFrame],
    single_partition: bool = False,
    few: bool = False,
) -> SummaryInputs:
    """Return the inputs that are computed from the infrequent events, the sessions, and `still` (the result of `high_watermark_stalls`)."""

    def one(frame: DataFrame) -> DataFrame:
        return frame.coalesce(1) if single_partition else frame

    def of(*kinds: str) -> DataFrame:
        return only_if_found(infrequent, found, kinds)

    def states_of_partitions() -> DataFrame:
        states = one(partition_states(infrequent, sessions))
        return states.localCheckpoint() if few else states.cache()

    states = Lazy(states_of_partitions)
    down = Lazy(lambda: broker_down_intervals(of("broker-stopped", "broker-paused"), sessions))
    cuts = Lazy(lambda: link_cut_intervals(of("link-cut"), sessions))
    disks = Lazy(lambda: slow_disk_intervals(of("disk-slowed", "disk-behind"), sessions))
    # A checkpoint keeps the rows and drops the plan. Otherwise, every table computed from the rows would contain the plan.
    closed = Lazy(
        lambda: one(
            unserved_intervals(states(), down(), cuts(), topic_clients(infrequent), leadership_intervals(infrequent))
        ).localCheckpoint()
    )
    held = Lazy(lambda: one(blocked_intervals(states(), down(), cuts(), end_with_session(still(), sessions), disks())).localCheckpoint())
    # If there are no transactions, Spark removes these queries, which would otherwise sort the frequent events.
    frequent = only_if_found(events, found, TRANSACTIONS_FROM)
    transactions = Lazy(lambda: one(partition_transactions(frequent, infrequent)).localCheckpoint())
    # If there are no consumer groups, Spark also removes these queries.
    owned = Lazy(lambda: one(owned_intervals(of("member-started"), sessions)).localCheckpoint())
    return SummaryInputs(
        events,
        infrequent,
        sessions,
        found=found,
        states_once=states,
        unserved_once=closed,
        stalled_once=Lazy(lambda: one(stalled_intervals(states(), closed(), held())).localCheckpoint()),
        event_counts_once=counts,
        lag_counts_once=lags,
        transactions_once=transactions,
        held_once=Lazy(lambda: one(held_intervals(transactions(), frequent, infrequent, sessions)).localCheckpoint()),
        group_lags_once=Lazy(lambda: one(group_lags(only_if_found(events, found, COMMIT_KINDS), sessions)).localCheckpoint()),
        rebalances_once=Lazy(lambda: one(group_rebalances(of(*STARTS), sessions)).localCheckpoint()),
        owned_once=owned,
        unowned_once=Lazy(lambda: one(unowned_intervals(owned(), of("member-started"), sessions)).localCheckpoint()),
        single_partition=single_partition,
    )
