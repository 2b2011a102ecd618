"""Reads the Parquet datasets that `isrlab log convert` writes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import attrs

from spark_reports.rows.schema import SESSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@attrs.frozen
class Dataset:
    """Logs in Parquet that summaries are to be computed from.

    Attributes:
        address: of the dataset.
        prefix: what its sessions' names begin with, to tell them from those of other datasets.
        rare: the address of its events of no `BULK` kind alone, if they have been staged.
    """

    address: str
    prefix: str = ""
    rare: str | None = None


def read_dataset(spark: SparkSession, path: str, columns: Collection[str] | None = None, prefix: str = "") -> DataFrame:
    """A dataset that `isrlab log convert` wrote, or one session's part of it, in `schema.dataset_schema` and with its `session`.

    Args:
        columns: those of the events that are wanted; None for all.
        prefix: what to put before sessions' names.
    """
    from pyspark.sql import functions as F

    from spark_reports.rows.schema import dataset_schema

    reader = spark.read.schema(dataset_schema(columns))
    trimmed = path.rstrip("/")
    name = trimmed.rpartition("/")[2]
    if name.startswith(f"{SESSION}="):
        reader = reader.option("basePath", trimmed.rpartition("/")[0])
    every = reader.parquet(path)
    return every.withColumn(SESSION, F.concat(F.lit(prefix), F.col(SESSION))) if prefix else every
