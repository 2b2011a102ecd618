"""Each kind of event declares what it changes, and has the columns that say where."""

from __future__ import annotations

import pytest

from core.kafka import events

NAMED = {
    events.PARTITION: {"topic", "partition"},
    events.OFFSETS: {"topic", "partition"},
    events.BROKER: {"broker"},
    events.LINK: {"src", "dst"},
    events.TRANSACTIONS: set(),
    events.TOPICS: set(),
    events.EVERYTHING: set(),
    events.NOTHING: set(),
}
"""The columns that say which partition, broker, or link an event changes."""


@pytest.mark.parametrize("kind", events.EVENTS, ids=lambda kind: kind.kind)
def test_a_kind_names_what_it_changes(kind: type[events.Event]) -> None:
    assert NAMED[kind.changes] <= kind.columns.keys(), f"{kind.__name__} must declare what it changes: changes=…"


@pytest.mark.parametrize("kind", [events.KINDS[name] for name in events.PARTITION_OF], ids=lambda kind: kind.kind)
def test_a_kind_that_names_a_partition_changes_no_others(kind: type[events.Event]) -> None:
    assert kind.changes in (events.PARTITION, events.OFFSETS)
