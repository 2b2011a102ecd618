"""Frozen views of the state of a cluster, for the user interface, expectations, and `describe`.

`Cluster.view()` builds a view of the whole cluster, and `Cluster.partition_view(tp)` builds a view of one partition. A view never changes
and holds no reference into the running system. Times are in µs of virtual time. End offsets are exclusive, as in Kafka. The leader, the
ISR, and the epochs come from the controller. The LEO, HW, and role of a replica come from the replica's broker, even if the broker is
stopped.
"""

from __future__ import annotations

from functools import cached_property

import attrs

from core.kafka.ids import TopicPartition
from core.lab.spec import ZoneSpec
from core.lab.views.broker_view import BrokerView, LinkView, VoterView
from core.lab.views.client_view import ConsumerView, ProcessView, ProducerView
from core.lab.views.group_view import ConsumptionView, GroupView, MemberView
from core.lab.views.partition_view import PartitionView, TopicView
from core.lab.views.service_view import RetryView, ServiceView
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class ClusterView(ReprMixin):
    """The whole cluster at one moment.

    Attributes:
        now: the virtual time, in µs.
        seq: the sequence number of the last event.
        release: the name of the Kafka release.
        controller: the name of the active controller; empty if there is none.
        brokers, topics, partitions, producers, consumers: the views of these parts of the cluster.
        cut_links, held_links: the directed links that are cut, and the directed links that are held; sorted.
        accepted, acked, lost, duplicated, lost_acknowledged, lost_read: the total numbers of records in the durability account.
        diverged, exposed: the sums of `PartitionView.diverged` and `PartitionView.exposed` over all partitions.
        unclean_elections: the number of unclean elections, including elections of a last known leader.
        isr_shrinks, isr_expands: the numbers of committed ISR changes.
        controller_epoch: the newest controller epoch in the cluster.
        active_controllers: the sum of ActiveControllerCount over all nodes.
        majority: whether a majority of the voters can communicate with each other.
        voters: the voters of the metadata quorum; empty if there is none.
        changed_links: the directed links that are slower than the other links, or that lose, duplicate, or reorder more messages; sorted.
        loss_ppm: the share of messages that each link loses, in parts per million.
        latency_us, jitter_us: the latency and jitter of all links that are not in `changed_links`, in µs.
        unclean_check_us: the time until the KRaft controller checks for unclean elections; -1 if no check is scheduled.
        groups, processes: the views of the groups and of the processes.
        members: the views of the consumers that belong to groups.
        consumption: the progress of groups with members, by group and partition.
        services: the views of the delay services and their workers.
        retries: the views of the retry services.
        zones: the zones of the cluster.
        version: the version of an `IncrementalView`; -1 if unknown. Views with the same version differ only in offsets, counters, and ages.
    """

    now: int
    seq: int
    release: str
    controller: str
    brokers: tuple[BrokerView, ...]
    topics: tuple[TopicView, ...]
    partitions: tuple[PartitionView, ...]
    producers: tuple[ProducerView, ...]
    consumers: tuple[ConsumerView, ...]
    cut_links: tuple[tuple[str, str], ...]
    held_links: tuple[tuple[str, str], ...]
    accepted: int
    acked: int
    lost: int
    duplicated: int
    diverged: int
    unclean_elections: int
    isr_shrinks: int
    isr_expands: int
    exposed: int = 0
    lost_acknowledged: int = 0
    lost_read: int = 0
    controller_epoch: int = 0
    active_controllers: int = 1
    majority: bool = True
    voters: tuple[VoterView, ...] = ()
    changed_links: tuple[LinkView, ...] = ()
    loss_ppm: int = 0
    latency_us: int = 0
    jitter_us: int = 0
    unclean_check_us: int = -1
    groups: tuple[GroupView, ...] = ()
    processes: tuple[ProcessView, ...] = ()
    members: tuple[MemberView, ...] = ()
    consumption: tuple[ConsumptionView, ...] = ()
    services: tuple[ServiceView, ...] = ()
    retries: tuple[RetryView, ...] = ()
    zones: tuple[ZoneSpec, ...] = ()
    version: int = attrs.field(default=-1, eq=False)

    @cached_property
    def up(self) -> frozenset[int]:
        """The brokers that are up."""
        return frozenset(broker.id for broker in self.brokers if broker.up)

    @cached_property
    def skipped(self) -> int:
        """The number of records that groups never get, although they had to read them."""
        return sum(each.skipped for each in self.consumption)

    @cached_property
    def out_of_order(self) -> int:
        """The number of records that partitions hold in another order than they were sent."""
        return sum(each.out_of_order for each in self.partitions)

    @cached_property
    def processed_out_of_order(self) -> int:
        """The number of records that groups processed after later records of the same partition."""
        return sum(each.out_of_order for each in self.consumption)

    @cached_property
    def unfinished(self) -> int:
        """The number of records that processes and services passed without finishing them: never processed, dropped, or expired before a
        delay service forwarded them."""
        groups = {process.group: process.never_processed for process in self.processes}
        whole = [service.never_forwarded + service.expired for service in self.services if not service.source]
        return sum(groups.values()) + sum(whole) + sum(each.dropped for each in self.retries)

    @cached_property
    def done_twice(self) -> int:
        """The number of records that processes and services finished more than once."""
        groups = {process.group: process.processed_twice for process in self.processes}
        whole = [service.forwarded_twice for service in self.services if not service.source]
        return sum(groups.values()) + sum(whole) + sum(each.succeeded_twice for each in self.retries)

    def partition(self, tp: TopicPartition) -> PartitionView:
        """Return the view of a partition.

        Raises:
            KeyError: the partition does not exist.
        """
        for view in self.partitions:
            if view.tp == tp:
                return view
        raise KeyError(str(tp))

    def broker(self, broker: int) -> BrokerView:
        """Return the view of a broker.

        Raises:
            KeyError: the broker does not exist.
        """
        for view in self.brokers:
            if view.id == broker:
                return view
        raise KeyError(broker)
