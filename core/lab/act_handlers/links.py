"""Acts on the links between nodes."""

from __future__ import annotations

from typing import Final

from core.kafka import events
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import MAX_LOSS_PPM
from core.sim.disturbances import CUT, HELD, SLOW
from core.sim.errors import ActRefused
from core.sim.network import Direction


def _disturb(cluster: ClusterNodes, direction: tuple[str, str], what: str, event: int) -> None:
    cluster.network.disturbances.begin(direction, what, event, cluster.now)


def _cut(cluster: ClusterNodes, act: acts.Cut) -> find.CheckThenDo:
    a, b = find.pair(cluster, act.between)
    yield
    cut_all(cluster, [(a, b)] if act.one_way else [(a, b), (b, a)])


def cut_all(cluster: ClusterNodes, directions: list[Direction]) -> None:
    """Cut directions of links that are not cut yet."""
    for direction in directions:
        if cluster.network.cut(direction):
            _disturb(cluster, direction, CUT, cluster.journal.emit(events.LinkCut.kind, *direction))


def _isolate(cluster: ClusterNodes, act: acts.Isolate) -> find.CheckThenDo:
    node = find.node(cluster, act.node)
    others = [other for other in cluster.nodes if other != node]
    yield
    cut_all(cluster, [d for other in others for d in ((node, other), (other, node))])


def _heal(cluster: ClusterNodes, act: acts.Heal) -> find.CheckThenDo:
    network = cluster.network
    if act.between is not None:
        a, b = find.pair(cluster, act.between)
        directions = [(a, b), (b, a)]
        if not any(d in network.links and network.links[d].cut for d in directions):
            raise ActRefused(f"the link between {a} and {b} is not cut")
    else:
        directions = [direction for direction, link in network.links.items() if link.cut]
        if not directions:
            raise ActRefused("no link is cut")
    yield
    heal_all(cluster, directions)


def heal_all(cluster: ClusterNodes, directions: list[Direction]) -> None:
    """Heal directions of links that are cut."""
    network = cluster.network
    for direction in directions:
        if network.heal(direction, cluster.now):
            cluster.journal.emit(events.LinkHealed.kind, *direction)
            network.disturbances.end(direction, CUT, cluster.now)


def _link(cluster: ClusterNodes, act: acts.Link) -> find.CheckThenDo:
    a, b = find.pair(cluster, act.between)
    proxied = act.duplicate_ppm is not None or act.reorder_ppm is not None
    if proxied and a not in cluster.clients and b not in cluster.clients:
        raise ActRefused(
            f"{a} and {b} communicate over TCP, which delivers messages once and in order; only a proxy between a client and a broker can repeat or reorder requests"
        )
    if proxied and cluster.spec.network.bandwidth:
        raise ActRefused("in a network with a limited bandwidth, no proxy repeats or reorders requests")

    if act.loss_ppm is not None and act.loss_ppm > MAX_LOSS_PPM:
        raise ActRefused(
            f"a link can lose at most {MAX_LOSS_PPM // 10_000}% of its messages, because TCP retransmits each message until it "
            "arrives; to lose all messages, cut the link"
        )
    yield
    network = cluster.network
    for direction in ((a, b), (b, a)):
        link, usual = network.link(direction), network.default_latency(*direction)
        before = (link.latency, link.jitter, link.loss_ppm)
        link.latency = link.latency if act.latency is None else act.latency
        link.jitter = link.jitter if act.jitter is None else act.jitter
        link.loss_ppm = link.loss_ppm if act.loss_ppm is None else act.loss_ppm
        changed = cluster.journal.emit(events.LinkChanged.kind, *direction, link.latency, link.jitter, link.loss_ppm)
        if link.latency > usual or link.jitter > network.jitter or link.loss_ppm > network.loss_ppm:
            if (link.latency, link.jitter, link.loss_ppm) != before or not network.disturbances.current(direction, SLOW):
                _disturb(cluster, direction, SLOW, changed)  # otherwise, the link is as slow as before
        else:
            network.disturbances.end(direction, SLOW, cluster.now)
        if proxied:
            cluster.account.requests_may_repeat = cluster.account.requests_may_repeat or bool(act.duplicate_ppm)
            link.duplicate_ppm = link.duplicate_ppm if act.duplicate_ppm is None else act.duplicate_ppm
            link.reorder_ppm = link.reorder_ppm if act.reorder_ppm is None else act.reorder_ppm
            cluster.journal.emit(events.LinkProxied.kind, *direction, link.duplicate_ppm, link.reorder_ppm)


def _hold(cluster: ClusterNodes, act: acts.Hold) -> find.CheckThenDo:
    direction = find.pair(cluster, act.between)
    link = cluster.network.links.get(direction)
    if link is not None and link.held:
        raise ActRefused(f"messages {direction[0]} → {direction[1]} are already held; release them")
    yield
    cluster.network.hold(direction)
    _disturb(cluster, direction, HELD, cluster.journal.emit(events.LinkHeld.kind, *direction))


def _release(cluster: ClusterNodes, act: acts.Release) -> find.CheckThenDo:
    direction = find.pair(cluster, act.between)
    link = cluster.network.links.get(direction)
    if link is None or not link.held:
        raise ActRefused(f"messages {direction[0]} → {direction[1]} are not held")
    if act.messages is not None and not 1 <= act.messages <= len(link.waiting):
        raise ActRefused(
            f"{len(link.waiting)} messages {direction[0]} → {direction[1]} are held; release at most that many, or omit 'messages'"
        )
    if act.messages is not None and link.cut:
        raise ActRefused(f"the link {direction[0]} → {direction[1]} is also cut; heal it first")
    yield
    count = cluster.network.release(direction, cluster.now, act.messages)
    cluster.journal.emit(events.LinkReleased.kind, *direction, count)
    if act.messages is None:
        cluster.network.disturbances.end(direction, HELD, cluster.now)


HANDLERS: Final[find.Handlers] = {
    acts.Cut: _cut,
    acts.Heal: _heal,
    acts.Isolate: _isolate,
    acts.Link: _link,
    acts.Hold: _hold,
    acts.Release: _release,
}
