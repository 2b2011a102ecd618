"""Builds a cluster from the output of `kafka-topics --describe`, in the state that the output shows.

Kafka's output does not say which brokers are alive. A broker is certainly alive if it leads a partition or is in the ISR of a partition
that has a leader. A broker that is in no ISR is assumed to be alive if a reassignment is adding all its replicas or all its replicas are
observers, because such replicas belong outside the ISR. If the `Offline` column of Confluent Server is present, every replica that it does
not list is on a live broker. The ISR of a partition without a leader proves nothing: the controller keeps the last member in the ISR after
its broker has failed, and would have elected it if the broker were alive (`ReplicationControlManager`,
`KafkaController#doRemoveReplicasFromIsr`). A note reports each fact that this module inferred, and each part of the imported output that
the cluster cannot reproduce.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn

from core.kafka.ids import NO_LEADER
from core.kafka.settings.registry import TOPIC_SETTINGS
from core.kafka.settings.setting import Value
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec, Pace
from scenarios.describe.described import DescribedPartition, DescribedTopic, DescribeError, DescribeImport
from scenarios.describe.parse import missing_partitions

_NAMED: Final = 8
"""The maximum number of partitions that a note lists. For the remaining partitions, the note gives only their count."""

_MOST_PLACED: Final = 100_000
"""The maximum number of partitions of a topic that can be placed on brokers if the imported output does not show their placement."""

_NETWORK: Final = NetworkSpec()


def to_cluster_spec(
    imported: DescribeImport,
    *,
    brokers: tuple[BrokerSpec, ...] | None = None,
    settings: tuple[tuple[str, Value], ...] = (),
    network: NetworkSpec = _NETWORK,
    pace: Pace = Pace.TIMELINE,
) -> tuple[ClusterSpec, tuple[str, ...]]:
    """Return a cluster in the state that the imported output shows, with notes about the inferred facts and the omitted parts of the
    output.

    Args:
        imported: the result of `parse_describe`; its notes are not repeated in the returned notes.
        brokers: the brokers, if they are known, with every broker that has a replica. Otherwise, the cluster has one broker, without a rack,
            for each broker ID in the imported output.
        settings, network, pace: the settings, the network model, and the pace of the cluster.

    Raises:
        DescribeError: a topic has rows for only some of its partitions, or a topic without rows cannot be placed on the brokers in the
            imported output.
    """
    rows = [row for topic in imported.topics for row in topic.rows]
    up = living(rows) if brokers is None else frozenset(broker.id for broker in brokers if broker.up)
    mentioned = sorted({broker for row in rows for broker in row.replicas} if brokers is None else {broker.id for broker in brokers})
    if not mentioned:
        _refuse(imported, "the imported output does not name any broker", "give partition rows, with Replicas and Isr")
    topics = tuple(_topic_spec(topic, imported, mentioned) for topic in imported.topics)
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(broker, up=broker in up) for broker in mentioned) if brokers is None else brokers,
        topics=topics,
        settings=settings,
        network=network,
        pace=pace,
    )
    try:
        spec.check()
    except ValueError as problem:
        _refuse(imported, str(problem), "use the output as kafka-topics printed it")
    inferred = _broker_notes(rows, mentioned, up) if brokers is None else ()
    return spec, (*inferred, *_partition_notes(rows, up), *_topic_notes(imported.topics))


def living(rows: Iterable[DescribedPartition]) -> frozenset[int]:
    """Return two sets of brokers: those that the rows show to be alive, and those that are assumed to be alive."""
    proved: set[int] = set()
    at_home: set[int] = set()
    missing: set[int] = set()
    for row in rows:
        isr = set(row.isr)
        if row.has_leader:
            proved |= isr
        outside = {*row.replicas} - isr
        if row.offline is not None:
            proved |= outside - {*row.offline}
        apart = outside & {*row.adding, *row.observers} - {*(row.offline or ())}
        at_home |= apart
        missing |= outside - apart
    return frozenset(proved | (at_home - missing))


def _topic_spec(topic: DescribedTopic, imported: DescribeImport, brokers: list[int]) -> TopicSpec:
    if not topic.rows:
        if topic.partitions > _MOST_PLACED:
            _refuse(
                imported,
                f"topic {topic.name} has {topic.partitions} partitions, but no partition rows",
                f"give the partition rows of the topic; without them, at most {_MOST_PLACED} partitions can be placed",
            )
        if topic.replication_factor > len(brokers):
            _refuse(
                imported,
                f"topic {topic.name} has no partition rows, and needs {topic.replication_factor} brokers for its replicas, "
                f"but the imported output "
                f"names {len(brokers)}",
                "give the partition rows of the topic, or omit its summary line",
            )
        return TopicSpec(topic.name, topic.partitions, topic.replication_factor, config=topic.config, topic_id=topic.topic_id)
    count = topic.rows[-1].partition + 1
    if len(topic.rows) != count and not topic.headed:
        _refuse(
            imported,
            f"topic {topic.name} has rows up to partition {count - 1}, but none for {missing_partitions(topic.rows, count)}",
            "filters omit healthy partitions: use the output without a filter",
        )
    if count - len(topic.rows) > _MOST_PLACED:
        _refuse(
            imported,
            f"topic {topic.name} has {len(topic.rows)} rows up to partition {count - 1}",
            f"give more rows; at most {_MOST_PLACED} partitions without a row can be placed",
        )
    given = {row.partition: row for row in topic.rows}
    return TopicSpec(
        name=topic.name,
        partitions=count,
        replication_factor=topic.replication_factor,
        assignment=tuple(
            _placed(brokers, topic.replication_factor, number) if (row := given.get(number)) is None else _as_described(row)
            for number in range(count)
        ),
        config=topic.config,
        topic_id=topic.topic_id,
    )


def _as_described(row: DescribedPartition) -> PartitionSpec:
    return PartitionSpec(row.replicas, row.isr, row.leader if row.has_leader else NO_LEADER, row.elr or (), row.last_known_elr or ())


def _placed(brokers: list[int], factor: int, number: int) -> PartitionSpec:
    """Return the placement of a partition that the imported output omits.

    The replicas are on successive brokers, and the replicas on running brokers are in sync.
    """
    return PartitionSpec(tuple(brokers[(number + place) % len(brokers)] for place in range(min(factor, len(brokers)))))


def _broker_notes(rows: list[DescribedPartition], mentioned: list[int], up: frozenset[int]) -> Iterable[str]:
    in_some_isr = {broker for row in rows for broker in row.isr}
    added = {broker for row in rows for broker in row.adding}
    observing = {broker for row in rows for broker in row.observers}
    offline = {broker for row in rows for broker in row.offline or ()}
    for broker in mentioned:
        if broker in up:
            if broker in in_some_isr:
                continue
            if broker in added:
                yield f"broker {broker} is up at the start although it is in no Isr: a reassignment is adding it, so it can be healthy"
            elif broker in observing:
                yield f"broker {broker} is up at the start although it is in no Isr: it is an observer; the laboratory has no observers, so this broker joins the Isr when it catches up"
        elif broker in offline:
            yield f"broker {broker} is down at the start: its replicas are Offline"
        elif broker in in_some_isr:
            yield f"broker {broker} is down at the start: it leads no partition, and is in the Isr only of partitions without a leader"
        else:
            yield f"broker {broker} is down at the start: it leads no partition and is in no Isr"
    if not up:
        yield "every broker is down at the start, so no partition has a leader; start brokers to see which partitions recover"


def _partition_notes(rows: list[DescribedPartition], up: frozenset[int]) -> Iterable[str]:
    no_clean: list[DescribedPartition] = []
    from_elr: list[DescribedPartition] = []
    alive_member: list[DescribedPartition] = []
    moving: list[DescribedPartition] = []
    behind: dict[int, list[DescribedPartition]] = {}
    for row in rows:
        if not row.isr:
            (from_elr if row.elr else no_clean).append(row)
        if not row.has_leader and any(broker in up for broker in row.isr):
            alive_member.append(row)
        if row.adding or row.removing:
            moving.append(row)
        isr = frozenset(row.isr)
        for broker in row.replicas:
            if broker in up and broker not in isr:
                behind.setdefault(broker, []).append(row)
    if no_clean:
        yield f"the Isr is empty, so no clean election is possible: {_names(no_clean)}"
    if from_elr:
        yield f"the Isr is empty, so only a replica in the Elr can become leader without loss: {_names(from_elr)}"
    if alive_member:
        yield f"these partitions start without a leader, as in the imported output, although a member of the Isr is up (it serves other partitions): {_names(alive_member)}"
    for broker in sorted(behind):
        yield f"broker {broker} is up but outside the Isr, so its replica starts behind: {_names(behind[broker])}"
    if moving:
        yield f"a reassignment in progress is not imported; replicas stay as listed: {_names(moving)}"


def _topic_notes(topics: Iterable[DescribedTopic]) -> Iterable[str]:
    inert: dict[str, None] = {}
    for topic in topics:
        count = topic.rows[-1].partition + 1 if topic.rows else 0
        if len(topic.rows) < count:
            yield (
                f"topic {topic.name}: the imported output lacks {missing_partitions(topic.rows, count)}; "
                f"the replicas of these partitions are placed on the brokers in turn, and are in sync on running brokers"
            )
        if topic.headed and 0 < count < topic.partitions:
            yield (
                f"topic {topic.name} starts with {count} of its {topic.partitions} partitions: "
                f"the imported output has no rows for the others"
            )
        inert.update((name, None) for name, _ in topic.config if name not in TOPIC_SETTINGS)
        if not topic.rows:
            yield (
                f"topic {topic.name} has no rows in the imported output: "
                f"its {topic.partitions} partitions are placed like those of a new topic"
            )
        if topic.marked_for_deletion or any(row.marked_for_deletion for row in topic.rows):
            yield f"topic {topic.name} is marked for deletion; it starts like any other topic"
    if inert:
        yield f"settings that are shown but have no effect in the laboratory: {_some(list(inert), len(inert))}"


def _names(rows: list[DescribedPartition]) -> str:
    return _some([f"{row.topic}-{row.partition}" for row in rows[:_NAMED]], len(rows))


def _some(names: list[str], count: int) -> str:
    shown = names[:_NAMED]
    return ", ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "")


def _refuse(imported: DescribeImport, what: str, right: str) -> NoReturn:
    raise DescribeError(f"{imported.source}: {what}; {right}")
