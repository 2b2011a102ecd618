"""The view of a cluster for somebody who looks many times a second: only what events say has changed is looked at again.

Every change is an event, so a partition that no event has named since the last look is as it was. What moves without an
event (how long ago a follower was caught up, what its fetcher is doing) is looked at again for those asked for, and for a
few others each time, in turn. A partition whose high watermark stands still for longer than `core.kafka.health.STALL_BOUND` is stalled
without any event: it is looked at when that time is over. Whoever shows only some partitions may leave the offsets of the others for later, and whoever
has little time may ask for a bounded look: what is behind is kept in mind. `cluster.view()` looks at everything and is what
anything else should use.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from core.kafka.events import DETAIL, KINDS
from core.kafka.health import STALL_BOUND
from core.kafka.ids import TopicPartition
from core.lab.views import observe
from core.lab.views.view import ClusterView, PartitionStatus, PartitionView, TopicView

if TYPE_CHECKING:
    from core.lab.cluster import Cluster

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
_OF_A_BROKER: Final = frozenset(kind for kind in KINDS if not _TOPIC_AT[kind] and next(iter(KINDS[kind].columns), "") == "broker") - _NEVER
"""Kinds that may change every replica of the broker they begin with."""
_OF_LINKS: Final = frozenset({"link-cut", "link-healed"})
"""Kinds that may change what the two nodes they begin with can do for clients."""
_APPENDED: Final = "append"
_COMMITTED: Final = "high-watermark"

_TOLD: Final = frozenset(
    {
        "kill", "start", "pause", "resume", "shutdown", "power-loss", "isolate", "heal", "cut", "link", "hold", "release", "load", "stop-load",
        "produce", "consume", "stop-consume",
    }
)  # fmt: skip
"""Acts of which other events tell all that they change."""

_OFFSETS: Final = frozenset(
    {
        "append",
        "follower-fetched",
        "follower-append",
        "follower-high-watermark",
        "high-watermark",
        "produce-acked",
        "consumed",
        "log-flushed",
    }
)
"""Kinds after which nothing but offsets and what is counted by them is different in the partition they name."""

_state_of: Final = operator.attrgetter(
    "leader", "leader_epoch", "partition_epoch", "replicas", "isr", "elr", "adding", "removing", "min_isr", "status", "stuck",
    "lost", "diverged", "exposed", "lost_acknowledged", "lost_read",
)  # fmt: skip

_NEVER_DUE: Final = 2**62
"""Past the end of virtual time."""

Counts = tuple[int, int, int, int, int, int]
"""Accepted, acknowledged, lost and duplicated records; of the lost ones those acknowledged, and those read."""


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
        self._news: dict[TopicPartition, None] = {}
        self._moved: dict[TopicPartition, None] = {}
        self._count: dict[TopicPartition, None] = {}
        self._brokers: dict[int, None] = {}
        self._everything = True
        self._views: list[PartitionView] = []
        self._index: dict[TopicPartition, int] = {}
        self._hosted: dict[int, dict[TopicPartition, None]] = {}
        self._counts: dict[TopicPartition, Counts] = {}
        self._totals: Counts = (0, 0, 0, 0, 0, 0)
        self._topics: tuple[int, tuple[TopicView, ...]] = (-1, ())
        self._diverged = self._exposed = 0
        self._turn = 0
        self._committing: dict[TopicPartition, int] = {}  # in order of time: the last move of the high watermark, or the first append since
        self._stalled: dict[TopicPartition, None] = {}
        self._slow: dict[int, None] = {}  # brokers whose disk made writes wait when they were last looked at

    def touch(self, event: tuple) -> None:
        """An event has happened."""
        kind = event[3]
        at = _TOPIC_AT[kind]
        if at:
            tp = TopicPartition(event[at], event[at + 1])
            self._count[tp] = None
            if kind in _OFFSETS:
                self._moved[tp] = None
                if kind == _COMMITTED:
                    self._committing.pop(tp, None)
                    self._committing[tp] = event[1]
                    if tp in self._stalled:
                        self._news[tp] = None
                elif kind == _APPENDED:
                    self._committing.setdefault(tp, event[1])
            else:
                self._news[tp] = None
        elif kind in _OF_A_BROKER:
            self._brokers[event[4]] = None
        elif kind in _OF_LINKS:
            for name in event[4:6]:
                if name[:1] == "b" and name[1:].isdecimal():
                    self._brokers[int(name[1:])] = None
        elif kind not in _NEVER and (kind != "act" or event[4] not in _TOLD):
            self._everything = True

    @property
    def behind(self) -> bool:
        """Whether the last view left anything for later, or anything has happened since."""
        return self._everything or bool(self._news or self._moved or self._brokers or self._slow) or self._next_stall() <= self.cluster.now

    def _next_stall(self) -> int:
        """When the next partition is to be looked at because its high watermark stands still, µs; far off if none is."""
        for since in self._committing.values():
            return since + STALL_BOUND + 1
        return _NEVER_DUE

    def is_behind(self, some: Iterable[TopicPartition]) -> bool:
        """Whether one of these partitions is not as the last view has it."""
        return self.behind and any(tp in self._moved or tp in self._news for tp in some)

    def view(
        self, also: Iterable[TopicPartition] = (), *, shown: Collection[TopicPartition] | None = None, most: int | None = None
    ) -> ClusterView:
        """The cluster now.

        Args:
            also: partitions to look at whatever events said.
            shown: the partitions whose offsets matter now; None: all. Those of the others are what they were when last looked at.
            most: how many partitions besides those are looked at; the rest is looked at next time. None: as many as need it.
        """
        partitions = self.cluster.controller.replication.partitions
        known = len(partitions) == len(self._views) and all(tp in self._index for tp in self._news)
        if not known or not self._views or (self._everything and most is None):
            self._look_at_everything()
        else:
            if self._everything:
                self._news = dict.fromkeys(self._index)
                self.state = next(_states)
            self._look_at_some(also, shown, most)
        self._everything = False
        if self._topics[0] != self.state:
            self._topics = (self.state, observe.topic_views(self.cluster))
        return observe.cluster_view(
            self.cluster, observe.Seen(tuple(self._views), self._topics[1], self._sums(), self._diverged, self._exposed, self.state)
        )

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
        self._news, self._moved, self._brokers = {}, {}, {}
        self._committing, self._stalled = {}, {}
        for view in sorted(self._views, key=operator.attrgetter("uncommitted_us"), reverse=True):
            self._note_stall(view)
        self._count, self._counts, self._totals = dict.fromkeys(self.cluster.account.partitions), {}, _NOTHING

    def _look_at_some(self, also: Iterable[TopicPartition], shown: Collection[TopicPartition] | None, most: int | None) -> None:
        index, views, news, moved = self._index, self._views, self._news, self._moved
        self._look_at_slow_disks()
        for broker in self._brokers:
            news.update(self._hosted.get(broker, {}))
        if self._brokers:
            self._brokers = {}
            self.state = next(_states)
        while self._next_stall() <= self.cluster.now:
            tp = next(iter(self._committing))
            del self._committing[tp]
            news[tp] = None
        wanted = {tp: None for tp in also if tp in index}
        for _ in range(min(IN_TURN, len(views))):
            self._turn = (self._turn + 1) % len(views)
            wanted[views[self._turn].tp] = None
        if shown is not None:
            news.update((tp, None) for tp in self.cluster.exposure.lacking if tp in moved)  # how much they lack moves with offsets
            wanted.update((tp, None) for tp in shown if tp in news or tp in moved)
        rest = itertools.chain(news, moved) if shown is None else iter(news)
        wanted.update((tp, None) for tp in (rest if most is None else list(itertools.islice(rest, most))))
        for tp in wanted:
            self._look_at(tp)
            news.pop(tp, None)
            moved.pop(tp, None)

    def _look_at_slow_disks(self) -> None:
        """How long writes wait for a disk changes without an event: its partitions are looked at as long as they do, and once more."""
        slow = {number: None for number, broker in self.cluster.brokers.items() if broker.directories.write_wait()}
        for broker in self._slow | slow:
            self._news.update(self._hosted.get(broker, {}))
        self._slow = slow

    def _look_at(self, tp: TopicPartition) -> None:
        at = self._index[tp]
        before = self._views[at]
        now = self._views[at] = observe.partition_view(self.cluster, tp)
        self._note_stall(now)
        if _state_of(before) != _state_of(now):
            self.state = next(_states)
            self._diverged += now.diverged - before.diverged
            self._exposed += now.exposed - before.exposed
            if before.replicas != now.replicas:
                for broker in now.replicas:
                    self._hosted.setdefault(broker, {})[tp] = None

    def _note_stall(self, view: PartitionView) -> None:
        """Keep in mind a stalled partition, and one that is on the way to it."""
        tp = view.tp
        if view.status is PartitionStatus.STALLED:
            self._stalled[tp] = None
        else:
            self._stalled.pop(tp, None)
            if view.uncommitted_us and view.status.served:
                self._committing.setdefault(tp, self.cluster.now - view.uncommitted_us)

    def _sums(self) -> Counts:
        """The account's totals: only of partitions that events have named is anything different."""
        if self._count:
            totals, counts, accounts = list(self._totals), self._counts, self.cluster.account.partitions
            for tp in self._count:
                account = accounts.get(tp)
                if account is not None:
                    now = (
                        account.accepted, account.acked_count, account.lost_count, account.duplicated,
                        account.lost_acknowledged, account.lost_read,
                    )  # fmt: skip
                    before = counts.get(tp, _NOTHING)
                    if now != before:
                        counts[tp] = now
                        for each in range(6):
                            totals[each] += now[each] - before[each]
            self._count = {}
            self._totals = (totals[0], totals[1], totals[2], totals[3], totals[4], totals[5])
        return self._totals


_NOTHING: Final[Counts] = (0, 0, 0, 0, 0, 0)
