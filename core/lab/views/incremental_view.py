"""A `ClusterView` that is updated incrementally. Only the parts that events name as changed are rebuilt.

An incremental view is for a screen that is drawn many times a second. Code that needs only one view calls `Cluster.view()`, which builds
the whole view.

Every change to a cluster is recorded as an event, so the view of a partition that no event has named is still correct. Two kinds of values
change without an event:

- Ages and fetch states, for example the time since a follower was last caught up. Each call rebuilds the partitions that the caller names, and a
  few other partitions in round-robin order.
- A stall. If the high watermark of a partition does not advance for longer than `core.kafka.health.STALL_BOUND`, the view of the partition
  is rebuilt when that time has elapsed.

A caller can defer the offsets of partitions that are not shown, and can limit the number of partitions that one call rebuilds. Later calls
rebuild the partitions that exceed this limit.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from core.kafka.events import (
    BROKER,
    EVERYTHING,
    KINDS,
    LINK,
    OFFSETS,
    PARTITION_OF,
    TOPICS,
    TRANSACTIONS,
    Acted,
    Appended,
    HighWatermarkAdvanced,
)
from core.kafka.health import STALL_BOUND, PartitionStatus
from core.kafka.ids import TopicPartition, broker_at
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.lab.views import view_builder
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView, TopicView
from core.sim.events import kind_of, time_of

if TYPE_CHECKING:
    from core.lab.cluster_nodes import ClusterNodes

_versions: Final = itertools.count()

ROUND_ROBIN: Final = 2
"""The number of additional partitions that each call rebuilds, even though no event has named them."""


_OFFSET_KINDS: Final = frozenset(name for name, kind in KINDS.items() if kind.changes == OFFSETS)
_BROKER_OF: Final = {name: kind.reader("broker") for name, kind in KINDS.items() if kind.changes == BROKER}
_NODES_OF: Final = {name: kind.reader("src", "dst") for name, kind in KINDS.items() if kind.changes == LINK}
_APPENDED: Final = Appended.kind
_COMMITTED: Final = HighWatermarkAdvanced.kind

_ACTS_COVERED_BY_EVENTS: Final = frozenset(
    {
        "kill", "start", "pause", "resume", "shutdown", "power-loss", "isolate", "heal", "cut", "link", "hold", "release", "load", "stop-load",
        "produce", "consume", "stop-consume",
    }
)  # fmt: skip
"""The acts whose changes are all reported by other events."""

_structure_of: Final = operator.attrgetter(
    "leader", "leader_epoch", "partition_epoch", "replicas", "isr", "elr", "adding", "removing", "min_isr", "status", "not_fetching",
    "lost", "diverged", "exposed", "lost_acknowledged", "lost_read",
)  # fmt: skip

_NEVER_DUE: Final = 2**62
"""A virtual time that the simulation never reaches."""

Counts = tuple[int, int, int, int, int, int]
"""The numbers of records: accepted, acknowledged, lost, duplicated, lost after acknowledgment, and lost after a consumer read them."""


class IncrementalView:
    """The incremental view of one cluster. The view must receive every event of the cluster (`on_event`).

    Attributes:
        cluster: the cluster that the view shows.
        version: a number that is replaced by a new, unique one when anything except offsets, counters, and ages changes. A caller can use
            `version` as the key of a cache for results that do not depend on offsets, counters, or ages.
    """

    def __init__(self, cluster: ClusterNodes) -> None:
        """Start with an empty cache. The first call to `view` builds the views of all parts."""
        self.cluster = cluster
        self.version = next(_versions)
        self._changed: dict[TopicPartition, None] = {}
        self._offsets_changed: dict[TopicPartition, None] = {}
        self._counters_changed: dict[TopicPartition, None] = {}
        self._brokers_changed: dict[int, None] = {}
        self._all_changed = True
        self._views: list[PartitionView] = []
        self._index: dict[TopicPartition, int] = {}
        self._hosted: dict[int, dict[TopicPartition, None]] = {}
        self._counts: dict[TopicPartition, Counts] = {}
        self._totals: Counts = (0, 0, 0, 0, 0, 0)
        self._topics: tuple[int, tuple[TopicView, ...]] = (-1, ())
        self._diverged = self._exposed = 0
        self._next_in_round = 0
        # The times since which records might be uncommitted, in order: the last move of the high watermark, or the first append after that.
        self._uncommitted: dict[TopicPartition, int] = {}
        self._stalled: dict[TopicPartition, None] = {}
        self._held_back: dict[TopicPartition, None] = {}  # the partitions whose last stable offset is below the high watermark
        self._slow: dict[int, None] = {}  # the brokers whose disk made writes wait at the last call

    def is_of(self, cluster: object) -> bool:
        """Return whether this view shows the given cluster."""
        return self.cluster is cluster

    def on_event(self, event: tuple) -> None:
        """Mark the parts of the view that an event changes."""
        kind = kind_of(event)
        partition_of = PARTITION_OF.get(kind)
        if partition_of is not None:
            tp = TopicPartition(*partition_of(event))
            self._counters_changed[tp] = None
            if kind in _OFFSET_KINDS:
                self._offsets_changed[tp] = None
                if kind == _COMMITTED:
                    self._uncommitted.pop(tp, None)
                    self._uncommitted[tp] = time_of(event)
                    if tp in self._stalled:
                        self._changed[tp] = None
                elif kind == _APPENDED:
                    self._uncommitted.setdefault(tp, time_of(event))
            else:
                self._changed[tp] = None
                if tp.topic == TRANSACTION_STATE_TOPIC:
                    self._changed.update(self._held_back)
            return
        changes = KINDS[kind].changes
        if changes == BROKER:
            self._brokers_changed[_BROKER_OF[kind](event)] = None
            self._changed.update(self._held_back)
        elif changes == TOPICS:
            self._views = []  # the next view is built anew, even if another topic has the same number of partitions
        elif changes == TRANSACTIONS:
            self._changed.update(self._held_back)
        elif changes == LINK:
            for broker in map(broker_at, _NODES_OF[kind](event)):
                if broker is not None:
                    self._brokers_changed[broker] = None
        elif changes == EVERYTHING and (kind != Acted.kind or Acted(event).act not in _ACTS_COVERED_BY_EVENTS):
            self._all_changed = True

    @property
    def is_stale(self) -> bool:
        """Whether the last view did not update all partitions, or the cluster has changed since the last view."""
        return (
            self._all_changed
            or bool(self._changed or self._offsets_changed or self._brokers_changed or self._slow)
            or self._next_stall() <= self.cluster.now
        )

    def _next_stall(self) -> int:
        """Return the time at which the next partition can become stalled, in µs; `_NEVER_DUE` if there is none."""
        for since in self._uncommitted.values():
            return since + STALL_BOUND + 1
        return _NEVER_DUE

    def any_stale(self, some: Iterable[TopicPartition]) -> bool:
        """Return whether one of the given partitions has changed since the last view."""
        return self.is_stale and any(tp in self._offsets_changed or tp in self._changed for tp in some)

    def view(
        self, also: Iterable[TopicPartition] = (), *, shown: Collection[TopicPartition] | None = None, most: int | None = None
    ) -> ClusterView:
        """Build a view of the current state of the cluster.

        Args:
            also: the partitions to rebuild whether or not they have changed.
            shown: the partitions whose offsets must be exact; None for all. Partitions that are not in `shown` keep the offsets of an
                earlier view.
            most: the maximum number of changed partitions to rebuild in addition to `also`; None for no limit. Later calls rebuild the
                other partitions.
        """
        partitions = self.cluster.controller.registry.partitions
        known = len(partitions) == len(self._views) and all(tp in self._index for tp in self._changed)
        if not known or not self._views or (self._all_changed and most is None):
            self._refresh_all()
        else:
            if self._all_changed:
                self._changed = dict.fromkeys(self._index)
                self.version = next(_versions)
            self._refresh_some(also, shown, most)
        self._all_changed = False
        if self._topics[0] != self.version:
            self._topics = (self.version, view_builder.topic_views(self.cluster))
        return view_builder.cluster_view(
            self.cluster,
            view_builder.CachedViews(
                tuple(self._views), self._topics[1], self._update_totals(), self._diverged, self._exposed, self.version
            ),
        )

    def _refresh_all(self) -> None:
        self._views = [view_builder.partition_view(self.cluster, tp) for tp in self.cluster.controller.registry.partitions]
        self._index = {view.tp: at for at, view in enumerate(self._views)}
        self._hosted = {}
        for view in self._views:
            for broker in view.replicas:
                self._hosted.setdefault(broker, {})[view.tp] = None
        self._diverged = sum(view.diverged for view in self._views)
        self._exposed = sum(view.exposed for view in self._views)
        self.version = next(_versions)
        self._changed, self._offsets_changed, self._brokers_changed = {}, {}, {}
        self._uncommitted, self._stalled, self._held_back = {}, {}, {}
        for view in sorted(self._views, key=operator.attrgetter("uncommitted_us"), reverse=True):
            self._track(view)
        self._counters_changed, self._counts, self._totals = dict.fromkeys(self.cluster.account.partitions), {}, _ZERO

    def _refresh_some(self, also: Iterable[TopicPartition], shown: Collection[TopicPartition] | None, most: int | None) -> None:
        index, views, changed, offsets_changed = self._index, self._views, self._changed, self._offsets_changed
        self._mark_slow_disks()
        for broker in self._brokers_changed:
            changed.update(self._hosted.get(broker, {}))
        if self._brokers_changed:
            self._brokers_changed = {}
            self.version = next(_versions)
        while self._next_stall() <= self.cluster.now:
            tp = next(iter(self._uncommitted))
            del self._uncommitted[tp]
            changed[tp] = None
        wanted = {tp: None for tp in also if tp in index}
        for _ in range(min(ROUND_ROBIN, len(views))):
            self._next_in_round = (self._next_in_round + 1) % len(views)
            wanted[views[self._next_in_round].tp] = None
        if shown is not None:
            # The number of exposed records depends on offsets.
            changed.update((tp, None) for tp in self.cluster.exposure.lacking_brokers if tp in offsets_changed)
            wanted.update((tp, None) for tp in shown if tp in changed or tp in offsets_changed)
        rest = itertools.chain(changed, offsets_changed) if shown is None else iter(changed)
        wanted.update((tp, None) for tp in (rest if most is None else list(itertools.islice(rest, most))))
        for tp in wanted:
            self._refresh(tp)
            changed.pop(tp, None)
            offsets_changed.pop(tp, None)

    def _mark_slow_disks(self) -> None:
        """Mark the partitions on slow disks as changed, because the delay of writes to these disks changes without an event. When writes no
        longer have to wait for a disk, mark the disk's partitions as changed one last time.
        """
        slow = {number: None for number, broker in self.cluster.brokers.items() if broker.log_directories.write_wait()}
        for broker in self._slow | slow:
            self._changed.update(self._hosted.get(broker, {}))
        self._slow = slow

    def _refresh(self, tp: TopicPartition) -> None:
        at = self._index[tp]
        before = self._views[at]
        now = self._views[at] = view_builder.partition_view(self.cluster, tp)
        self._track(now)
        if _structure_of(before) != _structure_of(now):
            self.version = next(_versions)
            self._diverged += now.diverged - before.diverged
            self._exposed += now.exposed - before.exposed
            if before.replicas != now.replicas:
                for broker in now.replicas:
                    self._hosted.setdefault(broker, {})[tp] = None

    def _track(self, view: PartitionView) -> None:
        """Remember a partition that is stalled, that can become stalled, or whose last stable offset is held back."""
        tp = view.tp
        if view.held_back_at is None:
            self._held_back.pop(tp, None)
        else:
            self._held_back[tp] = None
        if view.status is PartitionStatus.STALLED:
            self._stalled[tp] = None
        else:
            self._stalled.pop(tp, None)
            if view.uncommitted_us and view.status.served:
                self._uncommitted.setdefault(tp, self.cluster.now - view.uncommitted_us)

    def _update_totals(self) -> Counts:
        """Return the totals of the durability account, updated for the partitions whose counters have changed."""
        if self._counters_changed:
            totals, counts, accounts = list(self._totals), self._counts, self.cluster.account.partitions
            for tp in self._counters_changed:
                account = accounts.get(tp)
                if account is not None:
                    now = (
                        account.accepted, account.acked_count, account.lost_count, account.duplicated,
                        account.lost_acknowledged, account.lost_read,
                    )  # fmt: skip
                    before = counts.get(tp, _ZERO)
                    if now != before:
                        counts[tp] = now
                        for each in range(6):
                            totals[each] += now[each] - before[each]
            self._counters_changed = {}
            self._totals = (totals[0], totals[1], totals[2], totals[3], totals[4], totals[5])
        return self._totals


_ZERO: Final[Counts] = (0, 0, 0, 0, 0, 0)
