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
    """A Parquet dataset of logs.

    Attributes:
        address: the path or URI of the dataset.
        prefix: the prefix, possibly empty, that distinguishes the sessions of this dataset from those of other datasets.
        infrequent: the path of the dataset's infrequent events, or None if these events are not staged.
    """

    address: str
    prefix: str = ""
    infrequent: str | None = None


def read_dataset(spark: SparkSession, path: str, columns: Collection[str] | None = None, prefix: str = "") -> DataFrame:
    """Read a dataset that `isrlab log convert` wrote, or the part that contains one session, with the schema `schema.dataset_schema`.

    Args:
        columns: the event columns to read, or None for all columns.
        prefix: the prefix that is added to the names of sessions.
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
