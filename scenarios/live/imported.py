"""Makes a cluster specification from a cluster that was read over the network.

The facts are first brought into the form in which the output of `kafka-topics` and `kafka-consumer-groups` is imported, so that a field means the same
in both. What only the network tells is then added: racks, fenced brokers, offsets and leader epochs of every replica, settings, and voters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from core.kafka.features import ELR_VERSION, FEATURES, TRANSACTION_VERSION
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import Release
from core.kafka.settings.registry import COARSER, NAMES_OF, SETTINGS, setting_named
from core.kafka.settings.setting import Value
from core.kafka.topic_spec import MAX_OFFSET, LogSpec, PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane
from scenarios.describe.described import DescribedPartition, DescribedTopic, DescribeImport, ElrColumn
from scenarios.describe.selection import in_printed_order
from scenarios.groups.described import DescribedEnd, GroupsImport
from scenarios.groups.facts import Group
from scenarios.language.cluster import MAX_CONTROLLERS
from scenarios.live.facts import LiveBroker, LiveCluster, LivePartition, LiveTopic
from scenarios.live.transaction_lines import OPEN_STATES
from scenarios.releases import nearest_release
from scenarios.running.imported_cluster import ImportedCluster, imported_scenario

INTERNAL: Final = (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC)
"""The topics whose records are not imported, because the laboratory writes its own there."""

_NAMED: Final = 8


def release_for(live: LiveCluster, asked: Release | None) -> tuple[Release, tuple[str, ...]]:
    """Return the release under which a cluster is to run, and notes about how it was found.

    Args:
        live: the cluster.
        asked: the release that the user chose, if any.
    """
    if not live.release:
        from core.kafka.release import CURRENT

        return asked or CURRENT, ("unknown: the release; the brokers tell nothing from which it follows",)
    found, note = nearest_release(live.release)
    said = f"the brokers run Kafka {live.release}: {live.why}"
    if asked is not None:
        return asked, (f"{said}; the copy runs {asked.name}",)
    return found, (said, note) if note else (said,)


def described_topics(live: LiveCluster, release: Release) -> tuple[DescribedTopic, ...]:
    """Return the topics as `kafka-topics --describe` shows them, in the order in which it prints them."""
    return tuple(in_printed_order((_described_topic(topic, release) for topic in live.topics if topic.partitions), release))


def _described_topic(topic: LiveTopic, release: Release) -> DescribedTopic:
    rows = tuple(_described_row(topic.name, number, each, release) for number, each in topic.partitions.items())
    return DescribedTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=len(rows),
        replication_factor=rows[0].replication_factor,
        config=topic.config or (),
        rows=rows,
    )


def _described_row(topic: str, number: int, each: LivePartition, release: Release) -> DescribedPartition:
    known = ElrColumn.LISTED if each.elr is not None else ElrColumn.NOT_AVAILABLE if release.describe_elr else ElrColumn.ABSENT
    return DescribedPartition(
        topic=topic,
        partition=number,
        leader=each.leader if each.leader >= 0 else NO_LEADER,
        replicas=each.replicas,
        isr=each.isr,
        elr=each.elr,
        elr_known=known,
        last_known_elr=each.last_known_elr,
        adding=each.adding,
        removing=each.removing,
    )


def live_brokers(live: LiveCluster) -> frozenset[int]:
    """Return the brokers that are registered and not fenced."""
    return frozenset(broker.id for broker in live.brokers.values() if not broker.fenced)


def import_live(live: LiveCluster, release: Release, *, groups: bool = True) -> ImportedCluster:
    """Return a copy of a cluster.

    Args:
        live: the cluster.
        release: the release under which the copy runs.
        groups: whether to import groups as well.

    Raises:
        InputError: no cluster can be in this state.
    """
    notes: list[str] = []
    topics = DescribeImport(described_topics(live, release), (), live.source)
    brokers = _brokers(live, release, notes)
    common = _common_settings(live, release, notes)

    def complete(spec: ClusterSpec) -> ClusterSpec:
        found, guessed = with_logs(attrs.evolve(spec, settings=common), live.topics)
        if guessed:
            more = f" and {len(guessed) - _NAMED} more" if len(guessed) > _NAMED else ""
            notes.append(
                "unknown: the log end offset of replicas whose brokers do not answer; in the ISR or ELR, such a replica has all committed records, and "
                f"outside of them one fewer: {', '.join(guessed[:_NAMED])}{more}"
            )
        return found

    found = imported_scenario(
        topics,
        _groups(live) if groups and live.groups and release.consumer_groups else None,
        release,
        brokers=brokers,
        complete=complete,
    )
    spec = _with_control_plane(found.scenario.spec, live, release, notes)
    open_ones = [each for each in live.transactions if each.state in OPEN_STATES]
    if open_ones:
        listed = ", ".join(
            f"{each.transactional_id} ({each.state}{': ' if each.partitions else ''}{', '.join(map(str, each.partitions[:_NAMED]))})"
            for each in open_ones[:_NAMED]
        )
        more = f" and {len(open_ones) - _NAMED} more" if len(open_ones) > _NAMED else ""
        notes.append(f"transactions are open: {listed}{more}; the copy has their records, but as records outside of transactions")
    return ImportedCluster(attrs.evolve(found.scenario, spec=spec), (*found.notes, *notes, *live.unknown))


# --- brokers and settings --------------------------------------------------------------------------------------------


def _brokers(live: LiveCluster, release: Release, notes: list[str]) -> tuple[BrokerSpec, ...]:
    """Return the brokers: those that are registered, and those that only hold replicas, which are down."""
    common = dict(_common_settings(live, release, []))
    mentioned = {broker for topic in live.topics for each in topic.partitions.values() for broker in each.replicas}
    found = []
    down = []
    for number in sorted(mentioned | live.brokers.keys()):
        broker = live.brokers.get(number)
        if broker is None or broker.fenced:
            down.append(number)
            found.append(BrokerSpec(number, None if broker is None else broker.rack, up=False))
            continue
        own = tuple((name, value) for name, value in _modeled(broker, release, [], broker_only=True) if common.get(name) != value)
        found.append(BrokerSpec(number, broker.rack, settings=own, log_dirs=broker.log_dirs or 1))
    if down:
        notes.append(down_note(down))
    return tuple(found)


def down_note(down: list[int]) -> str:
    """Say which brokers are down at the start."""
    return f"broker{'s' * (len(down) > 1)} {', '.join(map(str, down))} {'are' if len(down) > 1 else 'is'} down at the start: not registered, or fenced"


def _common_settings(live: LiveCluster, release: Release, notes: list[str]) -> tuple[tuple[str, Value], ...]:
    """Return the settings that all running brokers share and that differ from the defaults of the release."""
    known = [dict(_modeled(broker, release, notes)) for broker in live.brokers.values() if broker.settings is not None]
    if not known:
        return ()
    return tuple((name, value) for name, value in known[0].items() if all(each.get(name) == value for each in known))


def _modeled(broker: LiveBroker, release: Release, notes: list[str], *, broker_only: bool = False) -> Iterable[tuple[str, Value]]:
    """Return the settings of a broker that the laboratory models and that differ from the defaults of the release, sorted by name."""
    given = dict(broker.settings or ())
    for fine, names in NAMES_OF.items():
        first = next((name for name in names if name in given), "")
        if first in COARSER and given[first].lstrip("-").isdecimal():
            value = int(given[first])
            given[fine] = str(value * COARSER[first][1] if value > 0 else value)
    for name in sorted(given.keys() & SETTINGS.keys()):
        setting = setting_named(name)
        if not setting.exists_in(release) or setting.scope_error(broker=broker_only, topic=False):
            continue
        try:
            value_read = setting.parse(given[name])
        except ValueError as wrong:
            notes.append(f"broker {broker.id}: a setting is not imported: {wrong}")
            continue
        if value_read != setting.default_in(release):
            yield name, value_read


# --- offsets ---------------------------------------------------------------------------------------------------------


def with_logs(spec: ClusterSpec, sources: Iterable[LiveTopic]) -> tuple[ClusterSpec, list[str]]:
    """Return the cluster with the leader epoch of each partition and the log of each replica, and the replicas whose log end is not known.

    Args:
        spec: the cluster, without logs.
        sources: the topics with their leader epochs and offsets.
    """
    known = {topic.name: topic for topic in sources}
    guessed: list[str] = []
    topics = []
    for topic in spec.topics:
        source = known.get(topic.name)
        if source is None or not topic.assignment:
            topics.append(topic)
            continue
        topics.append(_with_logs(topic, source, guessed))
    return attrs.evolve(spec, topics=tuple(topics)), guessed


def _with_logs(topic: TopicSpec, source: LiveTopic, guessed: list[str]) -> TopicSpec:
    filled = []
    for number, partition in enumerate(topic.assignment):
        each = source.partitions.get(number)
        if each is None:
            filled.append(partition)
            continue
        epoch = each.leader_epoch or 0
        logs = () if topic.name in INTERNAL else tuple(_logs(partition, each, epoch, TopicPartition(topic.name, number), guessed))
        filled.append(attrs.evolve(partition, leader_epoch=epoch, logs=logs))
    return attrs.evolve(topic, assignment=tuple(filled))


def _logs(partition: PartitionSpec, each: LivePartition, leader_epoch: int, tp: TopicPartition, guessed: list[str]) -> Iterable[LogSpec]:
    """Return the logs of a partition's replicas.

    The brokers are asked one after the other, while records arrive. A follower can therefore seem to be ahead of its leader, or behind a high
    watermark that it has reached; both are set right here.
    """
    isr = partition.isr or ()
    high_watermark = each.high_watermark
    if high_watermark is None:
        ends = [end for broker, end in each.log_ends.items() if broker in isr] or list(each.log_ends.values())
        if not ends:
            return
        high_watermark = min(ends)
    leader_end = max(each.log_ends.get(each.leader, high_watermark), high_watermark)
    if leader_end > MAX_OFFSET:
        return
    for broker in partition.replicas:
        end = each.log_ends.get(broker)
        if end is None:
            if leader_end:
                guessed.append(f"{tp} on broker {broker}")
            end = high_watermark if broker in isr or broker in partition.elr else max(high_watermark - 1, 0)
        leo = min(max(end, high_watermark) if broker in isr else end, leader_end) if each.leader >= 0 else end
        start = min(each.log_starts.get(broker, each.log_start or 0), leo)
        if leo:
            yield LogSpec(broker, leo, max(min(high_watermark, leo), start), start, _epochs(each, start, leo, leader_epoch))


def _epochs(each: LivePartition, start: int, leo: int, leader_epoch: int) -> tuple[tuple[int, int], ...]:
    """Return the entries of a replica's leader-epoch cache. Only the leader tells its own; a follower has the same up to its log end."""
    entries = [(epoch, first) for epoch, first in each.epochs or () if first < leo and epoch <= leader_epoch]
    below = [index for index, (_, first) in enumerate(entries) if first <= start]
    if below:
        entries = [(entries[below[-1]][0], start), *entries[below[-1] + 1 :]]
    elif entries:
        entries[0] = (entries[0][0], start)
    return tuple(entries) or ((leader_epoch, start),)


# --- groups and the control plane ------------------------------------------------------------------------------------


def _groups(live: LiveCluster) -> GroupsImport:
    ends = {
        TopicPartition(topic.name, number): DescribedEnd(each.high_watermark, live.source)
        for topic in live.topics
        for number, each in topic.partitions.items()
        if each.high_watermark is not None
    }
    places = {(group.name, tp): live.source for group in live.groups for tp in _partitions_of(group)}
    return GroupsImport(live.groups, places, ends, (), live.source)


def _partitions_of(group: Group) -> dict[TopicPartition, None]:
    return dict.fromkeys([*group.offsets, *(tp for member in group.members for tp in member.assignment)])


def _with_control_plane(spec: ClusterSpec, live: LiveCluster, release: Release, notes: list[str]) -> ClusterSpec:
    """Return the cluster with its controllers and its feature levels."""
    up = {broker.id for broker in spec.brokers if broker.up}
    if not live.kraft:
        if release.zookeeper:
            return attrs.evolve(spec, controller=f"b{live.controller}") if live.controller in up else spec
        notes.append("the cluster uses ZooKeeper; the copy uses KRaft, as isrlab does since 3.3")
        return spec
    if release.zookeeper:
        notes.append(
            "the cluster uses KRaft, whose rules isrlab knows since 3.3; the copy has its control plane, and one controller that never fails"
        )
        return attrs.evolve(spec, control_plane=ControlPlane.KRAFT)
    levels = {name: live.features.get(name, 0) for name in FEATURES if _has_feature(release, name)}
    spec = spec.with_features(
        tuple((name, level) for name, level in levels.items() if level != _default_level(release, name) and level <= FEATURES[name])
    )
    ids = {broker.id for broker in spec.brokers}
    voters = live.voters or ()
    if len(voters) > MAX_CONTROLLERS or (len(voters) == 1 and voters[0] not in ids) or not voters:
        return spec
    names = {voter: f"{'b' if voter in ids else 'c'}{voter}" for voter in sorted(voters)}
    return attrs.evolve(spec, controllers=tuple(names.values()), controller=names.get(live.quorum_leader, ""))


def _has_feature(release: Release, name: str) -> bool:
    return release.elr_feature if name == ELR_VERSION else release.transaction_feature


def _default_level(release: Release, name: str) -> int:
    return {ELR_VERSION: int(release.elr), TRANSACTION_VERSION: release.transaction_version}[name]
