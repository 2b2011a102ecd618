"""Carries acts out on a cluster: for each act first whether it is possible, then the `act` event, then the doing.

An act that is impossible is refused before anything changes, with a message that says what would be right.
"""

from __future__ import annotations

import json
from typing import Final

import attrs

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.lab import acts
from core.lab.act_handlers import administration, brokers, by_hand, clients, clocks, controllers, disks, find, links
from core.lab.nodes import ClusterNodes
from core.sim.errors import ActRefused

_DEEDS: Final[find.Deeds] = {
    **brokers.DEEDS,
    **disks.DEEDS,
    **links.DEEDS,
    **controllers.DEEDS,
    **administration.DEEDS,
    **clocks.DEEDS,
    **clients.DEEDS,
    **by_hand.DEEDS,
}


def carry_out(cluster: ClusterNodes, act: acts.Act) -> int:
    """Check an act, record it, do it; returns the seq of its event.

    Whatever else is due at this very moment comes first: so an act's time alone says where in a run it stands.

    Raises:
        ActRefused: it is impossible as things stand.
    """
    if act.by_hand and not cluster.by_hand:
        raise ActRefused(f"{act.word} is a step by hand; turn the cluster to 'pace: by-hand' first")
    cluster.settle()
    doing = _DEEDS[type(act)](cluster, act)
    next(doing)
    journal = cluster.journal
    journal.cause = 0
    journal.cause = seq = journal.emit(events.Acted.kind, act.word, arguments(act))
    next(doing, None)
    cluster.controller.publish()
    if cluster.by_hand:
        cluster.settle()
    journal.cause = 0
    return seq


def arguments(act: acts.Act) -> str:
    """An act's fields that differ from their defaults, as compact JSON with the script's words."""
    fields: dict[str, object] = {}
    for field in attrs.fields(type(act)):
        value = getattr(act, field.name)
        if field.default is attrs.NOTHING or value != field.default:
            fields[field.name.replace("_", "-")] = _plain(value)
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value
