"""How leaders were elected, by topic: in good order, at the price of records, or not at all."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, count_if, table_schema

_OUTCOMES: Final = ("clean", "preferred", "eligible", "unclean", "last-known")


def _compute(inputs: SummaryInputs) -> DataFrame:
    events = inputs.of(ELECTIONS.kinds)
    elected = F.col("kind") == "leader-elected"
    return events.groupBy("session", "topic").agg(
        count_if(elected).alias("elections"),
        *(count_if(elected & (F.col("election") == outcome)).alias(outcome.replace("-", "_")) for outcome in _OUTCOMES),
        count_if(F.col("kind") == "partition-offline").alias("offline"),
        count_if(F.col("kind") == "election-refused").alias("refused"),
    )


ELECTIONS: Final = Summary(
    name="elections",
    title="Leader elections by topic",
    notes=(
        "`elections` counts leaders elected: `clean` the first live ISR member, `preferred` back to the first replica, `eligible` from the "
        "ELR, `unclean` outside the ISR (what it lacks is lost), `last_known` the last known leader. `offline` counts elections that "
        "found nobody, `refused` those somebody asked for in vain."
    ),
    kinds=("leader-elected", "partition-offline", "election-refused"),
    columns=("topic", "election"),
    schema=table_schema(
        names=("session", "topic"), numbers=("elections", "clean", "preferred", "eligible", "unclean", "last_known", "offline", "refused")
    ),
    keys=("session", "topic"),
    compute=_compute,
    worst=("unclean", "last_known", "offline", "refused", "elections"),
)
