"""A cluster as its brokers described it over the network. What could not be read is None, and is listed in `LiveCluster.unknown`."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from core.kafka.ids import TopicPartition
from scenarios.groups.facts import Group


@attrs.frozen
class LiveBroker:
    """A broker that is registered.

    Attributes:
        id, host, port, rack: as the metadata has them; rack is None if the broker has none.
        fenced: whether the controller has fenced the broker. Only since 4.0 do brokers tell the fenced ones; before, they are missing.
        log_dirs: the number of log directories that work; None if it could not be read.
        settings: the settings that differ from their defaults, as (name, value); None if they could not be read.
    """

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False
    log_dirs: int | None = None
    settings: tuple[tuple[str, str], ...] | None = None


@attrs.frozen
class LivePartition:
    """A partition as the brokers describe it.

    Attributes:
        leader: the leader, or -1.
        leader_epoch: the leader epoch; None before 2.1, whose metadata does not have it.
        replicas, isr: in the order in which the broker lists them.
        elr, last_known_elr: None if the broker does not tell them.
        adding, removing: the replicas that a reassignment adds and removes.
        high_watermark, log_start: of the leader; None if the leader does not answer.
        log_ends, log_starts: the log end offset and log start offset of each replica whose broker tells them.
        epochs: (leader epoch, start offset) pairs of the leader's log, as in leader-epoch-checkpoint; None if they could not be read.
    """

    leader: int
    leader_epoch: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    high_watermark: int | None = None
    log_start: int | None = None
    log_ends: Mapping[int, int] = {}
    log_starts: Mapping[int, int] = {}
    epochs: tuple[tuple[int, int], ...] | None = None


@attrs.frozen
class LiveTopic:
    """A topic.

    Attributes:
        name: the name.
        topic_id: the ID as Kafka's tools print it; empty if the broker does not tell it.
        partitions: the partitions by number.
        config: the settings that are not defaults of the release, in the order in which Kafka's tool prints them; None if they could not be read.
    """

    name: str
    topic_id: str
    partitions: Mapping[int, LivePartition]
    config: tuple[tuple[str, str], ...] | None = None


@attrs.frozen
class LiveTransaction:
    """A transactional ID that a coordinator knows. `described` is False if only its ID, producer ID, and state could be read."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str
    described: bool = False
    producer_epoch: int = -1
    timeout_ms: int = 0
    start_ms: int = -1
    partitions: tuple[TopicPartition, ...] = ()


@attrs.frozen
class LiveProducer:
    """A producer of a partition, as a replica knows it (`ProducerState`). An epoch, sequence, or offset of -1 means that there is none."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    open_from: int


@attrs.frozen
class LiveCluster:
    """A cluster as its brokers describe it.

    Attributes:
        source: the bootstrap servers as they were given.
        release: the release, such as 3.9; why: from what it follows.
        brokers: the registered brokers by ID.
        topics: the topics in order of their names.
        groups: the consumer groups; transactions: the transactional IDs.
        controller: the broker that the metadata names as the controller, or -1. With KRaft, this is any broker.
        kraft: whether the controllers are a KRaft quorum, not brokers that ZooKeeper elects.
        voters: the voters of the metadata quorum; None without KRaft, or if the quorum could not be read.
        quorum_leader: the voter that leads the quorum, or -1.
        features: the finalized feature levels.
        unknown: a note for each kind of fact that could not be read, with the API that refused it.
        requests: the number of requests that were sent.
    """

    source: str
    release: str
    why: str
    brokers: Mapping[int, LiveBroker]
    topics: tuple[LiveTopic, ...]
    groups: tuple[Group, ...] = ()
    transactions: tuple[LiveTransaction, ...] = ()
    controller: int = -1
    kraft: bool = True
    voters: tuple[int, ...] | None = None
    quorum_leader: int = -1
    features: Mapping[str, int] = {}
    unknown: tuple[str, ...] = ()
    requests: int = 0

    def partition(self, tp: TopicPartition) -> LivePartition | None:
        """Return a partition; None if it does not exist."""
        return next((topic.partitions.get(tp.partition) for topic in self.topics if topic.name == tp.topic), None)
