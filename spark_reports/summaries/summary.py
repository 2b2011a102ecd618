"""Defines a summary: its title, the events it needs, its columns, and the function that computes it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_reports.summaries.inputs import SummaryInputs


def table_schema(
    names: tuple[str, ...], numbers: tuple[str, ...], more_names: tuple[str, ...] = (), more_numbers: tuple[str, ...] = ()
) -> StructType:
    """The schema of a summary's table: columns of text, then columns of whole numbers, and the same once more."""
    return StructType(
        [
            *(StructField(name, StringType()) for name in names),
            *(StructField(name, LongType()) for name in numbers),
            *(StructField(name, StringType()) for name in more_names),
            *(StructField(name, LongType()) for name in more_numbers),
        ]
    )


@attrs.frozen
class Summary:
    """One question about sessions.

    Attributes:
        name: of the dataset, and of the table in JSON.
        title: the question in a few words, for people.
        notes: what the columns mean, for people.
        kinds: event kinds that the table is made from.
        columns: event columns that it is made from, beside `session`, `seq`, `t`, `cause` and `kind`.
        schema: of the result; columns that end in `_us` are µs.
        keys: columns by which rows are told apart and sorted.
        worst: columns that decide which rows are the worst (`severity`), the first one first.
        compute: from what it needs of the inputs to the table. Pure: same rows in, same rows out.
    """

    name: str
    title: str
    notes: str
    kinds: tuple[str, ...]
    columns: tuple[str, ...]
    schema: StructType
    keys: tuple[str, ...]
    compute: Callable[[SummaryInputs], DataFrame]
    worst: tuple[str, ...] = ()

    def shaped(self, inputs: SummaryInputs) -> DataFrame:
        """The table, in its declared columns and types, in no order."""
        result = self.compute(inputs)
        shaped = result.selectExpr(*(f"CAST(`{field.name}` AS {field.dataType.simpleString()})" for field in self.schema.fields))
        return shaped.coalesce(1) if inputs.gathered else shaped

    def __call__(self, inputs: SummaryInputs) -> DataFrame:
        """The table, in its declared columns and types, sorted by its keys in one partition."""
        shaped = self.shaped(inputs)
        return (shaped if inputs.gathered else shaped.repartition(1)).sortWithinPartitions(*self.keys)


def count_if(condition: Column) -> Column:
    """How many rows of a group meet a condition, 0 for none."""
    return F.count(F.when(condition, F.lit(1)))


def sum_if(condition: Column, value: Column) -> Column:
    """Sum of `value` over the rows of a group that meet a condition, 0 for none."""
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0))
