"""What a group never got from a topic, by reason: one account for readings, screens, audits, and reports."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.accounts.consumption_account import Consumption
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND

TP = TopicPartition("orders", 0)


class Run:
    """A cluster with a topic of one partition, and a group that reads it. The last broker has only the committed offsets."""

    def __init__(self, *config: tuple[str, Any], release: str = "4.1", brokers: int = 1) -> None:
        self.heard: list[Any] = []
        spec = ClusterSpec(
            tuple(map(BrokerSpec, range(1, brokers + 2))),
            (
                TopicSpec("orders", assignment=(PartitionSpec(tuple(range(1, brokers + 1))),), config=config),
                TopicSpec("__consumer_offsets", assignment=(PartitionSpec((brokers + 1,)),)),
            ),
            settings=(
                ("offsets.topic.num.partitions", 1),
                ("offsets.topic.replication.factor", 1),
                ("log.retention.check.interval.ms", 5000),
            ),
        )
        self.cluster = Cluster(spec, Release.named(release), sink=self.heard.append)
        self.until(1)

    def until(self, seconds: float) -> None:
        self.cluster.run_until(int(seconds * SECOND))

    def produce(self, records: int, **fields: Any) -> None:
        self.cluster.do(acts.Produce("orders", records, **({"bytes": 1_000} | fields)))

    def join(self, **fields: Any) -> None:
        self.cluster.do(acts.JoinGroup(("orders",), "c", "g", **({"reset": "earliest", "commit": "after"} | fields)))

    def counts(self, tp: TopicPartition = TP) -> Consumption:
        return self.cluster.account.consumption_counts("g")[tp]

    def skipped(self) -> dict[str, int]:
        """Return the number of skipped records by reason, of the reasons with a record."""
        counts = self.counts()
        found = {reason: getattr(counts, reason) for reason in ("committed", "reset", "deleted", "truncated") if getattr(counts, reason)}
        assert sum(found.values()) == counts.skipped
        return found

    def events(self, kind: type[events.Event]) -> list[Any]:
        return [events.decode(each) for each in self.heard if each[3] == kind.kind]

    def reported(self) -> list[tuple[str, int, int]]:
        return [(each.reason, each.from_offset, each.to_offset) for each in self.events(events.RecordsSkipped)]


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_records_that_retention_deletes_before_they_are_read(reset: str) -> None:
    """A member is away while retention deletes what it has not read. On its return, its committed offset is out of range. With `earliest`, it
    reads all that is left; with `latest`, it also skips what is left."""
    run = Run(("retention.bytes", 50_000), ("segment.bytes", 10_000))
    run.produce(20)
    run.join()
    run.until(10)
    run.cluster.do(acts.KillConsumer("c"))
    for _ in range(20):
        run.produce(10)
        run.until(run.cluster.now / SECOND + 0.1)
    run.until(30)
    start = run.cluster.brokers[1].disk.logs[TP].log_start
    assert 100 < start < 200, "retention has deleted records that the group has not read"
    assert run.skipped() == {"deleted": start - 20}
    assert run.reported() == [("deleted", 20, start)]
    run.join(reset=reset)
    run.until(90)
    assert run.skipped() == ({"deleted": start - 20} if reset == "earliest" else {"deleted": start - 20, "reset": 220 - start})
    assert run.counts().left_out == 0
    assert run.reported() == [("deleted", 20, start), *([] if reset == "earliest" else [("reset", start, 220)])]
    deleted = run.events(events.RecordsSkipped)[0]
    assert next(each for each in run.heard if each[0] == deleted.doomed_by)[3] == events.SegmentsDeleted.kind


def test_records_that_an_administrator_deletes_before_they_are_read() -> None:
    run = Run()
    run.produce(20)
    run.join()
    run.until(10)
    run.cluster.do(acts.KillConsumer("c"))
    run.produce(80)
    run.until(11)
    run.cluster.do(acts.DeleteRecords(TP, 60))
    assert run.skipped() == {"deleted": 40}
    run.join()
    run.until(70)
    assert run.skipped() == {"deleted": 40}
    assert run.counts().processed == 60


def test_a_group_that_begins_at_the_end_leaves_out_records_on_purpose() -> None:
    run = Run()
    run.produce(100)
    run.until(2)
    run.join(reset="latest")
    run.until(10)
    run.produce(5)
    run.until(12)
    run.cluster.do(acts.DeleteRecords(TP, 50))
    assert run.skipped() == {}
    assert (run.counts().left_out, run.counts().processed) == (100, 5)
    assert run.reported() == []
    assert [(each.from_offset, each.to_offset) for each in run.events(events.RecordsLeftOut)] == [(0, 100)]


def test_a_group_that_lost_its_position_and_begins_at_the_end_again_skips_records() -> None:
    """Without a committed offset, a restarted member with `latest` skips what came in the meantime."""
    run = Run()
    run.produce(100)
    run.until(2)
    run.join(reset="latest", commit="none")
    run.until(10)
    run.cluster.do(acts.KillConsumer("c"))
    run.produce(30)
    run.until(60)
    run.join(reset="latest", commit="none")
    run.until(80)
    assert run.skipped() == {"reset": 30}
    assert run.counts().left_out == 100
    assert run.reported() == [("reset", 100, 130)]


def test_records_that_are_committed_before_they_are_processed() -> None:
    run = Run()
    run.produce(50)
    run.join(commit="before", record_time=10_000, crash_after_records=20)
    run.until(20)
    assert run.skipped() == {"committed": 30}
    assert run.reported() == [("committed", 20, 50)]


@pytest.mark.parametrize("release", ["1.1", "4.1"])
def test_records_that_a_truncation_takes_from_a_group(release: str) -> None:
    """The group has read 150 of 180 records when an unclean election truncates the log to 100. A consumer that does not validate its position
    (1.1) and returns when the log has 200 records goes on at 150, so it also skips 50 new records."""
    run = Run(("unclean.leader.election.enable", True), ("min.insync.replicas", 1), release=release, brokers=2)
    run.produce(100)
    run.until(3)
    run.cluster.do(acts.Kill(2))
    run.until(30)
    run.produce(50)
    run.join(record_time=1_000)
    run.until(45)
    assert run.counts().processed == 150
    run.cluster.do(acts.KillConsumer("c"))
    run.produce(30)
    run.until(46)
    run.cluster.do(acts.Kill(1))
    run.until(47)
    run.cluster.do(acts.Start(2))
    run.until(90)
    assert run.cluster.partition_view(TP).leader == 2
    assert run.cluster.account.lost == 80
    assert run.skipped() == {"truncated": 30}
    assert run.reported() == [("truncated", 150, 180)]
    run.produce(100)
    run.until(92)
    run.join(record_time=1_000)
    run.until(150)
    validates = release == "4.1"
    assert run.skipped() == {"truncated": 30 if validates else 80}
    assert run.counts().processed == 250 if validates else 200
    assert run.reported() == [("truncated", 150, 180), *([] if validates else [("truncated", 100, 150)])]
