"""The committed changes of partitions' ISRs, each with the ISR before the change."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.intermediate.partition_states import PARTITION, deletions

ISR_KINDS: Final = ("partition-changed", "topic-deleted")
"""The event kinds that `isr_changes` needs."""

ISR_COLUMNS: Final = ("topic", "partition", "isr")
"""The event columns that `isr_changes` needs."""


def isr_changes(events: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, topic_number, seq, t, isr, before`. `before` is the ISR before the change; it is null for the
    first ISR of a partition. `topic_number` tells apart topics that successively had the same name.
    """
    committed = events.where(F.col("kind") == "partition-changed").select(*PARTITION, "seq", "t", "isr")
    history = Window.partitionBy(*PARTITION).orderBy("seq")
    return (
        committed.unionByName(deletions(events, committed.select(*PARTITION).distinct()), allowMissingColumns=True)
        .withColumns({"before": F.lag("isr").over(history), "topic_number": F.count(F.when(F.col("isr").isNull(), 1)).over(history)})
        .where(F.col("isr").isNotNull())
    )
