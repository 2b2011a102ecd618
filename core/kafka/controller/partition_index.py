"""Indexes of a controller's partitions, for lookups that would otherwise read every partition (Kafka: `BrokersToIsrs`)."""

from __future__ import annotations

from typing import Final

from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.partition_registration import PartitionRegistration


class PartitionIndex:
    """The indexes of the registrations of partitions.

    Attributes:
        brokers_to_isrs: for each broker, the partitions whose ISR contains it (ordered sets).
        leader_counts: the number of partitions that each broker leads.
        replica_counts: the number of replicas that each broker has.
        leaderless: the partitions that have no leader (ordered set).
        unbalanced: the partitions whose leader is not the preferred leader (ordered set).
    """

    __slots__ = ("brokers_to_isrs", "leader_counts", "leaderless", "replica_counts", "unbalanced")

    brokers_to_isrs: Final[dict[int, dict[TopicPartition, None]]]
    leader_counts: Final[dict[int, int]]
    replica_counts: Final[dict[int, int]]
    leaderless: Final[dict[TopicPartition, None]]
    unbalanced: Final[dict[TopicPartition, None]]

    def __init__(self) -> None:
        self.brokers_to_isrs = {}
        self.leader_counts = {}
        self.replica_counts = {}
        self.leaderless = {}
        self.unbalanced = {}

    def update(self, tp: TopicPartition, old: PartitionRegistration | None, new: PartitionRegistration) -> None:
        """Replace a partition's registration (`BrokersToIsrs#update`). `old` is None for a new partition."""
        for broker in old.isr if old is not None else ():
            if broker not in new.isr:
                self.brokers_to_isrs[broker].pop(tp, None)
        for broker in new.isr:
            self.brokers_to_isrs.setdefault(broker, {})[tp] = None
        if old is None or old.replicas != new.replicas:
            for broker in old.replicas if old is not None else ():
                self.replica_counts[broker] -= 1
            for broker in new.replicas:
                self.replica_counts[broker] = self.replica_counts.get(broker, 0) + 1
        if old is None or old.leader != new.leader:
            if old is not None and old.leader != NO_LEADER:
                self.leader_counts[old.leader] -= 1
            if new.leader != NO_LEADER:
                self.leader_counts[new.leader] = self.leader_counts.get(new.leader, 0) + 1
        _set_membership(self.leaderless, tp, not new.has_leader)
        _set_membership(self.unbalanced, tp, not new.has_preferred_leader)

    def remove(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """Remove a deleted partition (`BrokersToIsrs#removeTopicEntryForBroker`)."""
        for broker in registration.isr:
            self.brokers_to_isrs[broker].pop(tp, None)
        for broker in registration.replicas:
            self.replica_counts[broker] -= 1
        if registration.leader != NO_LEADER:
            self.leader_counts[registration.leader] -= 1
        self.leaderless.pop(tp, None)
        self.unbalanced.pop(tp, None)


def _set_membership(index: dict[TopicPartition, None], tp: TopicPartition, wanted: bool) -> None:
    if wanted:
        index[tp] = None
    else:
        index.pop(tp, None)
