"""Transactions of a whole cluster: commit, abort, fencing, timeouts, and what each isolation level reads, under the releases that changed them."""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.features import TRANSACTION_VERSION
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.kafka.transaction.transaction_state import TransactionState
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.sim.errors import ActRefused
from core.sim.events import kind_of
from core.sim.units import SECOND

TRANSACTIONAL = ("0.11", "1.1", "2.7", "3.3", "3.6", "4.0", "4.3")
"""Releases under which transactions differ."""

_S = ProducerTransactionState


class Run:
    """A cluster of three brokers with topic t of two partitions, and a producer with transactional.id tx that has its producer ID."""

    def __init__(self, release: str, *, transaction_version: int | None = None, **settings: object) -> None:
        self.events: list[tuple] = []
        wanted = {"transaction.state.log.num.partitions": 3} | {name.replace("_", "."): value for name, value in settings.items()}
        features = () if transaction_version is None else ((TRANSACTION_VERSION, transaction_version),)
        brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3))
        spec = ClusterSpec(brokers, (TopicSpec("t", 2, 3),), settings=tuple(wanted.items()), features=features)
        self.cluster = Cluster(spec, RELEASES[release], sink=self.events.append)
        self.wait(1)
        self.do(acts.Consume("t", "committed", isolation="read_committed"), acts.Consume("t", "uncommitted"))

    def do(self, *all_acts: acts.Act) -> None:
        """Execute acts at the current moment."""
        for act in all_acts:
            self.cluster.do(act)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.cluster.run_until(self.cluster.now + int(seconds * SECOND))

    def init(self, producer: str = "producer", **config: str) -> None:
        """Start a producer, and wait until it has its producer ID."""
        self.do(acts.InitTransactions("t", "tx", producer, tuple((name.replace("_", "."), value) for name, value in config.items())))
        self.wait(2)

    def state(self, producer: str = "producer") -> ProducerTransactionState:
        """Return the state of a producer."""
        found = self.cluster.clients.producer(producer)
        assert found is not None
        assert found.transactions is not None
        return found.transactions.state

    def read(self) -> tuple[int, int]:
        """Return how many records each of the two consumers has read: read_committed, and read_uncommitted."""
        committed, uncommitted = self.cluster.clients.consumer("committed"), self.cluster.clients.consumer("uncommitted")
        assert committed is not None
        assert uncommitted is not None
        return committed.read, uncommitted.read

    def told(self, kind: type) -> list[tuple]:
        """Return the columns of the events of a kind so far."""
        return [event[4:] for event in self.events if event[3] == kind.kind]  # type: ignore[attr-defined]

    def coordinator(self) -> int:
        """Return the broker that coordinates tx."""
        (found,) = [broker.id for broker in self.cluster.brokers.values() if broker.transactions.states.get("tx") is not None]
        return found

    def metadata(self) -> TransactionMetadata:
        """Return the coordinator's state of tx."""
        found = self.cluster.brokers[self.coordinator()].transactions.states.get("tx")
        assert found is not None
        return found


@pytest.mark.parametrize("release", TRANSACTIONAL)
def test_commit_and_abort(release: str) -> None:
    run = Run(release)
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 4), acts.CommitTransaction())
    run.wait(1)
    assert (run.state(), run.read()) == (_S.READY, (4, 4))
    run.do(acts.BeginTransaction(), acts.Produce("t", 6))
    run.wait(1)
    assert (run.state(), run.read()) == (_S.IN_TRANSACTION, (4, 10))
    run.do(acts.AbortTransaction())
    run.wait(1)
    assert (run.state(), run.read()) == (_S.READY, (4, 10))
    assert [(each[0], each[5]) for each in run.told(events.AbortedRecordsSkipped)] == [("committed", 3)] * 2
    run.do(acts.BeginTransaction(), acts.Produce("t", 2), acts.CommitTransaction())
    run.wait(1)
    assert run.read() == (6, 12)
    ended = [(each[3], each[4]) for each in run.told(events.TransactionEnded)]
    epochs = (0, 1, 2) if RELEASES[release].transaction_version == 2 else (0, 0, 0)
    assert ended == list(zip(epochs, ("COMMIT", "ABORT", "COMMIT"), strict=True))
    account = run.cluster.account
    assert (account.accepted, account.acked, account.lost) == (12, 12, 0)


@pytest.mark.parametrize(("level", "epochs"), [(None, (0, 1)), (0, (0, 0)), (1, (0, 0)), (2, (0, 1))])
def test_the_feature_decides_about_the_epochs(level: int | None, epochs: tuple[int, ...]) -> None:
    run = Run("4.1", transaction_version=level)
    run.init()
    for _ in epochs:
        run.do(acts.BeginTransaction(), acts.Produce("t", 2), acts.CommitTransaction())
        run.wait(1)
    assert tuple(each[3] for each in run.told(events.TransactionEnded)) == epochs
    assert run.read() == (4, 4)


@pytest.mark.parametrize("release", TRANSACTIONAL)
def test_an_open_transaction_holds_readers_of_committed_records_back(release: str) -> None:
    run = Run(release)
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 2, partition=0))
    run.wait(1)
    run.do(acts.Produce("t", 3, partition=0, producer="plain"))
    run.wait(1)
    assert run.read() == (0, 5)
    run.do(acts.CommitTransaction())
    run.wait(1)
    assert run.read() == (5, 5)


@pytest.mark.parametrize("release", ["0.8.2", "0.9", "0.10.2"])
def test_releases_without_transactions_refuse_with_the_reason(release: str) -> None:
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", 2, 3),))
    cluster = Cluster(spec, RELEASES[release])
    with pytest.raises(ActRefused, match=r"has no transactions; use 0\.11 or later"):
        cluster.do(acts.InitTransactions("t", "tx"))
    with pytest.raises(ActRefused, match=r"has no transactions; omit 'isolation'"):
        cluster.do(acts.Consume("t", isolation="read_committed"))


def test_the_internal_topic_needs_enough_brokers() -> None:
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", 2, 2),))
    with pytest.raises(ActRefused, match=r"transaction.state.log.replication.factor is 3, but the cluster has 2 brokers"):
        Cluster(spec).do(acts.InitTransactions("t", "tx"))


@pytest.mark.parametrize("release", ["0.11", "3.3"])
def test_the_internal_topic_is_a_real_topic(release: str) -> None:
    run = Run(release)
    run.init()
    topic = run.cluster.controller.registry.topics[TRANSACTION_STATE_TOPIC]
    assert len(topic.partitions) == 3
    assert (topic.config["min.insync.replicas"], topic.config["unclean.leader.election.enable"]) == ("2", "false")


def test_calls_in_the_wrong_order_are_refused() -> None:
    run = Run("3.3")
    with pytest.raises(ActRefused, match="there is no producer"):
        run.do(acts.BeginTransaction())
    run.do(acts.InitTransactions("t", "tx"))
    with pytest.raises(ActRefused, match="still waiting for the result of initTransactions"):
        run.do(acts.BeginTransaction())
    run.wait(2)
    with pytest.raises(ActRefused, match="Invalid transition attempted from state READY to state COMMITTING_TRANSACTION"):
        run.do(acts.CommitTransaction())
    with pytest.raises(ActRefused, match="Cannot call send in state READY"):
        run.do(acts.Produce("t", 1))
    run.do(acts.BeginTransaction())
    with pytest.raises(ActRefused, match="Invalid transition attempted from state IN_TRANSACTION to state IN_TRANSACTION"):
        run.do(acts.BeginTransaction())
    run.do(acts.CommitTransaction())
    assert run.state() is _S.READY  # the coordinator never heard of the transaction


@pytest.mark.parametrize("release", TRANSACTIONAL)
def test_a_second_instance_fences_the_first(release: str) -> None:
    run = Run(release)
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 4))
    run.wait(1)
    run.init("second")
    assert run.state("second") is _S.READY
    assert run.read() == (0, 4)
    run.do(acts.CommitTransaction())
    run.wait(1)
    assert run.state() is _S.FATAL_ERROR
    fenced = "PRODUCER_FENCED" if RELEASES[release].producer_fenced else "INVALID_PRODUCER_EPOCH"
    assert run.told(events.ProducerStateChanged)[-1] == ("producer", "tx", "COMMITTING_TRANSACTION", "FATAL_ERROR", fenced)
    with pytest.raises(ActRefused, match=f"in an error state: {fenced}"):
        run.do(acts.BeginTransaction())
    run.do(acts.BeginTransaction("second"), acts.Produce("t", 2, producer="second"), acts.CommitTransaction("second"))
    run.wait(1)
    assert run.read() == (2, 6)


@pytest.mark.parametrize("release", TRANSACTIONAL)
@pytest.mark.parametrize("commit", [True, False])
def test_the_coordinator_is_killed_before_the_end(release: str, commit: bool) -> None:
    run = Run(release)
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 4))
    run.wait(1)
    run.do(acts.Kill(run.coordinator()), acts.CommitTransaction() if commit else acts.AbortTransaction())
    run.wait(40)
    assert (run.state(), run.read()[0]) == (_S.READY, 4 if commit else 0)
    run.do(acts.BeginTransaction(), acts.Produce("t", 2), acts.CommitTransaction())
    run.wait(5)
    assert (run.state(), run.read()[0]) == (_S.READY, 6 if commit else 2)
    assert run.cluster.account.lost == 0


@pytest.mark.parametrize("release", TRANSACTIONAL)
def test_the_coordinator_is_killed_after_the_decision(release: str) -> None:
    """The next coordinator writes the markers again; a partition that has its marker gets another one, which counts as no record."""
    run = Run(release)
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 4))
    run.wait(1)
    run.do(acts.CommitTransaction())
    while not any(event[3] == events.MarkerAppended.kind for event in run.events):
        run.cluster.step()
    run.do(acts.Kill(run.coordinator()))
    run.wait(40)
    run.do(acts.BeginTransaction(), acts.Produce("t", 2), acts.CommitTransaction())
    run.wait(5)
    assert (run.state(), run.read()) == (_S.READY, (6, 6))
    assert run.metadata().state is TransactionState.COMPLETE_COMMIT
    assert (run.cluster.account.accepted, run.cluster.account.lost) == (6, 0)


@pytest.mark.parametrize("release", TRANSACTIONAL)
def test_a_transaction_that_times_out_is_aborted(release: str) -> None:
    run = Run(release)
    run.init(transaction_timeout_ms="5000")
    run.do(acts.BeginTransaction(), acts.Produce("t", 4, partition=0))
    run.wait(70)
    assert len(run.told(events.TransactionTimedOut)) == 1
    assert run.read() == (0, 4)
    run.do(acts.Produce("t", 2, partition=1))
    run.wait(1)
    rules = RELEASES[release]
    if not rules.timeout_fences_producer:  # T7: the second half becomes a transaction of its own
        run.do(acts.CommitTransaction())
        run.wait(1)
        assert (run.state(), run.read()) == (_S.READY, (2, 6))
        return
    assert run.state() is (_S.ABORTABLE_ERROR if rules.transaction_version == 2 else _S.FATAL_ERROR)
    if rules.transaction_version == 2:  # an abort makes the producer ready again
        run.do(acts.AbortTransaction())
        run.wait(1)
        assert run.state() is _S.READY
    assert run.read()[0] == 0


@pytest.mark.parametrize("release", ["2.7", "3.3", "3.6"])
def test_a_batch_after_the_timeout_is_refused_by_the_leader(release: str) -> None:
    """The leader knows the epoch of the marker, so it answers INVALID_PRODUCER_EPOCH. This error is abortable, but the coordinator then
    fences the producer.
    """
    run = Run(release)
    run.init(transaction_timeout_ms="5000")
    run.do(acts.BeginTransaction(), acts.Produce("t", 4))
    run.wait(70)
    run.do(acts.Produce("t", 2, partition=0))
    run.wait(1)
    assert run.state() is _S.ABORTABLE_ERROR
    run.do(acts.AbortTransaction())
    run.wait(1)
    assert (run.state(), run.read()[0]) == (_S.FATAL_ERROR, 0)


@pytest.mark.parametrize("release", TRANSACTIONAL)
def test_a_leader_is_killed_during_a_transaction(release: str) -> None:
    run = Run(release)
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 4))
    run.wait(1)
    leader = run.cluster.partition_view(TopicPartition("t", 0)).leader
    run.do(acts.Kill(leader), acts.Produce("t", 4), acts.CommitTransaction())
    run.wait(60)
    assert (run.state(), run.read()) == (_S.READY, (8, 8))
    assert run.cluster.account.lost == 0


@pytest.mark.parametrize("release", ["2.7", "3.6", "4.3"])
def test_a_snapshot_in_the_middle_of_a_transaction_continues_the_same(release: str) -> None:
    def play(run: Run, cluster: Cluster) -> None:
        cluster.do(acts.Produce("t", 3))
        cluster.run_until(cluster.now + SECOND // 2)
        cluster.do(acts.CommitTransaction())
        cluster.run_until(cluster.now + SECOND)
        cluster.do(acts.BeginTransaction())
        cluster.do(acts.Produce("t", 3))
        cluster.do(acts.AbortTransaction())
        cluster.run_until(cluster.now + 3 * SECOND)

    run = Run(release)
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 4))
    for steps in (0, 1, 3, 7, 20):
        for _ in range(steps):
            run.cluster.step()
        snapshot = run.cluster.snapshot()
        start = len(run.events)
        play(run, run.cluster)
        first = run.events[start:]
        copied: list[tuple] = []
        copy = Cluster.restore(snapshot, copied.append)
        play(run, copy)
        assert copied == first
        del run.events[start:]
        run.cluster.restore_in_place(snapshot, run.events.append)
        play(run, run.cluster)
        assert run.events[start:] == first
        del run.events[start:]
        run.cluster.restore_in_place(snapshot, run.events.append)


def test_version_2_adds_partitions_although_verification_is_off() -> None:
    run = Run("4.3", transaction_partition_verification_enable="false")
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 4), acts.CommitTransaction())
    run.wait(1)
    assert (run.state(), run.read()) == (_S.READY, (4, 4))


def test_records_of_aborted_transactions_are_never_lost() -> None:
    """When a cluster with a single broker loses power, it loses all records. Only the committed ones count as lost."""
    settings = tuple((f"transaction.state.log.{name}", 1) for name in ("num.partitions", "replication.factor", "min.isr"))
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), (TopicSpec("t", 1, 1),), settings=settings), RELEASES["4.3"])
    cluster.do(acts.Consume("t"))
    cluster.do(acts.InitTransactions("t", "tx"))
    cluster.run_until(2 * SECOND)
    for records, end in ((3, acts.CommitTransaction()), (4, acts.AbortTransaction()), (5, None)):
        cluster.do(acts.BeginTransaction())
        cluster.do(acts.Produce("t", records))
        cluster.run_until(cluster.now + SECOND)
        if end is not None:
            cluster.do(end)
            cluster.run_until(cluster.now + SECOND)
    cluster.do(acts.PowerLoss(1, unflushed="lost"))
    cluster.do(acts.Start(1))
    cluster.run_until(cluster.now + 60 * SECOND)
    consumer = cluster.clients.consumer("consumer")
    assert consumer is not None
    assert (consumer.read, cluster.account.accepted, cluster.account.lost) == (12, 12, 3 + 5)


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_by_hand_everything_that_needs_no_time_happens_at_once(release: str) -> None:
    settings = tuple((f"transaction.state.log.{name}", 1) for name in ("num.partitions", "replication.factor", "min.isr"))
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", 1, 1),), pace=Pace.BY_HAND, settings=settings)
    cluster = Cluster(spec, RELEASES[release])
    cluster.do(acts.Consume("t", isolation="read_committed"))
    cluster.do(acts.InitTransactions("t", "tx"))
    cluster.run_until(SECOND)
    cluster.do(acts.BeginTransaction())
    cluster.do(acts.Produce("t", 3))
    cluster.do(acts.CommitTransaction())
    producer, consumer = cluster.clients.producer("producer"), cluster.clients.consumer("consumer")
    assert producer is not None
    assert producer.transactions is not None
    assert consumer is not None
    assert (producer.transactions.state, consumer.read) == (_S.READY, 3)


@pytest.mark.parametrize("release", ["2.4", "3.6", "4.3"])
def test_a_follower_serves_readers_of_committed_records_up_to_its_own_stable_offset(release: str) -> None:
    spec = ClusterSpec(
        tuple(BrokerSpec(broker, rack=f"r{broker}") for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),),
        settings=(("transaction.state.log.num.partitions", 1), ("replica.selector.class", "RackAwareReplicaSelector")),
    )
    told: list[tuple] = []
    cluster = Cluster(spec, RELEASES[release], sink=told.append)
    cluster.run_until(SECOND)
    cluster.do(acts.Consume("t", rack="r2", isolation="read_committed"))
    cluster.do(acts.InitTransactions("t", "tx"))
    cluster.run_until(3 * SECOND)
    for end, readable in ((acts.CommitTransaction(), []), (acts.AbortTransaction(), [(0, 2)]), (acts.CommitTransaction(), [(0, 2)])):
        cluster.do(acts.BeginTransaction())
        cluster.do(acts.Produce("t", 2))
        cluster.run_until(cluster.now + SECOND)
        assert [event[8:10] for event in told if event[3] == events.Consumed.kind] == readable
        cluster.do(end)
        cluster.run_until(cluster.now + 2 * SECOND)
    assert [event[7:10] for event in told if event[3] == events.Consumed.kind] == [(2, 0, 2), (2, 6, 8)]


def test_a_reader_of_committed_records_begins_at_the_stable_offset() -> None:
    """auto.offset.reset=latest: ListOffsets returns the last stable offset."""
    run = Run("4.3")
    run.init()
    run.do(acts.BeginTransaction(), acts.Produce("t", 2, partition=0))
    run.wait(1)
    run.do(acts.Consume("t", "late", "latest", isolation="read_committed"))
    run.wait(1)
    run.do(acts.CommitTransaction())
    run.wait(1)
    late = run.cluster.clients.consumer("late")
    assert late is not None
    assert late.read == 2


def test_deleting_the_records_of_an_open_transaction_raises_the_lso_at_once() -> None:
    """`ProducerStateManager#onLogStartOffsetIncremented`: transactions that begin below the new log start no longer hold back the LSO."""
    recorded: list[events.EventTuple] = []
    topic = TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)),))
    cluster = Cluster(ClusterSpec(brokers=tuple(BrokerSpec(id) for id in (1, 2, 3)), topics=(topic,)), RELEASES["4.3"], 0, recorded.append)
    cluster.do(acts.InitTransactions("orders", "app", "app"))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.BeginTransaction("app"))
    cluster.do(acts.Produce("orders", 5, producer="app"))
    cluster.run_until(4 * SECOND)
    view = cluster.partition_view(TopicPartition("orders", 0))
    assert (view.committed, view.held_back_at) == (5, 0)
    cluster.do(acts.DeleteRecords(TopicPartition("orders", 0), 5))
    (raised,) = [event for event in recorded if kind_of(event) == events.LastStableOffsetAdvanced.kind]
    assert events.LastStableOffsetAdvanced(raised).to_offset == 5
    assert cluster.partition_view(TopicPartition("orders", 0)).held_back_at is None
