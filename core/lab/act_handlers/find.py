"""Functions that find the nodes and topics that an act names. If a node or topic does not exist, `ActRefused` lists the existing ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from core.kafka.broker.broker import Broker
from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import CONTROLLER, TopicPartition
from core.lab.acts import Act
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import ZoneSpec
from core.sim.errors import ActRefused

ACKS: Final = {"0": 0, "1": 1, "all": -1, "-1": -1}
"""Kafka's values for acks, by their words in the script language."""

CheckThenDo = Iterator[None]
"""An act handler: a generator that checks whether the act is possible before its `yield`, and performs the act after it."""

Handlers = dict[type[Act], Callable[[ClusterNodes, Any], CheckThenDo]]
"""A table of act handlers, by act."""


def existing(what: str, names: Iterable[str]) -> str:
    """Return a phrase that lists the existing names, to append to an error message."""
    listed = ", ".join(names)
    return f"the {what} are {listed}" if listed else "there are none"


def broker(cluster: ClusterNodes, number: int) -> Broker:
    """Return the broker with the given ID."""
    found = cluster.brokers.get(number)
    if found is None:
        raise ActRefused(f"there is no broker {number}; {existing('brokers', map(str, cluster.brokers))}")
    return found


def running_broker(cluster: ClusterNodes, number: int) -> Broker:
    """Return the broker with the given ID if its process is running."""
    found = broker(cluster, number)
    if found.context.state is BrokerState.STOPPED:
        raise ActRefused(f"broker {number} is not running; start it first")
    return found


def node(cluster: ClusterNodes, name: str) -> str:
    """Return the address of a node. In a quorum, `controller` means the active controller."""
    if name == CONTROLLER and cluster.quorum is not None:
        require_controller(cluster)
        active = cluster.quorum.active()
        assert active is not None
        return active.name
    if name == CONTROLLER and name not in cluster.nodes:
        name = cluster.controller_address
        if not name:
            raise ActRefused("currently, no broker is the controller")
    if name not in cluster.nodes:
        raise ActRefused(f"there is no node {name}; {existing('nodes', cluster.nodes)}")
    return name


def pair(cluster: ClusterNodes, between: tuple[str, str]) -> tuple[str, str]:
    """Return the addresses of the two nodes of a link."""
    a, b = (node(cluster, name) for name in between)
    if a == b:
        raise ActRefused(f"a link joins two different nodes; it cannot join {a} to itself")
    return a, b


def topic(cluster: ClusterNodes, name: str) -> str:
    """Return the topic with the given name."""
    topics = cluster.controller.registry.topics
    if name not in topics:
        raise ActRefused(f"there is no topic {name}; {existing('topics', topics)}")
    return name


def rack(cluster: ClusterNodes, client: str, given: str | None) -> str:
    """Return the client.rack of a consumer: the given one, or else its zone; empty if it has neither."""
    return given or cluster.spec.zone_of(client) or ""


def zone(cluster: ClusterNodes, name: str) -> ZoneSpec:
    """Return the zone with the given name."""
    found = next((zone for zone in cluster.spec.zones if zone.name == name), None)
    if found is None:
        raise ActRefused(f"there is no zone {name}; {existing('zones', (zone.name for zone in cluster.spec.zones))}")
    return found


def together(cluster: ClusterNodes, handlers: list[CheckThenDo]) -> CheckThenDo:
    """Check that several acts are possible, and then perform them as one act."""
    for handler in handlers:
        next(handler)
    yield
    cause = cluster.journal.cause
    for handler in handlers:
        cluster.journal.cause = cause
        next(handler, None)


def acks(written: str) -> int:
    """Return acks as a number."""
    if written not in ACKS:
        raise ActRefused(f"acks must be 0, 1, or all, not {written}")
    return ACKS[written]


def check_keep(of: Broker, keep: tuple[tuple[TopicPartition, int], ...]) -> None:
    """Check that a broker has every replica for which an act specifies how much of its log survives."""
    for tp, offset in keep:
        if tp not in of.disk.logs:
            raise ActRefused(f"broker {of.id} has no replica of {tp}")
        if offset < 0:
            raise ActRefused(f"{tp} cannot keep records up to offset {offset}; offsets start at 0")


def require_controller(cluster: ClusterNodes) -> None:
    """Check that there is an active controller."""
    if cluster.quorum is not None and cluster.quorum.active() is None:
        raise ActRefused("there is no active controller: no majority of the controllers has elected one")
