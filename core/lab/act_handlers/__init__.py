"""Executes acts on a cluster.

For each act, its handler first checks whether the act is possible. Then the `act` event is recorded, and the handler performs the act.
An impossible act is refused before anything changes, with a message that says what would be possible.
"""

from __future__ import annotations

import json
from typing import Final

import attrs

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.lab import acts
from core.lab.act_handlers import (
    administration,
    brokers,
    by_hand,
    clients,
    clocks,
    controllers,
    disks,
    find,
    group_commands,
    groups,
    links,
    processes,
    retries,
    services,
    transactions,
    zones,
)
from core.lab.act_settings import with_settings
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused

_HANDLERS: Final[find.Handlers] = {
    **brokers.HANDLERS,
    **disks.HANDLERS,
    **links.HANDLERS,
    **zones.HANDLERS,
    **controllers.HANDLERS,
    **administration.HANDLERS,
    **clocks.HANDLERS,
    **clients.HANDLERS,
    **transactions.HANDLERS,
    **processes.HANDLERS,
    **groups.HANDLERS,
    **group_commands.HANDLERS,
    **services.HANDLERS,
    **retries.HANDLERS,
    **by_hand.HANDLERS,
}


def execute(cluster: ClusterNodes, act: acts.Act) -> int:
    """Check, record, and perform an act.

    Everything else that is due at the current virtual time happens before the act. Therefore, the time of an act alone determines its place
    in a run.

    Returns:
        The sequence number of the `act` event.

    Raises:
        ActRefused: the act is impossible now.
    """
    if act.by_hand and not cluster.by_hand:
        raise ActRefused(f"{act.word} is a by-hand step; switch the cluster to 'pace: by-hand' first")
    cluster.deliver_pending()
    handler = _HANDLERS[type(act)](cluster, with_settings(act, cluster.spec.clients, cluster.release))
    next(handler)
    journal = cluster.journal
    journal.cause = 0
    journal.cause = seq = journal.emit(events.Acted.kind, act.word, act_arguments(act))
    next(handler, None)
    cluster.controller.publish()
    if cluster.by_hand:
        cluster.deliver_pending()
    journal.cause = 0
    return seq


def act_arguments(act: acts.Act) -> str:
    """Return the fields of an act that differ from their defaults, as compact JSON with the words of the script language."""
    fields: dict[str, object] = {}
    for field in attrs.fields(type(act)):
        value = getattr(act, field.name)
        if field.default is attrs.NOTHING or value != field.default:
            fields[field.name.replace("_", "-")] = _to_json(value)
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def _to_json(value: object) -> object:
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, tuple):
        return [_to_json(each) for each in value]
    return value
