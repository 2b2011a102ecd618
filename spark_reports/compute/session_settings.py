"""Spark settings for reports. A report uses two Spark sessions: one generates code and handles many rows, and the other interprets its
query plans and handles few rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_reports.spark.master import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SMALL_EVENTS: Final = 20_000
"""Up to this number of events, interpreting query plans is faster than generating and compiling code for them."""

INTERPRETED: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    # Rows in one partition are joined without a job that collects one side.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
"""The settings of the session for small inputs, in which Spark interprets query plans instead of compiling them."""


def spark_settings(master: str) -> dict[str, str]:
    """Return the settings of a session for reports. Settings that the user gives take precedence."""
    chosen = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
    if is_local(master):
        chosen |= {
            "spark.sql.adaptive.enabled": "false",
            # Shuffled data stays on this machine, so it is not compressed. Beyond the default of 4,096 rows, windows use a slower buffer.
            "spark.shuffle.compress": "false",
            "spark.sql.windowExec.buffer.in.memory.threshold": "200000",
        }
    return chosen


def interpreting_session(spark: SparkSession) -> SparkSession:
    """Return a second session of the same Spark instance, which interprets its query plans instead of compiling them.

    If Spark is not running in the JVM of this process, return the given session.
    """
    if not hasattr(spark, "_jsparkSession") or not is_local(spark.sparkContext.master or ""):
        return spark
    interpreting = spark.newSession()
    for name, value in INTERPRETED.items():
        interpreting.conf.set(name, value)
    return interpreting
