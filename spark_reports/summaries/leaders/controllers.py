"""Elections of controllers, and the time without an active controller before each election."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, table_schema

_GONE: Final = ("controller-resigned", "controller-stopped", "controller-paused", "broker-stopped", "broker-paused")


def _compute(inputs: SummaryInputs) -> DataFrame:
    events = inputs.events_of(CONTROLLERS.kinds)
    history = Window.partitionBy("session").orderBy("seq")
    elected = events.where("kind = 'controller-elected'").select(
        "session",
        F.col("seq").alias("event"),
        F.col("t").alias("at_us"),
        "controller",
        "controller_epoch",
        F.lag("seq").over(history).alias("since"),
        F.lag("controller").over(history).alias("before"),
    )
    # With ZooKeeper, the controller is a broker and stops with its process.
    gone = events.where("kind != 'controller-elected'").selectExpr(
        "session AS in", "seq", "t", "coalesce(controller, concat('b', broker)) AS who"
    )
    followed = elected.join(
        gone,
        (F.col("session") == F.col("in")) & (F.col("who") == F.col("before")) & F.col("seq").between(F.col("since"), F.col("event")),
        "left",
    )
    return followed.groupBy(
        "session", "event", "at_us", "controller", "controller_epoch", F.coalesce("before", F.lit("")).alias("before")
    ).agg(F.coalesce(F.col("at_us") - F.min("t"), F.lit(0)).alias("without_us"))


CONTROLLERS: Final = Summary(
    name="controllers",
    title="Controller elections",
    notes=(
        "`event` is the sequence number of the election in the log. `before` is the previous active controller, and is empty for the "
        "first election. "
        "`without_us` is the time since the previous controller first resigned, stopped, or paused while it was active, or 0 if the log "
        "does not contain such an event. A single controller that cannot fail (3.3 and later without a quorum) is never elected, so "
        "this table is empty for such a cluster."
    ),
    kinds=("controller-elected", *_GONE),
    columns=("controller", "controller_epoch", "broker"),
    schema=table_schema(
        names=("session",), numbers=("event", "at_us"), more_names=("controller", "before"), more_numbers=("controller_epoch", "without_us")
    ),
    keys=("session", "event"),
    compute=_compute,
    worst=("without_us",),
    rows_from=("controller-elected",),
)
