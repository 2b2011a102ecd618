"""The groups of a session, with totals for their rebalances and for the periods during which partitions had no owner."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.group_rebalances import REBALANCE_COLUMNS, REBALANCE_KINDS, STARTS, unowned_counts
from spark_reports.summaries.intermediate.partition_owners import OWNER_COLUMNS, OWNER_KINDS
from spark_reports.summaries.summary import Summary, table_schema

_GROUP: Final = ("session", "group")


def _compute(inputs: SummaryInputs) -> DataFrame:
    changes = inputs.events_of(("member-started", "member-ended"))
    history = Window.partitionBy(*_GROUP).orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    sign = F.when(F.col("kind") == "member-started", 1).otherwise(-1)
    consumers = changes.withColumn("running", F.sum(sign).over(history)).groupBy(*_GROUP).agg(F.max("running").alias("max_consumers"))
    rebalances = inputs.rebalances.withColumn("lasts", F.col("to_us") - F.col("from_us"))
    rebalances = rebalances.groupBy(*_GROUP).agg(
        F.count(F.lit(1)).alias("rebalances"),
        F.count(F.when(F.col("outcome").isin("repeated", "open"), 1)).alias("unfinished"),
        F.sum("lasts").alias("rebalancing_us"),
        F.max("lasts").alias("longest_rebalance_us"),
    )
    unowned = inputs.unowned_partitions.withColumn("lasts", F.col("to_us") - F.col("from_us"))
    unowned = unowned.groupBy(*_GROUP).agg(F.sum("lasts").alias("unowned_us"), F.max("lasts").alias("longest_unowned_us"))
    most = unowned_counts(inputs.unowned_partitions).groupBy(*_GROUP).agg(F.max("unowned").alias("max_unowned"))
    whole = consumers.join(rebalances, list(_GROUP), "full").join(unowned, list(_GROUP), "left").join(most, list(_GROUP), "left")
    return whole.fillna(0)


GROUPS: Final = Summary(
    name="groups",
    title="Consumer groups: rebalances and partitions without an owner",
    notes=(
        "`max_consumers` is the greatest number of consumers that ran at the same time. `unfinished` counts the rebalances that another "
        "rebalance or "
        "the end of the session interrupted. A partition has no owner if consumers of the group are running, but none of them owns the "
        "partition. `max_unowned` is the greatest number of partitions without an owner at the same time, `unowned_us` is the total time "
        "without an owner over all partitions, and `longest_unowned_us` is the longest single period. A frozen or slow consumer still has "
        "its partitions."
    ),
    kinds=(*REBALANCE_KINDS, *OWNER_KINDS),
    columns=tuple(dict.fromkeys((*REBALANCE_COLUMNS, *OWNER_COLUMNS))),
    schema=table_schema(
        names=_GROUP,
        numbers=(
            "max_consumers", "rebalances", "unfinished", "rebalancing_us", "longest_rebalance_us", "max_unowned", "unowned_us", "longest_unowned_us",
        ),
    ),
    keys=_GROUP,
    compute=_compute,
    worst=("longest_unowned_us", "unowned_us", "longest_rebalance_us"),
    rows_from=("member-started", "member-ended", *STARTS),
)  # fmt: skip
