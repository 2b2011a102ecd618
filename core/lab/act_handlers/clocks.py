"""Acts that set the clock of a node."""

from __future__ import annotations

from typing import Final

from core.kafka import events
from core.kafka.broker.broker import Broker
from core.kafka.clients.client import Client
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.ids import CONTROLLER, ZOOKEEPER
from core.lab import acts
from core.lab.act_fields import MAX_DRIFT_PPM
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.sim.clock import Clock
from core.sim.disturbances import CLOCK
from core.sim.errors import ActRefused


def _set_clock(cluster: ClusterNodes, act: acts.SetClock) -> find.CheckThenDo:
    if abs(act.drift_ppm) > MAX_DRIFT_PPM:
        raise ActRefused(f"a clock can gain or lose at most {MAX_DRIFT_PPM // 10_000}%")
    if act.node == ZOOKEEPER or (cluster.quorum is not None and act.node == CONTROLLER):
        raise ActRefused(f"the clock of {act.node} is always right; set the clock of a broker, of a client, or of a single controller")
    name = find.node(cluster, act.node)
    node = cluster.nodes[name]
    if name in cluster.controllers:
        raise ActRefused(f"the clock of {name} is always right; set the clock of a broker, of a client, or of a single controller")
    yield
    cause = cluster.journal.emit(events.ClockSet.kind, name, act.skew, act.drift_ppm)
    cluster.network.disturbances.begin(name, CLOCK, cause, cluster.now)
    if not act.drift_ppm:
        cluster.network.disturbances.end(name, CLOCK, cluster.now)
    clock = Clock(act.skew, act.drift_ppm, cluster.now)
    if isinstance(node, Broker):
        node.context.settings.clock = clock
        node.refresh_settings()
    elif isinstance(node, Client):
        node.clock = clock
    elif isinstance(node, QuorumController):
        node.settings.clock = clock
        node.refresh_session_timeout()


HANDLERS: Final[find.Handlers] = {
    acts.SetClock: _set_clock,
}
