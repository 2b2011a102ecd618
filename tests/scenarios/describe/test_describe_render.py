"""Printing `kafka-topics --describe`: formats by release and filters. The printed text can be read back with the same result."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, RELEASES, Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView, TopicView
from core.sim.units import SECOND
from scenarios.describe.described import DescribedPartition, DescribedTopic, ElrColumn
from scenarios.describe.parse import parse_describe
from scenarios.describe.render import from_view, render_describe

LISTED = ElrColumn.LISTED
ROWS = (
    DescribedPartition("t", 0, 1, (1, 2, 3), (1, 2, 3), (), LISTED, ()),
    DescribedPartition("t", 1, 2, (2, 3, 1), (2, 1), (), LISTED, ()),
    DescribedPartition("t", 2, 1, (3, 1, 2), (1,), (2,), LISTED, ()),
    DescribedPartition("t", 3, -1, (3, 1, 2), (3,), (), LISTED, ()),
)
TOPIC = DescribedTopic("t", "fhp4CXTzTzihEt9mhspQ_Q", 4, 3, (("min.insync.replicas", "2"),), ROWS)


def printed(*topics: DescribedTopic, **filters: bool) -> list[int]:
    """Return the partitions that a filter prints."""
    text = render_describe(topics, CURRENT, **filters)  # type: ignore[arg-type]
    assert "PartitionCount" not in text
    return [row.partition for topic in parse_describe(text).topics for row in topic.rows] if text else []


@pytest.mark.parametrize(
    ("release", "lines"),
    [
        (
            "0.10.2",
            [
                "Topic:t\tPartitionCount:4\tReplicationFactor:3\tConfigs:min.insync.replicas=2",
                "\tTopic: t\tPartition: 3\tLeader: -1\tReplicas: 3,1,2\tIsr: 3",
            ],
        ),
        (
            "2.1",
            [
                "Topic:t\tPartitionCount:4\tReplicationFactor:3\tConfigs:min.insync.replicas=2",
                "\tTopic: t\tPartition: 3\tLeader: -1\tReplicas: 3,1,2\tIsr: 3",
            ],
        ),
        (
            "2.4",
            [
                "Topic: t\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: min.insync.replicas=2",
                "\tTopic: t\tPartition: 3\tLeader: none\tReplicas: 3,1,2\tIsr: 3",
            ],
        ),
        (
            "3.6",
            [
                "Topic: t\tTopicId: fhp4CXTzTzihEt9mhspQ_Q\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: min.insync.replicas=2",
                "\tTopic: t\tPartition: 3\tLeader: none\tReplicas: 3,1,2\tIsr: 3",
            ],
        ),
        (
            "4.1",
            [
                "Topic: t\tTopicId: fhp4CXTzTzihEt9mhspQ_Q\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: min.insync.replicas=2",
                "\tTopic: t\tPartition: 3\tLeader: none\tReplicas: 3,1,2\tIsr: 3\tElr: \tLastKnownElr: ",
            ],
        ),
    ],
)
def test_each_release_prints_its_own_format(release: str, lines: list[str]) -> None:
    text = render_describe([TOPIC], RELEASES[release])
    assert text.endswith("\n")
    assert [text.split("\n")[0], text.split("\n")[4]] == lines


def test_a_topic_without_id_and_settings() -> None:
    bare = attrs.evolve(TOPIC, topic_id="", config=(), rows=())
    assert render_describe([bare], CURRENT) == "Topic: t\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: \n"
    assert render_describe([bare], RELEASES["0.10.2"]) == "Topic:t\tPartitionCount:4\tReplicationFactor:3\tConfigs:\n"


def test_filters_choose_rows_and_suppress_the_headline() -> None:
    assert printed(TOPIC, under_replicated=True) == [1, 2, 3]
    assert printed(TOPIC, unavailable=True) == [3]
    assert printed(TOPIC, under_min_isr=True) == [2, 3]
    assert printed(TOPIC, at_min_isr=True) == [1]
    assert printed(TOPIC, at_min_isr=True, unavailable=True) == [1, 3]
    assert printed(attrs.evolve(TOPIC, rows=ROWS[:1]), under_replicated=True, unavailable=True, under_min_isr=True, at_min_isr=True) == []


def test_topics_with_overrides_are_headlines_alone() -> None:
    """`TopicCommand#describeTopic`: no partitions, no topics without their own settings, and no combination with a filter."""
    bare = attrs.evolve(TOPIC, name="u", config=(), rows=())
    assert render_describe([TOPIC, bare], CURRENT, topics_with_overrides=True) == render_describe([attrs.evolve(TOPIC, rows=())], CURRENT)
    assert render_describe([bare], CURRENT, topics_with_overrides=True) == ""
    with pytest.raises(ValueError, match=r'"\[topics-with-overrides\]" can\'t be used with option "\[unavailable-partitions\]"'):
        render_describe([TOPIC], CURRENT, topics_with_overrides=True, unavailable=True)


def test_min_isr_filters_use_the_raw_setting() -> None:
    """With RF 1 and min ISR 2, the tool reports under-min-ISR, although the broker caps the value at 1."""
    row = DescribedPartition("t", 0, 1, (1,), (1,), (), LISTED, ())
    topic = DescribedTopic("t", "", 1, 1, (("min.insync.replicas", "2"),), (row,))
    assert printed(topic, under_min_isr=True) == [0]
    assert printed(topic, at_min_isr=True) == []
    by_default = attrs.evolve(topic, config=())
    assert printed(by_default, under_min_isr=True) == []
    assert printed(by_default, at_min_isr=True) == [0]


def test_a_leaderless_partition_is_under_min_isr_however_large_its_isr() -> None:
    assert printed(attrs.evolve(TOPIC, config=(("min.insync.replicas", "1"),)), under_min_isr=True) == [3]


def test_old_releases_have_no_columns_for_a_reassignment() -> None:
    row = DescribedPartition("t", 0, 1, (1, 2), (1,), adding=(2,))
    topic = DescribedTopic("t", "", 1, 1, (), (row,))
    assert render_describe([topic], RELEASES["2.1"]).endswith("\tReplicas: 1,2\tIsr: 1\n")
    assert render_describe([topic], RELEASES["2.4"]).endswith("\tReplicas: 1,2\tIsr: 1\n")
    assert render_describe([topic], RELEASES["2.7"]).endswith("\tIsr: 1\tAdding Replicas: 2\tRemoving Replicas: \n")


def test_unavailable_counts_leaders_that_are_not_alive() -> None:
    text = render_describe([TOPIC], CURRENT, unavailable=True, live_brokers=frozenset({1, 3}))
    assert [row.partition for row in parse_describe(text).topics[0].rows] == [1, 3]


def test_cli_01_unavailable_partition_of_a_single_replica() -> None:
    """TopicCommandTest.testDescribeUnavailablePartitions."""
    rows = tuple(DescribedPartition("X", n, leader, (n,), (n,), (), LISTED, ()) for n, leader in enumerate((-1, 1, 2)))
    text = render_describe([DescribedTopic("X", "", 3, 1, (), rows)], CURRENT, unavailable=True, live_brokers=frozenset({1, 2}))
    assert text == "\tTopic: X\tPartition: 0\tLeader: none\tReplicas: 0\tIsr: 0\tElr: \tLastKnownElr: \n"


def test_cli_04_replicas_being_added_do_not_make_a_partition_under_replicated() -> None:
    """TopicCommandTest.testIsNotUnderReplicatedWhenAdding, ...WhenReassignmentIsInProgress."""
    adding = DescribedPartition("t", 0, 1, (1, 2, 3, 4), (1, 2), (), LISTED, (), adding=(3, 4))
    moving = DescribedPartition("t", 1, 1, (3, 1, 2), (1, 2), (), LISTED, (), adding=(3,), removing=(1,))
    short = DescribedPartition("t", 2, 1, (3, 1, 2), (1,), (2,), LISTED, (), adding=(3,), removing=(1,))
    topic = DescribedTopic("t", "", 3, 2, (), (adding, moving, short))
    assert printed(topic, under_replicated=True) == [2]
    lines = render_describe([topic], CURRENT).splitlines()
    assert lines[0].split("\t")[2] == "ReplicationFactor: 2"
    assert lines[1] == (
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3,4\tIsr: 1,2\tAdding Replicas: 3,4\tRemoving Replicas: \tElr: \tLastKnownElr: "
    )


def test_elr_not_known_prints_na_where_the_release_has_the_column() -> None:
    row = DescribedPartition("t", 0, 1, (1,), (1,))
    topic = DescribedTopic("t", "", 1, 1, (), (row,))
    assert render_describe([topic], CURRENT).endswith("\tIsr: 1\tElr: N/A\tLastKnownElr: N/A\n")
    assert render_describe([topic], RELEASES["3.6"]).endswith("\tIsr: 1\n")


def test_from_view() -> None:
    def partition(topic: str, number: int, **changes: object) -> PartitionView:
        view = PartitionView(
            tp=TopicPartition(topic, number),
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            replicas=(1, 2),
            isr=(1, 2),
            elr=(),
            last_known_elr=(),
            adding=(),
            removing=(),
            recovering=False,
            min_isr=1,
            status=PartitionStatus.HEALTHY,
            replica_views=(),
            slowest_replicas=(1,),
            accepted=0,
            acked=0,
            committed=0,
            lost=0,
            duplicated=0,
            diverged=0,
        )
        return attrs.evolve(view, **changes)  # type: ignore[arg-type]

    view = ClusterView(
        now=0,
        seq=0,
        release="4.1",
        controller="controller",
        brokers=(),
        topics=(TopicView("b", "Vp9HewlWQU6xqQpE3GCMag", 2, 2, (("min.insync.replicas", "1"),)), TopicView("a", "", 1, 2, ())),
        partitions=(
            partition("b", 1, leader=-1, isr=(), elr=(2,), last_known_elr=(2,)),
            partition("a", 0),
            partition("b", 0, replicas=(3, 1, 2), adding=(3,), removing=(1,)),
        ),
        producers=(),
        consumers=(),
        cut_links=(),
        held_links=(),
        accepted=0,
        acked=0,
        lost=0,
        duplicated=0,
        diverged=0,
        unclean_elections=0,
        isr_shrinks=0,
        isr_expands=0,
    )
    assert render_describe(from_view(view), CURRENT) == (
        "Topic: b\tTopicId: Vp9HewlWQU6xqQpE3GCMag\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: min.insync.replicas=1\n"
        "\tTopic: b\tPartition: 0\tLeader: 1\tReplicas: 3,1,2\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 1\tElr: \tLastKnownElr: \n"
        "\tTopic: b\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: \tElr: 2\tLastKnownElr: 2\n"
        "Topic: a\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n"
        "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: \n"
    )


@pytest.mark.parametrize(
    ("release", "factor", "columns", "lists_it"),
    [
        ("2.4", 3, "", True),
        ("2.7", 2, "\tAdding Replicas: 3\tRemoving Replicas: 1", False),
        ("2.8", 2, "\tAdding Replicas: 3\tRemoving Replicas: 1", False),
    ],
)
def test_a_running_reassignment_is_described_since_2_6(release: str, factor: int, columns: str, lists_it: bool) -> None:
    """`PartitionDescription#getReplicationFactor`: 2.4 counts the replicas that are being added (2.4.1-511)."""
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2)),))
    made = Cluster(ClusterSpec(tuple(map(BrokerSpec, (1, 2, 3))), (topic,)), RELEASES[release])
    made.run_until(5 * SECOND)
    made.do(acts.Cut(("b1", "b3")))
    made.do(acts.Reassign(TopicPartition("t", 0), (3, 2)))
    made.run_until(made.now + SECOND)
    topics = from_view(made.view())
    headline, row = render_describe(topics, made.release).splitlines()
    assert f"ReplicationFactor: {factor}" in headline
    assert row == f"\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 3,2,1\tIsr: 1,2{columns}"
    assert bool(render_describe(topics, made.release, under_replicated=True)) is lists_it


@pytest.mark.parametrize(("release", "factor"), [("0.9", 3), ("0.10.2", 3), ("0.11", 2), ("2.1", 2), ("2.4", 3)])
def test_before_2_2_the_replication_factor_is_that_of_the_head_of_a_map(release: str, factor: int) -> None:
    """The controller rewrote the topic's znode in the order of its hash table, in which partition 1 comes first (1.1.1-k41, 0.11.0.3-3), but
    partition 0 before 0.11 (0.10.2.2-3)."""
    topic = TopicSpec("t-u", assignment=(PartitionSpec((3, 4, 2)), PartitionSpec((1, 2, 4))))
    made = Cluster(ClusterSpec(tuple(map(BrokerSpec, (1, 2, 3, 4))), (topic,)), RELEASES[release])
    made.run_until(5 * SECOND)
    made.do(acts.Reassign(TopicPartition("t-u", 1), (3, 2)))
    made.run_until(made.now + 20 * SECOND)
    assert made.partition_view(TopicPartition("t-u", 1)).replicas == (3, 2)
    headline = render_describe(from_view(made.view()), made.release).splitlines()[0]
    assert headline.replace(": ", ":") == f"Topic:t-u\tPartitionCount:2\tReplicationFactor:{factor}\tConfigs:"


NAMES = st.text("abzABZ019._-", min_size=1, max_size=12)
SETTING_NAMES = st.text("abz.", min_size=1, max_size=10).filter(lambda name: name[0] != ".")
VALUES = st.lists(st.text("abz019.:*-", min_size=1, max_size=6), min_size=1, max_size=3).map(",".join) | st.just("")
SOME = st.integers(0, 2**31 - 1)


@st.composite
def described_rows(draw: st.DrawFn, topic: str, number: int, factor: int, elr: bool) -> DescribedPartition:
    replicas = tuple(draw(st.lists(SOME, min_size=factor, max_size=factor + 2, unique=True)))
    some = st.lists(st.sampled_from(replicas), unique=True).map(tuple)
    isr = draw(some)
    known = draw(st.sampled_from([LISTED, ElrColumn.NOT_AVAILABLE])) if elr else ElrColumn.ABSENT
    return DescribedPartition(
        topic=topic,
        partition=number,
        leader=draw(st.sampled_from([-1, *isr])),
        replicas=replicas,
        isr=isr,
        elr=tuple(broker for broker in replicas if broker not in isr) if known is LISTED else None,
        elr_known=known,
        last_known_elr=draw(some) if known is LISTED else None,
        adding=replicas[factor:],
        removing=draw(some) if elr else (),
        marked_for_deletion=draw(st.booleans()),
    )


@st.composite
def described_topics(draw: st.DrawFn, elr: bool) -> tuple[DescribedTopic, ...]:
    topics = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        count, factor = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        rows = tuple(draw(described_rows(name, number, factor, elr)) for number in range(count))
        topic_id = draw(st.just("") | st.text("aZ09_-", min_size=22, max_size=22))
        config = draw(st.dictionaries(SETTING_NAMES, VALUES, max_size=3))
        topics.append(DescribedTopic(name, topic_id, count, factor, tuple(config.items()), rows, draw(st.booleans())))
    return tuple(topics)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["2.8", "3.6", "3.9", "4.1"]).flatmap(
        lambda name: st.tuples(st.just(RELEASES[name]), described_topics(RELEASES[name].describe_elr))
    )
)
def test_what_is_printed_reads_back_the_same(case: tuple[Release, tuple[DescribedTopic, ...]]) -> None:
    release, topics = case
    text = render_describe(topics, release)
    imported = parse_describe(text)
    assert imported.topics == topics
    assert imported.notes == ()
    assert parse_describe(text.replace("\t", "  ")).topics == topics
    assert render_describe(imported.topics, release) == text
