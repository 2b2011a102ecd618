"""Turns rows back into lines: the text that `scenarios.eventlog` writes for an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka.events import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column


def row_to_line() -> Column:
    """An event's line as `scenarios.eventlog.encode_event` writes it, made of its columns: those of its kind, in their order.

    The columns of other kinds are null and are left out by themselves; so kinds whose orders agree share an expression.
    """
    from pyspark.sql import functions as F

    orders = column_orders()
    texts = [F.to_json(F.struct("seq", "t", "cause", "kind", *columns)) for columns, _ in orders]
    result = texts[0]
    for text, (_, kinds) in zip(texts[1:], orders[1:], strict=True):
        result = F.when(F.col("kind").isin(kinds), text).otherwise(result)
    return result


def column_orders() -> list[tuple[list[str], list[str]]]:
    """Orders of columns such that each kind's columns stand in its own order in one of them, with those kinds."""
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
    """An order with more columns, whose own order is kept; None if the two do not agree."""
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
