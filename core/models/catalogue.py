"""The models by name, and the sentences of their events."""

from __future__ import annotations

from typing import Final

from core.models import events
from core.models.bookkeeper import events as bookkeeper_events
from core.models.bookkeeper.system import BookKeeper
from core.models.elasticsearch import events as elasticsearch_events
from core.models.elasticsearch.system import Elasticsearch
from core.models.mysql import events as mysql_events
from core.models.mysql.system import MySQL
from core.models.quorum import events as quorum_events
from core.models.quorum.system import Quorum
from core.models.system import ReplicationSystem
from core.sim.events import Event, EventTuple, kind_of

MODELS: Final[dict[str, type[ReplicationSystem]]] = {each.model: each for each in (MySQL, Elasticsearch, Quorum, BookKeeper)}
"""The models by name."""

KINDS: Final[dict[str, type[Event]]] = {
    each.kind: each
    for each in (*events.COMMON, *mysql_events.EVENTS, *elasticsearch_events.EVENTS, *quorum_events.EVENTS, *bookkeeper_events.EVENTS)
}
"""The kinds of events by name."""


def sentence(event: EventTuple) -> str:
    """Return the sentence of an event."""
    return KINDS[kind_of(event)](event).sentence()
