"""The records that a cluster has lost and those that it can lose, by partition and producer, with the events that caused the losses, and the
records that groups, processes, and services never got or never finished.

`Cluster.durability_report` makes the report from the durability account (`core.lab.accounts.durability_account`) and from the exposure
of committed records (`core.lab.accounts.exposed_records`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.lab.accounts.missed_records import DELETED, WORDS
from core.lab.accounts.processing_account import HALF, NEVER
from core.lab.views.service_views import expired_records, processing_harms, retry_drops

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
class MissedRecords:
    """Records of one partition that a reader never got, or that it passed without finishing them, because of one event.

    Attributes:
        reader: the reader, for example `group billing` or `service retry`.
        tp: the partition of the records.
        ranges: the offset ranges [start, end), in order.
        what: what happened to the records, in one word: `skipped`, `dropped`, `expired`, `never processed`, or `half visible`.
        why: the reason in words; empty if `what` says it.
        event: the sequence number of the event that caused it.
    """

    reader: str
    tp: TopicPartition
    ranges: tuple[tuple[int, int], ...]
    what: str
    why: str
    event: int

    @property
    def records(self) -> int:
        """The number of missed records."""
        return sum(end - start for start, end in self.ranges)


@attrs.frozen
class DurabilityReport:
    """The lost, exposed, and missed records of a cluster at one moment.

    Attributes:
        lost: the records that were acknowledged or read, and that the current leader's log lacks.
        exposed: the committed records that an electable broker lacks.
        missed: the records that groups, processes, and services never got or never finished.
    """

    lost: tuple[LostRecords, ...]
    exposed: tuple[ExposedRecords, ...]
    missed: tuple[MissedRecords, ...] = ()


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
    return DurabilityReport(lost, tuple(sorted(exposed, key=lambda each: each.tp)), _missed(cluster))


_HARMS: Final = {NEVER: "never processed", HALF: "half visible"}


def _missed(cluster: ClusterNodes) -> tuple[MissedRecords, ...]:
    """Return the missed records of all groups, processes, and services, by reader, partition, and event."""
    account = cluster.account
    found: dict[tuple[str, TopicPartition, str, str, int], OffsetSet] = {}

    def add(reader: str, tp: TopicPartition, what: str, why: str, event: int, start: int, end: int) -> None:
        found.setdefault((reader, tp, what, why, event), OffsetSet()).add(start, end)

    for group in account.consumption.groups:
        for each in account.missed(group):
            if each.reason in WORDS:
                add(f"group {group}", each.tp, "skipped", WORDS[each.reason], each.event, each.start, each.end)
    for service, source, drops in retry_drops(cluster):
        for start, end, event in drops:
            add(f"service {service}", source, "dropped", "committed before they were finished", event, start, end)
    for reader, harms in processing_harms(cluster):
        for harm in harms:
            if harm.kind in _HARMS:
                add(reader, harm.source, _HARMS[harm.kind], "", harm.event, harm.start, harm.end)
    for service, tp, offsets in expired_records(cluster):
        for deletion in account.consumption.deletions.get(tp, ()):
            for deleted in deletion.records.values():
                here = offsets.common(deleted)
                offsets = offsets.minus(here)
                for start, end in here:
                    add(f"service {service}", tp, "expired", WORDS[DELETED], deletion.event, start, end)
        for start, end in offsets:
            add(f"service {service}", tp, "expired", WORDS[DELETED], 0, start, end)
    return tuple(MissedRecords(reader, tp, tuple(held), what, why, event) for (reader, tp, what, why, event), held in found.items())
