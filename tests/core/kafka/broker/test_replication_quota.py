"""The replication throttle (A4): bursts around the rate, replicas that are not in sync, the leader and the follower, and the lists of
topics.
"""

from __future__ import annotations

import pytest

from core.kafka.broker.replication_quota import ReplicationQuota
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.settings.settings import Settings
from core.kafka.settings.throttled_replicas import ALL_REPLICAS, throttled_partitions
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec

TP = TopicPartition("t", 0)
SECOND = 1_000_000


def test_the_rate_is_that_of_the_last_eleven_seconds() -> None:
    quota = ReplicationQuota(100)
    assert not quota.is_exceeded(0)
    quota.record(0, 500)
    assert quota.is_exceeded(1 * SECOND)
    assert quota.is_exceeded(4 * SECOND)
    assert not quota.is_exceeded(5 * SECOND), "500 bytes in five seconds are 100 a second"
    quota.record(6 * SECOND, 10_000)
    assert quota.is_exceeded(16 * SECOND)
    assert not quota.is_exceeded(17 * SECOND), "samples older than the window do not count"


@pytest.mark.parametrize("text", ["*", " * ", "", " ", "0:10", "0:10,1:20", "100:0,100:1,100:2", "0:1, 0:2"])
def test_lists_of_replicas_that_kafka_takes(text: str) -> None:
    """`LogConfigTest#shouldValidateThrottledReplicasConfig`."""
    settings, name = Settings(RELEASES["4.1"]), "leader.replication.throttled.replicas"
    settings.set(name, text, topic="t")
    assert settings.get(name, topic="t") == text.replace(" ", "")


@pytest.mark.parametrize("text", ["100", "100:0,10", "100:0,10:", "100:0,10:   ", ":1", "a:b", "*,0:1", "none", "0:1;0:2", "0:1:2", "-1:2"])
def test_lists_of_replicas_that_kafka_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"takes '\*' or replicas as partition:broker"):
        Settings(RELEASES["4.1"]).set("leader.replication.throttled.replicas", text, topic="t")


def test_a_list_of_replicas_is_a_setting_of_topics_only() -> None:
    for broker in (None, 1):
        with pytest.raises(ValueError, match="is only a topic setting; set it for a topic"):
            Settings(RELEASES["4.1"]).set("follower.replication.throttled.replicas", "*", broker=broker)


def test_a_list_names_partitions_for_each_broker() -> None:
    """`DynamicConfigChangeTest#shouldParseReplicationQuotaProperties`, and similar cases."""
    listed = "0:101,0:102,1:101,1:103"
    assert throttled_partitions(listed, 102) == {0}
    assert throttled_partitions(listed, 101) == {0, 1}
    assert throttled_partitions(listed, 104) == throttled_partitions("", 101) == set()
    assert throttled_partitions("*", 102) == ALL_REPLICAS


def test_throttled_are_the_listed_partitions_and_no_others() -> None:
    """`ReplicationQuotaManagerTest#shouldThrottleOnlyDefinedReplicas`, `#shouldSupportWildcardThrottledReplicas`."""
    quota = ReplicationQuota(100)
    quota.listed = {"t": frozenset({1, 2, 3}), "all": ALL_REPLICAS, "none": frozenset()}
    assert [quota.is_throttled(TopicPartition("t", number), reassigned=True) for number in range(5)] == [False, True, True, True, False]
    assert quota.is_throttled(TopicPartition("all", 7), reassigned=False)
    assert not quota.is_throttled(TopicPartition("none", 0), reassigned=True), "an empty list throttles nothing"
    assert quota.is_throttled(TopicPartition("other", 0), reassigned=True)
    assert not quota.is_throttled(TopicPartition("other", 0), reassigned=False)


def copied(
    setting: str | None, replicas: tuple[int, ...], *config: tuple[str, str], release: str = "4.1", later: tuple[acts.Act, ...] = ()
) -> int:
    """Return the LEO of broker 4's new replica six seconds after the start of a move."""
    settings = () if setting is None else ((setting, 100_000),)
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=config),),
        settings=(("replica.fetch.max.bytes", 50_000), *settings),
    )
    cluster = Cluster(spec, RELEASES[release])
    for act in later:
        cluster.do(act)
    cluster.do(acts.Produce("t", 2_000, bytes=1_000))
    cluster.run_until(2 * SECOND)
    assert cluster.brokers[2].disk.logs[TP].leo == 2_000, "a follower without lag is not held back"
    cluster.do(acts.Reassign(TP, replicas))
    cluster.run_until(8 * SECOND)
    cluster.do(acts.Produce("t", 500, bytes=1_000))
    cluster.run_until(10 * SECOND)
    if setting != "follower.replication.throttled.rate":
        assert cluster.brokers[2].disk.logs[TP].leo == 2_500, "the leader never holds back a member of the ISR"
    return cluster.brokers[4].disk.logs[TP].leo


@pytest.mark.parametrize("setting", ["leader.replication.throttled.rate", "follower.replication.throttled.rate"])
def test_a_throttled_copy_goes_at_its_rate(setting: str) -> None:
    assert copied(None, (1, 2, 4)) == 2_500
    assert 600 <= copied(setting, (1, 2, 4)) <= 1_000


@pytest.mark.parametrize("release", ["2.4", "4.1"])
@pytest.mark.parametrize(
    ("side", "listed", "held"),
    [
        ("leader", "0:1", True),
        ("leader", "*", True),
        ("leader", "0:2,0:4,1:1", False),
        ("leader", "", False),
        ("follower", "0:4", True),
        ("follower", "*", True),
        ("follower", "0:1,0:2,1:4", False),
        ("follower", "", False),
    ],
)
def test_a_topics_own_list_decides_what_is_throttled(side: str, listed: str, held: bool, release: str) -> None:
    """The leader's list names its own replica, and the follower's list names the follower's replica. Both work from the start, and when
    they are set while the cluster runs.

    Fetches of a throttled partition by members of the ISR also count, so the leader's quota leaves little for the new replica.
    """
    rate, name = f"{side}.replication.throttled.rate", f"{side}.replication.throttled.replicas"
    other = "" if held else "*"
    for config, later in (((name, listed), ()), ((name, other), (acts.Set(name, listed, topic="t"),))):
        reached = copied(rate, (1, 2, 4), config, release=release, later=later)
        assert reached <= 1_000 if held else reached == 2_500


def test_a_follower_out_of_the_isr_is_throttled_without_any_reassignment() -> None:
    """A listed replica is throttled as long as the list contains it. Only members of the ISR are exempt."""
    name = "leader.replication.throttled.replicas"
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=((name, "*"),)),),
        settings=(("leader.replication.throttled.rate", 100_000), ("replica.fetch.max.bytes", 50_000)),
    )
    cluster = Cluster(spec)
    cluster.do(acts.Kill(3))
    cluster.run_until(15 * SECOND)
    cluster.do(acts.Produce("t", 2_000, bytes=1_000))
    cluster.run_until(27 * SECOND)
    cluster.do(acts.Start(3))
    cluster.run_until(34 * SECOND)
    assert cluster.brokers[2].disk.logs[TP].leo == 2_000
    assert cluster.brokers[3].disk.logs[TP].leo < 1_000
    cluster.do(acts.Set(name, "", topic="t"))
    cluster.run_until(38 * SECOND)
    assert cluster.brokers[3].disk.logs[TP].leo == 2_000


def ends_of_a_follower_throttled_move(*later: tuple[int, acts.Act], partitions: int = 1) -> list[int]:
    """Return the LEO of the new replica of t-0 at each full second after a move of 3 MB at 100 kB/s, with the default fetch size of 1 MiB."""
    assignment = (PartitionSpec((1, 2, 3)), PartitionSpec((1, 2, 4)))[:partitions]
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4)),
        (TopicSpec("t", assignment=assignment),),
        settings=(("follower.replication.throttled.rate", 100_000),),
    )
    cluster = Cluster(spec)
    cluster.do(acts.Produce("t", 3_000, partition=0, bytes=1_000))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Reassign(TP, (1, 2, 4)))
    ends = []
    for second in range(1, 30):
        cluster.run_until((2 + second) * SECOND)
        for when, act in later:
            if when == second:
                cluster.do(act)
        ends.append(cluster.brokers[4].disk.logs[TP].leo)
    return ends


def test_the_followers_quota_is_checked_before_each_fetch() -> None:
    """`RemoteLeaderEndPoint#buildFetch` leaves out a partition while the rate exceeds the quota, also after the backoff. One fetch of
    1,048,576 bytes takes more than ten seconds of a rate of 100 kB/s."""
    ends = ends_of_a_follower_throttled_move()
    assert ends[8] == 1_048
    assert ends[12] == 2_096
    assert ends[18] == 2_096
    assert ends[24] == 3_000


def test_a_partition_that_the_follower_holds_back_leaves_the_others_alone() -> None:
    """The fetcher goes on with its other partitions and checks the quota before each of these fetches, not once in a second."""
    assert ends_of_a_follower_throttled_move((3, acts.Produce("t", 10, partition=1)), partitions=2)[8] == 1_048


@pytest.mark.parametrize(("release", "moment"), [("2.4", 4), ("4.1", 9)])
def test_a_member_of_the_isr_is_held_back_until_its_lag_is_known(release: str, moment: int) -> None:
    """`PartitionFetchState#isReplicaInSync` needs a response in the current leader epoch. In 2.4, the start of a reassignment begins an
    epoch; in 4.1, its end does. Broker 2 copied two megabytes in the first second, so its rate exceeds 100 kB/s until this second leaves the window.
    """
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=(("follower.replication.throttled.replicas", "0:2"),)),),
        settings=(("follower.replication.throttled.rate", 100_000),),
    )
    cluster = Cluster(spec, RELEASES[release])
    cluster.do(acts.Produce("t", 2_000, bytes=1_000))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.Reassign(TP, (1, 2, 4)))
    cluster.run_until(moment * SECOND)
    cluster.do(acts.Produce("t", 1, bytes=1_000))
    ends = []
    for second in (10, 11, 12):
        cluster.run_until(second * SECOND)
        ends.append(cluster.brokers[2].disk.logs[TP].leo)
    assert ends == [2_000, 2_000, 2_001]


def test_a_follower_continues_when_its_quota_is_raised() -> None:
    raised = acts.Set("follower.replication.throttled.rate", 100_000_000)
    assert ends_of_a_follower_throttled_move((3, raised))[4] == 3_000
