"""Turns rows back into lines, as `scenarios.logs.line_encoder` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka.events import EVENTS
from spark_reports.rows.schema import MORE_CAUSES

if TYPE_CHECKING:
    from pyspark.sql import Column


def row_to_line() -> Column:
    """Return the Spark expression that builds the line of an event, as `scenarios.logs.line_encoder.encode_event` writes it.

    The columns that a kind does not have are null, and `to_json` omits them. Therefore, several event kinds can share an expression, as
    long as their common columns have the same order.
    """
    from pyspark.sql import functions as F

    orders = column_orders()
    texts = [F.to_json(F.struct("seq", "t", "cause", "kind", *columns, MORE_CAUSES)) for columns, _ in orders]
    result = texts[0]
    for text, (_, kinds) in zip(texts[1:], orders[1:], strict=True):
        result = F.when(F.col("kind").isin(kinds), text).otherwise(result)
    return result


def column_orders() -> list[tuple[list[str], list[str]]]:
    """Return lists of columns, each with the event kinds that share the list.

    Each list preserves the column order of every event kind that shares the list.
    """
    orders: list[tuple[list[str], list[str]]] = []
    for event in EVENTS:
        columns = list(event.columns)
        for known, kinds in orders:
            merged = _merged(known, columns)
            if merged is not None:
                known[:] = merged
                kinds.append(event.kind)
                break
        else:
            orders.append((columns, [event.kind]))
    return orders


def _merged(order: list[str], columns: list[str]) -> list[str] | None:
    """Merge two lists of columns without changing the order of the columns in either list. Return None if two columns have a different
    order in the two lists."""
    places = [order.index(name) for name in columns if name in order]
    if places != sorted(places):
        return None
    merged, at = list(order), 0
    for name in columns:
        if name in merged:
            at = merged.index(name) + 1
        else:
            merged.insert(at, name)
            at += 1
    return merged
