"""ISR changes by broker. A broker is counted both as the leader that proposes a change and as the replica that is removed or added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.replicas.isr_changes import ISR_COLUMNS, ISR_KINDS, isr_changes
from spark_reports.summaries.summary import Summary, count_if, table_schema

_COUNTS: Final = ("shrinks", "expands", "dropped", "readmitted", "left", "entered")


def _counted(what: str) -> Callable[[Column], Column]:
    """Return a function that creates a struct for a broker. The struct counts one event in the broker's column `what`."""
    return lambda broker: F.struct(broker.cast("long").alias("broker"), F.lit(what).alias("what"))


def _compute(inputs: SummaryInputs) -> DataFrame:
    events = inputs.events_of(ISR_CHURN.kinds)
    proposer = F.col("broker")
    proposed = events.where(F.col("kind").isin("isr-shrunk", "isr-expanded")).select(
        "session",
        F.when(F.col("kind") == "isr-shrunk", F.concat(F.array(_counted("shrinks")(proposer)), F.transform("out", _counted("dropped"))))
        .otherwise(F.concat(F.array(_counted("expands")(proposer)), F.transform("joined", _counted("readmitted"))))
        .alias("marks"),
    )
    committed = isr_changes(events).select(
        "session",
        F.concat(
            F.transform(F.array_except("before", "isr"), _counted("left")),
            F.transform(F.array_except("isr", "before"), _counted("entered")),
        ).alias("marks"),
    )
    marks = proposed.unionByName(committed).select("session", F.explode("marks").alias("mark")).select("session", "mark.*")
    return marks.groupBy("session", "broker").agg(*(count_if(F.col("what") == count).alias(count) for count in _COUNTS))


ISR_CHURN: Final = Summary(
    name="isr_churn",
    title="ISR changes by broker",
    notes=(
        "`shrinks` and `expands` count the changes that the broker proposed as a leader (its meters IsrShrinksPerSec and "
        "IsrExpandsPerSec). `dropped` and `readmitted` count the changes in which another broker, as a leader, proposed to remove or to "
        "add the broker. `left` and `entered` count all committed changes that removed or added the broker, including changes that "
        "the controller made (fencing, shutdown, elections)."
    ),
    kinds=("isr-shrunk", "isr-expanded", *ISR_KINDS),
    columns=(*ISR_COLUMNS, "broker", "out", "joined"),
    schema=table_schema(names=("session",), numbers=("broker", "shrinks", "expands", "dropped", "readmitted", "left", "entered")),
    keys=("session", "broker"),
    compute=_compute,
    worst=("left", "shrinks", "dropped"),
    rows_from=("isr-shrunk", "isr-expanded", "partition-changed"),
)
