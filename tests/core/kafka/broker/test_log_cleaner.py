"""The log cleaner of a broker: when it runs, its checkpoint, and the effects of restarts, truncations, and copied sessions."""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.log.cleaner.compacted_term import CompactedTerm
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.metrics.gauges import MAX_DIRTY_PERCENT, cluster_gauges
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.log_contents import LogContents
from core.sim.errors import ActRefused
from core.sim.state.snapshot import Snapshots
from core.sim.units import SECOND

TP = TopicPartition("t", 0)
CONFIG = (("cleanup.policy", "compact"), ("segment.ms", "1000"), ("min.cleanable.dirty.ratio", "0"), ("delete.retention.ms", "5000"))


class Session:
    """A cluster with a compacted topic."""

    def __init__(
        self, release: str = "4.3", config: tuple[tuple[str, str], ...] = CONFIG, settings: tuple[tuple[str, str | bool], ...] = ()
    ) -> None:
        topics = (TopicSpec("t", config=config, assignment=(PartitionSpec((1, 2, 3)),)),)
        spec = ClusterSpec(
            tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics, settings=(("log.cleaner.backoff.ms", "1000"), *settings)
        )
        self.cluster = Cluster(spec, RELEASES[release])
        self.events: list[tuple[object, ...]] = []
        self.cluster.journal.sink = self.events.append

    def at(self, seconds: int, *todo: acts.Act) -> None:
        self.cluster.run_until(seconds * SECOND)
        for act in todo:
            self.cluster.do(act)

    def cleaned(self, broker: int) -> list[tuple[object, ...]]:
        """Return (from, to, records removed) of each pass of a broker."""
        return [(each[7], each[8], each[9]) for each in self.events if each[3] == events.LogCleaned.kind and each[4] == broker]

    def contents(self, broker: int) -> LogContents:
        found = LogContents.of(self.cluster.brokers[broker].disk, TP)
        assert found is not None
        return found


def put(keys: str, value: str = "v", records: int = 0) -> acts.Produce:
    return acts.Produce("t", records or len(keys.split(",")), partition=0, keys=keys, value=value)


def grown() -> Session:
    """Append values of a and b, newer values, and a tombstone of b, and roll to a new active segment."""
    session = Session()
    for second, act in ((1, put("a,b", "v1")), (3, put("a,b", "v2")), (5, put("b", "none")), (8, put("c"))):
        session.at(second, act)
    session.at(12)
    return session


def test_every_replica_cleans_its_own_log_up_to_the_active_segment() -> None:
    session = grown()
    for broker in (1, 2, 3):
        assert session.cleaned(broker)[-1][1] == 5
        assert sum(each[2] for each in session.cleaned(broker)) == 3  # type: ignore[misc]
        assert session.contents(broker).records() == 3
        assert [session.contents(broker).value(key) for key in "abc"] == ["v2", "none", "v"]
        assert session.cluster.brokers[broker].disk.cleaner_offsets == {TP: 5}


def test_the_gauge_says_how_dirty_the_dirtiest_log_was() -> None:
    session = Session(config=(*CONFIG[:2], ("min.cleanable.dirty.ratio", "0.9")))
    for second in (1, 3, 5):
        session.at(second, put("a,b"))
    session.at(7, acts.Clean(1))
    session.at(8, put("c"))
    session.at(11)
    percents = {each.broker: dict(each.attributes)["Value"] for each in cluster_gauges(session.cluster) if each.name == MAX_DIRTY_PERCENT}
    assert percents == {1: 50, 2: 66, 3: 66}


def test_the_dirtiest_log_is_cleaned_first() -> None:
    """At 12 s, a part of `t` has been cleaned before, and nothing of `u`."""
    topics = tuple(TopicSpec(name, config=CONFIG, assignment=(PartitionSpec((1,)),)) for name in "tu")
    told: list[tuple[object, ...]] = []
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), topics, settings=(("log.cleaner.backoff.ms", "3000"),)), sink=told.append)
    for second, topic in ((1, "t"), (3, "t"), (7, "t"), (7, "u"), (10, "t"), (10, "u")):
        cluster.run_until(second * SECOND)
        cluster.do(acts.Produce(topic, 2, keys="a,b"))
    cluster.run_until(12 * SECOND)
    cleaned = [(each[1] // SECOND, each[5], each[7], each[8]) for each in told if each[3] == events.LogCleaned.kind]  # type: ignore[operator]
    assert cleaned == [(6, "t", 0, 2), (9, "t", 2, 4), (12, "u", 0, 2), (12, "t", 4, 6)]


def test_a_restarted_broker_goes_on_cleaning_from_its_checkpoint() -> None:
    session = grown()
    session.at(13, acts.Kill(2))
    session.at(14, acts.Start(2))
    session.at(40, put("a", "v3"))
    session.at(42, put("c", "v3"))
    session.at(46)
    assert session.cleaned(2)[-1][:2] == session.cleaned(1)[-1][:2] == (6, 7)
    assert session.contents(2).value("a") == "v3"
    assert session.cluster.brokers[2].disk.logs[TP].leo == 8


def test_a_replica_that_starts_empty_copies_the_gaps() -> None:
    session = grown()
    session.at(13, acts.Kill(2))
    session.cluster.brokers[2].disk.delete(TP)
    session.at(14, acts.Start(2))
    session.at(40)
    leader, copy = (session.cluster.brokers[broker].disk.logs[TP] for broker in (1, 2))
    assert copy.leo == leader.leo
    assert [session.contents(2).value(key) for key in "abc"] == ["v2", "none", "v"]
    assert copy.size < leader.size, "its first pass comes after the delete horizon of the tombstone"
    assert copy.differences(leader) == []


def test_truncation_makes_the_checkpoint_go_back() -> None:
    session = grown()
    disk = session.cluster.brokers[1].disk
    disk.truncate_cleaner_checkpoint(TP, 7)
    assert disk.cleaner_offsets == {TP: 5}
    disk.truncate_cleaner_checkpoint(TP, 3)
    assert disk.cleaner_offsets == {TP: 3}


def test_nothing_runs_where_no_topic_is_compacted_until_one_is() -> None:
    session = Session(config=(("segment.ms", "1000"),))
    session.at(1, acts.Produce("t", 5))
    session.at(3, acts.Produce("t", 5))
    session.at(5)
    assert not any(broker.log_manager.cleaner.armed for broker in session.cluster.brokers.values())
    with pytest.raises(ActRefused, match="t-0 is not compacted; set cleanup"):
        session.cluster.do(acts.Clean(1, TP))
    session.at(6, acts.Set("cleanup.policy", "compact", topic="t"))
    session.at(7, acts.Produce("t", 1, acks="1", producer="keyless"), put("a"))
    session.at(10)
    assert session.cleaned(1) == [(0, 5, 5), (5, 10, 5)], "records without keys do not survive"
    assert any(each[3] == events.AppendRefused.kind and "INVALID_RECORD" in each for each in session.events)


def test_an_act_cleans_a_log_whose_ratio_is_too_small() -> None:
    session = Session(config=(*CONFIG[:2], ("min.cleanable.dirty.ratio", "1")))
    session.at(1, put("a,b", "v1"))
    session.at(3, put("a", "v2"))
    session.at(5, put("c"))
    session.at(6)
    assert session.cleaned(1) == []
    session.cluster.do(acts.Clean(1))
    session.cluster.do(acts.Clean(2, TP))
    session.cluster.do(acts.Clean(1))
    assert [session.cleaned(broker) for broker in (1, 2, 3)] == [[(0, 3, 1)], [(0, 3, 1)], []], "a clean log is not cleaned again"


def test_aborted_records_and_their_marker_go() -> None:
    session = Session()
    init = acts.InitTransactions("t", "id", producer="p")
    session.at(1, init)
    session.at(3, acts.BeginTransaction("p"))
    session.at(4, acts.Produce("t", 1, partition=0, producer="p", keys="a", value="good"))
    session.at(5, acts.CommitTransaction("p"))
    session.at(6, acts.BeginTransaction("p"))
    session.at(7, acts.Produce("t", 1, partition=0, producer="p", keys="a", value="bad"))
    session.at(8)
    assert session.contents(1).value("a") == "good", "the transaction is open"
    session.at(9, acts.AbortTransaction("p"))
    session.at(11, put("c"))
    session.at(14)
    assert session.contents(1).value("a") == "good"
    log = session.cluster.brokers[1].disk.logs[TP]
    assert log.producers is not None
    assert session.contents(1).records() == 2
    assert session.cluster.account.lost == 0


def test_a_copy_of_a_session_with_cleaned_logs_goes_on_in_the_same_way() -> None:
    session = grown()
    log = session.cluster.brokers[1].disk.logs[TP]
    assert any(isinstance(term, CompactedTerm) for term in log.records.terms)
    snapshot = Snapshots().take(session.cluster)
    copy = snapshot.copy()
    later: list[list[tuple[object, ...]]] = []
    for cluster in (session.cluster, copy):
        seen: list[tuple[object, ...]] = []
        cluster.journal.sink = seen.append
        cluster.do(put("a", "v3"))
        cluster.run_until(15 * SECOND)
        cluster.do(put("d"))
        cluster.run_until(25 * SECOND)
        later.append(seen)
    assert later[0] == later[1]
    assert any(each[3] == events.LogCleaned.kind for each in later[0])


def test_going_back_to_before_a_pass_brings_the_records_back() -> None:
    session = Session()
    session.at(1, put("a,b", "v1"))
    session.at(3, put("a,b", "v2"))
    session.at(4)
    snapshot = Snapshots().take(session.cluster)
    for _ in range(2):
        assert session.contents(1).records() == 4
        session.at(5, put("c"))
        session.at(8)
        assert session.contents(1).records() == 3
        snapshot.restore()


def test_a_coordinator_reads_what_is_left_with_its_offsets() -> None:
    session = grown()
    found = [(batch.base, batch.content) for batch in session.cluster.brokers[1].replicas.internal_batches(TP)]
    assert found == [(2, (("a", "v2"),)), (4, (("b", None),)), (5, (("c", "v"),))]
    assert session.cluster.brokers[1].replicas.contents(TP) == (("a", "v2"), ("b", None), ("c", "v"))


def test_the_checkpoint_of_a_log_that_retention_has_emptied_moves_to_the_log_start() -> None:
    """`LogCleanerManager#grabFilthiestCompactedLog` first updates checkpoints that are outside their logs, and then skips empty logs."""
    session = Session(config=(("cleanup.policy", "compact,delete"), *CONFIG[1:], ("retention.ms", "5000")))
    session.at(1, put("a,b"))
    session.at(3, put("a,b"))
    session.at(5)
    disk = session.cluster.brokers[1].disk
    assert disk.cleaner_offsets == {TP: 2}
    session.at(400)
    assert (disk.logs[TP].log_start, disk.logs[TP].leo) == (4, 4)
    assert disk.cleaner_offsets == {TP: 4}


@pytest.mark.parametrize(
    ("release", "settings", "runs"),
    [
        ("0.8.2", (), False),
        ("0.8.2", (("log.cleaner.enable", True),), True),
        ("0.9", (), True),
        ("4.3", (), True),
        ("4.3", (("log.cleaner.enable", False),), False),
    ],
)
def test_log_cleaner_enable(release: str, settings: tuple[tuple[str, str | bool], ...], runs: bool) -> None:
    """`KafkaConfig` at 0.8.2.2 (false by default) and 0.9.0.1 (true). Without the cleaner, a compacted log keeps all records."""
    config = tuple(
        each for each in CONFIG if release != "0.8.2" or each[0] in ("cleanup.policy", "segment.ms", "min.cleanable.dirty.ratio")
    )
    session = Session(release, config, settings)
    for second, value in ((1, "v1"), (3, "v2"), (8, "v3")):
        session.at(second, put("a,b", value))
    session.at(30)
    assert bool(session.cleaned(1)) == runs
    if not runs:
        with pytest.raises(ActRefused, match="no log cleaner"):
            session.cluster.do(acts.Clean(1))
