"""A simulated cluster: built from a spec, changed by acts, shown by views.

The same spec, release, seed and acts produce the same events, byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, Release
from core.lab import act_handlers
from core.lab.acts import Act
from core.lab.cluster_nodes import ClusterNodes
from core.lab.control_planes import control_plane_builder
from core.lab.exposed_records import ExposureMonitor
from core.lab.initial_logs import resume_leaderships
from core.lab.spec import ClusterSpec
from core.lab.views import view_builder
from core.lab.views.view import ClusterView, PartitionView
from core.sim.journal import Sink, null_sink
from core.sim.state.snapshot import Snapshot

if TYPE_CHECKING:
    from core.lab.views.durability_report import DurabilityReport
    from core.lab.views.partition_detail import PartitionDetail


class Cluster(ClusterNodes):
    """A running cluster."""

    __slots__ = ("__weakref__",)

    def __init__(
        self, spec: ClusterSpec, release: Release = CURRENT, seed: int = 0, sink: Sink | None = None, *, elide: bool = True
    ) -> None:
        """Build a steady cluster at time 0: brokers registered, topics placed, leaders elected.

        Args:
            spec: what the cluster consists of.
            release: the Kafka release whose rules apply.
            seed: the seed of all random streams.
            sink: receives every event.
            elide: whether idle fetches are left out (`core.sim.long_polling`). Without it, only the speed differs.

        Raises:
            ValueError: the spec is not a valid cluster, or a setting is wrong.
            KafkaError: Kafka would refuse a topic.
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
            The seq of its `act` event.

        Raises:
            ActRefused: the act is impossible now; nothing has changed.
        """
        return act_handlers.execute(self, act)

    def snapshot(self) -> Snapshot[Cluster]:
        """The whole state between two steps, as a value."""
        return self.snapshots.take(self)

    @staticmethod
    def restore(snapshot: Snapshot[Cluster], sink: Sink | None = None) -> Cluster:
        """Create a cluster that continues from a snapshot, byte for byte; the original is not touched. Its events go to `sink`."""
        copy = snapshot.copy()
        copy.journal.sink = sink or null_sink
        return copy

    def restore_in_place(self, snapshot: Snapshot[Cluster], sink: Sink | None = None) -> None:
        """Return this cluster to a snapshot of itself, in a fraction of the time that a copy takes. Its events go to `sink`.

        Raises:
            ValueError: the snapshot was taken of another cluster.
        """
        if not snapshot.is_of(self):
            raise ValueError("a cluster can only go back to a snapshot that was taken of itself")
        snapshot.restore()
        self.journal.sink = sink or null_sink

    @staticmethod
    def from_snapshot(snapshot: Snapshot[Cluster], sink: Sink | None = None, *, in_place: bool = False) -> Cluster:
        """A cluster in the state of a snapshot: a copy, or with `in_place` the original itself."""
        if not in_place:
            return Cluster.restore(snapshot, sink)
        snapshot.root.restore_in_place(snapshot, sink)
        return snapshot.root

    def view(self) -> ClusterView:
        """A frozen view of the whole cluster."""
        return view_builder.cluster_view(self)

    def partition_view(self, tp: TopicPartition) -> PartitionView:
        """A frozen view of one partition.

        Raises:
            KeyError: there is no such partition.
        """
        return view_builder.partition_view(self, tp)

    def partition_detail(self, tp: TopicPartition) -> PartitionDetail:
        """A frozen view of one partition in full: disks, what the leader knows of its followers, what waits.

        Raises:
            KeyError: there is no such partition.
        """
        from core.lab.views import partition_detail_builder

        return partition_detail_builder.partition_detail(self, tp)

    def durability_report(self) -> DurabilityReport:
        """What is lost and what is exposed now, by partition and producer, with the events behind it."""
        from core.lab.views.durability_report import durability_report

        return durability_report(self)
