"""The view of a cluster for somebody who looks many times a second: only what events say has changed is looked at again.

Every change is an event, so a partition that no event has named since the last look is as it was. What moves without an
event (how long ago a follower was caught up, what its fetcher is doing) is looked at again for those asked for, and for a
few others each time, in turn. `cluster.view()` looks at everything and is what anything else should use.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from core.ids import TopicPartition
from core.journal.events import DETAIL, KINDS
from core.sim import observe
from core.view import ClusterView, PartitionView

if TYPE_CHECKING:
    from core.sim.cluster import Cluster

_states: Final = itertools.count()

IN_TURN: Final = 2
"""Partitions that are looked at again each time although nothing was said of them."""


def _topic_at(kind: str) -> int:
    """Where a kind's tuple has its topic, which a partition follows; 0: it names no partition."""
    columns = list(KINDS[kind].columns)
    return 4 + columns.index("topic") if "topic" in columns and "partition" in columns else 0


_TOPIC_AT: Final = {kind: _topic_at(kind) for kind in KINDS}
_NEVER: Final = frozenset(
    kind for kind, event in KINDS.items() if not _TOPIC_AT[kind] and (event.level == DETAIL or kind.startswith(("controller-", "link-")))
) - {"fetcher-disconnected"}
"""Kinds that say nothing about any partition."""
_OF_A_BROKER: Final = frozenset(kind for kind in KINDS if not _TOPIC_AT[kind] and next(iter(KINDS[kind].columns), "") == "broker")
"""Kinds that may change every replica of the broker they begin with."""

_state_of: Final = operator.attrgetter(
    "leader", "leader_epoch", "partition_epoch", "replicas", "isr", "elr", "adding", "removing", "min_isr", "status", "lost", "diverged", "exposed"
)  # fmt: skip


class Glance:
    """The eye on one cluster. Hand it every event (`touch`); `view` is as good as the cluster's own, and cheap.

    Attributes:
        state: another number, never used before, whenever anything but offsets and counters has changed; what depends on nothing
            else need not be made again.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Begin; the first view looks at everything."""
        self.cluster = cluster
        self.state = next(_states)
        self._touched: dict[TopicPartition, None] = {}
        self._brokers: dict[int, None] = {}
        self._everything = True
        self._views: list[PartitionView] = []
        self._index: dict[TopicPartition, int] = {}
        self._hosted: dict[int, dict[TopicPartition, None]] = {}
        self._diverged = self._exposed = 0
        self._turn = 0

    def touch(self, event: tuple) -> None:
        """An event has happened."""
        kind = event[3]
        at = _TOPIC_AT[kind]
        if at:
            self._touched[TopicPartition(event[at], event[at + 1])] = None
        elif kind in _OF_A_BROKER:
            self._brokers[event[4]] = None
        elif kind not in _NEVER:
            self._everything = True

    def view(self, also: Iterable[TopicPartition] = ()) -> ClusterView:
        """The cluster now; `also` names partitions to look at whatever events said."""
        partitions = self.cluster.controller.replication.partitions
        if self._everything or len(partitions) != len(self._views) or not all(tp in self._index for tp in self._touched):
            self._look_at_everything()
        else:
            self._look_at_touched(also)
        self._touched, self._brokers, self._everything = {}, {}, False
        return observe.cluster_view(self.cluster, tuple(self._views), self._diverged, self._exposed, self.state)

    def _look_at_everything(self) -> None:
        self._views = [observe.partition_view(self.cluster, tp) for tp in self.cluster.controller.replication.partitions]
        self._index = {view.tp: at for at, view in enumerate(self._views)}
        self._hosted = {}
        for view in self._views:
            for broker in view.replicas:
                self._hosted.setdefault(broker, {})[view.tp] = None
        self._diverged = sum(view.diverged for view in self._views)
        self._exposed = sum(view.exposed for view in self._views)
        self.state = next(_states)

    def _look_at_touched(self, also: Iterable[TopicPartition]) -> None:
        wanted = dict(self._touched)
        for broker in self._brokers:
            wanted.update(self._hosted.get(broker, {}))
        index, views = self._index, self._views
        wanted.update((tp, None) for tp in also if tp in index)
        for _ in range(min(IN_TURN, len(views))):
            self._turn = (self._turn + 1) % len(views)
            wanted[views[self._turn].tp] = None
        if self._brokers:
            self.state = next(_states)
        for tp in wanted:
            at = index[tp]
            before, now = views[at], observe.partition_view(self.cluster, tp)
            views[at] = now
            if _state_of(before) != _state_of(now):
                self.state = next(_states)
                self._diverged += now.diverged - before.diverged
                self._exposed += now.exposed - before.exposed
                if before.replicas != now.replicas:
                    for broker in now.replicas:
                        self._hosted.setdefault(broker, {})[tp] = None
