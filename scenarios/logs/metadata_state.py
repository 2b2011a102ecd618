"""The cluster metadata of a logged session at one moment: topics and partitions as `kafka-topics --describe` shows them.

The state is computed from the events in order. `topic-created` and `partition-changed` contain the new state of a topic or a partition,
`setting-changed` contains a topic's new setting, and broker events show which brokers are fenced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs

from core.kafka.events import (
    Acted,
    BrokerFenced,
    BrokerJoined,
    BrokerLeft,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
    ClusterObserved,
    EventTuple,
    PartitionChanged,
    SettingChanged,
    TopicCreated,
    TopicDeleted,
    decode,
)
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import Release
from core.kafka.settings.registry import TOPIC_SETTINGS
from core.lab.acts import CreateTopic
from core.lab.recorded_acts import act_of
from core.lab.spec import ClusterSpec
from core.sim.events import kind_of, seq_of, time_of
from scenarios.describe.described import DescribedPartition, DescribedTopic, ElrColumn
from scenarios.errors import LogError
from scenarios.logs.log_reader import LogReader

BROKER_EVENTS: Final[Mapping[str, tuple[bool, Callable[[EventTuple], int]]]] = {
    event.kind: (up, event.reader("broker"))
    for up, events in (
        (False, (BrokerFenced, BrokerRegistered, BrokerUnregistered, BrokerLeft)),
        (True, (BrokerUnfenced, BrokerJoined)),
    )
    for event in events
}
"""The kinds of events after which a broker is up (registered and not fenced) or not, each with what reads the broker."""


@attrs.define
class _Topic:
    topic_id: str
    partitions: int
    replication_factor: int
    config: dict[str, str]
    rows: dict[int, DescribedPartition]
    epochs: dict[int, int]
    deleted: bool = False


@attrs.frozen
class MetadataState:
    """The cluster metadata that the output of `kafka-topics --describe` shows.

    Attributes:
        topics: the topics in order of creation.
        live_brokers: the brokers that are not fenced.
        release: the release under which the session ran.
        printed_already: whether the metadata was read from the output of Kafka's tool. If `printed_already` is true, `topics` keeps the
            order of the tool's output, and `live_brokers` contains only the brokers that the output proves to be alive.
        leader_epochs: the leader epochs that the events of a log tell; -1 if a watched cluster does not tell one.
        end: the virtual time at which a log ends, in µs.
    """

    topics: tuple[DescribedTopic, ...]
    live_brokers: frozenset[int]
    release: Release
    printed_already: bool = False
    leader_epochs: Mapping[TopicPartition, int] = {}
    end: int = 0


def read_metadata_state(reader: LogReader, until_us: int | None = None) -> MetadataState:
    """Return the metadata after the last event at or before a virtual time in µs, or at the end of the log if the time is None.

    The header of a watched cluster's log has the state before the first event.

    Raises:
        LogError: a line of the log is invalid.
    """
    configs = {topic.name: dict(topic.config) for topic in reader.spec.topics}
    observed = at_the_beginning = reader.header.observed is not None
    began_as = {topic.name: topic.topic_id for topic in reader.spec.topics} if observed else {}
    topics: dict[str, _Topic] = _topics_of(reader.spec) if observed else {}
    live = {broker.id for broker in reader.spec.brokers if broker.up}
    last = 0
    for event in reader:
        last = time_of(event)
        if until_us is not None and last > until_us:
            continue
        match decode(event):
            case ClusterObserved() if at_the_beginning:
                topics, at_the_beginning = {}, False  # the first reading repeats all topics
            case PartitionChanged() as change:
                topic = topics.get(change.topic)
                if topic is None:
                    wrong = f"unknown topic '{change.topic[:40]}'; no earlier line creates it"
                    raise LogError(reader.source, seq_of(event) + 1, wrong)
                same = ("topic", "partition", "leader", "replicas", "isr", "elr", "last_known_elr", "adding", "removing")
                row = DescribedPartition(**{name: getattr(change, name) for name in same}, elr_known=ElrColumn.LISTED)
                topic.rows[row.partition] = row
                topic.epochs[row.partition] = change.leader_epoch
            case TopicCreated() as made:
                known = configs.get(made.topic, {}) if began_as.get(made.topic, made.topic_id) == made.topic_id else {}
                topics[made.topic] = _Topic(made.topic_id, made.partitions, made.replication_factor, known, {}, {})
            case TopicDeleted(topic=name) if name in topics:
                topics[name].deleted = True
            case Acted(act="create-topic"):
                try:
                    created = act_of(event)
                except ValueError as wrong:
                    raise LogError(reader.source, seq_of(event) + 1, str(wrong)) from None
                assert isinstance(created, CreateTopic)
                configs[created.topic] = dict(created.config)
            case SettingChanged(name=name, subject=subject, new=value) if name in TOPIC_SETTINGS and subject in topics:
                topics[subject].config[name] = value
            case _ if kind_of(event) in BROKER_EVENTS:
                up, broker_of = BROKER_EVENTS[kind_of(event)]
                (live.add if up else live.discard)(broker_of(event))
    described = tuple(
        DescribedTopic(
            name, topic.topic_id, topic.partitions, topic.replication_factor, tuple(topic.config.items()),
            tuple(topic.rows[n] for n in sorted(topic.rows)),
        )
        for name, topic in topics.items()
        if not topic.deleted
    )  # fmt: skip
    epochs = {
        TopicPartition(name, number): epoch for name, topic in topics.items() if not topic.deleted for number, epoch in topic.epochs.items()
    }
    end = last if reader.end is None else reader.end.t
    return MetadataState(described, frozenset(live), reader.release, leader_epochs=epochs, end=end)


def _topics_of(spec: ClusterSpec) -> dict[str, _Topic]:
    """Return the topics in the header of a watched cluster's log."""
    found = {}
    for topic in spec.topics:
        rows = {
            number: DescribedPartition(
                topic.name, number, NO_LEADER if each.leader is None else each.leader, each.replicas,
                each.replicas if each.isr is None else each.isr, each.elr,
                ElrColumn.LISTED, each.last_known_elr,
            )
            for number, each in enumerate(topic.assignment)
        }  # fmt: skip
        epochs = {number: each.leader_epoch for number, each in enumerate(topic.assignment)}
        factor = rows[0].replication_factor if rows else topic.replication_factor
        found[topic.name] = _Topic(topic.topic_id, topic.count, factor, dict(topic.config), rows, epochs)
    return found
