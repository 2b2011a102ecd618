"""Reads the `cluster:` part of a script into a `ClusterSpec`, and writes a `ClusterSpec` in the same form.

Scripts, the headers of event logs, and the files that `isrlab import` writes use the same format. Writing a spec and reading it back gives
an equal spec.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import yaml

from core.kafka.clients.client_settings import CLIENT_NOT_MODELED, CLIENT_SETTINGS, REFUSED, owners
from core.kafka.features import FEATURES
from core.kafka.ids import NO_LEADER, broker_address
from core.kafka.settings.not_modeled import NOT_MODELED, TOPIC_NOT_MODELED, not_modeled
from core.kafka.settings.registry import COARSER, NAMES_OF, SETTINGS, TOPIC_SETTINGS, setting_named
from core.kafka.settings.setting import MAX_INT, Value
from core.kafka.settings.settings import render_value
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.spec import MAX_BROKERS, MAX_LOG_DIRS, MAX_PARTITIONS, BrokerSpec, ClusterSpec, ControlPlane, NetworkSpec, Pace, ZoneSpec
from scenarios.errors import ScriptError, did_you_mean
from scenarios.gc_disabled import gc_disabled
from scenarios.io.escaping import escape_text
from scenarios.language.client_config import read_client_config
from scenarios.language.group_start import groups_as_data, read_groups
from scenarios.language.nodes import Fields, Items, Node, Text, from_data, shortened
from scenarios.language.partition_start import partition_as_data, read_partition
from scenarios.language.values import (
    as_bool,
    as_broker,
    as_brokers,
    as_duration,
    as_fields,
    as_int,
    as_loss,
    as_node_name,
    as_ppm,
    as_rate,
    as_setting,
    as_text,
    as_word,
    check_topic_name,
    each,
    write_duration,
    write_ppm,
    write_rate,
)
from scenarios.language.zones import latencies_as_data, read_between_zones, read_zones, with_racks, zones_as_data

MAX_CONTROLLERS: Final = 15
"""The maximum number of dedicated controllers in a cluster. Production clusters usually have three or five dedicated controllers."""

DEFAULTS: Final = ClusterSpec(brokers=())
"""A cluster with the default values."""

KAFKA_TOPIC_CONFIGS: Final = TOPIC_SETTINGS | TOPIC_NOT_MODELED
"""Kafka's topic configs.

The laboratory does not model all of these configs, but keeps all their values so that `describe` can print them.
"""

_CLUSTER_HINT: Final = "for example 'brokers: 3' with 'topics: {orders: {partitions: 1}}'"


# --- reading -------------------------------------------------------------------------------------------------------


def read_cluster(node: Node, *, recorded: bool = False) -> ClusterSpec:
    """Read the spec from the value of `cluster:`.

    Args:
        node: the value to read.
        recorded: whether a recorded session started from this cluster; if so, combinations of leader, ISR, and ELR that never occur in
            Kafka are accepted.

    Raises:
        ScriptError: the cluster contains mistakes. The error message lists all mistakes.
    """
    with node.document.together():
        fields = as_fields(node, _CLUSTER_HINT)
        fields.only(
            "brokers", "topics", "settings", "network", "pace", "startup", "recovery", "log-dirs", "disk-speed", "controllers",
            "control-plane", "features", "clients", "controller", "groups", "zones",
        )  # fmt: skip
        dirs = fields.read("log-dirs", lambda one: as_int(one, 1, MAX_LOG_DIRS), 1)
        hint = "write the number of brokers, for example 'brokers: 3'"
        brokers = fields.read_needed("brokers", hint, lambda one: _read_brokers(one, dirs), ())
        zones = fields.read("zones", read_zones, ())
        spec = ClusterSpec(
            brokers=with_racks(brokers, zones),
            topics=fields.read("topics", _read_topics, ()),
            settings=fields.read("settings", lambda one: read_settings(one, scope="cluster"), ()),
            network=fields.read("network", lambda one: _read_network(one, zones), DEFAULTS.network),
            pace=fields.read("pace", lambda one: Pace(as_word(one, [str(pace) for pace in Pace])), Pace.TIMELINE),
            startup=fields.read("startup", as_duration, DEFAULTS.startup),
            recovery=fields.read("recovery", as_duration, DEFAULTS.recovery),
            disk_speed=fields.read("disk-speed", lambda one: as_int(one, 1), DEFAULTS.disk_speed),
            controllers=fields.read("controllers", lambda one: _read_controllers(one, brokers), ()),
            control_plane=fields.read(
                "control-plane", lambda one: ControlPlane(as_word(one, [str(plane) for plane in ControlPlane])), DEFAULTS.control_plane
            ),
            features=fields.read("features", _read_features, ()),
            clients=fields.read("clients", read_client_config, ()),
            controller=fields.read("controller", as_node_name, ""),
            groups=fields.read("groups", read_groups, ()),
            zones=zones,
        )
    with node.document.together():
        _check_placement(fields, spec, recorded)
    try:
        spec.check()
    except ValueError as wrong:
        raise fields.error(str(wrong)) from None
    return spec


def _read_topics(node: Node) -> tuple[TopicSpec, ...]:
    fields = as_fields(node, "write topics by name, for example 'orders: {partitions: 1}'")
    with node.document.together():
        found = [fields.tried(partial(_read_topic, name=name), None) for name in fields.values]
    return tuple(topic for topic in found if topic is not None)


def _read_brokers(node: Node, dirs: int) -> tuple[BrokerSpec, ...]:
    if not isinstance(node, Items):
        count = as_int(node, 1, MAX_BROKERS)
        return tuple(BrokerSpec(broker, log_dirs=dirs) for broker in range(1, count + 1))
    if not node.nodes:
        raise node.error("the list of brokers is empty", "a cluster needs at least one broker")
    if len(node.nodes) > MAX_BROKERS:
        raise node.error(f"{len(node.nodes):,} brokers", f"use at most {MAX_BROKERS:,}")
    brokers: dict[int, BrokerSpec] = {}
    with node.document.together():
        for item in node:
            broker = item.tried(lambda one: _read_broker(one, dirs), None)
            if broker is not None and brokers.setdefault(broker.id, broker) is not broker:
                node.document.add(item.error(f"broker {broker.id} appears twice", "each broker has its own number"))
    return tuple(brokers.values())


def _read_controllers(node: Node, brokers: tuple[BrokerSpec, ...]) -> tuple[str, ...]:
    """Read the voters: a number of dedicated controllers (c1, c2 …), `{combined: true}`, `{combined: [broker ids]}`, or a list of names."""
    if isinstance(node, Items):
        return each(node, "write the controllers by name, for example [c1, c2, c3]", as_node_name)
    if isinstance(node, Fields):
        node.only("combined")
        combined = node.need("combined", "write {combined: true}, or the brokers that are also controllers: {combined: [1, 2, 3]}")
        if isinstance(combined, Items):
            return tuple(broker_address(broker) for broker in as_brokers(combined))
        return tuple(broker_address(broker.id) for broker in brokers) if as_bool(combined) else ()
    return tuple(f"c{number}" for number in range(1, as_int(node, 1, MAX_CONTROLLERS) + 1))


def _read_features(node: Node) -> tuple[tuple[str, int], ...]:
    """Read a mapping from feature names to feature levels."""
    fields = as_fields(node, "write levels by feature, for example {eligible.leader.replicas.version: 0}")
    with node.document.together():
        found = [(name, fields.tried(partial(_read_feature, name=name), None)) for name in fields.values]
    return tuple((name, level) for name, level in found if level is not None)


def _read_feature(fields: Fields, name: str) -> int:
    if name not in FEATURES:
        raise fields.key_error(name, f"unknown feature '{shortened(name)}'", did_you_mean(name, FEATURES, f"use {', '.join(FEATURES)}"))
    return as_int(fields.values[name], 0, FEATURES[name])


def _read_broker(node: Node, dirs: int) -> BrokerSpec:
    if not isinstance(node, Fields):
        return BrokerSpec(as_broker(node), log_dirs=dirs)
    with node.document.together():
        node.only("id", "rack", "up", "settings", "log-dirs")
        return BrokerSpec(
            id=node.read_needed("id", "write the broker's number, for example 'id: 2'", as_broker, 0),
            rack=node.read("rack", as_text, None),
            up=node.read("up", as_bool, True),
            settings=node.read("settings", lambda one: read_settings(one, scope="broker"), ()),
            log_dirs=node.read("log-dirs", lambda one: as_int(one, 1, MAX_LOG_DIRS), dirs),
        )


def read_settings(node: Node, scope: str) -> tuple[tuple[str, Value], ...]:
    """Read Kafka settings by name, for the whole cluster (scope `cluster`) or for one broker (scope `broker`)."""
    fields = as_fields(node, "write settings by their Kafka names, for example 'min.insync.replicas: 2'")
    read: dict[str, Value | None] = {}
    with node.document.together():
        for name in fields.values:
            if name in COARSER:
                finest = next(other for other in NAMES_OF[COARSER[name][0]] if other in fields.values)
                if finest == name:
                    read[COARSER[name][0]] = fields.tried(partial(_read_coarser, name=name, scope=scope), None)
            elif name in NOT_MODELED and name not in SETTINGS:
                fields.warn(name, not_modeled(name))
            else:
                read[name] = fields.tried(partial(_read_setting, name=name, scope=scope), None)
    return tuple((name, value) for name, value in read.items() if value is not None)


def _read_coarser(fields: Fields, name: str, scope: str) -> Value:
    """Read a setting in hours or minutes as the setting in milliseconds that it stands for."""
    fine, factor = COARSER[name]
    misplaced, _, remedy = setting_named(fine).scope_error(broker=scope == "broker", topic=scope == "topic").partition("; ")
    if misplaced:
        raise fields.key_error(name, misplaced, remedy)
    value = as_int(fields.values[name], -1, MAX_INT)
    try:
        return setting_named(fine).parse(value * factor if value > 0 else value)
    except ValueError as wrong:
        raise fields.values[name].error(shortened(str(wrong), 160)) from None


def _owner_of_client_setting(name: str) -> str | None:
    """Return a phrase for the clients that have a setting of Kafka, or None if no client has it."""
    if name in CLIENT_SETTINGS:
        return owners(name)
    return "clients" if name in CLIENT_NOT_MODELED or name in REFUSED else None


def unknown_setting(fields: Fields, name: str) -> ScriptError:
    """Return the error for a name of a setting that Kafka does not have, or that is not a setting of brokers or topics."""
    if (owner := _owner_of_client_setting(name)) is not None:
        return fields.key_error(name, f"{name} is a setting of {owner}", "write it in the 'config' of an act, or under 'cluster.clients'")
    if name in TOPIC_NOT_MODELED:
        return fields.key_error(name, f"{name} is a setting of topics", "write it in the 'config' of a topic")
    known = [*SETTINGS, *COARSER, *NOT_MODELED]
    return fields.key_error(
        name, f"unknown setting '{shortened(name)}'", did_you_mean(name, known, "see Kafka's documentation for the names")
    )


def _read_setting(fields: Fields, name: str, scope: str) -> Value:
    if name not in SETTINGS:
        raise unknown_setting(fields, name)
    setting = setting_named(name)
    misplaced, _, remedy = setting.scope_error(broker=scope == "broker", topic=scope == "topic").partition("; ")
    if misplaced:
        raise fields.key_error(name, misplaced, "set it under 'cluster.settings'" if setting.scope == "controller" else remedy)
    text = as_setting(fields.values[name], setting)
    try:
        return setting.parse(text)
    except ValueError as wrong:
        raise fields.values[name].error(shortened(str(wrong), 160)) from None


def _read_topic(topics: Fields, name: str) -> TopicSpec:
    node = topics.values[name]
    check_topic_name(topics.key_node(name), name)
    if isinstance(node, Text) and node.empty:
        return TopicSpec(name)
    fields = as_fields(node, "write its partitions and replicas, for example {partitions: 1, replication-factor: 3}")
    with node.document.together():
        fields.only("partitions", "replication-factor", "replicas", "config", "topic-id")
        return _read_topic_fields(fields, name)


def _read_topic_fields(fields: Fields, name: str) -> TopicSpec:
    partitions, replicas = fields.get("partitions"), fields.get("replicas")
    factor = fields.read("replication-factor", lambda one: as_int(one, 1, MAX_BROKERS), None)
    imported = isinstance(partitions, Items)
    config = fields.read("config", lambda one: read_topic_config(one, lenient=imported), ())
    topic_id = fields.read("topic-id", as_text, "")
    assignment: tuple[PartitionSpec, ...] = ()
    if imported:
        placed = fields.read("partitions", lambda one: each(one, "write the partitions", read_partition), None)
        if placed is None:
            return TopicSpec(name)
        assignment = placed
    if replicas is not None:
        if imported:
            raise replicas.error("'partitions' already contains the replicas", "omit 'partitions' or 'replicas'")
        hint = "write the replicas of each partition, for example [[1, 2, 3], [2, 3, 1]]"
        assignment = tuple(PartitionSpec(placed) for placed in each(replicas, hint, as_brokers))
    count = 1 if imported else fields.read("partitions", lambda one: as_int(one, 1, MAX_PARTITIONS), 1)
    if assignment and partitions is not None and not imported and count != len(assignment):
        raise fields.values["partitions"].error(
            f"the topic has {count} partitions, but 'replicas' places {len(assignment)}", "omit 'partitions'"
        )
    if (imported or replicas is not None) and not assignment:
        raise fields.error("the topic has no partitions", "a topic needs at least one partition")
    if assignment:
        count = len(assignment)
        placed_factor = len(assignment[0].replicas)
        if factor is not None and replicas is not None and factor != placed_factor:
            raise fields.values["replication-factor"].error(
                f"the replication factor is {factor}, but 'replicas' has {placed_factor}", "omit 'replication-factor'"
            )
        factor = placed_factor if factor is None else factor
    return TopicSpec(
        name=name,
        partitions=count,
        replication_factor=3 if factor is None else factor,
        assignment=assignment,
        config=config,
        topic_id=topic_id,
    )


def read_topic_config(node: Node, lenient: bool = False) -> tuple[tuple[str, str], ...]:
    """Read a topic's own settings, and keep their values as written.

    If `lenient` is true, settings with unknown names are also kept, because imported clusters can contain them.
    """
    fields = as_fields(node, "write Kafka's names and their values, for example {min.insync.replicas: 2}")
    with node.document.together():
        read = [(name, fields.tried(partial(_read_config, name=name, lenient=lenient), None)) for name in fields.values]
    return tuple((name, value) for name, value in read if value is not None)


def _read_config(fields: Fields, name: str, lenient: bool) -> str:
    value = fields.values[name]
    if isinstance(value, (Fields, Items)):
        raise value.error(f"expected a single value, not {value.what()}", "write a single value for the setting")
    if name in TOPIC_SETTINGS:
        return render_value(_read_setting(fields, name, "topic"))
    if name in TOPIC_NOT_MODELED:
        fields.warn(name, not_modeled(name))
    elif name in SETTINGS or name in NOT_MODELED or name in COARSER:
        raise fields.key_error(name, f"{name} is not a topic setting", "set it under 'cluster.settings'")
    if name not in KAFKA_TOPIC_CONFIGS and not lenient:
        if (owner := _owner_of_client_setting(name)) is not None:
            remedy = "write it in the 'config' of an act, or under 'cluster.clients'"
            raise fields.key_error(name, f"{name} is a setting of {owner}, not of topics", remedy)
        remedy = did_you_mean(name, sorted(KAFKA_TOPIC_CONFIGS), "see Kafka's documentation for the names")
        raise fields.key_error(name, f"unknown topic setting '{shortened(name)}'", remedy)
    assert isinstance(value, Text)
    return value.text


def _read_network(node: Node, zones: tuple[ZoneSpec, ...]) -> NetworkSpec:
    fields = as_fields(node, "for example {latency: 500us, jitter: 100us, loss: 0.1%}")
    default = DEFAULTS.network
    with node.document.together():
        fields.only("latency", "jitter", "loss", "duplicate", "reorder", "between-zones", "bandwidth")
        return NetworkSpec(
            latency=fields.read("latency", as_duration, default.latency),
            jitter=fields.read("jitter", as_duration, default.jitter),
            loss_ppm=fields.read("loss", as_loss, default.loss_ppm),
            duplicate_ppm=fields.read("duplicate", as_ppm, default.duplicate_ppm),
            reorder_ppm=fields.read("reorder", as_ppm, default.reorder_ppm),
            bandwidth=fields.read("bandwidth", as_rate, 0),
            between_zones=fields.read("between-zones", lambda one: read_between_zones(one, zones), ()),
        )


def _check_placement(cluster: Fields, spec: ClusterSpec, recorded: bool) -> None:
    """Reject an impossible replica, ISR member, or leader. The error points to the value."""
    known = {broker.id for broker in spec.brokers}
    up = None if recorded else {broker.id for broker in spec.brokers if broker.up}
    topics = cluster.values.get("topics")
    for topic in spec.topics:
        assert isinstance(topics, Fields)
        fields = topics.values[topic.name]
        if not isinstance(fields, Fields):
            continue
        placed = fields.values.get("replicas") or fields.values.get("partitions")
        for number, partition in enumerate(topic.assignment):
            assert isinstance(placed, Items)
            placed.nodes[number].tried(partial(_check_partition, partition=partition, known=known, up=up), None)


def _check_partition(node: Node, partition: PartitionSpec, known: set[int], up: set[int] | None) -> None:
    if not partition.replicas:
        raise node.error("there are no replicas", "a partition needs at least one replica")
    if len(set(partition.replicas)) < len(partition.replicas):
        raise node.error("a broker appears twice among the replicas", "each replica needs a different broker")
    for replica in partition.replicas:
        if replica not in known:
            raise node.error(f"broker {replica} is not in the cluster", f"the brokers are {_some(known)}")
    for member in partition.isr or ():
        if member not in partition.replicas:
            raise node.error(f"broker {member} is in the ISR but not among the replicas", "the ISR must be a subset of the replicas")
    leader = partition.leader
    if leader is not None and leader != NO_LEADER and leader not in partition.replicas:
        raise node.error(f"the leader, broker {leader}, is not among the replicas", "the leader must be one of the replicas, or 'none'")
    if up is not None:
        try:
            partition.check_registration("the partition", up)
        except ValueError as wrong:
            raise node.error(str(wrong)) from None


def _some(ids: set[int]) -> str:
    listed = sorted(ids)
    return ", ".join(map(str, listed)) if len(listed) <= 12 else ", ".join(map(str, listed[:12])) + " …"


# --- writing -------------------------------------------------------------------------------------------------------


class _Flow(dict[str, Any]):
    """A mapping that is written on one line."""


class _FlowList(list[Any]):
    """A list that is written on one line."""


def cluster_as_data(spec: ClusterSpec) -> dict[str, Any]:
    """Return a spec as a plain mapping, as it appears in scripts and in the headers of logs."""
    data: dict[str, Any] = {"brokers": _FlowList(_broker_as_data(broker) for broker in spec.brokers)}
    if spec.topics:
        data["topics"] = {topic.name: _topic_as_data(topic) for topic in spec.topics}
    if spec.settings:
        data["settings"] = {name: render_value(value) for name, value in spec.settings}
    network = spec.network
    data["network"] = _Flow(
        latency=write_duration(network.latency), jitter=write_duration(network.jitter), loss=write_ppm(network.loss_ppm)
    )
    for word, ppm in (("duplicate", network.duplicate_ppm), ("reorder", network.reorder_ppm)):
        if ppm:
            data["network"][word] = write_ppm(ppm)
    if network.bandwidth:
        data["network"]["bandwidth"] = write_rate(network.bandwidth)
    if network.between_zones:
        data["network"]["between-zones"] = latencies_as_data(network.between_zones, _Flow)
    data["pace"] = str(spec.pace)
    data["startup"] = write_duration(spec.startup)
    data["recovery"] = write_duration(spec.recovery)
    if spec.disk_speed != DEFAULTS.disk_speed:
        data["disk-speed"] = spec.disk_speed
    if spec.controllers:
        data["controllers"] = _FlowList(spec.controllers)
    if spec.control_plane is not DEFAULTS.control_plane:
        data["control-plane"] = str(spec.control_plane)
    if spec.features:
        data["features"] = _Flow(spec.features)
    if spec.controller:
        data["controller"] = spec.controller
    if spec.clients:
        data["clients"] = _Flow(spec.clients)
    if spec.zones:
        data["zones"] = zones_as_data(spec.zones, _Flow, _FlowList)
    if spec.groups:
        data["groups"] = groups_as_data(spec.groups, _Flow)
    return data


def _broker_as_data(broker: BrokerSpec) -> int | dict[str, Any]:
    if broker.rack is None and broker.up and not broker.settings and broker.log_dirs == 1:
        return broker.id
    data: dict[str, Any] = _Flow(id=broker.id)
    if broker.rack is not None:
        data["rack"] = broker.rack
    if not broker.up:
        data["up"] = False
    if broker.log_dirs != 1:
        data["log-dirs"] = broker.log_dirs
    if broker.settings:
        data["settings"] = _Flow((name, render_value(value)) for name, value in broker.settings)
    return data


def _topic_as_data(topic: TopicSpec) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if topic.assignment:
        data["partitions"] = [partition_as_data(partition, _Flow, _FlowList) for partition in topic.assignment]
        if topic.replication_factor != len(topic.assignment[0].replicas):
            data["replication-factor"] = topic.replication_factor
    else:
        data["partitions"] = topic.partitions
        data["replication-factor"] = topic.replication_factor
    if topic.config:
        data["config"] = _Flow(topic.config)
    if topic.topic_id:
        data["topic-id"] = topic.topic_id
    return data


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes short lists and mappings on one line, as people do in scripts."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent the items of a list below its key."""
        super().increase_indent(flow, False)


_Dumper.add_representer(_Flow, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=True))
_Dumper.add_representer(_FlowList, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True))


def write_yaml(data: dict[str, Any]) -> str:
    """Return a mapping as the YAML of a script.

    If the mapping contains characters that hide or move other characters, the result is ASCII with YAML's escapes.
    """
    text = _dump(data, allow_unicode=True)
    return text if text == escape_text(text) else _dump(data, allow_unicode=False)


def _dump(data: dict[str, Any], *, allow_unicode: bool) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode, width=140, default_flow_style=False)


def write_cluster(spec: ClusterSpec) -> str:
    """Return a spec as a script that contains only a cluster, as `isrlab import` writes it."""
    return write_yaml({"cluster": cluster_as_data(spec)})


def cluster_from_data(data: object, source: str) -> ClusterSpec:
    """Read the spec from the `cluster` mapping in the header of a log.

    Raises:
        ScriptError: the mapping is not a valid cluster.
    """
    root = from_data({"cluster": data}, source)
    with gc_disabled():
        return read_cluster(root.values["cluster"], recorded=True)
