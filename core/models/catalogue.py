"""The events of all models by kind, and their sentences."""

from __future__ import annotations

from typing import Final

from core.models import events
from core.models.elasticsearch import events as elasticsearch_events
from core.models.mysql import events as mysql_events
from core.models.quorum import events as quorum_events
from core.sim.events import Event, EventTuple, kind_of

KINDS: Final[dict[str, type[Event]]] = {
    each.kind: each for each in (*events.COMMON, *mysql_events.EVENTS, *elasticsearch_events.EVENTS, *quorum_events.EVENTS)
}
"""The kinds of events by name."""


def sentence(event: EventTuple) -> str:
    """Return the sentence of an event."""
    return KINDS[kind_of(event)](event).sentence()
