"""Spark settings for reports: a session that generates code for many rows, and one that interprets its plans for few rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_reports.spark.master import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SMALL_EVENTS: Final = 20_000
"""So many events, frequent ones and all, are aggregated sooner by interpreting plans than by generating and compiling code for them."""

INTERPRETED: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings of the session that works on few rows."""


def spark_settings(master: str) -> dict[str, str]:
    """Settings of a session for reports, weaker than what a user asks for."""
    chosen = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
    if is_local(master):
        chosen |= {
            "spark.sql.adaptive.enabled": "false",
            # What is shuffled stays on this machine; windows of more rows than 4,096 would be kept in a form that is slower to go through.
            "spark.shuffle.compress": "false",
            "spark.sql.windowExec.buffer.in.memory.threshold": "200000",
        }
    return chosen


def interpreting_session(spark: SparkSession) -> SparkSession:
    """A second session of the same Spark for what has few rows; the same one where Spark is not in this process's JVM."""
    if not hasattr(spark, "_jsparkSession") or not is_local(spark.sparkContext.master or ""):
        return spark
    quick = spark.newSession()
    for name, value in INTERPRETED.items():
        quick.conf.set(name, value)
    return quick
