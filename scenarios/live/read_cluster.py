"""Reads a whole cluster: brokers, topics, settings, offsets of every replica, groups, and transactions."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

import attrs

from core.kafka.ids import NO_LEADER
from core.kafka.transaction.transaction_log import java_hash
from core.lab.spec import MAX_BROKERS, MAX_PARTITIONS
from scenarios.describe.java_hash_table import hash_order
from scenarios.live.broker_release import release_of
from scenarios.live.facts import LiveBroker, LiveCluster, LivePartition, LiveTopic
from scenarios.live.network.cluster_client import ClusterClient
from scenarios.live.network.errors import BrokerError, LiveError, Refused
from scenarios.live.network.reading_apis import Api
from scenarios.live.read_groups import read_groups
from scenarios.live.read_offsets import read_offsets
from scenarios.live.read_transactions import read_transactions
from scenarios.live.unknowns import Unknowns

TOPIC_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""The names that Kafka allows (`Topic#validate`). A broker that sends another one is not believed."""

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4

DEFAULT_CONFIG: Final = 5
"""The source of a setting that has the default of the release (`ConfigSource`)."""

RESOURCES_AT_ONCE: Final = 200
"""The most topics whose settings are asked for in one request."""

PARTITIONS_AT_ONCE: Final = 2_000
"""The most partitions in an answer of DescribeTopicPartitions (max.request.partition.size.limit)."""

_MOST_PAGES: Final = 1_000

T = TypeVar("T")


@attrs.define
class Metadata:
    """What the metadata of a cluster tells.

    Attributes:
        brokers: the brokers that are registered, and not fenced.
        controller: the broker that the metadata names as the controller, or -1.
        topics: the topics by name.
    """

    brokers: dict[int, LiveBroker]
    controller: int
    topics: dict[str, LiveTopic]


def read_cluster(client: ClusterClient, *, groups: bool = True) -> LiveCluster:
    """Read a cluster.

    Args:
        client: the connections to its brokers.
        groups: whether to read groups and transactions as well.

    Raises:
        LiveError: the brokers and topics cannot be read.
    """
    unknown = Unknowns(client)
    metadata = read_metadata(client, unknown)
    brokers, topics = metadata.brokers, metadata.topics
    client.homes = {broker.id: (broker.host, broker.port) for broker in brokers.values()}
    release, why = release_of(client.versions, client.supported_features)
    kraft = client.version(Api.DESCRIBE_QUORUM) is not None
    brokers |= _fenced(client, unknown)
    alive = [broker.id for broker in brokers.values() if not broker.fenced]
    for broker in alive:
        brokers[broker] = _with_own_facts(unknown, brokers[broker])
    topics = _with_reassignments(unknown, topics, None if kraft or metadata.controller not in client.homes else metadata.controller)
    topics = _with_configs(unknown, topics)
    topics = read_offsets(client, unknown, topics, alive)
    voters, leader = _quorum(client, unknown)
    return LiveCluster(
        source=client.servers,
        release=release,
        why=why,
        brokers=dict(sorted(brokers.items())),
        topics=tuple(topics[name] for name in sorted(topics)),
        groups=read_groups(client, unknown, brokers, alive) if groups else (),
        transactions=read_transactions(client, unknown, alive) if groups else (),
        controller=metadata.controller,
        kraft=kraft,
        voters=voters,
        quorum_leader=leader,
        features=dict(client.finalized_features),
        unknown=unknown.notes(),
        requests=client.rate.sent,
    )


def read_metadata(client: ClusterClient, unknown: Unknowns) -> Metadata:
    """Read the brokers and topics: one request, or, since 3.8, one for the brokers and one for each 2,000 partitions.

    Raises:
        LiveError: they cannot be read.
    """
    try:
        metadata = _metadata(client)
    except (BrokerError, Refused) as wrong:
        raise LiveError(f"--bootstrap-server: {client.servers}: the topics cannot be read (Metadata: {wrong})") from None
    topics = _described_topics(client, unknown) or _topics_of_metadata(metadata, unknown)
    if not all(TOPIC_NAME.fullmatch(name) for name in topics):
        raise LiveError(f"--bootstrap-server: {client.servers}: the broker sends names that no topic can have")
    if sum(len(topic.partitions) for topic in topics.values()) > MAX_PARTITIONS:
        raise LiveError(f"--bootstrap-server: {client.servers}: the cluster has more than {MAX_PARTITIONS:,} partitions")
    return Metadata(_brokers(metadata), int(getattr(metadata, "controller_id", -1)), topics)


# --- brokers and topics ----------------------------------------------------------------------------------------------


def _metadata(client: ClusterClient) -> Any:
    """Return the metadata of all topics; if the cluster has DescribeTopicPartitions, only that of the brokers."""
    paged = client.version(Api.DESCRIBE_TOPIC_PARTITIONS) is not None
    return client.ask(Api.METADATA, {"topics": [] if paged else None, "allow_auto_topic_creation": False})


def _brokers(metadata: Any) -> dict[int, LiveBroker]:
    found = {
        int(each.node_id): LiveBroker(int(each.node_id), str(each.host), int(each.port), _text(each.rack))
        for each in metadata.brokers or ()
    }
    if len(found) > MAX_BROKERS:
        raise LiveError(f"the cluster has {len(found):,} brokers; isrlab runs at most {MAX_BROKERS:,}")
    return found


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _topics_of_metadata(metadata: Any, unknown: Unknowns) -> dict[str, LiveTopic]:
    """Return the topics in an answer of Metadata."""
    found = {}
    for topic in metadata.topics or ():
        name = str(topic.name)
        if unknown.code("topic", Api.METADATA, topic.error_code, name):
            continue
        partitions = {
            int(each.partition_index): LivePartition(
                leader=int(each.leader_id),
                leader_epoch=_epoch(each),
                replicas=_ids(each.replica_nodes),
                isr=_ids(each.isr_nodes),
            )
            for each in topic.partitions or ()
        }
        found[name] = LiveTopic(name, _topic_id(topic), dict(sorted(partitions.items())))
    return found


def _described_topics(client: ClusterClient, unknown: Unknowns) -> dict[str, LiveTopic]:
    """Return all topics with their ELR, page by page (DescribeTopicPartitions); none if the release does not have this API."""
    if client.version(Api.DESCRIBE_TOPIC_PARTITIONS) is None:
        return {}
    topics: dict[str, LiveTopic] = {}
    cursor: dict[str, Any] | None = None
    for _ in range(_MOST_PAGES):
        try:
            answer = client.ask(
                Api.DESCRIBE_TOPIC_PARTITIONS, {"topics": [], "response_partition_limit": PARTITIONS_AT_ONCE, "cursor": cursor}
            )
        except (BrokerError, Refused) as wrong:
            raise LiveError(f"--bootstrap-server: {client.servers}: the topics cannot be read (DescribeTopicPartitions: {wrong})") from None
        for topic in answer.topics or ():
            name = str(topic.name)
            if not unknown.code("topic", Api.DESCRIBE_TOPIC_PARTITIONS, topic.error_code, name):
                known = topics.get(name) or LiveTopic(name, _topic_id(topic), {})
                partitions = {**known.partitions, **{int(each.partition_index): _described(each) for each in topic.partitions or ()}}
                topics[name] = attrs.evolve(known, partitions=dict(sorted(partitions.items())))
        after = answer.next_cursor
        if after is None:
            break
        following = {"topic_name": str(after.topic_name), "partition_index": int(after.partition_index)}
        if following == cursor:
            break
        cursor = following
    return topics


def _described(each: Any) -> LivePartition:
    return LivePartition(
        leader=int(each.leader_id),
        leader_epoch=_epoch(each),
        replicas=_ids(each.replica_nodes),
        isr=_ids(each.isr_nodes),
        elr=None if each.eligible_leader_replicas is None else _ids(each.eligible_leader_replicas),
        last_known_elr=None if each.last_known_elr is None else _ids(each.last_known_elr),
    )


def _ids(numbers: Iterable[Any] | None) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in numbers or ()))


def _epoch(each: Any) -> int | None:
    epoch = getattr(each, "leader_epoch", -1)
    return None if epoch is None or epoch < 0 else int(epoch)


def _topic_id(topic: Any) -> str:
    """Return a topic ID as Kafka's tools print it (`Uuid#toString`)."""
    found = getattr(topic, "topic_id", None)
    if not isinstance(found, uuid.UUID) or not found.int:
        return ""
    return base64.urlsafe_b64encode(found.bytes).decode().rstrip("=")


def _fenced(client: ClusterClient, unknown: Unknowns) -> dict[int, LiveBroker]:
    """Return the fenced brokers, which the metadata does not contain (DescribeCluster, since 4.0)."""
    version = client.version(Api.DESCRIBE_CLUSTER)
    if version is None or version < 2:
        unknown.add("fenced brokers", Api.DESCRIBE_CLUSTER, "the release does not tell them")
        return {}
    answer = unknown.ask("fenced brokers", Api.DESCRIBE_CLUSTER, {"include_fenced_brokers": True, "endpoint_type": 1})
    return {
        int(each.broker_id): LiveBroker(int(each.broker_id), str(each.host), int(each.port), _text(each.rack), fenced=True)
        for each in (() if answer is None else answer.brokers or ())
        if each.is_fenced
    }


def _with_own_facts(unknown: Unknowns, broker: LiveBroker) -> LiveBroker:
    """Return a broker with its settings and the number of its log directories, which only it tells."""
    where = f"broker {broker.id}"
    resource = {"resource_type": BROKER_RESOURCE, "resource_name": str(broker.id), "configuration_keys": None}
    answer = unknown.ask("settings", Api.DESCRIBE_CONFIGS, {"resources": [resource]}, broker.id)
    settings = None
    for result in () if answer is None else answer.results or ():
        if not unknown.code("settings", Api.DESCRIBE_CONFIGS, result.error_code, where):
            settings = tuple(
                (str(each.name), str(each.value))
                for each in result.configs or ()
                if each.config_source != DEFAULT_CONFIG and not each.is_sensitive and each.value is not None
            )
    return attrs.evolve(broker, settings=settings, log_dirs=_log_dirs(unknown, broker.id))


def _log_dirs(unknown: Unknowns, broker: int) -> int | None:
    """Return the number of log directories of a broker that work. The request names no partitions, so that the answer is short."""
    where = f"broker {broker}"
    answer = unknown.ask("log directories", Api.DESCRIBE_LOG_DIRS, {"topics": []}, broker)
    if answer is None:
        return None
    working = [each for each in answer.results or () if not unknown.code("log directories", Api.DESCRIBE_LOG_DIRS, each.error_code, where)]
    return len(working) or None


# --- reassignments, settings, the quorum -----------------------------------------------------------------------------


def _with_reassignments(unknown: Unknowns, topics: dict[str, LiveTopic], controller: int | None) -> dict[str, LiveTopic]:
    """Add the replicas that reassignments add and remove. With ZooKeeper, only the controller knows them."""
    answer = unknown.ask("reassignments", Api.LIST_PARTITION_REASSIGNMENTS, {"timeout_ms": 10_000, "topics": None}, controller)
    for topic in () if answer is None else answer.topics or ():
        known = topics.get(str(topic.name))
        if known is None:
            continue
        partitions = dict(known.partitions)
        for each in topic.partitions or ():
            number = int(each.partition_index)
            if number in partitions:
                partitions[number] = attrs.evolve(
                    partitions[number], adding=_ids(each.adding_replicas), removing=_ids(each.removing_replicas)
                )
        topics[known.name] = attrs.evolve(known, partitions=partitions)
    return topics


def _with_configs(unknown: Unknowns, topics: dict[str, LiveTopic]) -> dict[str, LiveTopic]:
    """Add the settings of topics, in the order in which `kafka-topics` prints them: that of a Java hash table of all settings."""
    for some in in_parts(list(topics), RESOURCES_AT_ONCE):
        resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": name, "configuration_keys": None} for name in some]
        answer = unknown.ask("settings of topics", Api.DESCRIBE_CONFIGS, {"resources": resources})
        for result in () if answer is None else answer.results or ():
            name = str(result.resource_name)
            if name not in topics or unknown.code("settings", Api.DESCRIBE_CONFIGS, result.error_code, f"topic {name}"):
                continue
            every = {str(each.name): each for each in result.configs or ()}
            shown = [every[key] for key in hash_order(every, java_hash) if every[key].config_source != DEFAULT_CONFIG]
            topics[name] = attrs.evolve(
                topics[name], config=tuple((str(each.name), "null" if each.value is None else str(each.value)) for each in shown)
            )
    return topics


def in_parts(values: Sequence[T], size: int) -> Iterable[Sequence[T]]:
    """Return successive parts of a sequence with at most a given size."""
    return (values[start : start + size] for start in range(0, len(values), size))


def _quorum(client: ClusterClient, unknown: Unknowns) -> tuple[tuple[int, ...] | None, int]:
    """Return the voters of the metadata quorum, and its leader."""
    if client.version(Api.DESCRIBE_QUORUM) is None:
        return None, NO_LEADER
    topics = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    answer = unknown.ask("voters of the quorum", Api.DESCRIBE_QUORUM, {"topics": topics})
    for topic in () if answer is None else answer.topics or ():
        for each in topic.partitions or ():
            if not unknown.code("voters of the quorum", Api.DESCRIBE_QUORUM, each.error_code):
                return _ids(voter.replica_id for voter in each.current_voters or ()), int(each.leader_id)
    return None, NO_LEADER
