"""What moves a cluster on: nothing but itself, or a plan such as a scenario, which implements `Playable` (`scenarios.running.playable_scenario`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import attrs

from core.kafka.events import EventTuple
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.settings import Settings
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.views.view import ClusterView
from core.sim.repr_mixin import ReprMixin
from core.sim.state.snapshot import Snapshot

if TYPE_CHECKING:
    from core.lab.views.durability_report import DurabilityReport
    from core.lab.views.partition_detail import PartitionDetail


class ClusterLike(Protocol):
    """What a history needs of `core.lab.cluster.Cluster`."""

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
    def view(self) -> ClusterView: ...
    def partition_detail(self, tp: TopicPartition) -> PartitionDetail: ...
    def durability_report(self) -> DurabilityReport: ...


class PlayableSnapshot(Protocol):
    """A playable as it stood at a moment, as a value."""

    @property
    def cluster_snapshot(self) -> Snapshot[Cluster]:
        """Its cluster."""

    def restore(self, sink: Callable[[EventTuple], None], *, in_place: bool = False) -> Playable:
        """A playable that goes on from there byte for byte, its events going to `sink`; `in_place`: with the very cluster."""


class Playable(Protocol):
    """What moves the cluster on: nothing but itself, or a scenario."""

    @property
    def cluster(self) -> ClusterLike: ...

    def next_due(self) -> int | None:
        """Virtual time of the next thing that happens, an event of the cluster or an act of the scenario."""

    def step(self) -> bool:
        """Let the next single thing happen; False when there is none."""

    def advance_to(self, time_us: int) -> None:
        """Let everything happen that is due up to and including that time."""

    @property
    def stepwise(self) -> bool:
        """Whether it goes by steps that take no virtual time."""

    @property
    def finished(self) -> bool:
        """Whether what was planned has come to its end."""

    def snapshot(self) -> PlayableSnapshot | None:
        """It as it stands now, as a value; None when that cannot be made."""

    def after_act(self) -> None:
        """Somebody has acted on the cluster: what was planned may wait for that."""


@attrs.frozen(repr=False)
class PlayableClusterSnapshot(ReprMixin):
    """A free playable as it stood."""

    cluster_snapshot: Snapshot[Cluster]

    def restore(self, sink: Callable[[EventTuple], None], *, in_place: bool = False) -> PlayableCluster:
        """A playable that goes on from there."""
        return PlayableCluster(Cluster.from_snapshot(self.cluster_snapshot, sink, in_place=in_place))


@attrs.define(repr=False)
class PlayableCluster(ReprMixin):
    """A cluster that nobody has planned anything for."""

    cluster: ClusterLike
    stepwise: bool = False
    finished: bool = False

    def next_due(self) -> int | None:
        """When the cluster's next scheduled thing is due."""
        return self.cluster.next_time()

    def step(self) -> bool:
        """Handle the cluster's next scheduled thing."""
        return self.cluster.step()

    def advance_to(self, time_us: int) -> None:
        """Run the cluster up to that time."""
        self.cluster.run_until(time_us)

    def snapshot(self) -> PlayableClusterSnapshot | None:
        """It as it stands now; None for a cluster that is only like one."""
        return PlayableClusterSnapshot(self.cluster.snapshot()) if isinstance(self.cluster, Cluster) else None

    def after_act(self) -> None:
        """Nothing was planned."""


PlayableFactory = Callable[[Callable[[EventTuple], None]], Playable]
"""Makes a playable whose cluster gives its events to what is handed over."""
