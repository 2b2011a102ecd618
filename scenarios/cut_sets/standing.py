"""What a partition depends on: the brokers that can lead it, those that confirm writes, and those that hold its committed records."""

from __future__ import annotations

import enum
from collections.abc import Collection

import attrs

from core.kafka.ids import TopicPartition
from core.lab.cluster import Cluster
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView


class Harm(enum.Enum):
    """What a partition suffers when brokers fail. The value says it in words."""

    NO_LEADER = "has no leader, so nobody can read or write"
    REFUSES = "refuses writes with acks=all"
    LOSES = "loses acknowledged records, because a replica that is not in sync leads"
    NO_COPY = "loses committed records if the disks are lost, too"


class Moment(enum.Enum):
    """The state in which the brokers fail. The value says it in words."""

    AT_ONCE = "as it stands, all at once"
    ONE_BY_ONE = "as it stands, one after another; the others are in sync again before the next one fails"
    HEALED = "once every broker is back and every replica in sync"


@attrs.frozen
class Need:
    """A condition under which a partition is harmed: fewer than `least` of the members are left.

    Attributes:
        members: the brokers on which the partition depends.
        least: how many of them it needs, at least 1.
        spares: if all of these brokers fail as well, the harm is another one; empty if that makes no difference.
    """

    members: frozenset[int]
    least: int
    spares: frozenset[int] = frozenset()

    def is_broken(self, down: Collection[int]) -> bool:
        """Return whether the partition is harmed while some brokers are down."""
        return len(self.members.difference(down)) < self.least and not (self.spares and self.spares.issubset(down))


@attrs.frozen
class Standing:
    """What a partition depends on, as the controller knows it.

    Attributes:
        partition: the partition.
        in_sync: the live brokers in the ISR, which confirm writes with acks=all.
        eligible: the live brokers that can lead without losing records: those in the ISR or the ELR.
        others: the other live brokers with a replica.
        copies: the brokers that hold all committed records, live or not: those in the ISR or the ELR.
        replicas: all brokers with a replica.
        min_isr: the effective min.insync.replicas.
        unclean: whether one of the others leads if no eligible broker is left (unclean.leader.election.enable).
    """

    partition: TopicPartition
    in_sync: frozenset[int]
    eligible: frozenset[int]
    others: frozenset[int]
    copies: frozenset[int]
    replicas: frozenset[int]
    min_isr: int
    unclean: bool

    @classmethod
    def of(cls, one: PartitionView, up: frozenset[int], unclean: bool) -> Standing:
        """Return what a partition depends on while some brokers are up."""
        copies = frozenset((*one.isr, *one.elr))
        eligible = copies & up
        others = up.intersection(one.replicas) - eligible
        return cls(one.tp, up.intersection(one.isr), eligible, others, copies, frozenset(one.replicas), max(one.min_isr, 1), unclean)

    def harm_without(self, down: Collection[int]) -> Harm | None:
        """Return what clients of the partition suffer while some more brokers are down; None if nothing."""
        for harm in (Harm.NO_LEADER, Harm.LOSES, Harm.REFUSES):
            need = self.need(harm, Moment.AT_ONCE)
            if need is not None and need.is_broken(down):
                return harm
        return None

    def need(self, harm: Harm, moment: Moment) -> Need | None:
        """Return the condition of a harm; None if no failure of brokers can cause it."""
        alive = self.eligible | self.others
        if moment is Moment.HEALED or (moment is Moment.ONE_BY_ONE and len(self.eligible) > 1):
            in_sync = self.replicas if moment is Moment.HEALED else alive
            return _need_in_sync(harm, in_sync, self.min_isr, self.unclean)
        leaders = alive if self.unclean else self.eligible
        if harm is Harm.NO_LEADER:
            return Need(leaders, 1)
        if harm is Harm.NO_COPY:
            return Need(self.copies, 1) if self.copies else None
        if harm is Harm.LOSES:
            return Need(self.eligible, 1, self.others) if self.unclean and self.others else None
        return Need(leaders, 1) if self.unclean and self.min_isr == 1 else Need(self.in_sync, self.min_isr)


def _need_in_sync(harm: Harm, in_sync: frozenset[int], min_isr: int, unclean: bool) -> Need | None:
    """Return the condition of a harm for a partition whose replicas are all in sync."""
    if harm is Harm.LOSES:
        return None
    return Need(in_sync, min_isr if harm is Harm.REFUSES else 1)


def standings(cluster: Cluster, view: ClusterView) -> tuple[Standing, ...]:
    """Return what each partition of a cluster depends on. `view` is the cluster's present state."""
    up = frozenset(broker.id for broker in view.brokers if broker.up)
    allowed = {topic.name: _allows_unclean(cluster, topic.name) for topic in view.topics}
    return tuple(Standing.of(one, up, allowed[one.tp.topic]) for one in view.partitions)


def _allows_unclean(cluster: Cluster, topic: str) -> bool:
    """Return whether a replica that is not in sync can lead a partition of a topic."""
    return cluster.release.applies_unclean_setting and cluster.settings.flag("unclean.leader.election.enable", topic=topic)
