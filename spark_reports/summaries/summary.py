"""Defines a summary: its title, the events that it needs, its columns, and the function that computes it."""

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
    """Return the schema of a summary's table: text columns, number columns, and optionally more columns of both types."""
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
    """A table that answers one question about sessions.

    Attributes:
        name: the name of the dataset, and of the table in JSON.
        title: the question, in a few words.
        notes: an explanation of the columns.
        kinds: the event kinds that the table needs.
        columns: the event columns that the table needs, apart from `session`, `seq`, `t`, `cause`, and `kind`.
        schema: the schema of the table; columns that end in `_us` are in µs.
        keys: the columns that identify a row and by which rows are sorted.
        compute: the pure function that computes the table from the inputs; the same rows always produce the same table.
        worst: the columns that define the worst rows (`severity`), with the most important column first.
        rows_from: the event kinds that produce rows. If none of these kinds occurs, the table is empty. By default, `rows_from` contains
            all event kinds that the table needs.
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
    rows_from: tuple[str, ...] = attrs.field(default=attrs.Factory(lambda summary: summary.kinds, takes_self=True))

    def can_have_rows(self, inputs: SummaryInputs) -> bool:
        """Whether any event kind that produces rows occurs. If no event kind that produces rows occurs, the table is empty, and Spark does
        not need to compute it.
        """
        return inputs.can_occur(self.rows_from)

    def with_schema(self, inputs: SummaryInputs) -> DataFrame:
        """Return the table with its declared columns and types, unsorted."""
        if not self.can_have_rows(inputs):
            columns = (f"CAST(NULL AS {field.dataType.simpleString()}) AS `{field.name}`" for field in self.schema.fields)
            return inputs.sessions.where("false").selectExpr(*columns)
        result = self.compute(inputs)
        table = result.selectExpr(*(f"CAST(`{field.name}` AS {field.dataType.simpleString()})" for field in self.schema.fields))
        return table.coalesce(1) if inputs.single_partition else table

    def __call__(self, inputs: SummaryInputs) -> DataFrame:
        """Return the table with its declared columns and types, in one partition, sorted by its keys."""
        table = self.with_schema(inputs)
        return (table if inputs.single_partition else table.repartition(1)).sortWithinPartitions(*self.keys)


def count_if(condition: Column) -> Column:
    """Return the number of rows in a group that meet a condition."""
    return F.count(F.when(condition, F.lit(1)))


def sum_if(condition: Column, value: Column) -> Column:
    """Return the sum of `value` over the rows in a group that meet a condition, or 0 if there are no such rows."""
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0))
