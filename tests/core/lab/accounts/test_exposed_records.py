"""The two levels of harm: committed records that an electable replica lacks, and lost records by producer and cause."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kafka.events import explain
from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.sim.errors import ActRefused
from core.sim.units import SECOND

TP = TopicPartition("t", 0)


def made(replicas: tuple[int, ...], *, release: str = "4.1", pace: Pace = Pace.BY_HAND, **config: str) -> tuple[Cluster, list[tuple]]:
    events: list[tuple] = []
    written = tuple((name.replace("_", "."), value) for name, value in config.items())
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in sorted(replicas)),
        (TopicSpec("t", assignment=(PartitionSpec(replicas),), config=written),),
        pace=pace,
    )
    return Cluster(spec, Release.named(release), 1, events.append), events


def kinds(events: list[tuple], *wanted: str) -> list[tuple]:
    return [event for event in events if event[3] in wanted]


def test_a_truncation_by_high_watermark_exposes_then_loses_and_is_the_doom() -> None:
    cluster, events = made((2, 1), release="0.10.2")
    for act in (
        acts.Produce("t", 1, producer="first"), acts.Fetch(1), acts.Produce("t", 1, producer="second"), acts.Arrive(1), acts.Answer(1),
        acts.Arrive(1),
    ):  # fmt: skip
        cluster.do(act)
    assert cluster.view().exposed == 0
    cluster.do(acts.Bounce(1))
    assert list(cluster.exposure.exposed_offsets(TP)) == [(1, 2)]
    assert cluster.partition_view(TP).exposed == 1
    cluster.do(acts.Kill(2))
    cluster.do(acts.Fence(2))
    (truncated,) = kinds(events, "truncated")
    (loss,) = cluster.account.losses()
    assert loss == (TP, "second", 0, 1, 2, True, False, truncated[0])
    (lost,) = kinds(events, "records-lost")
    assert lost[-3:] == (truncated[0], 1, 0)
    assert (cluster.account.lost, cluster.account.lost_acknowledged, cluster.account.lost_read) == (1, 1, 0)
    assert [event[3] for event in kinds(events, "records-exposed", "records-safe", "records-lost")] == [
        "records-exposed", "records-lost", "records-safe",
    ]  # fmt: skip
    assert cluster.view().exposed == 0


def test_an_unclean_election_is_the_doom_of_what_the_new_leader_never_had() -> None:
    cluster, events = made((1, 2), unclean_leader_election_enable="true")
    cluster.do(acts.Produce("t", 5, producer="early"))
    for _ in range(2):
        cluster.do(acts.Fetch(2))
    cluster.run_until(60_000_000)
    cluster.do(acts.Produce("t", 3, acks="1", producer="late"))
    cluster.do(acts.Fetch(2, records=1))
    cluster.run_until(120_000_000)
    cluster.do(acts.CheckIsr(1))
    assert list(cluster.exposure.exposed_offsets(TP)) == [(6, 8)], "alone in the ISR, 1 commits what 2 lacks, and 2 may be elected"
    cluster.do(acts.Kill(1))
    cluster.do(acts.Fence(1))
    (elected,) = kinds(events, "leader-elected")
    assert [(loss.producer, loss.start, loss.end, loss.event) for loss in cluster.account.losses()] == [("late", 6, 8, elected[0])]


def test_without_unclean_election_a_laggard_outside_the_isr_exposes_nothing() -> None:
    cluster, events = made((1, 2), unclean_leader_election_enable="false")
    cluster.run_until(60_000_000)
    cluster.do(acts.Produce("t", 3, acks="1"))
    cluster.do(acts.CheckIsr(1))
    assert cluster.partition_view(TP).isr == (1,)
    assert cluster.partition_view(TP).committed == 3
    assert cluster.view().exposed == 0
    assert not kinds(events, "records-exposed")
    cluster.do(acts.Set("unclean.leader.election.enable", "true", topic="t"))
    assert cluster.view().exposed == 3, "from now on 2 may be elected"
    assert len(kinds(events, "records-exposed")) == 1
    cluster.do(acts.Set("unclean.leader.election.enable", "false", topic="t"))
    (safe,) = kinds(events, "records-safe")
    assert safe[-1] == "not-electable"


def test_what_a_consumer_has_read_counts_as_lost_without_an_acknowledgement() -> None:
    cluster, events = made((1, 2), pace=Pace.TIMELINE, unclean_leader_election_enable="true")
    cluster.do(acts.Consume("t"))
    cluster.do(acts.Cut(("b1", "b2")))
    cluster.do(acts.Produce("t", 4, acks="0"))
    cluster.run_until(60_000_000)
    assert cluster.view().exposed == 4
    cluster.do(acts.Kill(1))
    cluster.run_until(90_000_000)
    assert cluster.account.acked == 0
    assert [(loss.start, loss.end, loss.acknowledged, loss.read) for loss in cluster.account.losses()] == [(0, 4, False, True)]
    assert (cluster.account.lost, cluster.account.lost_acknowledged, cluster.account.lost_read) == (4, 0, 4)
    (lost,) = kinds(events, "records-lost")
    assert lost[-2:] == (0, 4)
    assert "4 records of t-0 (offsets 0–3 of epoch 0; read)" in explain(lost)


def test_a_record_that_was_acknowledged_and_read_is_lost_once_and_counts_for_both() -> None:
    """b1 continues alone: 3 records are acknowledged and read by the consumer, and 2 more are only read. b2 never has any of them."""
    cluster, events = made((1, 2), pace=Pace.TIMELINE, unclean_leader_election_enable="true")
    cluster.do(acts.Consume("t"))
    cluster.do(acts.Cut(("b1", "b2")))
    cluster.do(acts.Produce("t", 3, acks="1", producer="sure"))
    cluster.run_until(1_000_000)
    cluster.do(acts.Produce("t", 2, acks="0", producer="hasty"))
    cluster.run_until(60_000_000)
    cluster.do(acts.Kill(1))
    cluster.run_until(90_000_000)
    account, view = cluster.account, cluster.view()
    assert (account.lost, account.lost_acknowledged, account.lost_read) == (5, 3, 5)
    assert (view.lost, view.lost_acknowledged, view.lost_read) == (5, 3, 5)
    assert (view.partitions[0].lost, view.partitions[0].lost_acknowledged, view.partitions[0].lost_read) == (5, 3, 5)
    assert [(loss.start, loss.end, loss.acknowledged, loss.read) for loss in account.losses()] == [(0, 3, True, True), (3, 5, False, True)]
    assert [each.loss_kind for each in cluster.durability_report().lost] == ["acknowledged and read", "read"]
    cluster.do(acts.Kill(2))
    cluster.do(acts.Heal())
    cluster.do(acts.Start(1))
    cluster.run_until(120_000_000)
    assert (account.lost, account.lost_acknowledged, account.lost_read) == (0, 0, 0), "b1 leads again with what it had kept"
    (recovered,) = kinds(events, "records-recovered")
    assert recovered[-2:] == (3, 5)


def test_an_acknowledgement_that_arrives_after_the_loss_counts_from_then_on() -> None:
    """The consumer reads from b1, whose response to the producer is held: the records are lost as read records before they are
    acknowledged.
    """
    cluster, events = made((1, 2), pace=Pace.TIMELINE, unclean_leader_election_enable="true")
    cluster.do(acts.Consume("t"))
    cluster.do(acts.Cut(("b1", "b2")))
    cluster.do(acts.Produce("t", 1, acks="1", producer="app"))
    cluster.run_until(60_000_000)
    cluster.do(acts.Hold(("b1", "app")))
    cluster.do(acts.Produce("t", 4, acks="1", producer="app"))
    cluster.run_until(65_000_000)
    cluster.do(acts.Cut(("b1", "controller")))
    cluster.run_until(85_000_000)
    account = cluster.account
    assert (account.lost, account.lost_acknowledged, account.lost_read) == (5, 1, 5)
    cluster.do(acts.Release(("b1", "app")))
    cluster.run_until(90_000_000)
    assert (account.lost, account.lost_acknowledged, account.lost_read) == (5, 5, 5)
    assert [event[-4:] for event in kinds(events, "lost-records-seen")] == [(1, 5, 4, 0)]


def cut(one: int, other: int) -> acts.Cut:
    return acts.Cut((f"b{one}", f"b{other}"))


DAYS = ("0.10.2", "2.4", "3.6", "4.1", "0.10.2", "2.8", "3.6", "4.1")
"""The releases of the random runs below."""


def test_exposure_is_what_counting_every_offset_gives() -> None:
    """In random runs with unclean election, the intervals agree with a count of every offset, and with the events for both."""
    seen = 0
    for seed, release in enumerate(DAYS):
        cluster, events = made((1, 2, 3), release=release, pace=Pace.TIMELINE, unclean_leader_election_enable="true")
        rng = random.Random(f"{seed}:exposure")
        cluster.do(acts.Load("t", rate=10, every=400_000, acks=rng.choice(["1", "all"])))
        for _ in range(30):
            cluster.run_until(cluster.now + rng.randrange(500_000, 20_000_000))
            act = rng.choice(
                [
                    acts.Kill(1), acts.Kill(2), acts.Start(1), acts.Start(2), cut(1, 3), cut(2, 3), cut(1, 2), acts.Heal(),
                    acts.FailDir(1), acts.RepairDir(1), acts.RepairDir(1, empty=False), acts.DeleteRecords(TP),
                ]
            )  # fmt: skip
            with contextlib.suppress(ActRefused):
                cluster.do(act)
            account = cluster.account.of(TP)
            exposed, lacking = set(), set()
            account.add_committed()
            electable = list(cluster.exposure.electable(TP))
            for term, held in account.committed.items():
                for start, end in held:
                    for offset in range(start, end):
                        for broker, log in electable:
                            start = max(account.log.log_start, 0 if log is None else log.log_start)
                            if offset >= start and (log is None or log.term_at(offset) is not term):
                                exposed.add(offset)
                                lacking.add(broker)
            found = {offset for start, end in cluster.exposure.exposed_offsets(TP) for offset in range(start, end)}
            assert found == exposed
            assert set(cluster.exposure.lacking_brokers.get(TP, ())) == lacking
            seen += bool(found)
        told = kinds(events, "records-exposed", "records-safe")
        open_now: dict[int, bool] = {}
        for event in told:
            assert open_now.get(event[6], False) is (event[3] == "records-safe"), "exposed and safe take turns"
            open_now[event[6]] = event[3] == "records-exposed"
    assert seen > 5, "a test in which nothing is ever exposed shows nothing"


def test_who_has_been_given_what_it_lacked_is_safe_at_once() -> None:
    """Up to 0.10.2: a follower truncated its log to its high watermark. The append that completes its log advances no high watermark."""
    cluster, events = made((2, 1, 3), release="0.10.2")
    cluster.do(acts.Produce("t", 1))
    for _ in range(3):
        cluster.do(acts.Fetch(1))
        cluster.do(acts.Fetch(3))
    cluster.do(acts.Produce("t", 1))
    cluster.do(acts.Fetch(1))
    cluster.do(acts.Fetch(3))
    cluster.do(acts.Fetch(3))
    cluster.do(acts.Arrive(1))
    assert cluster.partition_view(TP).committed == 2
    cluster.do(acts.Bounce(1))
    assert list(cluster.exposure.lacking_brokers[TP]) == [1]
    cluster.do(acts.Fetch(1))
    given = kinds(events, "follower-append")[-1]
    assert given[4] == 1
    assert [event[2] for event in kinds(events, "records-safe")] == [given[0]], "because of what it appended"
    assert not cluster.exposure.lacking_brokers


@pytest.mark.parametrize("release", ["3.3", "3.6", "4.1"])
def test_a_failed_log_directory_exposes_what_it_held_until_the_controller_hears_of_it(release: str) -> None:
    """From 3.3 to 3.6, this takes as long as the session of the broker, which halts."""
    cluster, events = made((1, 2), release=release, pace=Pace.TIMELINE)
    cluster.do(acts.Produce("t", 5))
    cluster.run_until(SECOND)
    cluster.do(acts.FailDir(2))
    assert list(cluster.exposure.exposed_offsets(TP)) == [(0, 5)]
    assert list(cluster.exposure.lacking_brokers[TP]) == [2]
    cluster.run_until(60 * SECOND)
    assert [event[3:7] for event in kinds(events, "records-exposed", "records-safe")] == [
        ("records-exposed", "t", 0, 2),
        ("records-safe", "t", 0, 2),
    ]


PIECES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)))


@given(PIECES, PIECES, st.integers(0, 40), st.integers(0, 40))
def test_intervals_are_sets(one: list[tuple[int, int]], two: list[tuple[int, int]], start: int, end: int) -> None:
    def offsets(found: OffsetSet) -> set[int]:
        return {offset for low, high in found for offset in range(low, high)}

    a = OffsetSet.of((low, low + size) for low, size in one)
    b = OffsetSet.of((low, low + size) for low, size in two)
    assert offsets(a.union(b)) == offsets(a) | offsets(b)
    assert a.union(b).count() == len(offsets(a) | offsets(b))
    assert offsets(a.minus(b)) == offsets(a) - offsets(b)
    assert offsets(a.within(start, end)) == {offset for offset in offsets(a) if start <= offset < end}
