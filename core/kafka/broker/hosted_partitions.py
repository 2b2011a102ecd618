"""The partitions that a broker hosts, and the errors that it returns for other partitions (Kafka: `HostedPartition`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.partition import Partition
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from core.kafka.messages import FetchedPartitionFields


class HostedPartitions:
    """The partitions of one broker.

    Attributes:
        online: the partitions that the broker serves.
        offline: the partitions in failed log directories (ordered set). A partition that is reassigned to other brokers stays in `offline`
            (`HostedPartition.Offline`).
    """

    __slots__ = ("_broker", "offline", "online")

    _broker: Final[BrokerContext]
    online: Final[dict[TopicPartition, Partition]]
    offline: Final[dict[TopicPartition, None]]

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self.online = {}
        self.offline = {}

    def reset(self) -> None:
        """Forget all partitions, because the process has ended."""
        self.online.clear()
        self.offline.clear()

    def missing_error(self, tp: TopicPartition) -> str:
        """Return the error that a request gets for a partition that this broker does not serve (`ReplicaManager#getPartitionOrError`)."""
        if tp in self.offline:
            return errors.KAFKA_STORAGE_ERROR
        return errors.NOT_LEADER_OR_FOLLOWER if self._broker.metadata_cache.contains(tp) else errors.UNKNOWN_TOPIC_OR_PARTITION

    def missing(self, tp: TopicPartition, offset: int) -> FetchedPartitionFields:
        """Return the part of a fetch response that reports a partition that this broker does not serve."""
        return tp, (self.missing_error(tp), NO_EPOCH, NO_OFFSET), offset, None, NO_OFFSET, NO_OFFSET, 0
