"""A simulated cluster, which is built from a spec, changed by acts, and shown by views.

The same spec, release, seed, and acts produce the same events, byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, Release
from core.lab import act_handlers
from core.lab.accounts.exposed_records import ExposureMonitor
from core.lab.acts import Act
from core.lab.cluster_nodes import ClusterNodes
from core.lab.control_planes import control_plane_builder
from core.lab.initial_logs import resume_leaderships
from core.lab.spec import ClusterSpec
from core.lab.views import view_builder
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.journal import Sink, null_sink
from core.sim.state.snapshot import Snapshot

if TYPE_CHECKING:
    from core.lab.reports.durability_report import DurabilityReport
    from core.lab.reports.group_report import GroupReport
    from core.lab.reports.network_report import CatchUp
    from core.lab.reports.partition_detail import PartitionDetail
    from core.lab.reports.segment_report import SegmentReport
    from core.lab.reports.traffic_report import TrafficReport
    from core.lab.reports.transaction_report import TransactionReport


class Cluster(ClusterNodes):
    """A running cluster."""

    __slots__ = ("__weakref__",)

    def __init__(
        self, spec: ClusterSpec, release: Release = CURRENT, seed: int = 0, sink: Sink | None = None, *, elide: bool = True
    ) -> None:
        """Build a steady cluster at time 0: brokers registered, topics placed, leaders elected.

        Args:
            spec: the components of the cluster.
            release: the Kafka release whose rules apply.
            seed: the seed of all random streams.
            sink: the function that receives every event.
            elide: whether idle fetches are skipped (`core.sim.long_polling`). The events are the same with and without elision; only the
                speed differs.

        Raises:
            ValueError: the spec is not a valid cluster, or a setting is wrong.
            KafkaError: Kafka would refuse one of the topics.
        """
        super().__init__(spec, release, seed, sink, elide=elide)
        plane = control_plane_builder(self)
        self.controller = plane.make_controller(self)
        self.exposure = ExposureMonitor(self.journal, self.account, self.controller, self.brokers)
        plane.build(self)
        resume_leaderships(self)
        if self.by_hand:
            self.deliver_pending()

    def do(self, act: Act) -> int:
        """Execute an act now.

        Returns:
            The sequence number of its `act` event.

        Raises:
            ActRefused: the act is impossible now. A refused act changes nothing.
        """
        return act_handlers.execute(self, act)

    def snapshot(self) -> Snapshot[Cluster]:
        """Return a snapshot of the whole state between two steps."""
        return self.snapshots.take(self)

    @staticmethod
    def restore(snapshot: Snapshot[Cluster], sink: Sink | None = None) -> Cluster:
        """Create a cluster that continues from a snapshot, byte for byte, and sends events to `sink`. The original cluster does not change."""
        copy = snapshot.copy()
        copy.journal.sink = sink or null_sink
        return copy

    def restore_in_place(self, snapshot: Snapshot[Cluster], sink: Sink | None = None) -> None:
        """Restore this cluster to a snapshot of itself. Restoring takes a fraction of the time that copying takes. Later events go to
        `sink`.

        Raises:
            ValueError: the snapshot was taken from another cluster.
        """
        if not snapshot.is_of(self):
            raise ValueError("a cluster can go back only to its own snapshots")
        snapshot.restore()
        self.journal.sink = sink or null_sink

    @staticmethod
    def from_snapshot(snapshot: Snapshot[Cluster], sink: Sink | None = None, *, in_place: bool = False) -> Cluster:
        """Return a cluster in the state of a snapshot: the original if `in_place` is set, otherwise a copy."""
        if not in_place:
            return Cluster.restore(snapshot, sink)
        snapshot.root.restore_in_place(snapshot, sink)
        return snapshot.root

    def view(self) -> ClusterView:
        """Return a frozen view of the whole cluster."""
        return view_builder.cluster_view(self)

    def partition_view(self, tp: TopicPartition) -> PartitionView:
        """Return a frozen view of one partition.

        Raises:
            KeyError: the partition does not exist.
        """
        return view_builder.partition_view(self, tp)

    def partition_detail(self, tp: TopicPartition) -> PartitionDetail:
        """Return a frozen view of one partition in full: disks, the leader's knowledge of its followers, and waiting requests.

        Raises:
            KeyError: the partition does not exist.
        """
        from core.lab.reports import partition_detail_builder

        return partition_detail_builder.partition_detail(self, tp)

    def durability_report(self) -> DurabilityReport:
        """Return the records that are lost or exposed now, by partition and producer, with the events that caused the losses."""
        from core.lab.reports.durability_report import durability_report

        return durability_report(self)

    def transaction_report(self) -> TransactionReport:
        """Return the transactional IDs, and the partitions whose last stable offset is held back."""
        from core.lab.reports.transaction_report import transaction_report

        return transaction_report(self)

    def traffic_report(self) -> TrafficReport:
        """Return the messages that are under way now, the fetches between brokers, and the batches that no broker has answered."""
        from core.lab.reports.traffic_report import traffic_report

        return traffic_report(self)

    def group_report(self) -> tuple[GroupReport, ...]:
        """Return the groups, with their members, their partitions, and the lag of each partition. If no member reads a partition, the
        report gives the reason.
        """
        from core.lab.reports.group_report import group_report

        return group_report(self)

    def segment_report(
        self, tp: TopicPartition, broker: int, offset: int | None = None, timestamp: int | None = None
    ) -> SegmentReport | None:
        """Return the segments of a replica, and a lookup by offset or by timestamp (ms); None if the broker has no replica."""
        from core.lab.reports.segment_report import segment_report

        return segment_report(self, tp, broker, offset, timestamp)

    def catch_ups(self, broker: int) -> tuple[CatchUp, ...]:
        """Return what waits for the network interface of a broker, and how long it will take."""
        from core.lab.reports.network_report import catch_ups

        return catch_ups(self, broker)
