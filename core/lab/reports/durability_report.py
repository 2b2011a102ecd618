"""The records that a cluster has lost and those that it can lose, by partition and producer, with the events that caused the losses.

`Cluster.durability_report` makes the report from the durability account (`core.lab.accounts.durability_account`) and from the exposure
of committed records (`core.lab.accounts.exposed_records`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from core.kafka.ids import TopicPartition

if TYPE_CHECKING:
    from core.lab.cluster_nodes import ClusterNodes


@attrs.frozen
class LostRecords:
    """The records of one producer in one partition that were lost because of one event.

    Attributes:
        tp: the partition of the records.
        producer: the name of the records' producer.
        ranges: the offset ranges [start, end), in order. Between two of the lost ranges, there can be records from other producers.
        epoch: the leader epoch in which the records were written.
        acknowledged: whether the records were acknowledged to the producer.
        read: whether a consumer has read the records.
        event: the sequence number of the event that caused the loss.
    """

    tp: TopicPartition
    producer: str
    ranges: tuple[tuple[int, int], ...]
    epoch: int
    acknowledged: bool
    read: bool
    event: int

    @property
    def loss_kind(self) -> str:
        """The kind of loss in words: `acknowledged`, `read`, or `acknowledged and read`."""
        return " and ".join(word for word, holds in (("acknowledged", self.acknowledged), ("read", self.read)) if holds)

    @property
    def records(self) -> int:
        """The number of lost records."""
        return sum(end - start for start, end in self.ranges)


@attrs.frozen
class ExposedRecords:
    """Committed records of one partition that the next election can lose.

    Attributes:
        tp: the partition of the records.
        ranges: the offset ranges [start, end), in order.
        brokers: the brokers that can be elected and lack some of the records.
    """

    tp: TopicPartition
    ranges: tuple[tuple[int, int], ...]
    brokers: tuple[int, ...]

    @property
    def records(self) -> int:
        """The number of exposed records."""
        return sum(end - start for start, end in self.ranges)


@attrs.frozen
class DurabilityReport:
    """The lost and exposed records of a cluster at one moment.

    Attributes:
        lost: the records that were acknowledged or read, and that the current leader's log lacks.
        exposed: the committed records that an electable broker lacks.
    """

    lost: tuple[LostRecords, ...]
    exposed: tuple[ExposedRecords, ...]


def durability_report(cluster: ClusterNodes) -> DurabilityReport:
    """Return the report on all partitions. Lost records are grouped by partition, producer, and the event that caused the loss."""
    grouped: dict[tuple[TopicPartition, str, int, bool, bool, int], list[tuple[int, int]]] = {}
    for loss in cluster.account.losses():
        key = (loss.tp, loss.producer, loss.event, loss.acknowledged, loss.read, loss.epoch)
        pieces = grouped.setdefault(key, [])
        if pieces and pieces[-1][1] == loss.start:
            pieces[-1] = (pieces[-1][0], loss.end)
        else:
            pieces.append((loss.start, loss.end))
    lost = tuple(
        LostRecords(tp, producer, tuple(pieces), epoch, acknowledged, read, event)
        for (tp, producer, event, acknowledged, read, epoch), pieces in grouped.items()
    )
    exposed = []
    for tp, brokers in cluster.exposure.lacking_brokers.items():
        offsets = cluster.exposure.exposed_offsets(tp)
        if offsets:
            exposed.append(ExposedRecords(tp, tuple(offsets), tuple(brokers)))
    return DurabilityReport(lost, tuple(sorted(exposed, key=lambda each: each.tp)))
