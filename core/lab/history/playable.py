"""`Playable`: a cluster on its own, or a cluster with a plan such as a scenario (`scenarios.running.playable_scenario`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import attrs

from core.kafka.events import EventTuple
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.settings.settings import Settings
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.views.cluster_view import ClusterView
from core.sim.repr_mixin import ReprMixin
from core.sim.state.snapshot import Snapshot

if TYPE_CHECKING:
    from core.lab.reports.durability_report import DurabilityReport
    from core.lab.reports.group_report import GroupReport
    from core.lab.reports.network_report import CatchUp
    from core.lab.reports.partition_detail import PartitionDetail
    from core.lab.reports.segment_report import SegmentReport
    from core.lab.reports.traffic_report import TrafficReport
    from core.lab.reports.transaction_report import TransactionReport


class ClusterReports(Protocol):
    """The frozen views and reports of a cluster. Screens read the cluster only through these views and reports."""

    def view(self) -> ClusterView: ...
    def partition_detail(self, tp: TopicPartition) -> PartitionDetail: ...
    def durability_report(self) -> DurabilityReport: ...
    def transaction_report(self) -> TransactionReport: ...
    def traffic_report(self) -> TrafficReport: ...
    def group_report(self) -> tuple[GroupReport, ...]: ...
    def segment_report(
        self, tp: TopicPartition, broker: int, offset: int | None = None, timestamp: int | None = None
    ) -> SegmentReport | None: ...
    def catch_ups(self, broker: int) -> tuple[CatchUp, ...]: ...


class ClusterLike(ClusterReports, Protocol):
    """The part of `core.lab.cluster.Cluster` that a history uses."""

    @property
    def now(self) -> int: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def release(self) -> Release: ...
    def do(self, act: Act) -> int: ...
    def step(self) -> bool: ...
    def next_time(self) -> int | None: ...
    def run_until(self, time_us: int) -> None: ...


class PlayableSnapshot(Protocol):
    """The state of a `Playable` at one moment, as a value."""

    @property
    def cluster_snapshot(self) -> Snapshot[Cluster]:
        """The snapshot of the cluster."""

    def restore(self, sink: Callable[[EventTuple], None], *, in_place: bool = False) -> Playable:
        """Return a `Playable` that continues from this state byte for byte.

        Args:
            sink: the function that receives the events.
            in_place: whether to restore the cluster object that the snapshot was taken from, instead of creating a new one.
        """


class Playable(Protocol):
    """A source of steps for a cluster: the cluster alone, or a scenario."""

    @property
    def cluster(self) -> ClusterLike: ...

    def next_due(self) -> int | None:
        """Return the virtual time of the next event of the cluster or act of the scenario, in µs; None if nothing is scheduled."""

    def step(self) -> bool:
        """Execute the next step. Return False if no step is left."""

    def advance_to(self, time_us: int) -> None:
        """Execute everything that is due up to and including a given virtual time, in µs."""

    @property
    def stepwise(self) -> bool:
        """Whether the next step takes no virtual time, because the cluster is in by-hand mode."""

    @property
    def finished(self) -> bool:
        """Whether the plan that the cluster follows, such as a scenario, has ended."""

    def snapshot(self) -> PlayableSnapshot | None:
        """Return the current state as a value; None if the state cannot be captured."""

    def after_act(self) -> None:
        """Respond to an act that a person has performed. A plan might be waiting for a change that the act makes."""


@attrs.frozen(repr=False)
class PlayableClusterSnapshot(ReprMixin):
    """The state of a `PlayableCluster`, which is a cluster that follows neither a scenario nor any other plan."""

    cluster_snapshot: Snapshot[Cluster]

    def restore(self, sink: Callable[[EventTuple], None], *, in_place: bool = False) -> PlayableCluster:
        """Return a cluster that continues from this state."""
        return PlayableCluster(Cluster.from_snapshot(self.cluster_snapshot, sink, in_place=in_place))


@attrs.define(repr=False)
class PlayableCluster(ReprMixin):
    """A playable cluster without a plan such as a scenario."""

    cluster: ClusterLike
    stepwise: bool = False
    finished: bool = False

    def next_due(self) -> int | None:
        """Return the virtual time of the next scheduled event of the cluster, in µs; None if there is none."""
        return self.cluster.next_time()

    def step(self) -> bool:
        """Handle the next scheduled event of the cluster. Return False if there is no scheduled event."""
        return self.cluster.step()

    def advance_to(self, time_us: int) -> None:
        """Run the cluster up to a given virtual time, in µs."""
        self.cluster.run_until(time_us)

    def snapshot(self) -> PlayableClusterSnapshot | None:
        """Return the current state; None if the simulated system is not a Kafka cluster (`Cluster`)."""
        return PlayableClusterSnapshot(self.cluster.snapshot()) if isinstance(self.cluster, Cluster) else None

    def after_act(self) -> None:
        """Do nothing, because no scenario is running."""


PlayableFactory = Callable[[Callable[[EventTuple], None]], Playable]
"""A function that builds a `Playable` in its initial state, given a sink for the events of the cluster."""
