"""The metrics that operators watch first, under their JMX names, and their history over virtual time.

Most metrics are computed from frozen views. Some metrics, for example bytes, refused requests, and idle threads, need the event stream.
`tui.analysis.event_metrics` computes them from the events in memory.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import is_at_min_isr, is_offline, is_under_min_isr, is_under_replicated
from core.lab.metrics import CONTROLLER
from core.lab.views.cluster_view import ClusterView
from core.sim.repr_mixin import ReprMixin
from core.sim.units import SECOND
from tui.analysis.per_state_cache import cached_per_state

FIRST_STEP: Final = SECOND // 5
"""The initial interval between samples, in µs of virtual time. The interval doubles whenever there are more than `MOST` samples."""

MOST: Final = 2_000
"""The maximum number of samples of a metric."""

MANY: Final = 1_000
"""The number of partitions above which the interval between samples is four times as long."""

Values = dict[int, float]
"""The values of a metric by broker ID. The controller's value is stored under the key `CONTROLLER`."""


@attrs.frozen(repr=False)
class Metric(ReprMixin):
    """A metric.

    Attributes:
        name: the name of the MBean, or of a metric that only the laboratory has.
        about: what the metric measures, and what to do if its value is bad.
        of: the function that returns the values by broker for a view, or None if the metric is computed from events.
        counts: whether the metric is a counter.
        flow: whether the metric counts something that flows steadily, so that the rate is more useful than the count.
        fold: the function that combines the values of all brokers: `sum`, `max`, or `min`.
        bad, warn: functions that return whether a value of the metric is critical (`bad`) or needs attention (`warn`).
        dear: whether each sample of the metric reads every replica; for a large cluster, such a metric has no history.
        lab: whether the metric exists only in the laboratory, not in Kafka.
        unit: the unit of the values, if the name does not imply it.
    """

    name: str
    about: str
    of: Callable[[ClusterView], Values] | None = None
    counts: bool = False
    flow: bool = False
    fold: str = "sum"
    bad: Callable[[float], bool] = lambda value: False
    warn: Callable[[float], bool] = lambda value: False
    dear: bool = False
    lab: bool = False
    unit: str = ""

    @property
    def short(self) -> str:
        """The `name` property of the MBean, or the metric's whole name if there is no such property."""
        return self.name.partition("name=")[2].partition(",")[0] or self.name

    def folded(self, values: Values) -> float:
        """Combine the values of all brokers into one value for the cluster."""
        if not values:
            return 0.0
        of_all = values.values()
        return min(of_all) if self.fold == "min" else max(of_all) if self.fold == "max" else sum(of_all)


_LED: Final = ("led", "under-replicated", "under-min", "at-min", "reassigning")
"""The partition counts that are kept separately for each leader."""


@attrs.frozen(repr=False)
class _Census(ReprMixin):
    """Counts over all partitions of a view. All counts are computed in one pass, and the result is cached for each version of the view."""

    led: dict[str, Values]
    offline: int
    imbalanced: int
    offline_replicas: Values


def _census(view: ClusterView) -> _Census:
    return cached_per_state(view, "census", lambda: _count(view))


def _count(view: ClusterView) -> _Census:
    up = [b.id for b in view.brokers if b.state is not BrokerState.STOPPED]
    led: dict[str, Values] = {name: dict.fromkeys(up, 0.0) for name in _LED}
    replicas: Values = dict.fromkeys(up, 0.0)
    offline = imbalanced = 0
    failed = any(b.failed_dirs for b in view.brokers)
    lead, under_replicated, under_min, at_min, reassigning = (led[name] for name in _LED)
    for p in view.partitions:
        leader, assigned = p.leader, p.replicas
        offline += is_offline(p)
        if assigned and leader != assigned[0]:
            imbalanced += 1
        if leader in replicas:
            lead[leader] += 1
            under_replicated[leader] += is_under_replicated(p)
            under_min[leader] += is_under_min_isr(p, p.min_isr)
            at_min[leader] += is_at_min_isr(p, p.min_isr)
            if p.adding or p.removing:
                reassigning[leader] += 1
        if failed:
            for replica in p.replica_views:
                if replica.broker in replicas and not replica.dir_online:
                    replicas[replica.broker] += 1
    return _Census(led, offline, imbalanced, replicas)


def _controller(view: ClusterView, value: float) -> Values:
    return {CONTROLLER: float(value)}


def _max_lag(view: ClusterView) -> Values:
    found: Values = {b.id: 0.0 for b in view.brokers if b.state is not BrokerState.STOPPED}
    for p in view.partitions:
        high_watermark = p.committed or next((replica.hw for replica in p.replica_views if replica.broker == p.leader), 0)
        for replica in p.replica_views:
            if replica.leo < high_watermark and high_watermark - replica.leo > found.get(replica.broker, math.inf):
                found[replica.broker] = float(high_watermark - replica.leo)
    return found


def _some(value: float) -> bool:
    return value > 0


_MANAGER: Final = "kafka.server:type=ReplicaManager,name="
_CONTROLLER: Final = "kafka.controller:type=KafkaController,name="
_TOPICS: Final = "kafka.server:type=BrokerTopicMetrics,name="

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        _CONTROLLER + "OfflinePartitionsCount",
        "Partitions without a leader: clients can neither write nor read. Restart a broker that is in the ISR or the ELR.",
        lambda v: _controller(v, _census(v).offline), bad=_some,
    ),
    Metric(
        _MANAGER + "UnderMinIsrPartitionCount",
        "Partitions with a leader whose ISR is smaller than min.insync.replicas: writes with acks=all are refused.",
        lambda v: _census(v).led["under-min"], bad=_some,
    ),
    Metric(
        _CONTROLLER + "ActiveControllerCount",
        "The number of controllers that consider themselves active. Any value other than 1 is an incident.",
        lambda v: _controller(v, v.active_controllers), bad=lambda value: value != 1,
    ),
    Metric(
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
        "Leaders elected from outside the ISR. Records that the elected leader lacked are lost.",
        lambda v: _controller(v, v.unclean_elections), counts=True, bad=_some,
    ),
    Metric(
        _MANAGER + "UnderReplicatedPartitions",
        "Partitions with replicas outside the ISR. This is the first sign of a broker that is down or slow.",
        lambda v: _census(v).led["under-replicated"], warn=_some,
    ),
    Metric(
        _MANAGER + "AtMinIsrPartitionCount",
        "Partitions that would refuse writes with acks=all if one more replica left the ISR.",
        lambda v: _census(v).led["at-min"], warn=_some,
    ),
    Metric(
        _MANAGER + "OfflineReplicaCount", "Replicas in failed log directories.",
        lambda v: _census(v).offline_replicas, warn=_some,
    ),
    Metric(
        _CONTROLLER + "FencedBrokerCount", "Brokers that the controller considers dead or not ready.",
        lambda v: _controller(v, sum(b.fenced for b in v.brokers)), warn=_some,
    ),
    Metric(
        _MANAGER + "IsrShrinksPerSec",
        "ISR changes in which a leader removed followers. Kafka does not count replicas that the controller removes, and it removes those of a "
        "broker that shuts down, and of one that dies, because a session is shorter than replica.lag.time.max.ms. If no broker is down, check "
        "the disks, the network, and GC, and check whether replica.lag.time.max.ms is too short.",
        lambda v: _controller(v, v.isr_shrinks), counts=True, warn=_some,
    ),
    Metric(
        _MANAGER + "IsrExpandsPerSec", "ISR changes in which a leader added followers. Alternating shrinks and expansions mean flapping.",
        lambda v: _controller(v, v.isr_expands), counts=True,
    ),
    Metric(
        "kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica",
        "Records below the high watermark that the slowest follower lacks.",
        _max_lag, fold="max", dear=True, warn=lambda value: value >= 1_000,
    ),
    Metric(
        "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
        "The fraction of time that the request handlers of the busiest broker are idle. Investigate if it is below 0.3, and act if it is below 0.1. "
        "The cost of each request is the laboratory's estimate.",
        fold="min", bad=lambda value: value < 0.1, warn=lambda value: value < 0.3,
    ),
    Metric(
        "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
        "The fraction of time that the network threads of the busiest broker are idle. The cost of each request is the "
        "laboratory's estimate.",
        fold="min", bad=lambda value: value < 0.1, warn=lambda value: value < 0.3,
    ),
    Metric(_TOPICS + "FailedProduceRequestsPerSec", "Produce requests that were refused.", counts=True, warn=_some),
    Metric(_TOPICS + "MessagesInPerSec", "Records that leaders appended.", lambda v: _controller(v, v.accepted), counts=True, flow=True),
    Metric(_TOPICS + "BytesInPerSec", "Bytes that leaders appended.", counts=True, flow=True, unit=" B"),
    Metric(_TOPICS + "ReplicationBytesInPerSec", "Bytes that followers copied.", counts=True, flow=True, unit=" B"),
    Metric(
        _MANAGER + "ReassigningPartitions", "Partitions that are being moved to other replicas.",
        lambda v: _census(v).led["reassigning"],
    ),
    Metric(
        _CONTROLLER + "PreferredReplicaImbalanceCount", "Partitions that their preferred leader does not lead. To move "
            "leadership back, press e.",
        lambda v: _controller(v, _census(v).imbalanced),
    ),
    Metric(_MANAGER + "LeaderCount", "Partitions that a broker leads.", lambda v: _census(v).led["led"]),
    Metric(
        "kafka.producer:type=producer-metrics,name=request-latency-max",
        "The time, in milliseconds, that the slowest producer's last acknowledged batch took, including retries.",
        lambda v: _controller(v, max((p.last_latency_us for p in v.producers), default=0) / 1_000), fold="max",
        warn=lambda value: value >= 1_000, unit=" ms",
    ),
    Metric("records acknowledged", "Records that were acknowledged to producers.", lambda v: _controller(v, v.acked), counts=True, flow=True, lab=True),
    Metric(
        "records exposed", "Committed records that at least one electable replica lacks. If such a replica is elected, the records that "
            "it lacks are lost.",
        lambda v: _controller(v, v.exposed), warn=_some, lab=True,
    ),
    Metric(
        "records lost", "Records that were acknowledged or read but are not in the log of the current leader, each counted once.",
        lambda v: _controller(v, v.lost), bad=_some, lab=True,
    ),
)  # fmt: skip
"""All metrics, in the order in which an operator would check them."""


@attrs.define(repr=False)
class Series(ReprMixin):
    """The samples of a branch: the times, and the values by metric name."""

    times: list[int] = attrs.field(factory=list)
    values: dict[str, list[float]] = attrs.field(factory=dict)
    step: int = FIRST_STEP

    def upto(self, time: int) -> Series:
        """Return a copy with the samples up to and including the given time."""
        count = bisect_right(self.times, time)
        return Series(self.times[:count], {name: values[:count] for name, values in self.values.items()}, self.step)

    def add(self, time: int, values: Mapping[str, float]) -> None:
        """Add a sample. If there are too many samples, drop every second sample and double the interval."""
        self.times.append(time)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)
        if len(self.times) > MOST:
            self.step *= 2
            self.times = self.times[::2]
            self.values = {name: kept[::2] for name, kept in self.values.items()}


class MetricsHistory:
    """Samples of the metrics that are computed from views, for each branch of a session."""

    def __init__(self) -> None:
        self._branches: dict[str, Series] = {}

    def observe(self, view: ClusterView, branch: str, origin: str, lags: Callable[[], Values | None] | None = None) -> None:
        """Take a sample if the interval since the last sample has passed.

        Args:
            view: the frozen state of the cluster.
            branch, origin: the current branch, and the branch from which the current branch started.
            lags: the function that returns the current lag of each broker (`Session.lags`); None if the offsets in `view` are current.
        """
        series = self._branches.get(branch)
        if series is None:
            parent = self._branches.get(origin)
            series = self._branches[branch] = parent.upto(view.now) if parent is not None else Series()
        many = len(view.partitions) > MANY
        step = series.step * (4 if many else 1)
        if series.times and view.now < series.times[-1] + step:
            return
        values = {m.name: m.folded(m.of(view)) for m in METRICS if m.of is not None and not m.dear}
        if not many:
            lagging = None if lags is None else lags()
            values |= {m.name: m.folded(m.of(view) if lagging is None else lagging) for m in METRICS if m.of is not None and m.dear}
        series.add(view.now, values)

    def of(self, branch: str) -> Series:
        """Return the samples of a branch; an unknown branch has none."""
        return self._branches.get(branch) or Series()
