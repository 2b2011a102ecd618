"""While nothing is lost, the durability page shows what producers were promised, what readers got, and where the records are."""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from tests.tui.states import partition, replica, view_of
from tui.pages.durability import paint_durability
from tui.pages.standing import promise, standing_lines, survives
from tui.rendering.palette import COLOR


def after_a_kill() -> Cluster:
    """Return a cluster in which b2 died a second ago."""
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
        topics=(TopicSpec("orders", assignment=(PartitionSpec((1, 2)), PartitionSpec((3, 1, 2)))),),
    )
    cluster = Cluster(spec, CURRENT, 0)
    cluster.do(acts.Load("orders", 100, acks="all", producer="app"))
    cluster.do(acts.Consume("orders", consumer="reader"))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Kill(2))
    cluster.run_until(3 * SECOND)
    return cluster


def test_the_page_says_who_holds_the_records_as_long_as_nothing_is_lost() -> None:
    view = after_a_kill().view()
    for size in ((80, 21), (120, 37), (200, 57)):
        lines = paint_durability(view, [], lambda _: None, COLOR, size, 0)
        assert len(lines) <= size[1]
        assert {line.cell_length for line in lines} == {size[0]}
    shown = [line.text for line in paint_durability(view, [], lambda _: None, COLOR, (120, 37), 0)]
    (app,) = (line for line in shown if line.startswith(" app"))
    assert "every ISR member has it: now 2, at least 1" in app
    assert any(line.startswith(" reader") and "reads without a group" in line for line in shown)
    first, second = (line for line in shown if line[1] in "⊘‖✓" and " orders-" in line)
    assert "orders-0" in first
    assert "only b1 has all of it" in first
    assert "1 of b3 and b1 can fail" in second


def test_partitions_that_do_not_fit_are_those_with_the_most_copies() -> None:
    good, alone = partition(replica(1, 8, 8, role="leader"), replica(2, 8, 8), committed=8), partition(replica(1, 8, 8), committed=8)
    found = [
        attrs.evolve(each, tp=TopicPartition("orders", at))
        for at, each in enumerate((good, good, attrs.evolve(alone, replicas=(1, 2)), good))
    ]
    shown = [line.text for line in standing_lines(view_of(*found), COLOR, 80, 5)]
    assert len(shown) == 5
    assert "orders-2" in shown[3]
    assert "and 3 more with as many copies or more" in shown[-1]


def test_promises_and_copies_follow_acks_and_the_logs() -> None:
    p = partition(replica(1, 10, 8, role="leader"), replica(2, 8, 8), replica(3, 7, 7), committed=8)
    assert survives(p) == "1 of b1 and b2 can fail"
    assert survives(partition(replica(1, 3, 3, alive=False), committed=8)) == "no running broker has all of it"
    assert promise(1, [p]) == "only that the leader has it"
    assert promise(0, [p]) == "nothing: the producer waits for no answer"
