"""Acts on all nodes of a zone. They do what acts on single nodes do."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import broker_at
from core.lab import acts
from core.lab.act_handlers import brokers, controllers, find, links
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused
from core.sim.network import Direction


def _fail_zone(cluster: ClusterNodes, act: acts.FailZone) -> find.CheckThenDo:
    zone = find.zone(cluster, act.zone)
    steps = [
        brokers.power_loss(cluster, acts.PowerLoss(broker, unflushed=act.unflushed))
        for broker in map(broker_at, zone.nodes)
        if broker in cluster.brokers and cluster.brokers[broker].context.state is not BrokerState.STOPPED
    ]
    steps += [
        controllers.lose_power(cluster, name)
        for name, controller in cluster.controllers.items()
        if name in zone.nodes and (controller.running or controller.starting)
    ]
    if not steps:
        raise ActRefused(f"no broker or controller of zone {act.zone} is running")
    return find.together(cluster, steps)


def _restore_zone(cluster: ClusterNodes, act: acts.RestoreZone) -> find.CheckThenDo:
    zone = find.zone(cluster, act.zone)
    steps = [
        brokers.start(cluster, acts.Start(broker))
        for broker in map(broker_at, zone.nodes)
        if broker in cluster.brokers
        and cluster.brokers[broker].context.state is BrokerState.STOPPED
        and any(each.online or each.repaired for each in cluster.brokers[broker].disk.dirs)
    ]
    stopped = [
        name
        for name, controller in cluster.controllers.items()
        if name in zone.nodes and not controller.running and not controller.starting
    ]
    steps += [controllers.start_controller(cluster, acts.StartController(name)) for name in stopped]
    if not steps:
        raise ActRefused(f"no broker or controller of zone {act.zone} can be started")
    return find.together(cluster, steps)


def _border(cluster: ClusterNodes, name: str, other: str | None) -> list[Direction]:
    """Return both directions of the links between a zone and the nodes outside of it or, if another zone is named, the nodes of that zone."""
    zone = find.zone(cluster, name)
    if other == name:
        raise ActRefused(f"zone {name} has no links to itself; name another zone, or omit 'other'")
    beyond = cluster.nodes if other is None else find.zone(cluster, other).nodes
    inside = [node for node in zone.nodes if node in cluster.nodes]
    outside = [node for node in beyond if node in cluster.nodes and node not in zone.nodes]
    return [direction for a in inside for b in outside for direction in ((a, b), (b, a))]


def _cut_zone(cluster: ClusterNodes, act: acts.CutZone) -> find.CheckThenDo:
    border = _border(cluster, act.zone, act.other)
    yield
    links.cut_all(cluster, border)


def _heal_zone(cluster: ClusterNodes, act: acts.HealZone) -> find.CheckThenDo:
    network = cluster.network
    cut = [each for each in _border(cluster, act.zone, act.other) if each in network.links and network.links[each].cut]
    if not cut:
        raise ActRefused(f"no link between zone {act.zone} and {'another node' if act.other is None else f'zone {act.other}'} is cut")
    yield
    links.heal_all(cluster, cut)


HANDLERS: Final[find.Handlers] = {
    acts.FailZone: _fail_zone,
    acts.RestoreZone: _restore_zone,
    acts.CutZone: _cut_zone,
    acts.HealZone: _heal_zone,
}
