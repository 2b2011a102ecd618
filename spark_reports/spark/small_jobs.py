"""Jobs of few rows, each of which takes long: a Python function turns the number of a row into its result. The code uses only DataFrames and
plain Python functions. Therefore, it also works on Spark Connect, and executors need neither pandas nor Arrow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""The settings of a session for such jobs.

Spark's code generation is off, because each job has few rows. Settings that the user gives take precedence.
"""

JOBS: Final = 2
"""The number of jobs that run at the same time, so that the tasks of the second job fill the cores when the first job runs out of tasks."""


def results_of(spark: SparkSession, count: int, do: Callable[[int], Any], kind: str) -> list[Any]:
    """Execute a function for each number below `count`, each in a task of its own. Return the results, of the SQL type `kind`, in order."""
    from pyspark.sql import functions as F

    function = F.udf(do, kind, useArrow=False)
    rows = spark.range(0, count, 1, count).select("id", function("id").alias("finished")).collect()
    return [row["finished"] for row in sorted(rows, key=lambda row: row["id"])]


def cores_of(spark: SparkSession) -> int:
    """Return the number of tasks that run at the same time, as far as Spark knows.

    On Spark Connect, the result is the default number of partitions.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    try:
        return int(spark.sparkContext.defaultParallelism)
    except (PySparkException, AttributeError):
        row = spark.range(100_000).select(F.spark_partition_id().alias("part")).agg(F.max("part").alias("last")).first()
        return 1 if row is None else int(row["last"]) + 1
