"""Switches a running cluster to by-hand mode and back (the act `pace`).

In by-hand mode, followers fetch and producers send only when an act tells them to. Messages arrive immediately, so when an act ends, all of
its effects have happened. Virtual time does not advance unless the caller advances it. Timers stay armed, so when time passes, brokers
still send heartbeats and check their ISRs.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from core.kafka.clients.producer.producer import Producer
from core.kafka.controller.quorum_controller import QuorumController
from core.sim.kernel_messages import Timer

if TYPE_CHECKING:
    from core.lab.cluster_nodes import ClusterNodes
    from core.sim.agenda import Entry


def switch(cluster: ClusterNodes, *, by_hand: bool) -> None:
    """Switch a cluster with one KRaft controller to by-hand mode or back."""
    if by_hand:
        cluster.network.polls.interrupt_all()
    _set_mode(cluster, by_hand=by_hand)
    if by_hand:
        _make_messages_due(cluster)
        cluster.deliver_pending()
    for broker in cluster.brokers.values():
        broker.forget_fetches()
    if not by_hand:
        _restart_timers(cluster)


def _set_mode(cluster: ClusterNodes, *, by_hand: bool) -> None:
    """Switch the controller, the network, the brokers, and the clients to by-hand mode, or back to normal operation."""
    controller = cluster.controller
    assert isinstance(controller, QuorumController)
    cluster.by_hand = controller.by_hand = cluster.network.zero_latency = by_hand
    for broker in cluster.brokers.values():
        broker.context.by_hand = by_hand
        broker.context.pushes_high_watermark = broker.context.release.hw_completes_fetch and not by_hand
    for client in cluster.clients.values():
        client.by_hand = by_hand
        if by_hand and isinstance(client, Producer):
            client.hold_load()


def _make_messages_due(cluster: ClusterNodes) -> None:
    """Make in-flight messages due now, in the order in which they would have arrived. Timers that complete the start of a broker also
    become due now."""
    agenda = cluster.agenda
    in_flight = sorted((entry for entry in agenda.entries if _is_in_flight(entry)), key=_delivery_order)
    agenda.entries[:] = [entry for entry in agenda.entries if not _is_in_flight(entry)]
    heapq.heapify(agenda.entries)
    for entry in in_flight:
        agenda.add(cluster.now, entry.node, entry.sender, entry.connection, entry.message, entry.cause)


def _is_in_flight(entry: Entry) -> bool:
    if entry.sender != entry.node:
        return True
    return type(entry.message) is Timer and entry.message.name == "started"


def _restart_timers(cluster: ClusterNodes) -> None:
    """Restart fetchers, loads, and periodic tasks. Timers that were armed before by-hand mode began stay armed."""
    armed: dict[str, set[str]] = {}
    waiting = [entry for _, entries in cluster.paused.values() for entry in entries]
    for entry in (*cluster.agenda.entries, *waiting):
        if type(entry.message) is Timer and entry.connection == cluster.nodes[entry.node].incarnation:
            armed.setdefault(entry.node, set()).add(entry.message.name)
    controller = cluster.controller
    assert isinstance(controller, QuorumController)
    for broker in cluster.brokers.values():
        broker.run_by_itself(armed.get(broker.address, set()))
    controller.boot(cluster.seed)
    for client in cluster.clients.values():
        if isinstance(client, Producer):
            client.resume_load()
        client.refresh_metadata()


def _delivery_order(entry: Entry) -> tuple[int, int]:
    return entry.time, entry.order
