"""The specification of a cluster before it runs: brokers, topics with their placement, settings, and the network.

A spec is plain data. The script loader and the describe importer produce a spec, the header of an event log contains it, and
`core.lab.cluster.Cluster` builds a cluster from it. `ClusterSpec.check` validates it.
"""

from __future__ import annotations

import enum
from typing import Final

import attrs

from core.kafka.clients.client_settings import client_setting_named
from core.kafka.features import check_feature
from core.kafka.ids import CONTROLLER, NO_EPOCH, NO_LEADER, ZOOKEEPER, TopicPartition, broker_at
from core.kafka.settings.setting import Value
from core.kafka.topic_spec import MAX_LEADER_EPOCH, MAX_OFFSET, TopicSpec, reject_duplicates
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC
from core.sim.repr_mixin import ReprMixin
from core.sim.units import SECOND, US_PER_MS

MAX_BROKER_ID: Final = 2**31 - 1
"""The largest broker ID that Kafka accepts."""

MAX_BROKERS: Final = 1_000
"""The maximum number of brokers. The largest known clusters have a few hundred brokers."""

MAX_PARTITIONS: Final = 200_000
"""The maximum number of partitions of all topics together. Kafka's developers recommended this limit for clusters with ZooKeeper."""

MAX_REPLICAS: Final = 1_000_000
"""The maximum number of replicas of all partitions together: five times `MAX_PARTITIONS`."""

MAX_CLIENTS: Final = 10_000
"""The maximum number of producers, consumers, and other clients of a script, and of the instances of a service."""

MAX_LOSS_PPM: Final = 990_000
"""The largest loss of a link, in parts per million. TCP retransmits each lost message until it arrives. To make a link lose all messages,
cut the link.
"""

MAX_LOG_DIRS: Final = 100
"""The maximum number of log directories of a broker."""


class Pace(enum.StrEnum):
    """The pace of a cluster."""

    TIMELINE = "timeline"
    """Virtual time advances automatically. Fetchers, heartbeats, and checks run automatically."""
    BY_HAND = "by-hand"
    """In by-hand mode, each fetch, each response, each fencing of a broker, and each check is a separate step. All other messages arrive
    immediately. Virtual time advances only with the act `wait`.
    """


class ControlPlane(enum.StrEnum):
    """The kind of controller of a cluster."""

    BY_RELEASE = "by-release"
    """The control plane of the release: before 3.3, a broker elected through ZooKeeper; from then on, KRaft."""
    KRAFT = "kraft"
    """KRaft with the data plane of any release, for scenarios that need a controller outside the brokers."""


@attrs.frozen(repr=False)
class BrokerSpec(ReprMixin):
    """The specification of a broker.

    Attributes:
        id: the broker ID.
        rack: broker.rack; None if the broker has no rack.
        up: whether the broker's process is running at the start.
        settings: the Kafka settings of this broker.
        log_dirs: the number of log directories.
    """

    id: int
    rack: str | None = None
    up: bool = True
    settings: tuple[tuple[str, Value], ...] = ()
    log_dirs: int = 1


@attrs.frozen(repr=False)
class ZoneSpec(ReprMixin):
    """A zone: a data center, or an availability zone of a cloud. Its nodes fail together, and are close to each other.

    Attributes:
        name: the name of the zone, which is also the rack of its brokers and consumers that have no rack of their own.
        nodes: the addresses of the brokers, dedicated controllers, and clients in the zone.
    """

    name: str
    nodes: tuple[str, ...]


@attrs.frozen(repr=False)
class NetworkSpec(ReprMixin):
    """The state of every link at the start.

    Attributes:
        latency: the one-way latency of a link, in µs.
        bandwidth: the bytes per second that each broker's network interface can send, and that it can receive; 0 for no limit.
        between_zones: the one-way latency of links between two zones, for each pair of zones with a latency of its own.
        jitter: the largest random addition to the latency, in µs.
        loss_ppm: the share of messages that are lost and then retransmitted by TCP, in parts per million.
        duplicate_ppm: the share of clients' requests that a proxy delivers twice, in parts per million.
        reorder_ppm: the share of clients' requests that a proxy delays so that later requests overtake them, in parts per million.
    """

    latency: int = 500
    jitter: int = 0
    loss_ppm: int = 0
    duplicate_ppm: int = 0
    reorder_ppm: int = 0
    between_zones: tuple[tuple[str, str, int], ...] = ()
    bandwidth: int = 0


@attrs.frozen(repr=False)
class GroupSpec(ReprMixin):
    """A consumer group that exists at the start and has no members.

    Attributes:
        name: the group ID.
        offsets: for each partition, the committed offset and the leader epoch that was committed with the offset; -1 if no leader epoch was
            committed.
    """

    name: str
    offsets: tuple[tuple[TopicPartition, int, int], ...]


@attrs.frozen(repr=False)
class ClusterSpec(ReprMixin):
    """The specification of a whole cluster.

    Attributes:
        brokers: the specifications of the brokers.
        topics: the specifications of the topics.
        zones: the zones. A node can be in no zone, but not in several.
        network: the state of every link at the start.
        settings: cluster-wide Kafka settings by name.
        pace: the pace of the cluster.
        startup: the time from a broker's start to its registration, in µs.
        recovery: the additional time for log recovery when a broker finds no clean-shutdown file, in µs.
        disk_speed: the bytes per second that one thread reads from a disk, for log recovery and for moves between log directories.
        controllers: the voters of the metadata quorum. `c1` is a dedicated controller, and `b1` is a controller in the process of broker 1.
            If the list is empty, there is a single controller, named `controller`, that never fails.
        control_plane: the control plane of the release, or KRaft.
        features: feature levels that differ from the feature levels of a new cluster (`core.kafka.features`).
        clients: default settings of producers and consumers, by Kafka name (`core.kafka.clients.client_config`).
        controller: the address of the controller that is active at the start, such as `b2` or `c2`; empty for the first running controller.
        groups: the groups that have committed offsets at the start. Groups with committed offsets need the topic `__consumer_offsets`.
    """

    brokers: tuple[BrokerSpec, ...]
    topics: tuple[TopicSpec, ...] = ()
    settings: tuple[tuple[str, Value], ...] = ()
    network: NetworkSpec = NetworkSpec()
    pace: Pace = Pace.TIMELINE
    startup: int = 2 * SECOND
    recovery: int = 1_500 * US_PER_MS
    disk_speed: int = 200_000_000
    controllers: tuple[str, ...] = ()
    control_plane: ControlPlane = ControlPlane.BY_RELEASE
    features: tuple[tuple[str, int], ...] = ()
    clients: tuple[tuple[str, str], ...] = ()
    controller: str = ""
    groups: tuple[GroupSpec, ...] = ()
    zones: tuple[ZoneSpec, ...] = ()

    def with_features(self, features: tuple[tuple[str, int], ...]) -> ClusterSpec:
        """Return the specification of the same cluster with the given feature levels added to the cluster's own levels. If a feature
        already has a level, the given level replaces it.
        """
        return attrs.evolve(self, features=tuple({**dict(self.features), **dict(features)}.items())) if features else self

    def racks(self) -> dict[int, str | None]:
        """Return the rack of each broker; None for a broker without a rack."""
        return {broker.id: broker.rack for broker in self.brokers}

    def zone_of(self, address: str) -> str | None:
        """Return the zone of a node; None if it is in no zone."""
        return next((zone.name for zone in self.zones if address in zone.nodes), None)

    def check(self) -> None:
        """Check that the spec is a valid cluster.

        Raises:
            ValueError: the spec is not valid. The error message names the broker, topic, or partition.
        """
        ids = [broker.id for broker in self.brokers]
        if not ids:
            raise ValueError("a cluster needs at least one broker")
        for broker in ids:
            if not 0 <= broker <= MAX_BROKER_ID:
                raise ValueError(f"broker ID {broker} is out of range; use 0 to {MAX_BROKER_ID}")
        reject_duplicates("broker", ids)
        for each in self.brokers:
            if not 1 <= each.log_dirs <= MAX_LOG_DIRS:
                raise ValueError(f"broker {each.id} has {each.log_dirs} log directories; use 1 to {MAX_LOG_DIRS}")
        if len(ids) > MAX_BROKERS:
            raise ValueError(f"the cluster has {len(ids):,} brokers; use at most {MAX_BROKERS:,}")
        if self.disk_speed < 1:
            raise ValueError("a disk must read at least 1 byte per second")
        reject_duplicates("topic", [topic.name for topic in self.topics])
        reject_duplicates("feature", [name for name, _ in self.features])
        for name, level in self.features:
            check_feature(name, level)
        reject_duplicates("client setting", [name for name, _ in self.clients])
        for name, value in self.clients:
            client_setting_named(name).parse(value)
        self._check_controllers(ids)
        self._check_zones(ids)
        if self.network.loss_ppm > MAX_LOSS_PPM:
            raise ValueError(f"the network loses {self.network.loss_ppm:,} messages per million; use at most {MAX_LOSS_PPM:,}")
        if self.network.bandwidth and (self.network.duplicate_ppm or self.network.reorder_ppm):
            raise ValueError("a network with a limited bandwidth has no proxies that repeat or reorder requests; omit one of them")
        reject_too_many(sum(topic.count for topic in self.topics), sum(topic.replicas for topic in self.topics))
        known = frozenset(ids)
        for topic in self.topics:
            for number, partition in enumerate(topic.assignment):
                name = f"{topic.name}-{number}"
                if not partition.replicas:
                    raise ValueError(f"{name} has no replicas")
                reject_duplicates(f"replica of {name}:", list(partition.replicas))
                for replica in partition.replicas:
                    if replica not in known:
                        raise ValueError(f"{name} has a replica on broker {replica}, which the cluster does not have")
                for member in partition.isr or ():
                    if member not in partition.replicas:
                        raise ValueError(f"{name} has broker {member} in its ISR but not among its replicas")
                partition.check_start(name)
                leader = partition.leader
                if leader is not None and leader != NO_LEADER and leader not in partition.replicas:
                    raise ValueError(f"{name} has leader {leader}, which is not among its replicas")
        if self.groups:
            self._check_groups()

    def _check_groups(self) -> None:
        reject_duplicates("group", [group.name for group in self.groups])
        topics = {topic.name: topic for topic in self.topics}
        if GROUP_METADATA_TOPIC not in topics:
            raise ValueError(f"groups keep their offsets in {GROUP_METADATA_TOPIC}; add this topic, for example with 50 partitions")
        if any(partition.logs for partition in topics[GROUP_METADATA_TOPIC].assignment):
            raise ValueError(f"{GROUP_METADATA_TOPIC} has records; omit them, or omit the groups")
        for group in self.groups:
            if not group.name:
                raise ValueError("the name of a group is empty")
            reject_duplicates(f"offset of group {group.name} for", [str(tp) for tp, _, _ in group.offsets])
            for tp, offset, epoch in group.offsets:
                if tp.topic not in topics or not 0 <= tp.partition < topics[tp.topic].count:
                    raise ValueError(f"group {group.name} has an offset for {tp}, which the cluster does not have")
                if not 0 <= offset <= MAX_OFFSET:
                    raise ValueError(f"group {group.name} has offset {offset} for {tp}; use 0 to {MAX_OFFSET}")
                if not NO_EPOCH <= epoch <= MAX_LEADER_EPOCH:
                    raise ValueError(f"group {group.name} has leader epoch {epoch} for {tp}; use 0 to {MAX_LEADER_EPOCH}")

    def _check_zones(self, brokers: list[int]) -> None:
        """Reject zones with nodes that do not exist. A node that is neither a broker nor a controller is a client, which can start later."""
        names = [zone.name for zone in self.zones]
        reject_duplicates("zone", names)
        reject_duplicates("node in the zones:", [node for zone in self.zones for node in zone.nodes])
        for zone in self.zones:
            for node in zone.nodes:
                number = node[1:] if node[:1] in ("b", "c") and node[1:].isdecimal() else ""
                if node in (CONTROLLER, ZOOKEEPER):
                    raise ValueError(f"{node} never fails, so it is in no zone; place the dedicated controllers c1, c2 … in zones")
                if number and node[0] == "b" and int(number) not in brokers:
                    raise ValueError(f"zone {zone.name} has broker {number}, which the cluster does not have")
                if number and node[0] == "c" and node not in self.controllers:
                    raise ValueError(f"zone {zone.name} has controller {node}, which the cluster does not have")
        for one, other, _ in self.network.between_zones:
            for name in (one, other):
                if name not in names:
                    raise ValueError(f"there is no zone {name}; " + (f"the zones are {', '.join(names)}" if names else "there are none"))
            if one == other:
                raise ValueError(f"the latency between zone {one} and itself is that of the network")
        reject_duplicates("latency between zones", [" and ".join(sorted(pair[:2])) for pair in self.network.between_zones])

    def _check_controllers(self, brokers: list[int]) -> None:
        reject_duplicates("controller", list(self.controllers))
        if self.controllers and self.pace is Pace.BY_HAND:
            raise ValueError("a cluster with 'pace: by-hand' has a single controller; omit 'controllers'")
        if self.controller and self.controllers and self.controller not in self.controllers:
            raise ValueError(f"controller {self.controller} is not among the voters {', '.join(self.controllers)}")
        if self.controller and not self.controllers and broker_at(self.controller) not in brokers:
            raise ValueError(
                f"controller {self.controller} is not a broker of the cluster; without KRaft, the controller is a broker, for example b2"
            )
        for name in self.controllers:
            kind, number = name[:1], name[1:]
            if kind not in ("b", "c") or not (number.isascii() and number.isdecimal()) or number != str(int(number)):
                raise ValueError(
                    f"controller {name} is not a valid name; write c1 for a dedicated controller, or b1 for one in broker 1's process"
                )
            if kind == "b" and int(number) not in brokers:
                raise ValueError(f"controller {name} runs in the process of broker {number}, which the cluster does not have")


def reject_too_many(partitions: int, replicas: int) -> None:
    """Refuse more partitions or replicas than a cluster can have.

    Raises:
        ValueError: there are too many partitions or replicas. The error message gives the number of partitions or replicas, and the
            maximum.
    """
    if partitions > MAX_PARTITIONS:
        raise ValueError(f"{partitions:,} partitions in the cluster; use at most {MAX_PARTITIONS:,}")
    if replicas > MAX_REPLICAS:
        raise ValueError(f"{replicas:,} replicas in the cluster; use at most {MAX_REPLICAS:,}")
