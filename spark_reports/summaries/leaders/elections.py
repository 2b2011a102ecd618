"""Leader elections by topic: clean elections, elections that lost records, and failed elections."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, count_if, table_schema

_OUTCOMES: Final = ("clean", "preferred", "eligible", "unclean", "last-known")


def _compute(inputs: SummaryInputs) -> DataFrame:
    events = inputs.events_of(ELECTIONS.kinds)
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
        "`elections` counts elected leaders. `clean` counts elections in which the first live member of the ISR became leader. "
        "`preferred` counts elections that returned leadership to the preferred leader. `eligible` counts leaders from the ELR. `unclean` "
        "counts leaders from outside the ISR; the records that such a leader lacks are lost. `last_known` counts elections in which "
        "the last known leader became leader again. `offline` counts elections that found no leader. `refused` counts requested "
        "elections that were refused."
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
