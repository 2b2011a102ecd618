"""Idempotent producers: `ProducerStateManager`, by Kafka's own vectors (PRD), and a producer whose broker loses responses."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.ids import TopicPartition
from core.kafka.log.control_record import COMMIT, EndTransactionMarker
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.log.producer_state_entry import MAX_SEQUENCE, increment_sequence
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused

EXPIRATION = 86_400_000_000
"""producer.id.expiration.ms, in µs."""
OOO = errors.OUT_OF_ORDER_SEQUENCE_NUMBER
TP = TopicPartition("t", 0)


def batch(base: int, sequence: int, records: int = 1, *, epoch: int = 0, pid: int = 1, time: int = 0) -> Batch:
    return Batch(base, records, 100, "p", base, time, pid, epoch, sequence)


class State(ProducerStateManager):
    """A manager that appends every batch that passes its checks, as a leader does."""

    __slots__ = ("leo",)

    def __init__(self) -> None:
        super().__init__()
        self.leo = 0

    def append(self, sequence: int, records: int = 1, *, epoch: int = 0, pid: int = 1) -> str:
        error = self.validate(pid, epoch, sequence)
        if error == errors.NONE:
            self.update(batch(self.leo, sequence, records, epoch=epoch, pid=pid))
            self.leo += records
        return error

    def end(self, epoch: int, pid: int = 1) -> str:
        """Append a COMMIT marker that has passed the leader's checks."""
        error = self.validate_marker(pid, epoch, 0)
        if error == errors.NONE:
            self.update(Batch(self.leo, 1, 78, "p", 0, 0, pid, epoch, -1, True, EndTransactionMarker(COMMIT, 0)))
            self.leo += 1
        return error


def test_prd_04_a_gap_is_out_of_order() -> None:
    """PRD-04: sequences 0, 1, and 2 are accepted; 13 is not."""
    state = State()
    assert [state.append(sequence) for sequence in (0, 1, 2, 13)] == ["NONE", "NONE", "NONE", OOO]


@pytest.mark.parametrize(("release", "known"), [("0.11", [2]), ("2.1", [2]), ("2.4", [1, 2])])
def test_before_2_4_a_snapshot_is_loaded_without_the_producers_below_the_log_start(release: str, known: list[int]) -> None:
    """`#loadFromSnapshot`, `#isProducerRetained`: the snapshot was taken before records were deleted (KAFKA-7190)."""
    state = ProducerStateManager(0, RELEASES[release])
    for sequence in range(2):
        state.update(batch(sequence, sequence, pid=1))
    state.update(batch(2, 0, 4, pid=2))
    state.take_snapshot(log_start=0)
    state.truncate_and_reload(3, 6, restarted=True)
    assert list(state.entries) == known
    assert state.end_offset == 6


def test_prd_06_the_basic_turns() -> None:
    """PRD-06: testBasicIdMapping."""
    state = State()
    assert [state.append(sequence) for sequence in (0, 1, 1, 5)] == ["NONE", "NONE", OOO, OOO]
    assert state.append(0, epoch=1) == "NONE"
    assert state.append(0, epoch=0) == errors.INVALID_PRODUCER_EPOCH


def test_a_higher_epoch_begins_with_sequence_0() -> None:
    state = State()
    state.append(0)
    assert state.append(3, epoch=1) == OOO
    assert state.append(0, epoch=1) == "NONE"


def test_prd_08_sequences_wrap_around() -> None:
    """PRD-08: the largest sequence is followed by 0 and 1. A batch can span the wraparound."""
    state = State()
    assert state.append(MAX_SEQUENCE) == "NONE", "an unknown producer may begin anywhere"
    assert state.append(1) == OOO
    assert state.append(0) == "NONE"
    assert increment_sequence(MAX_SEQUENCE - 10, 20) == 9
    wide = State()
    assert wide.append(MAX_SEQUENCE - 10, 21) == "NONE"
    assert wide.entries[1].last_sequence == 9
    assert wide.append(10) == "NONE"


def test_prd_09_a_control_record_bumps_the_epoch() -> None:
    """PRD-09: testControlRecordBumpsProducerEpoch, testOutOfSequenceAfterControlRecordEpochBump."""
    state = State()
    state.append(0)
    assert state.end(1) == "NONE"
    assert (state.entries[1].epoch, state.entries[1].last_sequence) == (1, -1)
    assert state.append(2, epoch=1) == OOO
    assert state.append(2, epoch=2) == OOO
    assert state.append(0, epoch=1) == "NONE"
    assert state.end(0) == errors.INVALID_PRODUCER_EPOCH


def test_prd_11_an_idle_producer_is_forgotten() -> None:
    """PRD-11: testPidExpirationTimeout, testRemoveExpiredPidsOnReload."""
    state = State()
    state.append(0)
    state.remove_expired(EXPIRATION - 1, EXPIRATION)
    assert state.append(2) == OOO
    state.remove_expired(EXPIRATION, EXPIRATION)
    assert state.append(1) == "NONE"
    assert state.entries[1].last_sequence == 1


def test_prd_12_replication_takes_gaps() -> None:
    """PRD-12: a client's 3 after 0 is refused. In a replicated log, it is accepted."""
    state = State()
    state.append(0)
    assert state.append(3) == OOO
    state.replay([batch(1, 3)])
    assert state.entries[1].last_sequence == 3


def test_a_duplicate_is_one_of_the_last_five_batches_and_just_that() -> None:
    state = State()
    for number in range(7):
        state.append(2 * number, 2)
    assert state.duplicate(1, 0, 4, 2) == (4, 5, 4, 5, 0)
    assert state.duplicate(1, 0, 2, 2) is None, "the sixth last is forgotten"
    assert state.duplicate(1, 0, 4, 1) is None, "part of a batch is no duplicate"
    assert state.duplicate(1, 1, 4, 2) is None
    assert state.append(2, 2) == OOO


def test_the_state_is_made_from_what_truncation_left() -> None:
    log = ReplicaLog()
    term = Term(0, 1)
    term.has_producer_ids = True
    for number in range(4):
        log.append_as_leader(term, batch(3 * number, 3 * number, 3))
    log.producer_state()
    log.truncate_to(6)
    made = log.ensure_producer_state()
    assert made.duplicate(1, 0, 3, 3) is not None
    assert made.duplicate(1, 0, 6, 3) is None
    assert made.validate(1, 0, 6) == "NONE"
    log.truncate_to(4)
    assert log.ensure_producer_state().entries[1].last_sequence == 2, "half a batch does not count"


def made() -> tuple[Cluster, list[tuple]]:
    events: list[tuple] = []
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=(("min.insync.replicas", "2"),)),),
    )
    return Cluster(spec, sink=events.append), events


@pytest.mark.parametrize("idempotence", [True, False])
def test_under_failures_only_the_idempotent_producer_writes_everything_once(idempotence: bool) -> None:
    """A load continues through leaders without power and lost responses: without idempotence, some records are duplicated; with idempotence, none
    are.
    """
    cluster, events = made()
    cluster.do(acts.Load("t", rate=100, producer="app", idempotence=idempotence))
    for _ in range(3):
        for leader in (1, 2, 3):
            cluster.run_until(cluster.now + 3_000_000)
            cluster.do(acts.Cut((f"b{leader}", "app"), one_way=True))
            cluster.run_until(cluster.now + 500_000)
            cluster.do(acts.PowerLoss(leader, unflushed="kept"))
            cluster.do(acts.Heal())
            cluster.run_until(cluster.now + 20_000_000)
            cluster.do(acts.Start(leader))
            cluster.run_until(cluster.now + 20_000_000)
    cluster.do(acts.StopLoad("app"))
    cluster.run_until(cluster.now + 60_000_000)
    producer = cluster.clients.producer("app")
    assert producer is not None
    assert producer.metrics.acked == producer.metrics.sent > 5_000
    account = cluster.account
    assert account.lost == 0
    if idempotence:
        assert account.duplicated == 0
        assert account.accepted == producer.metrics.sent
        assert any(event[3] == "duplicate-dropped" for event in events)
    else:
        assert account.duplicated > 0


@pytest.mark.parametrize(("acks", "idempotence", "twice"), [("1", False, 10), ("all", False, 10), ("all", True, 0)])
def test_a_batch_whose_answer_was_lost_is_written_again_by_the_retry(acks: str, idempotence: bool, twice: int) -> None:
    """The leader appends the batch and responds, but the response does not arrive. After request.timeout.ms, the producer sends the batch
    again.
    """
    cluster, events = made()
    cluster.do(acts.Produce("t", 5, acks=acks, idempotence=idempotence))
    cluster.run_until(2_000_000)
    cluster.do(acts.Cut(("b1", "producer"), one_way=True))
    cluster.do(acts.Produce("t", 10, acks=acks))
    cluster.run_until(10_000_000)
    log = cluster.brokers[1].disk.logs[TP]
    assert (log.leo, log.high_watermark, cluster.account.duplicated) == (15, 15, 0)
    cluster.run_until(32_500_000)
    cluster.do(acts.Heal())
    cluster.run_until(70_000_000)
    producer = cluster.clients.producer("producer")
    assert producer is not None
    assert (producer.metrics.acked, producer.metrics.failed) == (15, 0)
    assert (log.leo, cluster.account.accepted, cluster.account.duplicated) == (15 + twice, 15 + twice, twice)
    assert [event[4:6] for event in events if event[3] == "records-duplicated"] == ([("t", 0)] if twice else [])
    assert cluster.account.lost == 0


def test_an_expired_batch_is_followed_by_a_new_epoch() -> None:
    """There is no leader for longer than delivery.timeout.ms: the batch is abandoned, and the next batches continue in a new producer
    epoch.
    """
    cluster, events = made()
    cluster.do(acts.Produce("t", 5, producer="app", idempotence=True))
    cluster.run_until(1_000_000)
    for broker in (2, 3):
        cluster.do(acts.Kill(broker))
    cluster.run_until(20_000_000)
    cluster.do(acts.Produce("t", 5, producer="app"))
    cluster.run_until(200_000_000)
    producer = cluster.clients.producer("app")
    assert producer is not None
    assert producer.metrics.failed == 5
    for broker in (2, 3):
        cluster.do(acts.Start(broker))
    cluster.run_until(250_000_000)
    cluster.do(acts.Produce("t", 5, producer="app"))
    cluster.run_until(260_000_000)
    assert producer.metrics.acked == 10
    (bumped,) = [event for event in events if event[3] == "producer-epoch-bumped"]
    assert bumped[8] == 1


def test_what_waits_behind_an_expired_batch_is_numbered_anew() -> None:
    """The waiting batch has a number of the former epoch. If it were sent with this number, it would be out of order or would be considered
    a duplicate.
    """
    cluster, events = made()
    cluster.do(acts.Produce("t", 5, producer="app", idempotence=True))
    cluster.run_until(1_000_000)
    for broker in (2, 3):
        cluster.do(acts.Kill(broker))
    for second in (20, 100, 101):
        cluster.run_until(second * 1_000_000)
        cluster.do(acts.Produce("t", 5, producer="app"))
    cluster.run_until(145_000_000)
    for broker in (2, 3):
        cluster.do(acts.Start(broker))
    cluster.run_until(200_000_000)
    producer = cluster.clients.producer("app")
    assert producer is not None
    assert (producer.metrics.acked, producer.metrics.failed) == (15, 5)
    assert [event[8] for event in events if event[3] == "producer-epoch-bumped"] == [1]
    assert not [event for event in events if event[3] in ("duplicate-dropped", "records-duplicated")]


def test_idempotence_needs_acks_all() -> None:
    cluster, _ = made()
    with pytest.raises(ActRefused, match="Must set acks to all"):
        cluster.do(acts.Produce("t", 1, acks="1", idempotence=True))
    cluster.do(acts.Load("t", rate=10, producer="app", idempotence=True))
    with pytest.raises(ActRefused, match="Must set acks to all"):
        cluster.do(acts.Acks("1", producer="app"))
