"""Builds the inputs of the summaries, and caches what several summaries share."""

from __future__ import annotations

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
from spark_reports.summaries.intermediate.high_watermark_stalls import end_with_session, high_watermark_stalls
from spark_reports.summaries.intermediate.lag_counts import lag_counts
from spark_reports.summaries.intermediate.partition_states import partition_states
from spark_reports.summaries.intermediate.stall_intervals import blocked_intervals, stalled_intervals, unserved_intervals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_reports.logs.session_log import SessionLog


def session_table(spark: SparkSession, logs: Sequence[SessionLog]) -> DataFrame:
    """One row a session: what its header says, its length and its end."""
    import msgspec
    from pyspark.sql import functions as F

    from spark_reports.rows.schema import session_schema

    schema = session_schema()
    rows = msgspec.json.encode([{name: getattr(log, name) for name in schema.names} for log in logs]).decode()
    # A constant in the plan: rows made from Python objects would be unpickled by every job that looks at them.
    return spark.range(1).select(F.inline(F.from_json(F.lit(rows), f"array<{schema.simpleString()}>")))


def summary_inputs(frames: EventFrames, sessions: DataFrame, found: frozenset[str]) -> SummaryInputs:
    """What summaries are computed from; what several of them need is kept in memory.

    Args:
        found: the kinds that occur among the rare events.
    """
    still = Lazy(lambda: high_watermark_stalls(frames.events))
    return _inputs(
        frames.events,
        frames.rare,
        sessions,
        found,
        still,
        Lazy(lambda: event_counts(frames.events).cache()),
        Lazy(lambda: lag_counts(frames.events)),
    )


def single_partition_inputs(
    frames: EventFrames, quick: SparkSession, sessions: DataFrame, found: frozenset[str], few: bool
) -> SummaryInputs:
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
    still = Lazy(lambda: gathered(high_watermark_stalls, "still"))
    sums = Lazy(lambda: gathered(event_counts, "counted")), Lazy(lambda: gathered(lag_counts, "behind"))
    return _inputs(events, rare, sessions, found, still, *sums, gathered=True)


def _inputs(
    events: DataFrame,
    rare: DataFrame,
    sessions: DataFrame,
    found: frozenset[str],
    still: Lazy[DataFrame],
    counts: Lazy[DataFrame],
    lags: Lazy[DataFrame],
    gathered: bool = False,
) -> SummaryInputs:
    """Inputs with what follows from the rare events, the sessions and `still` (`standing_still`)."""

    def one(frame: DataFrame) -> DataFrame:
        return frame.coalesce(1) if gathered else frame

    def of(*kinds: str) -> DataFrame:
        return only_if_found(rare, found, kinds)

    states = Lazy(lambda: one(partition_states(rare, sessions)).cache())
    down = Lazy(lambda: broker_down_intervals(of("broker-stopped", "broker-paused"), sessions))
    cuts = Lazy(lambda: link_cut_intervals(of("link-cut"), sessions))
    disks = Lazy(lambda: slow_disk_intervals(of("disk-slowed", "disk-behind"), sessions))
    # Of what clients experienced only the rows are kept: how they came about is a plan that each table made from them would go through again.
    closed = Lazy(
        lambda: one(unserved_intervals(states(), down(), cuts(), topic_clients(rare), leadership_intervals(rare))).localCheckpoint()
    )
    held = Lazy(lambda: one(blocked_intervals(states(), down(), cuts(), end_with_session(still(), sessions), disks())).localCheckpoint())
    return SummaryInputs(
        events,
        rare,
        sessions,
        found=found,
        states_once=states,
        unserved_once=closed,
        stalled_once=Lazy(lambda: one(stalled_intervals(states(), closed(), held())).localCheckpoint()),
        counted_once=counts,
        behind_once=lags,
        gathered=gathered,
    )
