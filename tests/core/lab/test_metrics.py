"""Kafka's metrics: meters tick as Kafka's do, MBeans count what the log contains, and the request queue saturates."""

from __future__ import annotations

import math
from pathlib import Path

import attrs
import pytest

from core.kafka.events import KINDS
from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.metrics import CONTROLLER, gauges
from core.lab.metrics.meter import Meter
from core.lab.metrics.observer import MetricsObserver, Sample
from core.lab.metrics.request_queue import ThreadPool
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from scenarios import catalogue
from scenarios.running.runner import Run
from tui.cli import main

SECOND = 1_000_000
MANAGER = "kafka.server:type=ReplicaManager,name="
TOPICS = "kafka.server:type=BrokerTopicMetrics,name="


def test_a_meter_ticks_every_five_seconds_and_forgets_exponentially() -> None:
    meter = Meter(0)
    meter.mark(1 * SECOND, 10)
    assert dict(meter.attributes(4 * SECOND)) == {
        "Count": 10, "OneMinuteRate": 0, "FiveMinuteRate": 0, "FifteenMinuteRate": 0, "MeanRate": 2.5,
    }  # fmt: skip
    assert dict(meter.attributes(5 * SECOND))["OneMinuteRate"] == 2.0, "the first tick sets the rate"
    rates = dict(meter.attributes(65 * SECOND))
    assert rates["OneMinuteRate"] == pytest.approx(2 * math.exp(-1))
    assert rates["FiveMinuteRate"] == pytest.approx(2 * math.exp(-1 / 5))
    assert rates["Count"] == 10
    assert dict(meter.attributes(100_000 * SECOND))["OneMinuteRate"] == pytest.approx(0)


def test_threads_saturate_and_work_waits() -> None:
    pool = ThreadPool(2, 0)
    pool.work(0, 5 * 10**9)
    pool.advance(5 * SECOND)
    assert (pool.idle, pool.backlog) == (0.5, 0)
    pool.work(6 * SECOND, 15 * 10**9)
    pool.advance(10 * SECOND)
    assert (pool.idle, pool.backlog) == (0.0, 5 * 10**9)
    pool.advance(15 * SECOND)
    assert (pool.idle, pool.backlog) == (0.5, 0)
    assert 0.4 < pool.idle_rate(15 * SECOND) < 0.6


def seen() -> tuple[Cluster, MetricsObserver]:
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((2, 3, 1))), config=(("min.insync.replicas", "2"),)),),
    )
    observer = MetricsObserver(spec, CURRENT)
    return Cluster(spec, sink=observer.on_event), observer


def value(samples: list[Sample], name: str, broker: int, attribute: str = "Value") -> float:
    (found,) = [dict(sample.attributes)[attribute] for sample in samples if sample.name == name and sample.broker == broker]
    return found


def test_the_mbeans_count_what_happens() -> None:
    cluster, observer = seen()
    cluster.do(acts.Produce("t", 100, partition=0, bytes=50))
    cluster.run_until(20 * SECOND)
    samples = observer.samples(cluster.now)
    assert value(samples, TOPICS + "MessagesInPerSec", 1, "Count") == 100
    assert value(samples, TOPICS + "MessagesInPerSec,topic=t", 1, "Count") == 100
    assert value(samples, TOPICS + "BytesInPerSec", 1, "Count") == 5_000
    assert value(samples, TOPICS + "ReplicationBytesInPerSec", 2, "Count") == 5_000
    assert value(samples, TOPICS + "ReplicationBytesOutPerSec", 1, "Count") == 10_000
    assert [value(samples, MANAGER + "LeaderCount", broker) for broker in (1, 2, 3)] == [1, 1, 0]
    assert value(samples, MANAGER + "PartitionCount", 3) == 2
    cluster.do(acts.Kill(3))
    cluster.run_until(40 * SECOND)
    samples = observer.samples(cluster.now)
    assert value(samples, MANAGER + "UnderReplicatedPartitions", 1) == 1
    assert value(samples, MANAGER + "AtMinIsrPartitionCount", 2) == 1
    assert value(samples, MANAGER + "UnderMinIsrPartitionCount", 2) == 0
    assert value(samples, "kafka.controller:type=KafkaController,name=FencedBrokerCount", CONTROLLER) == 1
    assert value(samples, "kafka.controller:type=KafkaController,name=TimedOutBrokerHeartbeatCount", CONTROLLER) == 1
    assert not [sample for sample in samples if sample.broker == 3], "a process that is gone has no MBeans"


def test_gauges_are_those_of_the_view_after_any_failure() -> None:
    cluster, observer = seen()
    cluster.do(acts.Load("t", rate=50))
    for act in (acts.Kill(1), acts.Kill(2), acts.Start(1), acts.Start(2), acts.Kill(3)):
        cluster.run_until(cluster.now + 15 * SECOND)
        cluster.do(act)
        cluster.run_until(cluster.now + 15 * SECOND)
        view, samples = cluster.view(), observer.samples(cluster.now)
        up = [broker.id for broker in view.brokers if str(broker.state) != "stopped"]
        for broker in up:
            assert value(samples, MANAGER + "LeaderCount", broker) == view.broker(broker).leaders
        led = [one for one in view.partitions if one.leader in up]
        assert sum(value(samples, MANAGER + "UnderMinIsrPartitionCount", broker) for broker in up) == sum(
            len(one.isr) < one.min_isr for one in led
        )
        assert value(samples, "kafka.controller:type=KafkaController,name=OfflinePartitionsCount", CONTROLLER) == sum(
            one.offline for one in view.partitions
        )
        shrinks = sum(value(samples, MANAGER + "IsrShrinksPerSec", broker, "Count") for broker in up)
        assert shrinks <= view.isr_shrinks


@pytest.mark.parametrize("empty", [True, False])
def test_replicas_in_failed_directories_are_offline_until_the_broker_starts_with_them(empty: bool) -> None:
    """`ReplicaManager#offlinePartitionCount` counts replicas that `handleLogDirFailure` marked, and replicas that a start finds in a
    directory that is still failed.
    """
    placed = tuple(PartitionSpec((1, 2, 3)) for _ in range(7))
    spec = ClusterSpec(tuple(BrokerSpec(broker, log_dirs=3) for broker in (1, 2, 3)), (TopicSpec("t", assignment=placed),))
    observer = MetricsObserver(spec, CURRENT)
    cluster = Cluster(spec, sink=observer.on_event)

    def offline_after(*done: acts.Act) -> list[float]:
        for act in done:
            cluster.do(act)
            cluster.run_until(cluster.now + 15 * SECOND)
        samples, view = observer.samples(cluster.now), cluster.view()
        counts = [value(samples, MANAGER + "OfflineReplicaCount", broker) for broker in (1, 2, 3)]
        for broker, count in zip((1, 2, 3), counts, strict=True):
            assert count == len(cluster.brokers[broker].replicas.offline_partitions)
            if not any(each.repaired for each in cluster.brokers[broker].disk.dirs):
                assert count == sum(
                    replica.broker == broker and not replica.dir_online for one in view.partitions for replica in one.replica_views
                )
        return counts

    cluster.run_until(15 * SECOND)
    assert offline_after() == [0, 0, 0]
    assert offline_after(acts.FailDir(1, 1)) == [3, 0, 0]
    assert offline_after(acts.FailDir(1, 2)) == [5, 0, 0]
    assert offline_after(acts.Kill(1), acts.Start(1)) == [5, 0, 0], "a start does not mend a directory"
    assert offline_after(acts.RepairDir(1, 1, empty=empty)) == [5, 0, 0], "nor is a mended one taken up before the next"
    assert offline_after(acts.Kill(1), acts.Start(1)) == [2, 0, 0]
    assert offline_after(acts.FailDir(1, 1)) == [5, 0, 0]


def test_a_busy_broker_has_less_idle_threads() -> None:
    cluster, observer = seen()
    cluster.do(acts.Load("t", rate=200_000, every=1_000, bytes=1_000))
    cluster.run_until(6 * SECOND)
    samples = observer.samples(cluster.now)
    name = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"
    assert value(samples, name, 1) < 0.9 < value(samples, name, 3) <= 1


def test_a_log_and_its_scenario_have_the_same_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(tmp_path / "s.jsonl")
    assert main(["run", "c1-stopped-follower", "--log", log]) == 0
    capsys.readouterr()
    assert main(["metrics", log, "--at", "8s"]) == 0
    of_log = capsys.readouterr().out
    assert main(["metrics", "c1-stopped-follower", "--at", "8s"]) == 0
    of_scenario = capsys.readouterr().out.splitlines()
    beside = [line for line in of_scenario if line not in of_log.splitlines()]
    assert [line for line in of_scenario if line not in beside] == of_log.splitlines()
    assert {line.partition("\t")[0] for line in beside} == {
        "kafka.controller:type=KafkaController,name=LastAppliedRecordOffset",
        "kafka.controller:type=KafkaController,name=LastCommittedRecordOffset",
        "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations,delayedOperation=Fetch",
        "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Fetch",
        "kafka.server:type=broker-metadata-metrics",
        "kafka.cluster:type=Partition,name=LastStableOffsetLag,topic=orders,partition=0",
        gauges.LATE_TRANSACTIONS,
    }, "what no event tells"
    assert main(["metrics", log, "--name", "isrshrinks", "--broker", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("kafka.server:type=ReplicaManager,name=IsrShrinksPerSec\tbroker=1\tCount=")
    assert main(["metrics", log, "--name", "nothing"]) == 1


def purgatory(cluster: Cluster, observer: MetricsObserver, broker: int) -> float:
    """Return the number of waiting writes according to the MBean of a broker, after checking that it is the actual number."""
    name = "kafka.server:type=DelayedOperationPurgatory,name={},delayedOperation=Produce"
    samples = observer.samples(cluster.now)
    delayed = value(samples, name.format("NumDelayedOperations"), broker)
    assert value(samples, name.format("PurgatorySize"), broker) == delayed
    assert delayed == sum(len(each.delayed.waiting) for each in cluster.brokers[broker].partitions.values() if each.delayed is not None)
    return delayed


def test_the_produce_purgatory_holds_what_waits_for_the_high_watermark() -> None:
    cluster, observer = seen()
    cluster.do(acts.Produce("t", 10, partition=0, acks="all"))
    cluster.run_until(SECOND)
    assert purgatory(cluster, observer, 1) == 0
    cluster.do(acts.Cut(("b1", "b2")))
    cluster.do(acts.Load("t", rate=10, every=SECOND, producer="patient"))
    cluster.do(acts.Load("t", rate=10, every=SECOND, acks="1", producer="hasty"))
    waiting = []
    for _ in range(6):
        cluster.run_until(cluster.now + 8 * SECOND)
        waiting.append(purgatory(cluster, observer, 1))
    assert max(waiting) >= 3
    assert waiting[-1] <= 1, "the follower has left the ISR, and what waited is committed"


def test_what_a_new_leader_finds_waits_for_nobody() -> None:
    cluster, observer = seen()
    cluster.do(acts.Pause(2))
    cluster.do(acts.Produce("t", 10, partition=0, acks="all"))
    cluster.run_until(cluster.now + SECOND)
    assert purgatory(cluster, observer, 1) == 1
    cluster.do(acts.Kill(1))
    cluster.run_until(cluster.now + 60 * SECOND)
    cluster.do(acts.Resume(2))
    cluster.do(acts.Start(1))
    cluster.run_until(cluster.now + 60 * SECOND)
    assert [purgatory(cluster, observer, broker) for broker in (1, 2, 3)] == [0, 0, 0]


def test_producer_ids_are_counted_in_every_log_that_has_them() -> None:
    cluster, observer = seen()
    cluster.do(acts.Produce("t", 10, partition=0, producer="plain", idempotence=False))
    for producer in ("one", "two"):
        cluster.do(acts.Produce("t", 10, partition=0, producer=producer, idempotence=True))
    cluster.do(acts.Produce("t", 10, partition=1, producer="one", idempotence=True))
    cluster.run_until(5 * SECOND)

    def counts(later: int = 0) -> list[float]:
        samples = observer.samples(cluster.now + later)
        return [value(samples, MANAGER + "ProducerIdCount", broker) for broker in (1, 2, 3)]

    assert counts() == [3, 3, 3]
    cluster.do(acts.Kill(3))
    cluster.do(acts.Produce("t", 10, partition=0, producer="late", idempotence=True))
    cluster.run_until(20 * SECOND)
    cluster.do(acts.Start(3))
    cluster.do(acts.Cut(("b3", "b1")))
    cluster.run_until(30 * SECOND)
    assert counts() == [4, 4, 3], "what is not in the log yet is not in its state"
    cluster.do(acts.Heal())
    cluster.run_until(60 * SECOND)
    assert counts() == [4, 4, 4]
    assert counts(86_400 * SECOND) == [0, 0, 0], "producer.id.expiration.ms"


def test_fol_21_the_mbean_tells_the_fetcher_s_own_lag() -> None:
    """The lag is unknown before the first response. Afterwards, it is the number of records that the leader has committed and the follower
    lacks (`FetcherLagMetrics`).
    """
    spec = ClusterSpec(
        (BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", assignment=(PartitionSpec((1, 2)),)),),
        settings=(("replica.fetch.max.bytes", 10_000),), network=NetworkSpec(latency=20_000),
    )  # fmt: skip
    observer = MetricsObserver(spec, CURRENT)
    cluster = Cluster(spec, sink=observer.on_event)
    name = "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=ReplicaFetcherThread-0-1,topic=t,partition=0"

    def lag() -> float | None:
        found = [sample.attributes[0][1] for sample in observer.samples(cluster.now) if (sample.name, sample.broker) == (name, 2)]
        fetcher = cluster.brokers[2].fetcher_manager.fetcher_of(TopicPartition("t", 0))
        if fetcher is not None:
            own = fetcher.states[TopicPartition("t", 0)].lag
            assert found == ([] if own is None else [own])
        return found[0] if found else None

    assert lag() is None
    cluster.run_until(SECOND)
    assert lag() == 0
    cluster.do(acts.Kill(2))
    cluster.run_until(15 * SECOND)
    assert lag() is None, "a process that is gone has no MBeans"
    for _ in range(10):
        cluster.do(acts.Produce("t", 100, acks="1", bytes=100))
        cluster.run_until(cluster.now + SECOND)
    cluster.do(acts.Start(2))
    lags = []
    for _ in range(400):
        cluster.run_until(cluster.now + 20_000)
        now = lag()
        if now is not None and (not lags or lags[-1] != now):
            lags.append(now)
    assert lags[-1] == 0
    assert max(lags) == 900
    assert lags[lags.index(900) :] == sorted(lags[lags.index(900) :], reverse=True)


def test_an_offline_replica_that_is_reassigned_away_counts_until_the_process_ends() -> None:
    """`ReplicaManager#stopPartitions` removes only online partitions. The next process does not look for the replica."""
    placed = tuple(PartitionSpec((1, 2, 3)) for _ in range(4))
    spec = ClusterSpec(tuple(BrokerSpec(broker, log_dirs=2) for broker in (1, 2, 3, 4)), (TopicSpec("t", assignment=placed),))
    observer = MetricsObserver(spec, CURRENT)
    cluster = Cluster(spec, sink=observer.on_event)

    def offline_after(*done: acts.Act) -> float:
        for act in done:
            cluster.do(act)
            cluster.run_until(cluster.now + 20 * SECOND)
        count = value(observer.samples(cluster.now), MANAGER + "OfflineReplicaCount", 1)
        assert count == len(cluster.brokers[1].replicas.offline_partitions)
        return count

    away = [acts.Reassign(TopicPartition("t", number), (2, 3, 4)) for number in (0, 2)]
    assert offline_after(acts.FailDir(1, 1)) == 2
    assert offline_after(away[0]) == 2
    assert offline_after(acts.Reassign(TopicPartition("t", 0), (1, 2, 3))) == 2, "it comes back to no other directory either"
    assert offline_after(acts.Reassign(TopicPartition("t", 0), (2, 3, 4)), acts.Kill(1), acts.Start(1)) == 1
    assert offline_after(acts.Kill(1), away[1], acts.Start(1)) == 0


@pytest.mark.parametrize("release", ["1.1", "2.4", "4.1"])
def test_a_replica_that_is_reassigned_away_while_its_process_is_down_is_not_found_offline(release: str) -> None:
    """When a broker starts, a ZooKeeper controller sends it nothing about replicas that it no longer hosts."""
    placed = tuple(PartitionSpec((1, 2, 3)) for _ in range(4))
    spec = ClusterSpec(tuple(BrokerSpec(broker, log_dirs=2) for broker in (1, 2, 3, 4)), (TopicSpec("t", assignment=placed),))
    observer = MetricsObserver(spec, RELEASES[release])
    cluster = Cluster(spec, RELEASES[release], sink=observer.on_event)
    counts = []
    for acted in (
        (acts.FailDir(1, 1),),
        (acts.Kill(1), acts.Reassign(TopicPartition("t", 0), (2, 3, 4)), acts.Start(1)),
        (acts.Kill(1), acts.RepairDir(1, 1), acts.Start(1)),
    ):
        for act in acted:
            cluster.do(act)
            cluster.run_until(cluster.now + 40 * SECOND)
        counts.append(value(observer.samples(cluster.now), MANAGER + "OfflineReplicaCount", 1))
        assert counts[-1] == len(cluster.brokers[1].replicas.offline_partitions)
    assert counts == [2, 1, 0]


def gauge(cluster: Cluster, name: str, broker: int, attribute: str = "Value") -> float:
    return value(gauges.cluster_gauges(cluster), name, broker, attribute)


def test_fetches_that_wait_are_in_the_purgatory() -> None:
    """A follower's fetch waits on every partition of its session, and a consumer's fetch on every requested partition. Fetch elision makes
    no difference.
    """
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((1, 2)), PartitionSpec((2, 3)))),),
    )
    elided, played = Cluster(spec), Cluster(spec, elide=False)
    seen = set()
    for cluster in (elided, played):
        cluster.do(acts.Consume("t"))
        cluster.run_until(SECOND)
    for step in range(100):
        shown = []
        for cluster in (elided, played):
            if step == 60:
                cluster.do(acts.Load("t", 100))
            cluster.run_until(cluster.now + 10_130)
            shown.append([sample for sample in gauges.cluster_gauges(cluster) if "Purgatory" in sample.name])
        assert shown[0] == shown[1]
        seen.add(tuple(sample.attributes[0][1] for sample in shown[0]))
    # brokers 1, 2, 3: fetches of followers and of the consumer; the partitions that these ask for
    assert (3, 2, 0, 5, 2, 0) in seen, "all wait: 2 and 3 at broker 1 for two partitions and one, 3 at broker 2, the consumer at both"
    assert min(seen) < (3,), "records came: who was answered is on the way, or asks anew"


def test_metadata_offsets_of_brokers_and_the_controller() -> None:
    """A broker that cannot reach the controller falls behind. Without a majority, nothing is committed, but the active controller has
    written more.
    """
    applied, committed = (f"kafka.controller:type=KafkaController,name=Last{name}RecordOffset" for name in ("Applied", "Committed"))
    mbean, last = "kafka.server:type=broker-metadata-metrics", "last-applied-record-offset"
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),),
        controllers=("c1", "c2", "c3"),
    )
    cluster = Cluster(spec)
    cluster.run_until(SECOND)
    start = gauge(cluster, committed, CONTROLLER)
    assert {gauge(cluster, mbean, broker, last) for broker in (1, 2, 3)} == {start} == {gauge(cluster, applied, CONTROLLER)}
    assert start == len(cluster.metadata) - 1
    for voter in ("c1", "c2", "c3"):
        cluster.do(acts.Cut((voter, "b3")))
    cluster.do(acts.Set("min.insync.replicas", "2"))
    cluster.run_until(2 * SECOND)
    assert [gauge(cluster, mbean, broker, last) for broker in (1, 2, 3)] == [start + 1, start + 1, start]
    assert gauge(cluster, committed, CONTROLLER) == start + 1
    active = cluster.controller_address
    for voter in ("c1", "c2", "c3"):
        if voter != active:
            cluster.do(acts.KillController(voter))
    cluster.do(acts.Set("min.insync.replicas", "1"))
    cluster.run_until(cluster.now + 100_000)
    assert (gauge(cluster, applied, CONTROLLER), gauge(cluster, committed, CONTROLLER)) == (start + 2, start + 1)
    assert not [
        sample for sample in gauges.cluster_gauges(Cluster(attrs.evolve(spec, controllers=()), RELEASES["2.4"])) if "etadata" in sample.name
    ]


def test_only_kinds_that_there_are_are_folded() -> None:
    _, observer = seen()
    assert not sorted(set(observer._event_handlers) - set(KINDS))


@pytest.mark.parametrize(
    ("name", "release", "counts"),
    [
        ("d8-split-brain", "2.4", {1, 2}),
        ("d8-zookeeper-controller-failover", "0.10.2", {0, 1}),
        ("d8-controller-failover", "4.1", {0, 1}),
        ("d9-combined-controllers", "4.1", {0, 1}),
    ],
)
def test_active_controllers_are_those_who_take_themselves_for_it(name: str, release: str, counts: set[int]) -> None:
    """The sum of ActiveControllerCount over the cluster (D8), which can also be zero or two."""
    scenario = catalogue.load(name)
    observer = MetricsObserver(scenario.spec, RELEASES[release])
    run = Run(scenario, RELEASES[release], None, observer.on_event)
    shown = set()
    for at in range(1, 80, 2):
        run.advance_to(at * SECOND)
        count = value(observer.samples(run.cluster.now), "kafka.controller:type=KafkaController,name=ActiveControllerCount", CONTROLLER)
        assert count == run.cluster.view().active_controllers
        shown.add(count)
    assert shown == counts


def test_a_transaction_holds_readers_back_and_is_late_five_minutes_after_the_longest_timeout() -> None:
    """`Partition#hasLateTransaction`: the process of the producer is gone, and so is the coordinator, which would abort the transaction."""
    topics = (TopicSpec("t", assignment=(PartitionSpec((1,)),)), TopicSpec("__transaction_state", assignment=(PartitionSpec((2,)),)))
    settings = (("transaction.state.log.min.isr", 1), ("transaction.max.timeout.ms", 60_000))
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), topics, settings), RELEASES["3.9"])
    cluster.do(acts.InitTransactions("t", "app"))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.BeginTransaction())
    cluster.do(acts.Produce("t", 7))
    cluster.run_until(3 * SECOND)
    cluster.do(acts.Kill(2))
    producers = cluster.brokers[1].partitions[TopicPartition("t", 0)].log.producer_state()
    assert producers is not None
    (entry,) = producers.entries.values()
    lag = "kafka.cluster:type=Partition,name=LastStableOffsetLag,topic=t,partition=0"
    for passed, late in ((360 * SECOND, 0), (360 * SECOND + 1, 1)):
        cluster.run_until(entry.last_timestamp + passed)
        samples = gauges.cluster_gauges(cluster)
        assert (value(samples, lag, 1), value(samples, gauges.LATE_TRANSACTIONS, 1)) == (7, late)
