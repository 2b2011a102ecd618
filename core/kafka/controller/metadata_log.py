"""The committed metadata log (KRaft's `__cluster_metadata`), which orders all changes to brokers, partitions, and settings.

Records are immutable, so all brokers share one log. Each broker knows the log only up to its own offset, and looks up the values that are
valid at that offset. The offsets of the records of each partition and of each broker are indexed, so a lookup is a binary search.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple, Protocol

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.settings.settings import Settings
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class BrokerRegistration(ReprMixin):
    """The controller's registration of a broker (Kafka: `BrokerRegistration`).

    Attributes:
        id: the broker's ID.
        epoch: the broker epoch, which is the offset of the registration's first record.
        incarnation: the number that identifies the broker's process. The incarnation number increases each time the broker starts.
        fenced: whether the broker is fenced.
        in_controlled_shutdown: whether the broker is in controlled shutdown.
        directories: the broker's working log directories. If `directories` is empty, the working log directories are unknown, and all
            directories count as working.
    """

    id: int
    epoch: int
    incarnation: int
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[str, ...] = ()

    def has_online_dir(self, directory: str) -> bool:
        """Return whether a log directory is working, as far as the controller knows (Kafka: `DirectoryId#isOnline`)."""
        return not self.directories or directory in self.directories


class BrokerUnregistration(NamedTuple):
    """The record that ends a broker's registration (Kafka: `UnregisterBrokerRecord`)."""

    id: int
    epoch: int


class ConfigRecord(NamedTuple):
    """A changed setting of a topic, of a broker, or, if `topic` and `broker` are None, of the whole cluster (Kafka: `ConfigRecord`)."""

    name: str
    value: str
    topic: str | None
    broker: int | None


class FeatureLevelRecord(NamedTuple):
    """The new finalized level of a feature (Kafka: `FeatureLevelRecord`)."""

    feature: str
    level: int


class PartitionRecord(NamedTuple):
    """A partition's new state, and the sequence number of the event that records it."""

    tp: TopicPartition
    registration: PartitionRegistration
    cause: int


class RemoveTopicRecord(NamedTuple):
    """The deletion of a topic with its partitions and settings, and the sequence number of the event that records it."""

    topic: str
    partitions: tuple[TopicPartition, ...]
    cause: int


Record = PartitionRecord | BrokerRegistration | BrokerUnregistration | ConfigRecord | FeatureLevelRecord | RemoveTopicRecord


class MetadataRecords(Protocol):
    """What the parts of a controller write their changes to."""

    def append(self, record: Record, /) -> int:
        """Append a record, and return its offset."""


class MetadataLog:
    """The metadata log and its indexes."""

    __slots__ = ("_brokers", "_configs", "_features", "_hosted", "_partitions", "_removed", "_topics", "records")

    records: Final[list[Record]]
    _partitions: Final[dict[TopicPartition, tuple[int, ...]]]
    _brokers: Final[dict[int, tuple[list[int], list[BrokerRegistration | None]]]]
    _hosted: Final[dict[int, list[int]]]
    _configs: Final[list[int]]
    _features: Final[list[int]]
    _topics: Final[dict[str, list[TopicPartition]]]
    _removed: Final[dict[str, int]]

    def __init__(self) -> None:
        self.records = []
        self._partitions = {}
        self._brokers = {}
        self._hosted = {}
        self._configs = []
        self._features = []
        self._topics = {}
        self._removed = {}

    def __len__(self) -> int:
        return len(self.records)

    def append(self, record: Record) -> int:
        """Append a record, and return its offset."""
        offset = len(self.records)
        self.records.append(record)
        if type(record) is PartitionRecord:
            history = self._partitions.get(record.tp)
            replicas = record.registration.replicas
            if history is None:
                self._partitions[record.tp] = (offset,)
                self._topics.setdefault(record.tp.topic, []).append(record.tp)
            else:
                former = self._registration(history[-1])
                before = replicas if former is None else former.replicas
                if before is not replicas:
                    replicas += tuple(broker for broker in before if broker not in replicas)
                self._partitions[record.tp] = (*history, offset)
            for broker in replicas:
                self._hosted.setdefault(broker, []).append(offset)
        elif type(record) is RemoveTopicRecord:
            self._remove_topic(record, offset)
        elif type(record) is BrokerRegistration or type(record) is BrokerUnregistration:
            offsets, registrations = self._brokers.setdefault(record.id, ([], []))
            offsets.append(offset)
            registrations.append(record if type(record) is BrokerRegistration else None)
        elif type(record) is FeatureLevelRecord:
            self._features.append(offset)
        else:
            self._configs.append(offset)
        return offset

    def _remove_topic(self, record: RemoveTopicRecord, offset: int) -> None:
        for tp in record.partitions:
            self._partitions[tp] = (*self._partitions[tp], offset)
        self._configs.append(offset)
        self._removed[record.topic] = offset

    def partition(self, tp: TopicPartition, end: int) -> PartitionRegistration | None:
        """Return a partition's state after the records below `end`; None if the partition did not exist then."""
        history = self._partitions.get(tp)
        if history is None:
            return None
        i = bisect_left(history, end)
        return self._registration(history[i - 1]) if i else None

    def _registration(self, offset: int) -> PartitionRegistration | None:
        """Return the registration that a record contains; None if the record removes the partition's topic."""
        record = self.records[offset]
        if type(record) is PartitionRecord:
            return record.registration
        assert type(record) is RemoveTopicRecord
        return None

    def broker(self, broker: int, end: int) -> BrokerRegistration | None:
        """Return a broker's registration after the records below `end`; None if the broker was not registered then."""
        history = self._brokers.get(broker)
        if history is None:
            return None
        i = bisect_left(history[0], end)
        return history[1][i - 1] if i else None

    def brokers(self, end: int) -> dict[int, BrokerRegistration]:
        """Return the registrations of all brokers after the records below `end`."""
        found = ((broker, self.broker(broker, end)) for broker in self._brokers)
        return {broker: registration for broker, registration in found if registration is not None}

    def partitions(self, end: int) -> dict[TopicPartition, PartitionRegistration]:
        """Return the states of all partitions after the records below `end`."""
        found = ((tp, self.partition(tp, end)) for tp in self._partitions)
        return {tp: registration for tp, registration in found if registration is not None}

    def changed_partitions(self, broker: int, start: int, end: int) -> dict[TopicPartition, int]:
        """Return the partitions that the records in [start, end) change, if the broker has a replica before or after the change.

        The partitions are in the order in which the records first change them. Each partition maps to the sequence number of the event for
        the partition's last change.
        """
        hosted = self._hosted.get(broker, ())
        changed: dict[TopicPartition, int] = {}
        for at in range(bisect_left(hosted, start), bisect_left(hosted, end)):
            record = self.records[hosted[at]]
            assert type(record) is PartitionRecord
            changed[record.tp] = record.cause
        return changed

    def removed_topics(self, start: int, end: int) -> list[tuple[int, RemoveTopicRecord]]:
        """Return the offset and the record of each topic deletion in [start, end)."""
        found: list[tuple[int, RemoveTopicRecord]] = []
        for offset in self._configs[bisect_left(self._configs, start) : bisect_left(self._configs, end)] if self._removed else ():
            record = self.records[offset]
            if type(record) is RemoveTopicRecord:
                found.append((offset, record))
        return found

    def is_removed(self, topic: str, end: int) -> bool:
        """Return whether the records below `end` created a topic and then deleted it."""
        return self._removed.get(topic, end) < end and not self.leaders(topic, end)

    def leaders(self, topic: str, end: int) -> tuple[tuple[int, int], ...]:
        """Return (leader, leader epoch) for each partition of a topic after the records below `end`. If the topic does not exist, the
        result is empty."""
        found = []
        for tp in self._topics.get(topic, ()):
            registration = self.partition(tp, end)
            if registration is not None:
                found.append((registration.leader, registration.leader_epoch))
        return tuple(found)

    def feature_level(self, feature: str, end: int, initial: int) -> int:
        """Return the finalized level of a feature after the records below `end`. `initial` is the level with which the cluster started."""
        for offset in reversed(self._features[: bisect_left(self._features, end)]):
            record = self.records[offset]
            assert type(record) is FeatureLevelRecord
            if record.feature == feature:
                return record.level
        return initial

    @property
    def changes_features(self) -> bool:
        """Whether a feature level has changed since the cluster started."""
        return bool(self._features)

    def apply_settings(self, settings: Settings, start: int, end: int) -> bool:
        """Apply the settings that the records in [start, end) change. Return True if any of the records changes a setting."""
        first = bisect_left(self._configs, start)
        changed = False
        for offset in self._configs[first:]:
            if offset >= end:
                break
            record = self.records[offset]
            if type(record) is RemoveTopicRecord:
                settings.remove_topic(record.topic)
            else:
                assert type(record) is ConfigRecord
                settings.set(record.name, record.value, broker=record.broker, topic=record.topic)
            changed = True
        return changed
