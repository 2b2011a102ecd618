"""A described cluster becomes a spec in the state that the text shows, with notes about the conclusions."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, NetworkSpec, Pace
from core.sim.units import SECOND
from scenarios.describe.described import DescribeError
from scenarios.describe.parse import parse_describe
from scenarios.describe.spec import to_cluster_spec

DATA = Path(__file__).parent / "data"


def row(number: int, leader: str, replicas: str, isr: str, more: str = "", topic: str = "t") -> str:
    return f"\tTopic: {topic}\tPartition: {number}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}{more}\n"


def head(count: int, factor: int, configs: str = "", topic: str = "t") -> str:
    return f"Topic: {topic}\tTopicId: fhp4CXTzTzihEt9mhspQ_Q\tPartitionCount: {count}\tReplicationFactor: {factor}\tConfigs: {configs}\n"


def test_a_healthy_cluster_starts_healthy() -> None:
    spec, notes = to_cluster_spec(parse_describe((DATA / "kafka-4.3-healthy.txt").read_text()))
    assert spec.brokers == (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3))
    (topic,) = spec.topics
    assert (topic.name, topic.topic_id, topic.partitions, topic.replication_factor) == ("l07.cdr.ha", "_hfDXqHlQz6I7rB-JbQSVw", 6, 3)
    assert topic.config == (("min.insync.replicas", "2"),)
    assert topic.assignment[3] == PartitionSpec((3, 2, 1), (3, 2, 1), 3)
    assert notes == ()


def test_a_leaderless_cluster_stays_leaderless() -> None:
    spec, notes = to_cluster_spec(parse_describe((DATA / "kafka-0.10-leaderless.txt").read_text()))
    assert spec.brokers == (BrokerSpec(0, up=False), BrokerSpec(1, up=False), BrokerSpec(2, up=False))
    assert spec.topics[0].assignment == (PartitionSpec((2, 0), (), -1), PartitionSpec((0, 1), (), -1), PartitionSpec((1, 2), (), -1))
    assert notes == (
        "broker 0 is down at the start: it leads no partition and is in no Isr",
        "broker 1 is down at the start: it leads no partition and is in no Isr",
        "broker 2 is down at the start: it leads no partition and is in no Isr",
        "every broker is down at the start, so no partition has a leader; start brokers to see which partitions recover",
        "the Isr is empty, so no clean election is possible: iis-0, iis-1, iis-2",
    )


def test_the_last_isr_member_of_a_leaderless_partition_is_down() -> None:
    """Kafka keeps the member in the ISR after its broker has died. If the broker were alive, it would lead."""
    spec, notes = to_cluster_spec(parse_describe(head(2, 2) + row(0, "none", "3,1", "3") + row(1, "1", "1,3", "1")))
    assert spec.brokers == (BrokerSpec(1), BrokerSpec(3, up=False))
    assert spec.topics[0].assignment[0] == PartitionSpec((3, 1), (3,), -1)
    assert notes == (
        "broker 3 is down at the start: it leads no partition, and is in the Isr only of partitions without a leader",
        "broker 1 is up but outside the Isr, so its replica starts behind: t-0",
    )


def test_a_live_isr_member_without_a_leader_is_noted() -> None:
    spec, notes = to_cluster_spec(parse_describe(head(2, 2) + row(0, "none", "3,1", "3") + row(1, "1", "1,3", "1,3")))
    assert spec.brokers == (BrokerSpec(1), BrokerSpec(3))
    assert spec.topics[0].assignment[0].leader == -1
    assert (
        notes[0] == "these partitions start without a leader, as in the imported output, although a member of the Isr is up (it serves "
        "other partitions): t-0"
    )


def test_elr_and_reassignment_and_deletion() -> None:
    text = (
        head(3, 2, "segment.jitter.ms=1,min.insync.replicas=2,cleanup.policy=compact,delete")
        + row(0, "none", "1,2", "", "\tElr: 2\tLastKnownElr: 1")
        + row(1, "2", "3,2,1", "2", "\tAdding Replicas: 3\tRemoving Replicas: 1")
        + row(2, "2", "2,1", "2,1", "\tMarkedForDeletion: true")
    )
    spec, notes = to_cluster_spec(parse_describe(text))
    assert spec.topics[0].assignment[0] == PartitionSpec((1, 2), (), -1, elr=(2,), last_known_elr=(1,))
    assert spec.topics[0].config == (("segment.jitter.ms", "1"), ("min.insync.replicas", "2"), ("cleanup.policy", "compact,delete"))
    assert notes == (
        "broker 3 is up at the start although it is in no Isr: a reassignment is adding it, so it can be healthy",
        "the Isr is empty, so only a replica in the Elr can become leader without loss: t-0",
        "broker 1 is up but outside the Isr, so its replica starts behind: t-0, t-1",
        "broker 2 is up but outside the Isr, so its replica starts behind: t-0",
        "broker 3 is up but outside the Isr, so its replica starts behind: t-1",
        "a reassignment in progress is not imported; replicas stay as listed: t-1",
        "topic t is marked for deletion; it starts like any other topic",
        "settings that are shown but have no effect in the laboratory: segment.jitter.ms",
    )


def test_long_lists_are_counted() -> None:
    text = head(20, 2) + "".join(row(n, "1", "1,2", "1") for n in range(20)) + head(1, 2, topic="u") + row(0, "2", "1,2", "1,2", topic="u")
    notes = to_cluster_spec(parse_describe(text))[1]
    assert notes == (
        "broker 2 is up but outside the Isr, so its replica starts behind: t-0, t-1, t-2, t-3, t-4, t-5, t-6, t-7 and 12 more",
    )


def test_rows_that_a_filter_left_out_are_not_invented() -> None:
    text = row(2, "1", "1,2", "1") + row(2_000_000_000, "1", "1,2", "1")
    with pytest.raises(DescribeError) as refused:
        to_cluster_spec(parse_describe(text, "f"))
    assert str(refused.value) == (
        "f: topic t has rows up to partition 2000000000, but none for partitions 0 to 1 and 3 to 1999999999; "
        "filters omit healthy partitions: use the output without a filter"
    )


def test_rows_without_headline_that_are_complete() -> None:
    spec, _ = to_cluster_spec(parse_describe(row(0, "1", "1,2", "1") + row(1, "1", "1,2", "1")))
    assert (spec.topics[0].partitions, spec.topics[0].topic_id) == (2, "")
    assert [broker.up for broker in spec.brokers] == [True, False]


def test_a_headline_without_rows_is_placed_or_refused() -> None:
    known = head(1, 2) + row(0, "1", "1,2", "1,2")
    spec, notes = to_cluster_spec(parse_describe(known + head(4, 2, topic="u")))
    assert (spec.topics[1].partitions, spec.topics[1].replication_factor, spec.topics[1].assignment) == (4, 2, ())
    assert notes == ("topic u has no rows in the imported output: its 4 partitions are placed like those of a new topic",)
    for text, message in (
        (
            known + head(4, 3, topic="u"),
            "f: topic u has no partition rows, and needs 3 brokers for its replicas, but the imported output names 2; ",
        ),
        (known + head(2_000_000_000, 1, topic="u"), "f: topic u has 2000000000 partitions, but no partition rows; "),
        (head(1, 1), "f: the imported output does not name any broker; give partition rows, with Replicas and Isr"),
    ):
        with pytest.raises(DescribeError) as refused:
            to_cluster_spec(parse_describe(text, "f"))
        assert str(refused.value).startswith(message)


def test_settings_network_and_pace_are_taken_over() -> None:
    imported = parse_describe((DATA / "kafka-3-no-elr.txt").read_text())
    spec, notes = to_cluster_spec(
        imported, settings=(("replica.lag.time.max.ms", 10_000),), network=NetworkSpec(latency=7), pace=Pace.BY_HAND
    )
    assert (spec.settings, spec.network.latency, spec.pace) == ((("replica.lag.time.max.ms", 10_000),), 7, Pace.BY_HAND)
    assert [broker.id for broker in spec.brokers] == [0, 1, 2]
    assert spec.topics[0].config == (("segment.bytes", "1000000"),)
    assert notes == ()


def test_an_excerpt_becomes_a_cluster_of_its_rows() -> None:
    text = head(9, 2) + row(0, "1", "1,2", "1,2") + row(3, "2", "2,3", "2") + row(4, "none", "3,1", "3")
    spec, notes = to_cluster_spec(parse_describe(text))
    assert [(broker.id, broker.up) for broker in spec.brokers] == [(1, True), (2, True), (3, False)]
    (topic,) = spec.topics
    assert topic.assignment == (
        PartitionSpec((1, 2), (1, 2), 1),
        PartitionSpec((2, 3)),
        PartitionSpec((3, 1)),
        PartitionSpec((2, 3), (2,), 2),
        PartitionSpec((3, 1), (3,), -1),
    )
    assert notes[-2:] == (
        "topic t: the imported output lacks partitions 1 to 2; "
        "the replicas of these partitions are placed on the brokers in turn, and are in sync on running brokers",
        "topic t starts with 5 of its 9 partitions: the imported output has no rows for the others",
    )
    Cluster(spec, CURRENT).run_until(SECOND)


def test_an_excerpt_of_a_huge_topic_is_refused() -> None:
    with pytest.raises(DescribeError) as refused:
        to_cluster_spec(parse_describe(head(2_000_000_000, 2) + row(1_999_999_999, "1", "1,2", "1"), "f"))
    assert str(refused.value).startswith("f: topic t has 1 rows up to partition 1999999999; ")


MOVING = "\tAdding Replicas: 4,5\tRemoving Replicas: 1,2"


def test_brokers_that_a_reassignment_adds_are_not_down() -> None:
    spec, notes = to_cluster_spec(parse_describe(head(1, 3) + row(0, "1", "3,4,5,1,2", "1,2,3", MOVING)))
    assert [broker.up for broker in spec.brokers] == [True] * 5
    assert not any("is down at the start" in note for note in notes)
    beside = row(1, "1", "1,4", "1")
    spec, notes = to_cluster_spec(parse_describe(head(2, 3) + row(0, "1", "3,4,5,1,2", "1,2,3", MOVING) + beside))
    assert [broker.id for broker in spec.brokers if not broker.up] == [4], "as an old replica it should be in the Isr of t-1"


def test_observers_are_not_down() -> None:
    text = head(1, 4) + row(0, "2", "2,1,3,4", "2,1", "\tOffline: \tObservers: 3,4")
    spec, notes = to_cluster_spec(parse_describe(text))
    assert [broker.up for broker in spec.brokers] == [True] * 4
    assert notes[0].startswith("broker 3 is up at the start although it is in no Isr: it is an observer")
    spec, notes = to_cluster_spec(parse_describe(text.replace("Offline: ", "Offline: 3")))
    assert [broker.id for broker in spec.brokers if not broker.up] == [3]
    assert notes[0] == "broker 3 is down at the start: its replicas are Offline"
    spec, _ = to_cluster_spec(parse_describe(text.replace("Offline: \tO", "LiveO")))
    assert [broker.up for broker in spec.brokers] == [True] * 4


def test_a_replica_that_offline_leaves_out_lags_and_lives() -> None:
    spec, notes = to_cluster_spec(parse_describe(head(1, 3) + row(0, "2", "2,1,3", "2", "\tOffline: 3")))
    assert [(broker.id, broker.up) for broker in spec.brokers] == [(1, True), (2, True), (3, False)]
    assert notes == (
        "broker 3 is down at the start: its replicas are Offline",
        "broker 1 is up but outside the Isr, so its replica starts behind: t-0",
    )
