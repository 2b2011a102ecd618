"""Prints topics byte for byte as `kafka-topics --describe` prints them in a given release, with its filters.

Kafka source: `TopicCommand.TopicDescription#printDescription`, `TopicCommand.PartitionDescription#printDescription`, and
`TopicCommand.DescribeOptions`. If a filter is given, the summary lines are omitted. If several filters are given, a row is printed if it
matches at least one of them. `core.kafka.health` defines the filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.kafka import health
from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import Release
from core.kafka.transaction.transaction_log import java_hash
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from scenarios.describe.described import DescribedPartition, DescribedTopic, ElrColumn
from scenarios.describe.java_hash_table import partition_hash
from scenarios.describe.scala_hash_map import MAP_4, case_class_hash, old_scala_table_head
from scenarios.io.escaping import escape_value
from scenarios.releases import release_named


def render_describe(
    topics: Sequence[DescribedTopic],
    release: Release,
    *,
    under_replicated: bool = False,
    unavailable: bool = False,
    under_min_isr: bool = False,
    at_min_isr: bool = False,
    topics_with_overrides: bool = False,
    live_brokers: frozenset[int] | None = None,
) -> str:
    """Return the output of `kafka-topics --describe` in the format of a release. Each line ends with a newline.

    Args:
        topics: the topics, in the order in which they are printed; a topic that was read without a summary line is printed without one.
        release: the release whose `describe_*` columns select the format.
        under_replicated: the option `--under-replicated-partitions`.
        unavailable: the option `--unavailable-partitions`.
        under_min_isr: the option `--under-min-isr-partitions`.
        at_min_isr: the option `--at-min-isr-partitions`.
        topics_with_overrides: the option `--topics-with-overrides`, which prints only the summary lines of topics with their own settings; not
            valid together with filters.
        live_brokers: the brokers that the tool sees, or None if they are not known; a partition whose leader is not in this set is
            unavailable.

    Raises:
        ValueError: two options cannot be combined, or a filter needs `min.insync.replicas` and its value is not a number.
    """
    filtered = under_replicated or unavailable or under_min_isr or at_min_isr
    if topics_with_overrides and filtered:
        asked = {"under-replicated": under_replicated, "unavailable": unavailable, "under-min-isr": under_min_isr, "at-min-isr": at_min_isr}
        other = next(name for name, chosen in asked.items() if chosen)
        raise ValueError(f'Option "[topics-with-overrides]" can\'t be used with option "[{other}-partitions]"')
    lines: list[str] = []
    for each in topics:
        if not filtered:
            if each.headed and (each.config or not topics_with_overrides):
                lines.append(headline(each, release))
            if not topics_with_overrides:
                lines.extend(partition_row(row, release) for row in each.rows)
            continue
        min_isr = health.described_min_isr(each.config, release) if under_min_isr or at_min_isr else 0
        for row in each.rows:
            if (
                (
                    under_replicated
                    and health.described_under_replicated(row, release, sum(broker not in row.isr for broker in row.observers))
                )
                or (unavailable and health.described_unavailable(row, live_brokers))
                or (under_min_isr and health.described_under_min_isr(row, min_isr))
                or (at_min_isr and health.described_at_min_isr(row, min_isr))
            ):
                lines.append(partition_row(row, release))
    return "".join(line + "\n" for line in lines)


def headline(topic: DescribedTopic, release: Release) -> str:
    """Return the first line of a topic, without its newline."""
    space = " " if release.describe_spaced else ""
    columns = [f"Topic:{space}{escape_value(topic.name)}"]
    if release.describe_topic_id and topic.topic_id:
        columns.append(f"TopicId:{space}{escape_value(topic.topic_id)}")
    columns.append(f"PartitionCount:{space}{topic.partitions}")
    columns.append(f"ReplicationFactor:{space}{topic.replication_factor}")
    columns.append(f"Configs:{space}" + escape_value(",".join(f"{name}={value}" for name, value in topic.config)))
    if topic.marked_for_deletion:
        columns.append(f"MarkedForDeletion:{space}true")
    return "\t".join(columns)


def partition_row(row: DescribedPartition, release: Release) -> str:
    """Return the line of a partition, without its newline."""
    text = (
        f"\tTopic: {escape_value(row.topic)}\tPartition: {row.partition}"
        f"\tLeader: {row.leader if row.has_leader else release.describe_no_leader}"
        f"\tReplicas: {_ids(row.replicas)}\tIsr: {_ids(row.isr)}"
    )
    if release.describe_reassignment and (row.adding or row.removing):
        text += f"\tAdding Replicas: {_ids(row.adding)}\tRemoving Replicas: {_ids(row.removing)}"
    if release.describe_elr:
        text += f"\tElr: {_ids_or_na(row.elr)}\tLastKnownElr: {_ids_or_na(row.last_known_elr)}"
    if row.marked_for_deletion:
        text += "\tMarkedForDeletion: true"
    return text


def from_view(view: ClusterView, told: Mapping[TopicPartition, PartitionRegistration] | None = None) -> tuple[DescribedTopic, ...]:
    """Return the topics of a running cluster, with the information that `kafka-topics --describe` receives.

    Args:
        view: the cluster. Its leaders and ISRs are those of the controller or of ZooKeeper.
        told: the states of partitions in the metadata of the broker that the tool asks, if they can differ (`states_in_metadata_cache`).
    """
    release = release_named(view.release)
    rows: dict[str, list[DescribedPartition]] = {topic.name: [] for topic in view.topics}
    for partition in view.partitions:
        rows[partition.tp.topic].append(_row_of(partition, None if told is None else told.get(partition.tp)))
    described = []
    for topic in view.topics:
        own = sorted(rows[topic.name], key=lambda row: row.partition)
        described.append(
            DescribedTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=len(own) or topic.partitions,
                replication_factor=_replication_factor(own, release) if own else topic.replication_factor,
                config=topic.config,
                rows=tuple(own),
            )
        )
    return tuple(described)


def _replication_factor(rows: Sequence[DescribedPartition], release: Release) -> int:
    """Return the replication factor of a topic, which the tool takes from the first partition or, before 2.2, from the head of a map.

    The partitions of a topic differ only after a reassignment. The controller then wrote the topic's znode in the order of its own table,
    and the tool reads the partitions into an immutable map, which keeps this order if there are at most four of them. Otherwise, its head
    is partition 0, whose hash is 0.
    """
    first = rows[0]
    if not release.describe_asks_brokers and len(rows) <= MAP_4:
        first = old_scala_table_head(rows, lambda row: _hash_of(row, release))
    return health.described_replication_factor(first, release)


def _hash_of(row: DescribedPartition, release: Release) -> int:
    """Return the hash of a partition in the controller's table."""
    if release.describe_hashes_case_class:
        return case_class_hash(java_hash(row.topic), row.partition)
    return partition_hash(TopicPartition(row.topic, row.partition))


def _row_of(partition: PartitionView, told: PartitionRegistration | None) -> DescribedPartition:
    shown = partition if told is None else told
    return DescribedPartition(
        topic=partition.tp.topic,
        partition=partition.tp.partition,
        leader=shown.leader,
        replicas=shown.replicas,
        isr=shown.isr,
        elr=partition.elr,
        elr_known=ElrColumn.LISTED,
        last_known_elr=partition.last_known_elr,
        adding=partition.adding,
        removing=partition.removing,
    )


def _ids(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, brokers))


def _ids_or_na(brokers: tuple[int, ...] | None) -> str:
    return ElrColumn.NOT_AVAILABLE.value if brokers is None else _ids(brokers)
