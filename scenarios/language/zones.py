"""Reads the zones of a cluster and the latency between them, and writes them in the same form.

`zones: {a: [1, 2, c1], b: [3, 4, c2]}` puts brokers, dedicated controllers, and clients in zones. Under `network`, `between-zones: 2ms` is the
latency between any two zones, and `between-zones: {a: {b: 1ms, c: 10ms}}` gives some pairs of zones a latency.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any, Final

import attrs

from core.kafka.ids import broker_address
from core.lab.spec import BrokerSpec, ZoneSpec
from scenarios.errors import did_you_mean
from scenarios.language.nodes import Fields, Node, shortened
from scenarios.language.values import as_duration, as_fields, as_node_name, each, write_duration

_ZONE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_HINT: Final = "write the nodes of each zone, for example {a: [1, 2, c1], b: [3, 4, c2]}"

Latencies = tuple[tuple[str, str, int], ...]
"""The latency between two zones in µs, for each pair of zones that has one of its own."""


def read_zones(node: Node) -> tuple[ZoneSpec, ...]:
    """Read the zones by name."""
    fields = as_fields(node, _HINT)
    found = []
    with node.document.together():
        for name, nodes in fields.values.items():
            if not _ZONE_NAME.fullmatch(name):
                remedy = "use letters, digits, '.', '_', and '-', at most 100 characters"
                raise fields.key_error(name, f"'{shortened(name)}' is not the name of a zone", remedy)
            found.append(ZoneSpec(name, nodes.tried(lambda one: each(one, _HINT, as_node_name), ())))
    return tuple(found)


def read_between_zones(node: Node, zones: tuple[ZoneSpec, ...]) -> Latencies:
    """Read the latency between zones: a duration for all pairs of zones, or a mapping from a zone to other zones."""
    names = [zone.name for zone in zones]
    if not names:
        raise node.error("the cluster has no zones", "add 'zones' to the cluster, for example 'zones: {a: [1, 2], b: [3, 4]}'")
    if not isinstance(node, Fields):
        latency = as_duration(node)
        return tuple((one, other, latency) for one, other in combinations(names, 2))
    found: list[tuple[str, str, int]] = []
    with node.document.together():
        for one, others in _known(node, names):
            found += [
                (one, other, value.tried(as_duration, 0)) for other, value in _known(as_fields(others, "for example {b: 2ms}"), names)
            ]
    return tuple(found)


def _known(fields: Fields, names: list[str]) -> list[tuple[str, Node]]:
    for name in fields.values:
        if name not in names:
            raise fields.key_error(name, f"unknown zone '{shortened(name)}'", did_you_mean(name, names))
    return list(fields.values.items())


def with_racks(brokers: tuple[BrokerSpec, ...], zones: tuple[ZoneSpec, ...]) -> tuple[BrokerSpec, ...]:
    """Return the brokers with their zones as racks. A rack that a broker already has stays."""
    racks = {node: zone.name for zone in zones for node in zone.nodes}
    return tuple(attrs.evolve(broker, rack=racks.get(broker_address(broker.id))) if broker.rack is None else broker for broker in brokers)


def zones_as_data(zones: tuple[ZoneSpec, ...], flow: type[dict[str, Any]], flow_list: type[list[Any]]) -> dict[str, Any]:
    """Return the zones as they appear in scripts."""
    return flow({zone.name: flow_list(zone.nodes) for zone in zones})


def latencies_as_data(latencies: Latencies, flow: type[dict[str, Any]]) -> dict[str, Any]:
    """Return the latencies between zones as they appear in scripts."""
    data = flow()
    for one, other, latency in latencies:
        data.setdefault(one, flow())[other] = write_duration(latency)
    return data
