"""Every rebalance of every group: why it began, how long it lasted, and how many partitions had no owner."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.group_rebalances import REBALANCE_COLUMNS, REBALANCE_KINDS, STARTS, unowned_counts
from spark_reports.summaries.intermediate.partition_owners import OWNER_COLUMNS, OWNER_KINDS
from spark_reports.summaries.summary import Summary, table_schema

_COLUMNS: Final = ("session", "group", "number", "from_us", "to_us", "broker", "reason", "members", "outcome", "generation")


def _compute(inputs: SummaryInputs) -> DataFrame:
    counts = unowned_counts(inputs.unowned_partitions).withColumnsRenamed({"from_us": "since", "to_us": "until"})
    together = (F.col("since") <= F.col("to_us")) & (F.col("until") > F.col("from_us"))
    rebalances = inputs.rebalances.alias("r")
    return (
        rebalances.join(
            counts.alias("c"), (F.col("r.session") == F.col("c.session")) & (F.col("r.group") == F.col("c.group")) & together, "left"
        )
        .groupBy(*(F.col(f"r.{name}").alias(name) for name in _COLUMNS))
        .agg(F.coalesce(F.max("unowned"), F.lit(0)).alias("max_unowned"))
        .withColumn("lasts_us", F.col("to_us") - F.col("from_us"))
    )


REBALANCES: Final = Summary(
    name="rebalances",
    title="Rebalances of consumer groups",
    notes=(
        "A rebalance of a classic group begins when the coordinator asks the members to join again. A rebalance of a group with the "
        "consumer protocol (KIP-848) begins when the epoch of the group increases. `outcome` is stable, empty (the last member left), "
        "repeated (another rebalance began first), "
        "or open (the session ended first). `generation` is the generation or the group epoch after the rebalance, and `members` is the "
        "number of members at the start of the rebalance. "
        "`broker` is the coordinator. `max_unowned` is the greatest number of partitions that no running consumer had during the rebalance."
    ),
    kinds=(*REBALANCE_KINDS, *OWNER_KINDS),
    columns=tuple(dict.fromkeys((*REBALANCE_COLUMNS, *OWNER_COLUMNS))),
    schema=table_schema(
        names=("session", "group"),
        numbers=("number", "from_us", "lasts_us"),
        more_names=("outcome", "reason"),
        more_numbers=("broker", "members", "generation", "max_unowned"),
    ),
    keys=("session", "group", "number"),
    compute=_compute,
    worst=("lasts_us", "max_unowned"),
    rows_from=STARTS,
)
