"""Makes a cluster of what a `kafka-topics --describe` text says, in the state the text shows.

The text does not say which brokers live. One that leads a partition, or is in the ISR of a partition that has a leader,
does. The ISR of a leaderless partition proves nothing: the controller keeps its last member there after that has died, and
would have elected it had it lived (`ReplicationControlManager`, `KafkaController#doRemoveReplicasFromIsr`). Every
conclusion and everything a cluster cannot take over is said in a note.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn

from core.ids import NO_LEADER
from core.settings import TOPIC_SETTINGS, Value
from core.spec import BrokerSpec, ClusterSpec, NetworkSpec, Pace, PartitionSpec, TopicSpec
from scenarios.describe.described import DescribedPartition, DescribedTopic, DescribeError, DescribeImport

_NAMED: Final = 8
"""How many partitions a note names before it counts the rest."""

_MOST_PLACED: Final = 100_000
"""Partitions of a topic whose placement the text does not show."""

_NETWORK: Final = NetworkSpec()


def to_cluster_spec(
    imported: DescribeImport,
    *,
    settings: tuple[tuple[str, Value], ...] = (),
    network: NetworkSpec = _NETWORK,
    pace: Pace = Pace.TIMELINE,
) -> tuple[ClusterSpec, tuple[str, ...]]:
    """A cluster that starts as the text shows it, and notes on what was concluded or left out.

    Brokers are all ids that the text mentions, without racks.

    Args:
        imported: what `parse_describe` read; its own notes are not repeated.
        settings, network, pace: taken over as they are.

    Raises:
        DescribeError: a topic's rows leave partitions out, or a topic without rows cannot be placed on the brokers named.
    """
    rows = [row for topic in imported.topics for row in topic.rows]
    up = _proved_up(rows)
    mentioned = sorted({broker for row in rows for broker in row.replicas})
    if not mentioned:
        _refuse(imported, "the text names no broker", "give partition rows, with Replicas and Isr")
    topics = tuple(_topic_spec(topic, imported, len(mentioned)) for topic in imported.topics)
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(broker, up=broker in up) for broker in mentioned),
        topics=topics,
        settings=settings,
        network=network,
        pace=pace,
    )
    try:
        spec.check()
    except ValueError as problem:
        _refuse(imported, str(problem), "give the text as kafka-topics printed it")
    return spec, (*_broker_notes(rows, mentioned, up), *_partition_notes(rows, up), *_topic_notes(imported.topics))


def _proved_up(rows: Iterable[DescribedPartition]) -> frozenset[int]:
    """Brokers that must live for the rows to be true: leaders, and ISR members of partitions that are led."""
    return frozenset(broker for row in rows if row.has_leader for broker in row.isr)


def _topic_spec(topic: DescribedTopic, imported: DescribeImport, brokers: int) -> TopicSpec:
    if not topic.rows:
        if topic.partitions > _MOST_PLACED:
            _refuse(
                imported,
                f"topic {topic.name} has no rows and {topic.partitions} partitions",
                f"give its partition rows; without them at most {_MOST_PLACED} partitions are placed",
            )
        if topic.replication_factor > brokers:
            _refuse(
                imported,
                f"topic {topic.name} has no rows and needs {topic.replication_factor} brokers to be placed, the text names {brokers}",
                "give its partition rows, or leave its headline out",
            )
        return TopicSpec(topic.name, topic.partitions, topic.replication_factor, config=topic.config, topic_id=topic.topic_id)
    if len(topic.rows) != topic.rows[-1].partition + 1:
        _refuse(
            imported,
            f"topic {topic.name} has rows up to partition {topic.rows[-1].partition}, but none for {_missing(topic)}",
            "a filter leaves healthy partitions out: give the output without one",
        )
    return TopicSpec(
        name=topic.name,
        partitions=len(topic.rows),
        replication_factor=topic.replication_factor,
        assignment=tuple(
            PartitionSpec(row.replicas, row.isr, row.leader if row.has_leader else NO_LEADER, row.elr or (), row.last_known_elr or ())
            for row in topic.rows
        ),
        config=topic.config,
        topic_id=topic.topic_id,
    )


def _missing(topic: DescribedTopic) -> str:
    """The partitions that the rows leave out, as a note names them."""
    missing: list[str] = []
    expected = 0
    for row in topic.rows:
        missing.extend(str(number) for number in range(expected, min(row.partition, expected + _NAMED)))
        expected = row.partition + 1
        if len(missing) >= _NAMED:
            break
    return _some(missing[:_NAMED], topic.rows[-1].partition + 1 - len(topic.rows))


def _broker_notes(rows: list[DescribedPartition], mentioned: list[int], up: frozenset[int]) -> Iterable[str]:
    in_some_isr = {broker for row in rows for broker in row.isr}
    for broker in mentioned:
        if broker in up:
            continue
        if broker in in_some_isr:
            yield f"broker {broker} starts down: it leads nothing and is in the Isr of leaderless partitions only"
        else:
            yield f"broker {broker} starts down: it leads nothing and is in no Isr"
    if not up:
        yield "every broker starts down: no partition has a leader; start brokers to see what comes back"


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
        yield f"empty Isr, so no clean election is possible: {_names(no_clean)}"
    if from_elr:
        yield f"empty Isr, so only a replica of the Elr can lead without loss: {_names(from_elr)}"
    if alive_member:
        yield f"no leader although a member of the Isr lives (it serves other partitions); starts without one, as the text says: {_names(alive_member)}"
    for broker in sorted(behind):
        yield f"broker {broker} lives but is outside the Isr, its replica starts behind: {_names(behind[broker])}"
    if moving:
        yield f"a reassignment is in progress and is not taken over; replicas stay as listed: {_names(moving)}"


def _topic_notes(topics: Iterable[DescribedTopic]) -> Iterable[str]:
    inert: dict[str, None] = {}
    for topic in topics:
        inert.update((name, None) for name, _ in topic.config if name not in TOPIC_SETTINGS)
        if not topic.rows:
            yield f"topic {topic.name} has no rows in the text: its {topic.partitions} partitions are placed as Kafka places a new topic"
        if topic.marked_for_deletion or any(row.marked_for_deletion for row in topic.rows):
            yield f"topic {topic.name} is marked for deletion; it starts as any other topic"
    if inert:
        yield f"settings that are shown but change nothing in the laboratory: {_some(list(inert), len(inert))}"


def _names(rows: list[DescribedPartition]) -> str:
    return _some([f"{row.topic}-{row.partition}" for row in rows[:_NAMED]], len(rows))


def _some(names: list[str], count: int) -> str:
    shown = names[:_NAMED]
    return ", ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "")


def _refuse(imported: DescribeImport, what: str, right: str) -> NoReturn:
    raise DescribeError(f"{imported.source}: {what}; {right}")
