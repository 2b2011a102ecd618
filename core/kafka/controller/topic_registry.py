"""The topics and partitions that a control plane knows, and indexes for lookups."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka import events
from core.kafka.controller.metadata_log import ConfigRecord, MetadataRecords, PartitionRecord, RemoveTopicRecord
from core.kafka.controller.partition_index import PartitionIndex
from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.settings.registry import SETTINGS
from core.kafka.settings.settings import Settings
from core.kafka.topic_spec import TopicSpec
from core.sim.journal import Journal
from core.sim.random_stream import RandomStream
from core.sim.repr_mixin import ReprMixin

if TYPE_CHECKING:
    from core.kafka.durability_observer import DurabilityObserver


@attrs.define(slots=True, repr=False)
class Topic(ReprMixin):
    """A topic.

    Attributes:
        name: the topic's name.
        topic_id: the topic ID, in the form in which Kafka prints it.
        config: the topic's own settings, in the form in which they were written.
        partitions: the topic's partitions, keyed by number.
    """

    name: str
    topic_id: str
    config: dict[str, str]
    partitions: list[TopicPartition]


class TopicRegistry:
    """The topics and partitions that a control plane keeps. Every change is written to `records`, recorded as an event, and indexed.

    Attributes:
        settings: the settings that the controller uses.
        records: where changes are written: the metadata log, if the control plane has one.
        journal: the event journal.
        account: the durability account.
        partitions: the registrations, keyed by partition, in the order in which the partitions were created.
        topics: the topics, keyed by name.
        index: the indexes of the registrations.
    """

    __slots__ = ("_ids", "account", "index", "journal", "partitions", "records", "settings", "topics")

    settings: Final[Settings]
    records: Final[MetadataRecords]
    journal: Final[Journal]
    account: Final[DurabilityObserver]
    partitions: Final[dict[TopicPartition, PartitionRegistration]]
    topics: Final[dict[str, Topic]]
    index: Final[PartitionIndex]
    _ids: Final[RandomStream]

    def __init__(self, settings: Settings, records: MetadataRecords, journal: Journal, account: DurabilityObserver, seed: int) -> None:
        self.settings = settings
        self.records = records
        self.journal = journal
        self.account = account
        self.partitions = {}
        self.topics = {}
        self.index = PartitionIndex()
        self._ids = RandomStream(f"{seed}:topic-ids")

    def register_topic(self, spec: TopicSpec, registrations: Sequence[PartitionRegistration]) -> None:
        """Add a new topic with its partitions and settings, and emit the events of its creation."""
        for name, value in spec.config:
            if name in SETTINGS:
                self.settings.set(name, value, topic=spec.name)
                self.records.append(ConfigRecord(name, value, spec.name, None))
        topic_id = spec.topic_id or base64.urlsafe_b64encode(self._ids.randbytes(16)).decode().rstrip("=")
        topic = self.topics[spec.name] = Topic(spec.name, topic_id, dict(spec.config), [])
        event = self.journal.emit(
            events.TopicCreated.kind, spec.name, topic_id, len(registrations), len(registrations[0].replicas) if registrations else 0
        )
        self._add_partitions(topic, registrations, event)

    def add_partitions(self, name: str, registrations: Sequence[PartitionRegistration]) -> int:
        """Add partitions to a topic. Return the sequence number of the event that records this."""
        topic = self.topics[name]
        added = len(registrations)
        event = self.journal.emit(events.PartitionsCreated.kind, name, added, len(topic.partitions) + added)
        self._add_partitions(topic, registrations, event)
        return event

    def _add_partitions(self, topic: Topic, registrations: Sequence[PartitionRegistration], cause: int) -> None:
        before = self.journal.cause
        self.journal.cause = cause
        for number, registration in enumerate(registrations, len(topic.partitions)):
            tp = TopicPartition(topic.name, number)
            topic.partitions.append(tp)
            self.commit_registration(tp, None, registration, "created")
        self.journal.cause = before

    def commit_registration(self, tp: TopicPartition, old: PartitionRegistration | None, new: PartitionRegistration, reason: str) -> None:
        """Write a partition's new registration to the records, emit its event, and update the indexes."""
        journal = self.journal
        cause = journal.emit(
            events.PartitionChanged.kind,
            tp.topic, tp.partition, new.leader, new.leader_epoch, new.partition_epoch, new.replicas, new.isr, new.elr,
            new.last_known_elr, new.adding, new.removing, new.recovering, reason,
        )  # fmt: skip
        if old is not None and old.leader != new.leader:
            cause = journal.cause
        self.partitions[tp] = new
        self.records.append(PartitionRecord(tp, new, cause))
        self.index.update(tp, old, new)
        self.account.partition_changed(tp, new)

    def remove_topic(self, name: str) -> int:
        """Remove a deleted topic with its partitions and settings. Return the sequence number of the event that records the deletion."""
        topic = self.topics.pop(name)
        event = self.journal.emit(events.TopicDeleted.kind, name, topic.topic_id, len(topic.partitions))
        self.records.append(RemoveTopicRecord(name, tuple(topic.partitions), event))
        for tp in topic.partitions:
            self.index.remove(tp, self.partitions.pop(tp))
            self.account.partition_deleted(tp)
        self.settings.remove_topic(name)
        return event
