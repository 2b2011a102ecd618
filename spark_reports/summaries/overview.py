"""The figures of each session, in one row, and the figures of all sessions together. Each figure is the sum of a value, or the worst value,
over all rows of a table.

Spark computes the figures from the other tables before any table is shortened. The figures therefore cover all rows, even if a page shows
only some of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


@attrs.frozen
class Figure:
    """The definition of a figure that is computed for each session.

    Attributes:
        table: the summary (or `sessions`) from which the figure is computed.
        value: the value of each row, as an SQL expression; null if the row does not count.
        worst: whether the figure is the maximum of the rows' values instead of their sum.
        known: whether all values must be known; if so, the figure is null if any value is null.
    """

    table: str
    value: str
    worst: bool = False
    known: bool = False


def _window(what: str) -> str:
    return f"CASE WHEN what = '{what}' THEN lasts_us END"


FIGURES: Final[Mapping[str, Figure]] = {
    "end_us": Figure("sessions", "end_us"),
    "events": Figure("sessions", "events"),
    "records_acknowledged": Figure("records", "acknowledged"),
    "records_lost": Figure("records", "lost"),
    "records_lost_acknowledged": Figure("records", "lost_acknowledged", known=True),
    "records_lost_read": Figure("records", "lost_read", known=True),
    "no_reads_us": Figure("unavailability", _window("reads")),
    "longest_no_reads_us": Figure("unavailability", _window("reads"), worst=True),
    "no_writes_us": Figure("unavailability", _window("writes")),
    "longest_no_writes_us": Figure("unavailability", _window("writes"), worst=True),
    "stalled_us": Figure("unavailability", _window("stalled")),
    "longest_stalled_us": Figure("unavailability", _window("stalled"), worst=True),
    "batches_unanswered": Figure("produce_latency", "unanswered"),
    "records_recovered": Figure("records", "recovered"),
    "records_duplicated": Figure("records", "duplicated"),
    "records_diverged": Figure("records", "diverged"),
    "records_out_of_order": Figure("records", "out_of_order"),
    "times_exposed": Figure("harm", "CAST(what = 'exposed' AS BIGINT)"),
    "offline_us": Figure("availability", "offline_us"),
    "under_replicated_us": Figure("availability", "under_replicated_us"),
    "under_min_us": Figure("min_isr", "under_min_us"),
    "elections": Figure("elections", "elections"),
    "unclean": Figure("elections", "unclean"),
    "isr_left": Figure("isr_churn", "left"),
    "isr_flaps": Figure("isr_flapping", "flaps"),
    "controllers_elected": Figure("controllers", "1"),
    "produce_p50_us": Figure("produce_latency", "p50_us", worst=True),
    "produce_p99_us": Figure("produce_latency", "p99_us", worst=True),
    "batches_given_up": Figure("errors", "given_up"),
    "transactions_hanging": Figure("hanging_transactions", "CAST(status = 'hanging' AS BIGINT)"),
    "held_us": Figure("stable_offsets", "held_us"),
    "longest_held_us": Figure("stable_offsets", "longest_us", worst=True),
    "records_never_delivered": Figure("deliveries", "never"),
    "records_delivered_twice": Figure("deliveries", "twice"),
    "records_processed_out_of_order": Figure("deliveries", "out_of_order"),
    "records_dropped": Figure("retry_outcomes", "CASE WHEN outcome = 'dropped' THEN records END"),
    "records_succeeded_twice": Figure("retry_outcomes", "CASE WHEN outcome = 'succeeded twice' THEN records END"),
    "dead_letters": Figure("retry_outcomes", "CASE WHEN outcome = 'dead letter' THEN records END"),
    "rebalances": Figure("groups", "rebalances"),
    "unowned_us": Figure("groups", "unowned_us"),
    "longest_unowned_us": Figure("groups", "longest_unowned_us", worst=True),
    "group_lag": Figure("group_lag", "greatest(lag, 0)"),
    "max_group_lag": Figure("group_lag", "max_lag", worst=True),
}
"""The figures, in the order of display. The figures for lost records and for the waiting times of clients come early, so that they appear
on the first screen of a terminal.
"""

SOURCES: Final = frozenset(measure.table for measure in FIGURES.values()) - {"sessions"}
"""The summaries from which the figures are computed."""

NAME: Final = "overview"

WORST: Final = (
    "records_lost", "records_lost_acknowledged", "records_diverged", "longest_no_reads_us", "longest_no_writes_us", "longest_stalled_us", "unclean",
    "under_min_us", "batches_given_up", "batches_unanswered", "transactions_hanging", "records_never_delivered", "records_dropped", "times_exposed", "under_replicated_us",
    "isr_left",
)  # fmt: skip
"""The figures that define which session is the worst, with the most important figure first (`severity`)."""

TITLE: Final = "Sessions, worst first"

NOTES: Final = (
    "The figures are sums over all partitions, brokers, and topics of a session. A column that begins with `longest_` contains the "
    "length of the longest period of its kind in a single partition. For example, `longest_no_reads_us` is the length of the longest "
    "period without reads. `stalled_us` is the time during which acks=all writes waited; this time is not part of "
    "`no_writes_us`. The percentiles of produce latency are those of the slowest combination of topic and acks. The latency of a batch "
    "without an answer is the time that it has waited. `held_us` is the time during which transactions held back the last stable offset. "
    "`records_never_delivered` and `records_delivered_twice` are sums over all groups, and also count records that processes and delay "
    "services never wrote or wrote twice. `records_dropped` counts records that retry services committed without finishing them, and "
    "`records_succeeded_twice` counts records that retry services processed successfully more than once. `unowned_us` is the time during which partitions had no owner in their group. `group_lag` is "
    "the total lag of all groups at the "
    "end of the session, where a negative lag counts as 0. `max_group_lag` is the greatest lag of a group in one partition. "
    "`records_lost` counts a lost record only once, even if the record was both acknowledged "
    "and read. `records_lost_acknowledged` and `records_lost_read` are empty for logs from earlier isrlab versions, which did not "
    "distinguish acknowledged records from records that were read."
)


def overview(tables: Mapping[str, DataFrame], *, single_partition: bool) -> DataFrame:
    """Return rows with `session` and all `FIGURES`: one row for each session, and one row for all sessions together. In the row for all
    sessions, `session` is null.

    Args:
        tables: the table `sessions` and the tables of the summaries in `SOURCES`, by name. Summaries without rows can be omitted.
        single_partition: whether each table has one partition, so that no data needs to be shuffled.
    """
    parts = []
    for table, frame in tables.items():
        own = {name: measure.value for name, measure in FIGURES.items() if measure.table == table}
        values = [f"CAST({own.get(name, 'NULL')} AS BIGINT) AS {name}" for name in FIGURES]
        unknown = [f"{value} IS NULL" for name, value in own.items() if FIGURES[name].known]
        parts.append(frame.selectExpr("session", f"{' OR '.join(unknown) or 'false'} AS unknown", *values))
    every = parts[0]
    for part in parts[1:]:
        every = every.unionAll(part)
    if single_partition:
        every = every.coalesce(1)
    return every.rollup("session").agg(*(_total(name, measure).alias(name) for name, measure in FIGURES.items()))


def _total(name: str, measure: Figure) -> Column:
    figure = F.coalesce(F.max(name) if measure.worst else F.sum(name), F.lit(0).cast("long"))
    return F.when(~F.bool_or("unknown"), figure) if measure.known else figure
