"""What a broker knows of the cluster (Kafka: `MetadataCache`). Requests to a broker are answered from its metadata cache.

A metadata cache contains only what the broker has received. No method returns anything newer, so a broker that is cut off from the controller
gives the same answers as before.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final

from core.kafka.ids import TopicPartition


class MetadataCache(metaclass=ABCMeta):
    """What a broker knows of partitions, topics, and brokers.

    Attributes:
        racks: the rack of each broker; a broker never changes its rack.
    """

    __slots__ = ("racks",)

    racks: Final[dict[int, str | None]]

    def __init__(self, racks: dict[int, str | None]) -> None:
        self.racks = dict(racks)

    @abstractmethod
    def clear(self) -> None:
        """Forget everything, because the process has ended."""

    @property
    @abstractmethod
    def offset(self) -> int:
        """The end offset of the part of the metadata log that the broker has applied; 0 if the cluster uses ZooKeeper."""

    @property
    @abstractmethod
    def transaction_version(self) -> int:
        """The finalized level of `transaction.version`."""

    @abstractmethod
    def contains(self, tp: TopicPartition) -> bool:
        """Return whether a partition exists (`#contains`)."""

    @abstractmethod
    def topic_leaders(self, topic: str) -> tuple[tuple[int, int], ...]:
        """Return (leader, leader epoch) for each partition of a topic; empty if the topic does not exist."""

    @abstractmethod
    def is_deleted(self, topic: str) -> bool:
        """Return whether a topic has existed and was deleted."""

    @abstractmethod
    def alive_broker_epoch(self, broker: int) -> int:
        """Return the epoch of a broker that is alive (`#getAliveBrokerEpoch`); -1 if it is not alive or the epoch is unknown."""

    @abstractmethod
    def has_alive_broker(self, broker: int) -> bool:
        """Return whether a broker is alive (`#hasAliveBroker`)."""

    def alive_brokers(self) -> tuple[int, ...]:
        """Return the brokers that are alive (`#getAliveBrokers`)."""
        return tuple([broker for broker in self.racks if self.has_alive_broker(broker)])

    @abstractmethod
    def is_isr_eligible(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a broker with this epoch can join an ISR (`Partition#isReplicaIsrEligible`)."""

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic (`#numPartitions`); 0 if it does not exist."""
        return len(self.topic_leaders(topic))

    def rack_of(self, broker: int) -> str | None:
        """Return the rack of a broker that is alive (`#getPartitionReplicaEndpoints`); None if it has no rack or is not alive."""
        return self.racks.get(broker) if self.has_alive_broker(broker) else None
