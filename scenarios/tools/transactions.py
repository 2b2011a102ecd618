"""The exact output of `kafka-transactions` (`tools/TransactionsCommand`, KIP-664) at a given moment.

Times are virtual times in ms. Rows are in the order of Java's hash tables. A broker that is down or paused does not answer, so the
transactional IDs that it coordinates are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.broker.broker import Broker
from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import NO_LEADER, NO_OFFSET, TopicPartition
from core.kafka.log.producer_state import EXPIRATION_CHECK_SETTING, ActiveProducer
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, java_hash, partition_for
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.kafka.transaction.transaction_queries import (
    OpenTransaction,
    describe_transaction,
    hanging_transactions,
    list_transactions,
    open_transactions,
)
from core.lab.cluster import Cluster
from core.sim.units import US_PER_MS
from scenarios.describe.java_hash_table import hash_order, long_hash, partition_hash
from scenarios.errors import InputError, did_you_mean
from scenarios.io.escaping import escape_value

LIST_HEADER: Final = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
"""The columns of the output of `list`."""

DESCRIBE_HEADER: Final = (
    "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions",
)  # fmt: skip
"""The columns of the output of `describe`."""

PRODUCERS_HEADER: Final = (
    "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp", "CurrentTransactionStartOffset",
)  # fmt: skip
"""The columns of the output of `describe-producers`."""

HANGING_HEADER: Final = (
    "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp", "Duration(min)",
)  # fmt: skip
"""The columns of the output of `find-hanging`."""

MS_PER_MINUTE: Final = 60_000

NONE: Final = "None"
"""The text for a missing start time, duration, or start offset."""


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a table. Each cell is padded to the width of its column and is followed by a tab (`#prettyPrintTable`)."""
    texts = [tuple(header), *(tuple(escape_value(str(cell)) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["".join(cell.ljust(width) + "\t" for cell, width in zip(row, widths, strict=True)) for row in texts]


def list_lines(cluster: Cluster, longer_than_ms: int | None = None) -> list[str]:
    """Return the lines that `kafka-transactions list` prints.

    Args:
        cluster: the cluster that the tool examines.
        longer_than_ms: the option `--duration-filter`. Only transactions that began more than this many milliseconds ago are listed.
    """
    longer_than = -1 if longer_than_ms is None else longer_than_ms * US_PER_MS
    rows = [
        (each.transactional_id, broker.id, each.producer_id, each.state.value)
        for broker in hash_order(answering_brokers(cluster), lambda broker: broker.id)
        for each in _listed(broker, cluster.now, longer_than)
    ]
    return table(LIST_HEADER, rows)


def describe_lines(cluster: Cluster, transactional_id: str) -> list[str]:
    """Return the lines of `describe`.

    Raises:
        InputError: none of the brokers that answer knows the ID.
    """
    if not transactional_id:
        raise InputError("--transactional-id: the transactional ID must not be empty")
    # A broker that was cut off can still consider itself the coordinator. The newest coordinator has the highest epoch.
    newest: tuple[int, tuple[object, ...]] | None = None
    for broker in answering_brokers(cluster):
        cache = broker.transactions.states.cache_of(transactional_id)
        found = describe_transaction(broker.transactions.states, transactional_id)
        if cache is not None and found is not None and (newest is None or cache.coordinator_epoch > newest[0]):
            newest = cache.coordinator_epoch, _description(broker, found, cluster.now)
    if newest is not None:
        return table(DESCRIBE_HEADER, [newest[1]])
    raise InputError(
        f"Failed to describe transaction state of transactional-id `{transactional_id}`: {_why_unknown(cluster, transactional_id)}"
    )


def _why_unknown(cluster: Cluster, transactional_id: str) -> str:
    """Return the reason why no broker that answers knows a transactional ID."""
    known = cluster.controller.registry.partitions
    count = sum(tp.topic == TRANSACTION_STATE_TOPIC for tp in known)
    if not count:
        return "no producer has used transactions yet"
    leader = known[TopicPartition(TRANSACTION_STATE_TOPIC, partition_for(transactional_id, count))].leader
    if leader not in {broker.id for broker in answering_brokers(cluster)}:
        return "its coordinator is not available" if leader == NO_LEADER else f"its coordinator, broker {leader}, does not answer"
    ids = {
        each.transactional_id
        for broker in answering_brokers(cluster)
        for each in list_transactions(broker.transactions.states, cluster.now)
    }
    return f"the ID could not be found; {did_you_mean(transactional_id, sorted(ids))}".rstrip("; ")


def describe_producers_lines(cluster: Cluster, tp: TopicPartition, broker: int | None = None) -> list[str]:
    """Return the lines of `describe-producers`.

    Args:
        cluster: the cluster that the tool examines.
        tp: the partition whose producers are listed.
        broker: the broker whose replica is shown; None for the leader.

    Raises:
        InputError: the partition does not exist, or the broker has no replica of it or does not answer.
    """
    check_partition(cluster, tp)
    try:
        producers = active_producers(cluster, tp, broker)
    except ValueError as wrong:
        raise InputError(f"Failed to describe producers for partition {tp} on {_asked(broker)}: {wrong}") from None
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            _milliseconds(each.last_timestamp),
            NONE if each.open_from == NO_OFFSET else each.open_from,
        )
        for each in producers
    ]
    return table(PRODUCERS_HEADER, rows)


def find_hanging_lines(cluster: Cluster, partitions: Sequence[TopicPartition], broker: int | None, max_timeout_minutes: int) -> list[str]:
    """Return the lines of `find-hanging`.

    Args:
        cluster: the cluster that the tool examines.
        partitions: the partitions to search, as `partitions_to_search` returns them.
        broker: the broker whose replicas are searched; None for the leaders.
        max_timeout_minutes: the option `--max-transaction-timeout`: find only transactions that have been idle for longer than this time,
            in minutes.

    Raises:
        InputError: a replica does not answer.
    """
    idle_for = max_timeout_minutes * MS_PER_MINUTE * US_PER_MS
    candidates: list[OpenTransaction] = []
    for tp in hash_order(partitions, partition_hash):
        try:
            candidates += open_transactions(tp, active_producers(cluster, tp, broker), cluster.now, idle_for)
        except ValueError as wrong:
            raise InputError(f"Failed to describe producers for {len(partitions)} partitions on {_asked(broker)}: {wrong}") from None
    ids = dict.fromkeys(each.producer.producer_id for each in candidates)
    owners: dict[int, TransactionMetadata | None] = {
        each.producer_id: each
        for one in answering_brokers(cluster)
        for each in list_transactions(one.transactions.states, cluster.now, producer_ids=ids)
    }
    found = hanging_transactions(candidates, owners)
    by_producer = [each for producer in hash_order(ids, long_hash) for each in found if each.producer.producer_id == producer]
    return table(HANGING_HEADER, [_hanging(each, cluster.now) for each in by_producer])


def partitions_to_search(cluster: Cluster, topic: str | None, partition: int | None, broker: int | None) -> list[TopicPartition]:
    """Return the partitions that `find-hanging` searches: the partitions of one topic, or the partitions of all topics that have a replica
    on a given broker.

    The search over all topics omits internal topics, as in Kafka.

    Raises:
        InputError: the topic, the partition, or the broker does not exist.
    """
    known = cluster.controller.registry.partitions
    if broker is not None and broker not in cluster.brokers:
        raise InputError(f"--broker-id: there is no broker {broker}; {did_you_mean(str(broker), map(str, cluster.brokers))}")
    if topic is None:
        internal = (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC)
        return [tp for tp, each in known.items() if tp.topic not in internal and broker in each.replicas]
    if partition is not None:
        check_partition(cluster, TopicPartition(topic, partition))
        return [TopicPartition(topic, partition)]
    _check_topic(cluster, topic)
    return [tp for tp, each in known.items() if tp.topic == topic and (broker is None or broker in each.replicas)]


def check_partition(cluster: Cluster, tp: TopicPartition) -> None:
    """Check that a partition exists.

    Raises:
        InputError: the partition does not exist.
    """
    _check_topic(cluster, tp.topic)
    if tp not in cluster.controller.registry.partitions:
        count = sum(each.topic == tp.topic for each in cluster.controller.registry.partitions)
        raise InputError(f"--partition: topic {tp.topic} has no partition {tp.partition}; its partitions are 0 to {count - 1}")


def _check_topic(cluster: Cluster, topic: str) -> None:
    topics = {tp.topic for tp in cluster.controller.registry.partitions}
    if topic not in topics:
        raise InputError(f"--topic: there is no topic '{topic[:80]}'; {did_you_mean(topic, sorted(topics))}")


def answering_brokers(cluster: Cluster) -> list[Broker]:
    """Return the brokers that answer requests: those whose process is running."""
    return [
        each for each in cluster.brokers.values() if each.context.state is not BrokerState.STOPPED and each.address not in cluster.paused
    ]


def active_producers(cluster: Cluster, tp: TopicPartition, broker: int | None) -> list[ActiveProducer]:
    """Return the producers of a replica in the order in which a broker lists them (`Partition#activeProducerState`).

    Raises:
        ValueError: the partition has no leader, or the broker has no replica or does not answer.
    """
    if broker is None:
        broker = cluster.controller.registry.partitions[tp].leader
        if broker == NO_LEADER:
            raise ValueError(f"{tp} has no leader")
    asked = next((each for each in answering_brokers(cluster) if each.id == broker), None)
    if asked is None:
        raise ValueError(f"broker {broker} does not answer" if broker in cluster.brokers else f"there is no broker {broker}")
    partition = asked.partitions.get(tp)
    if partition is None:
        raise ValueError(f"broker {broker} has no replica of {tp}")
    producers = partition.log.producer_state()
    if producers is None:
        return []
    expiration = asked.context.settings.us(asked.context.release.producer_expiration_setting, broker=asked.id)
    check = asked.context.settings.us(EXPIRATION_CHECK_SETTING, broker=asked.id)
    return hash_order(producers.active_producers(cluster.now, expiration, check), lambda each: long_hash(each.producer_id))


def _asked(broker: int | None) -> str:
    return "leader" if broker is None else f"broker {broker}"


def _listed(broker: Broker, now: int, longer_than: int) -> list[TransactionMetadata]:
    """Return the transactional IDs of a coordinator in the order in which the coordinator lists them. The IDs are grouped by partition of
    `__transaction_state`, because each partition has its own hash table.
    """
    states = broker.transactions.states
    by_partition: dict[int, list[TransactionMetadata]] = {number: [] for number in hash_order(sorted(states.caches), int)}
    for each in list_transactions(states, now, longer_than=longer_than):
        by_partition[states.partition_for(each.transactional_id)].append(each)
    return [each for listed in by_partition.values() for each in hash_order(listed, lambda each: java_hash(each.transactional_id))]


def _description(broker: Broker, found: TransactionMetadata, now: int) -> tuple[object, ...]:
    started = found.start_time >= 0
    return (
        broker.id,
        found.transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.state.value,
        found.timeout_us // US_PER_MS,
        _milliseconds(found.start_time) if started else NONE,
        _milliseconds(now) - _milliseconds(found.start_time) if started else NONE,
        ",".join(map(str, hash_order(found.partitions, partition_hash))),
    )


def _hanging(each: OpenTransaction, now: int) -> tuple[object, ...]:
    producer = each.producer
    idle = _milliseconds(now) - _milliseconds(producer.last_timestamp)
    return (
        *each.tp,
        producer.producer_id,
        producer.producer_epoch,
        producer.coordinator_epoch,
        producer.open_from,
        _milliseconds(producer.last_timestamp),
        idle // MS_PER_MINUTE,
    )


def _milliseconds(time: int) -> int:
    """Convert a time from µs to ms. A missing time is -1 in both units."""
    return time // US_PER_MS
