"""A whole cluster: builds it from a spec, carries out acts, and takes views.

The same spec, release, seed and acts give the same events, byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, Release
from core.lab import act_handlers as deeds
from core.lab.acts import Act
from core.lab.control_planes import control_plane_builder
from core.lab.exposure import Exposure
from core.lab.initial_logs import resume_leaderships
from core.lab.nodes import ClusterNodes
from core.lab.spec import ClusterSpec
from core.lab.views import view_builder
from core.lab.views.view import ClusterView, PartitionView
from core.sim.journal import Sink, nobody
from core.sim.snapshot import Snapshot

if TYPE_CHECKING:
    from core.lab.views.durability_report import DurabilityReport
    from core.lab.views.partition_detail import PartitionDetail


class Cluster(ClusterNodes):
    """A running cluster."""

    __slots__ = ()

    def __init__(
        self, spec: ClusterSpec, release: Release = CURRENT, seed: int = 0, sink: Sink | None = None, *, elide: bool = True
    ) -> None:
        """Build a steady cluster at time 0: brokers registered, topics placed, leaders made.

        `elide`: fetch rounds that carry nothing are not played out (`core.kafka.broker.quiet`); it is only slower without.

        Raises:
            ValueError: the spec is no cluster, or a setting is wrong.
            KafkaError: a topic is refused, as Kafka would refuse it.
        """
        super().__init__(spec, release, seed, sink, elide=elide)
        plane = control_plane_builder(self)
        self.controller = plane.make_controller(self)
        self.exposure = Exposure(self.journal, self.account, self.controller, self.brokers)
        plane.build(self)
        resume_leaderships(self)
        if self.by_hand:
            self.settle()
        if elide and not self.by_hand:
            for broker in self.brokers.values():
                broker.quiet_rounds = self.quiet_rounds

    def do(self, act: Act) -> int:
        """Carry an act out now; returns the seq of its `act` event.

        Raises:
            ActRefused: it is impossible as things stand; nothing was changed.
        """
        return deeds.carry_out(self, act)

    def snapshot(self) -> Snapshot[Cluster]:
        """The whole state between two steps, as a value."""
        return self.snapshots.take(self)

    @staticmethod
    def restore(snapshot: Snapshot[Cluster], sink: Sink | None = None) -> Cluster:
        """A cluster that goes on from a snapshot byte for byte; the one it was taken of is not touched. Its events go to `sink`."""
        copy = snapshot.copy()
        copy.journal.sink = sink or nobody
        return copy

    def go_back(self, snapshot: Snapshot[Cluster], sink: Sink | None = None) -> None:
        """Stand again where a snapshot was taken of this very cluster, which takes a fraction of the time. Its events go to `sink`.

        Raises:
            ValueError: it was taken of another one.
        """
        if not snapshot.is_of(self):
            raise ValueError("a cluster can only go back to a snapshot that was taken of itself")
        snapshot.restore()
        self.journal.sink = sink or nobody

    @staticmethod
    def bring_back(snapshot: Snapshot[Cluster], sink: Sink | None = None, *, in_place: bool = False) -> Cluster:
        """The very cluster that a snapshot was taken of, gone back to it, or a new one."""
        if not in_place:
            return Cluster.restore(snapshot, sink)
        snapshot.root.go_back(snapshot, sink)
        return snapshot.root

    def view(self) -> ClusterView:
        """A frozen snapshot of everything."""
        return view_builder.cluster_view(self)

    def partition_view(self, tp: TopicPartition) -> PartitionView:
        """A frozen snapshot of one partition.

        Raises:
            KeyError: there is none of that name.
        """
        return view_builder.partition_view(self, tp)

    def partition_detail(self, tp: TopicPartition) -> PartitionDetail:
        """One partition in full: disks, the leader's view of its followers, what waits. Made for the one that is looked at.

        Raises:
            KeyError: there is none of that name.
        """
        from core.lab.views import partition_detail_builder

        return partition_detail_builder.partition_detail(self, tp)

    def durability_report(self) -> DurabilityReport:
        """What is lost and what is exposed now, by partition and producer, with the events behind it."""
        from core.lab.views.durability_report import durability_report

        return durability_report(self)
