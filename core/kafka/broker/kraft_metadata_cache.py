"""The metadata cache of a KRaft broker (Kafka: `KRaftMetadataCache`): the metadata log up to the offset that the broker has received."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from core.kafka.controller.metadata_log import MetadataLog, RemoveTopicRecord
from core.kafka.features import TRANSACTION_VERSION
from core.kafka.ids import TopicPartition
from core.kafka.metadata_cache import MetadataCache
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import Release
from core.kafka.settings.settings import Settings


class KRaftMetadataCache(MetadataCache):
    """A view of the metadata log that ends at the broker's own offset.

    All brokers share one log, because its records are immutable. This class is the only way in which a broker reads the log, and reads no
    record at or above `offset`.
    """

    __slots__ = ("_log", "_offset", "_release")

    _log: Final[MetadataLog]
    _release: Final[Release]

    def __init__(self, log: MetadataLog, release: Release, racks: dict[int, str | None]) -> None:
        super().__init__(racks)
        self._log = log
        self._release = release
        self._offset = 0

    @property
    def offset(self) -> int:
        """The end offset of the part of the metadata log that the broker has applied."""
        return self._offset

    def clear(self) -> None:
        """Forget everything, because the process has ended."""
        self._offset = 0

    def publish(self, end: int) -> MetadataDelta:
        """Extend the view to the records below `end`, and return the changes."""
        start, self._offset = self._offset, end
        return MetadataDelta(self._log, start, end)

    @property
    def transaction_version(self) -> int:
        """The finalized level of `transaction.version`."""
        return self._log.feature_level(TRANSACTION_VERSION, self._offset, self._release.transaction_version)

    def contains(self, tp: TopicPartition) -> bool:
        """Return whether a partition exists (`#contains`)."""
        return self._log.partition(tp, self._offset) is not None

    def topic_leaders(self, topic: str) -> tuple[tuple[int, int], ...]:
        """Return (leader, leader epoch) for each partition of a topic; empty if the topic does not exist."""
        return self._log.leaders(topic, self._offset)

    def is_deleted(self, topic: str) -> bool:
        """Return whether a topic has existed and was deleted."""
        return self._log.is_removed(topic, self._offset)

    def alive_broker_epoch(self, broker: int) -> int:
        """Return the epoch of an unfenced broker (`#getAliveBrokerEpoch`); otherwise, -1."""
        registration = self._log.broker(broker, self._offset)
        return -1 if registration is None or registration.fenced else registration.epoch

    def has_alive_broker(self, broker: int) -> bool:
        """Return whether a broker is registered and unfenced (`#hasAliveBroker`)."""
        registration = self._log.broker(broker, self._offset)
        return registration is not None and not registration.fenced

    def is_isr_eligible(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a broker with this epoch can join an ISR (`Partition#isReplicaIsrEligible`)."""
        registration = self._log.broker(broker, self._offset)
        if registration is None or registration.fenced or registration.in_controlled_shutdown:
            return False
        return not self._release.broker_epoch_in_isr or broker_epoch in (-1, registration.epoch)


class MetadataDelta:
    """The records of the metadata log in [start, end) (Kafka: `MetadataDelta`)."""

    __slots__ = ("_end", "_log", "_start")

    def __init__(self, log: MetadataLog, start: int, end: int) -> None:
        self._log = log
        self._start = start
        self._end = end

    def apply_settings(self, settings: Settings) -> bool:
        """Apply the changed settings. Return whether any setting has changed."""
        return self._log.apply_settings(settings, self._start, self._end)

    def removed_topics(self, start: int) -> list[tuple[int, RemoveTopicRecord]]:
        """Return the offset and the record of each topic deletion at or above the offset `start`."""
        return self._log.removed_topics(max(start, self._start), self._end)

    def changed_partitions(self, broker: int) -> Mapping[TopicPartition, int]:
        """Return the changed partitions of which a broker has a replica (`MetadataLog.changed_partitions`)."""
        return self._log.changed_partitions(broker, self._start, self._end)

    def partition(self, tp: TopicPartition) -> PartitionRegistration | None:
        """Return a partition's state after the changes; None if it does not exist."""
        return self._log.partition(tp, self._end)
