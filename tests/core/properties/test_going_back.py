"""A keyframe shares everything unchanged with the previous keyframe and nevertheless holds the whole state. Going back in place is exact."""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest

from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane
from core.sim.state.snapshot import Snapshot
from core.sim.units import SECOND, US_PER_MS
from tests.core.properties.test_fetch_elision import lives, spec_of
from tests.core.properties.test_keyframes import plan
from tests.core.properties.timelines import attempt
from tests.core.properties.whole import same, whole

ACTS = 8
"""The number of acts in each timeline. Two seconds without acts follow."""

EVERY = 60
"""The mean number of steps between two keyframes."""


class Looker:
    """Plays a random timeline, takes keyframes at random steps, some of them in quick succession, and compares each keyframe with the whole
    state.
    """

    def __init__(self, name: str, seed: int) -> None:
        life = attrs.evolve(lives(seed), partitions=(5, 4, 4))
        spec = spec_of(life, ControlPlane.KRAFT if seed % 3 == 2 else ControlPlane.BY_RELEASE)
        if seed % 2:
            spec = attrs.evolve(spec, brokers=tuple(attrs.evolve(broker, log_dirs=2) for broker in spec.brokers))
        self.draw = random.Random(f"{name}:{seed}:going back")
        self.events: list[tuple] = []
        self.cluster = Cluster(spec, RELEASES[name], seed, self.events.append)
        self.kept: list[Snapshot[Cluster]] = []
        self.shared = 0
        for wait, act in [*plan(seed)[:ACTS], (2 * SECOND, None)]:
            due = self.cluster.now + wait
            while (following := self.cluster.next_time()) is not None and following <= due:
                self.cluster.step()
                if self.draw.random() < 1 / EVERY:
                    self.look()
            self.cluster.run_until(due)
            if act is not None:
                attempt(self.cluster, act)
                self.look()

    def look(self) -> None:
        """Take keyframes a few steps apart, and compare them with a walk through the whole state."""
        for _ in range(self.draw.randint(1, 3)):
            self.shared += self.cluster.snapshots.shares
            self.kept.append(self.cluster.snapshot())
            same(self.cluster, Cluster.restore(self.kept[-1]))
            for _ in range(self.draw.randint(1, 3)):
                following = self.cluster.next_time()
                if following is not None and following <= self.cluster.now:
                    self.cluster.step()


@pytest.mark.parametrize("name", list(RELEASES)[::3])
def test_every_keyframe_holds_all_and_can_be_gone_back_to(name: str) -> None:
    """Each release differs little from its neighbors, one of which has a longer test (`test_keyframes`)."""
    seen = Looker(name, 1 + list(RELEASES).index(name) // 3 % 3)
    assert seen.shared >= 3
    cluster, draw = seen.cluster, seen.draw
    for _ in range(3):
        chosen = draw.choice(seen.kept)
        anew = Cluster.restore(chosen)
        told: list[tuple] = []
        cluster.restore_in_place(chosen, told.append)
        same(cluster, anew)
        expected: list[tuple] = []
        anew.journal.sink = expected.append
        until = cluster.now + draw.randrange(SECOND)
        cluster.run_until(until)
        anew.run_until(until)
        assert told == expected
        seen.kept.append(cluster.snapshot())
        same(cluster, Cluster.restore(seen.kept[-1]))


def quick(partitions: int = 6) -> Cluster:
    """Return a cluster under load of all kinds."""
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", partitions, 3),))
    cluster = Cluster(spec)
    cluster.do(acts.Load("t", 100, acks="all", producer="all"))
    cluster.do(acts.Load("t", 30, every=70 * US_PER_MS, producer="sure", idempotence=True))
    cluster.do(acts.Consume("t"))
    cluster.run_until(5 * SECOND)
    return cluster


def test_a_future_that_was_left_is_still_there() -> None:
    """Go back, continue in another way, and go forward to the first future again. Lists that both futures share must not change."""
    cluster = quick()
    start = cluster.snapshot()
    cluster.run_until(8 * SECOND)
    left = cluster.snapshot()
    stood = whole(cluster)
    cluster.restore_in_place(start)
    cluster.do(acts.Kill(2))
    cluster.run_until(20 * SECOND)
    assert whole(cluster) != stood
    cluster.restore_in_place(left)
    assert whole(cluster) == stood
    assert whole(Cluster.restore(left)) == stood


def test_what_was_found_out_in_a_future_that_was_left_is_forgotten() -> None:
    """The ends of batches are computed on demand, and another future's batches have different ends."""
    cluster = quick(1)
    cluster.snapshot()
    start = cluster.snapshot()
    cluster.run_until(7 * SECOND)
    assert start.objects is cluster.snapshot().objects
    cluster.restore_in_place(start)
    cluster.do(acts.StopLoad("all"))
    cluster.do(acts.StopLoad("sure"))
    cluster.do(acts.Produce("t", 7))
    cluster.run_until(9 * SECOND)
    (term,) = {partition.term for broker in cluster.brokers.values() for partition in broker.partitions.values() if partition.is_leader}
    assert term is not None
    batches, ends = term.batches, [batch.base + batch.records for batch in term.batches]
    assert [term.number_at(end) for end in ends] == [*range(len(batches))]
    assert term.number_after(ends[-1]) == len(batches)
    size = sum(batch.bytes for batch in batches)
    assert term.bytes == size
    assert (term.number_above(size - 1), term.number_above(size)) == (len(batches) - 1, len(batches))


def test_what_a_view_finds_out_is_not_taken_for_the_past() -> None:
    """A view of harm adds committed records to the account. At an earlier moment, these records are not yet known to be committed."""
    cluster = quick()
    cluster.snapshot()
    start = cluster.snapshot()
    stood = whole(cluster)
    cluster.run_until(6 * SECOND)
    cluster.snapshot()
    cluster.durability_report()
    cluster.restore_in_place(start)
    assert whole(cluster) == stood


def test_another_cluster_cannot_go_back() -> None:
    one, other = quick(1), quick(1)
    with pytest.raises(ValueError, match="only to its own snapshots"):
        other.restore_in_place(one.snapshot())


class Pair:
    """An object with two lists that are equal at times."""

    def __init__(self) -> None:
        self.one: list[int] = []
        self.other: list[int] = []
        self.by_name: dict[str, list[int]] = {"one": self.one}


def test_one_object_is_not_taken_for_another_that_equals_it() -> None:
    cluster = quick(1)
    pair = Pair()
    cluster.page_cache = pair  # type: ignore[assignment]
    before = cluster.snapshot()
    pair.one = pair.by_name["one"] = []
    pair.other = pair.one
    kept = cluster.snapshot()
    assert kept.objects is before.objects
    for copy in (Cluster.restore(kept), cluster):
        there: Any = copy.page_cache
        assert there.one is there.other is there.by_name["one"]
    cluster.restore_in_place(before)
    assert pair.one is not pair.other
    assert pair.one is pair.by_name["one"]
    cluster.restore_in_place(kept)
    assert pair.one is pair.other is pair.by_name["one"]
