"""Turns a running cluster to steps by hand, and lets it run by itself again.

By hand nobody fetches or produces but by an act, and no message takes time: what an act leads to is done with it. So virtual time
need not pass, and nothing else happens as long as it does not. Timers stay where they are; a script that waits meanwhile has
brokers send heartbeats and check their ISRs as ever.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from core.kafka.clients.producer import Producer
from core.kafka.controller.controller import Controller
from core.sim.messages import Timer

if TYPE_CHECKING:
    from core.lab.nodes import ClusterNodes
    from core.sim.agenda import Entry


def turn(cluster: ClusterNodes, *, by_hand: bool) -> None:
    """Change the pace of a cluster with one KRaft controller."""
    if by_hand:
        _end_quiet_rounds(cluster)
    _tell(cluster, by_hand=by_hand)
    if by_hand:
        _arrive_now(cluster)
        cluster.settle()
    for broker in cluster.brokers.values():
        broker.forget_fetches()
    if not by_hand:
        _run_by_itself(cluster)


def _tell(cluster: ClusterNodes, *, by_hand: bool) -> None:
    """Let every node know."""
    controller = cluster.controller
    assert isinstance(controller, Controller)
    cluster.by_hand = controller.by_hand = cluster.network.at_once = by_hand
    for broker in cluster.brokers.values():
        broker.by_hand = by_hand
        broker.pushes_high_watermark = broker.release.hw_completes_fetch and not by_hand
        broker.quiet_rounds = cluster.quiet_rounds if cluster.elides and not by_hand else None
    for client in cluster.clients.values():
        client.by_hand = by_hand
        if by_hand and isinstance(client, Producer):
            client.hold_load()


def _end_quiet_rounds(cluster: ClusterNodes) -> None:
    """Rounds that were not played out are under way again."""
    for broker in cluster.brokers.values():
        for session in broker.fetch_manager.sessions.values():
            if session.quiet is not None:
                session.quiet.end()


def _arrive_now(cluster: ClusterNodes) -> None:
    """Messages that are under way are due now, in the order in which they would have come; so are processes that are starting."""
    agenda = cluster.agenda
    hurried = sorted((entry for entry in agenda.entries if _is_under_way(entry)), key=_when)
    agenda.entries[:] = [entry for entry in agenda.entries if not _is_under_way(entry)]
    heapq.heapify(agenda.entries)
    for entry in hurried:
        agenda.add(cluster.now, entry.node, entry.sender, entry.connection, entry.message, entry.cause)


def _is_under_way(entry: Entry) -> bool:
    if entry.sender != entry.node:
        return True
    return type(entry.message) is Timer and entry.message.name == "started"


def _run_by_itself(cluster: ClusterNodes) -> None:
    """Fetchers, loads and periodic tasks go on; what was armed before the steps by hand still is."""
    armed: dict[str, set[str]] = {}
    waiting = [entry for _, entries in cluster.paused.values() for entry in entries]
    for entry in (*cluster.agenda.entries, *waiting):
        if type(entry.message) is Timer and entry.connection == cluster.nodes[entry.node].incarnation:
            armed.setdefault(entry.node, set()).add(entry.message.name)
    controller = cluster.controller
    assert isinstance(controller, Controller)
    for broker in cluster.brokers.values():
        broker.run_by_itself(armed.get(broker.address, set()))
    controller.boot(cluster.seed)
    for client in cluster.clients.values():
        if isinstance(client, Producer):
            client.resume_load()
        client.refresh_metadata()


def _when(entry: Entry) -> tuple[int, int]:
    return entry.time, entry.order
