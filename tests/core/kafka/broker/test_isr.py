"""How followers leave and join the ISR, and the outcomes of a leader's proposals, by Kafka's own vectors: ISR (PartitionTest,
IsrExpirationTest, AlterPartitionManagerTest).
"""

from __future__ import annotations

import attrs
import pytest

from core.kafka import errors, events
from core.kafka.broker.replica import NEVER
from core.kafka.health import PartitionStatus, status_of
from core.kafka.ids import TopicPartition
from core.kafka.messages import AlterPartitionRequest, AlterPartitionResponse
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import CURRENT
from core.lab.accounts.durability_account import DurabilityAccount
from core.sim.journal import Journal
from core.sim.units import US_PER_MS
from tests.core.node_bench import TP, BrokerBench


@pytest.fixture
def bench() -> BrokerBench:
    """Build a bench in which L (1) leads in epoch 5 with partition epoch 1 and LEO 10."""
    return BrokerBench()


def alone_with_f1_outside(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1,))
    bench.produce(10)
    assert bench.log.high_watermark == 10


def f1_is_late(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1, 2))
    bench.produce(10)
    bench.wait(30_001)
    bench.broker.check_isr()


# Expand


def test_isr_01_expansion(bench: BrokerBench) -> None:
    alone_with_f1_outside(bench)
    bench.fetch(2, 3)
    assert (bench.partition().pending, bench.remote(2).last_caught_up_time) == ("", NEVER)
    assert bench.sent(AlterPartitionRequest) == []
    bench.wait(500)
    bench.fetch(2, 10, broker_epoch=-1)
    request = bench.proposal()
    (item,) = request.items
    assert (item.isr, item.leader_epoch, item.partition_epoch) == ((1, 2), 5, 1)
    assert item.broker_epochs == (bench.epochs[1], -1)
    assert (bench.partition().isr, bench.partition().maximal_isr) == ((1,), (1, 2))
    bench.decide(request)
    assert (bench.partition().isr, bench.partition().maximal_isr, bench.partition().partition_epoch) == ((1, 2), (1, 2), 2)
    assert (bench.account.expands, bench.account.shrinks, bench.told(events.IsrChangeFailed)) == ({1: 1}, {}, [])


def test_isr_01_a_pending_member_counts_for_the_high_watermark_at_once(bench: BrokerBench) -> None:
    alone_with_f1_outside(bench)
    bench.fetch(2, 10)
    bench.produce(5)
    bench.wait(30_001)
    assert bench.partition().maybe_increment_leader_hw() is False
    assert bench.log.high_watermark == 10


def test_isr_02_an_expansion_refused_as_outdated_stays_pending(bench: BrokerBench) -> None:
    alone_with_f1_outside(bench)
    bench.fetch(2, 10)
    bench.decide(bench.proposal(), errors.INVALID_UPDATE_VERSION)
    assert (bench.partition().isr, bench.partition().maximal_isr) == ((1,), (1, 2))
    assert bench.partition().pending
    assert bench.sent(AlterPartitionRequest) == []
    assert bench.told(events.IsrChangeFailed) == [(1, "t", 0, (1, 2), errors.INVALID_UPDATE_VERSION)]
    bench.fetch(2, 10)
    assert bench.sent(AlterPartitionRequest) == [], "it waits for new metadata"


@pytest.mark.parametrize(
    ("fenced", "shutting_down"),
    [pytest.param(True, False, id="ISR-03-fenced"), pytest.param(False, True, id="ISR-04-controlled-shutdown")],
)
def test_isr_03_04_no_expansion_by_an_ineligible_replica(bench: BrokerBench, fenced: bool, shutting_down: bool) -> None:
    alone_with_f1_outside(bench)
    bench.register(2, fenced=fenced, shutting_down=shutting_down, anew=False)
    assert bench.fetch(2, 10).error == errors.NONE
    assert (bench.remote(2).leo, bench.partition().pending, bench.sent(AlterPartitionRequest)) == (10, "", [])
    bench.register(2, anew=False)
    bench.fetch(2, 10)
    request = bench.proposal()
    bench.decide(request, errors.INELIGIBLE_REPLICA)
    assert (bench.partition().isr, bench.partition().maximal_isr, bench.partition().pending) == ((1,), (1,), "")
    assert bench.sent(AlterPartitionRequest) == []
    bench.fetch(2, 10)
    bench.decide(bench.proposal())
    assert bench.partition().isr == (1, 2)


def test_isr_05_expansion_names_the_broker_epochs_of_all_members(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (1, 3))
    old = bench.epochs[2]
    bench.register(2)
    assert bench.fetch(2, 0, broker_epoch=old).error == errors.NOT_LEADER_OR_FOLLOWER
    assert bench.sent(AlterPartitionRequest) == []
    bench.fetch(2, 0)
    (item,) = bench.proposal().items
    assert item.isr == (1, 2, 3)
    assert item.broker_epochs == (bench.epochs[1], bench.epochs[2], -1)


def test_isr_05_no_expansion_once_the_epoch_carried_is_no_longer_the_registered_one(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1,))
    bench.produce(10)
    bench.fetch(2, 5)
    old = bench.remote(2).broker_epoch
    bench.register(2)
    assert bench.epochs[2] > old
    bench.partition().maybe_expand_isr(bench.remote(2))
    assert not bench.partition().is_replica_isr_eligible(bench.remote(2))
    assert bench.sent(AlterPartitionRequest) == []


# Shrink


def test_isr_09_a_follower_at_the_leo_is_never_late(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1, 2))
    bench.produce(10)
    bench.fetch(2, 10)
    bench.wait(30_001)
    bench.broker.check_isr()
    assert (bench.partition().pending, bench.partition().isr, bench.log.high_watermark) == ("", (1, 2), 10)


def test_hw_09_a_follower_whose_last_fetch_caught_up_is_not_late(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1, 2))
    bench.produce(5)
    bench.fetch(2, 5)
    bench.produce(5)
    bench.wait(5_000)
    bench.fetch(2, 5)
    bench.produce(5)
    bench.wait(25_000)
    bench.fetch(2, 10)
    bench.wait(5_000)
    bench.broker.check_isr()
    assert bench.partition().pending == "", "at its fetch 10 it had what the leader had at its fetch before"
    assert bench.log.high_watermark == 10
    bench.wait(1)
    bench.broker.check_isr()
    assert bench.partition().pending == "shrink"


def test_isr_10_a_shrink_refused_as_outdated_stays_pending(bench: BrokerBench) -> None:
    f1_is_late(bench)
    bench.decide(bench.proposal(), errors.INVALID_UPDATE_VERSION)
    partition = bench.partition()
    assert partition.isr == partition.maximal_isr == (1, 2)
    assert (partition.pending, bench.log.high_watermark) == ("shrink", 0)
    assert bench.sent(AlterPartitionRequest) == []
    assert len(bench.told(events.IsrChangeFailed)) == 1


def test_isr_11_new_metadata_while_a_shrink_is_under_way(bench: BrokerBench) -> None:
    f1_is_late(bench)
    first = bench.proposal()
    bench.partition_is((1, 2), (1, 2), partition_epoch=2)
    assert (bench.partition().pending, bench.log.high_watermark) == ("", 0)
    bench.wait(30_001)
    bench.broker.check_isr()
    assert bench.partition().pending == "", "the road to the controller is taken by the first"
    assert bench.sent(AlterPartitionRequest) == []
    bench.decide(first, partition_epoch=10)
    assert (bench.partition().isr, bench.partition().partition_epoch) == ((1, 2), 2), "an answer to a proposal that no longer stands"
    bench.broker.check_isr()
    assert bench.partition().pending == "shrink"
    assert bench.proposal().items[0].partition_epoch == 2


@pytest.mark.parametrize("error", [errors.NONE, errors.OPERATION_NOT_ATTEMPTED, errors.UNKNOWN_SERVER_ERROR])
@pytest.mark.parametrize(
    ("leader", "leader_epoch"), [(1, 5), (1, 6), (3, 6)], ids=["same-leadership", "led-again", "led-by-another"]
)  # fmt: skip
def test_an_answer_that_newer_metadata_have_overtaken_changes_nothing(
    bench: BrokerBench, leader: int, leader_epoch: int, error: str
) -> None:
    """`Partition#submitAlterPartition`: a response for a state that has been replaced is dropped, whether it commits or refuses the change."""
    f1_is_late(bench)
    proposal = bench.proposal()
    bench.partition_is((1, 2, 3), (1, 2, 3), leader=leader, leader_epoch=leader_epoch, partition_epoch=2)
    partition, told = bench.partition(), len(bench.events)
    isr = (1, 2, 3) if leader == bench.me else ()
    for answered in (False, True):
        if answered:
            bench.decide(proposal, error, partition_epoch=3)
        assert (partition.isr, partition.maximal_isr, partition.pending) == (isr, isr, "")
        assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (leader, leader_epoch, 2)
    assert len(bench.events) == told, "nobody hears of it"
    assert bench.sent(AlterPartitionRequest) == [], "it is not proposed again"


def test_a_commit_of_an_older_partition_epoch_changes_nothing(bench: BrokerBench) -> None:
    """`Partition#handleAlterPartitionUpdate`: "Ignoring new ISR … since we have a newer version". The change stays pending."""
    f1_is_late(bench)
    bench.decide(bench.proposal(), partition_epoch=0)
    partition = bench.partition()
    assert (partition.isr, partition.partition_epoch, partition.pending) == ((1, 2), 1, "shrink")
    assert bench.told(events.IsrShrunk) == []


def test_isr_13_isr_01_expansion_of_a_full_isr(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3, 4), (1, 2, 3))
    bench.produce(10)
    for follower in (2, 3):
        bench.fetch(follower, 10)
    bench.fetch(4, 10)
    bench.decide(bench.proposal())
    assert bench.partition().isr == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("error", "again"),
    [
        pytest.param(errors.NEW_LEADER_ELECTED, 0, id="ISR-14-new-leader"),
        pytest.param(errors.UNKNOWN_TOPIC_OR_PARTITION, 0, id="ISR-14-unknown-topic"),
        pytest.param(errors.INVALID_UPDATE_VERSION, 0, id="ISR-14-invalid-version"),
        pytest.param(errors.FENCED_LEADER_EPOCH, 0, id="ISR-14-fenced"),
        pytest.param(errors.INVALID_REQUEST, 0, id="ISR-14-invalid-request"),
        pytest.param(errors.UNKNOWN_SERVER_ERROR, 1, id="ISR-14-unexpected"),
        pytest.param(errors.NOT_CONTROLLER, 1, id="ISR-14-not-controller"),
    ],
)
def test_isr_14_which_errors_are_tried_again(bench: BrokerBench, error: str, again: int) -> None:
    alone_with_f1_outside(bench)
    bench.fetch(2, 10)
    bench.decide(bench.proposal(), error)
    assert len(bench.sent(AlterPartitionRequest)) == again
    assert bench.partition().pending == "expand"
    assert bench.partition().maximal_isr == (1, 2)


def test_isr_14_operation_not_attempted_reverts(bench: BrokerBench) -> None:
    f1_is_late(bench)
    bench.decide(bench.proposal(), errors.OPERATION_NOT_ATTEMPTED)
    assert (bench.partition().pending, bench.partition().isr) == ("", (1, 2))
    bench.broker.check_isr()
    assert bench.partition().pending == "shrink"


def test_isr_15_a_request_that_failed_as_a_whole_is_sent_once_more(bench: BrokerBench) -> None:
    alone_with_f1_outside(bench)
    bench.fetch(2, 10)
    first = bench.proposal()
    bench.broker.handle(AlterPartitionResponse(first.correlation, errors.STALE_BROKER_EPOCH, ()), "controller")
    bench.run(49)
    assert bench.sent(AlterPartitionRequest) == []
    bench.run(1)
    second = bench.proposal()
    assert (second.items, second.correlation > first.correlation) == (first.items, True)
    bench.decide(second)
    bench.run(1_000)
    assert bench.sent(AlterPartitionRequest) == []
    assert bench.partition().isr == (1, 2)


# The state of followers


def test_isr_16_fetch_state_of_a_follower(bench: BrokerBench) -> None:
    bench.wait(1_000)
    bench.partition_is((1, 2), (1, 2))
    made_leader = bench.journal.now
    bench.produce(6)
    bench.wait(500)
    bench.fetch(2, 3)
    remote = bench.remote(2)
    assert (remote.last_caught_up_time, remote.leo, remote.log_start) == (made_leader, 3, 0)
    bench.wait(500)
    bench.fetch(2, 6)
    assert (remote.caught_up_time(), remote.leo) == (made_leader + 1_000 * US_PER_MS, 6)


def late_after(offset: int | None, idle_ms: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the followers that are late immediately after a follower's fetch (None: it never fetches) from a leader with 20 records, and
    after some time.
    """
    bench = BrokerBench(settings={"replica.lag.time.max.ms": 100})
    bench.partition_is((1, 2), (1, 2))
    bench.produce(20)
    if offset is not None:
        bench.fetch(2, offset)
    before = bench.partition().out_of_sync_replicas()
    bench.wait(idle_ms)
    return before, bench.partition().out_of_sync_replicas()


@pytest.mark.parametrize(
    ("offset", "out"),
    [
        pytest.param(19, (2,), id="ISR-17-stuck"),
        pytest.param(None, (2,), id="ISR-18-no-fetch"),
        pytest.param(20, (), id="ISR-20-caught-up"),
    ],
)
def test_isr_17_18_20_expiration(offset: int | None, out: tuple[int, ...]) -> None:
    assert late_after(offset, 150) == ((), out)


def test_isr_17_the_last_moment_still_counts() -> None:
    assert late_after(19, 100) == ((), ())
    assert late_after(19, 101) == ((), (2,))


def test_isr_17_a_partition_dropped_from_a_busy_session_gets_late() -> None:
    """Fetches of other partitions do not keep a follower in sync for this partition."""
    bench = BrokerBench()
    other = TopicPartition("t", 1)
    for tp in (TP, other):
        bench.partition_is((1, 2), (1, 2), tp=tp)
    first = bench.fetch_request(2, 0)
    both = first._replace(changed=(*first.changed, first.changed[0]._replace(tp=other)))
    bench.broker.handle(both, "b2")
    bench.wait(10_000)
    bench.broker.handle(both._replace(correlation=90, full=False, changed=(), forgotten=(TP,)), "b2")
    bench.wait(20_000)
    bench.broker.handle(both._replace(correlation=91, full=False, changed=()), "b2")
    bench.produce(5)
    assert bench.remote(2).caught_up_time() == 0, "its last fetch of this partition was at 0 ms"
    bench.wait(1)
    assert bench.partition().out_of_sync_replicas() == (2,)
    assert bench.partition(other).out_of_sync_replicas() == ()


@pytest.mark.parametrize("records", [0, 5])
def test_isr_17_a_partition_that_a_new_session_lacks_gets_late(records: int) -> None:
    """The follower was at the log end in a session that another session has replaced. The periodic task checks it nevertheless."""
    bench = BrokerBench(attrs.evolve(CURRENT, shrink_spares_equal_leo=False))
    other = TopicPartition("t", 1)
    for tp in (TP, other):
        bench.partition_is((1, 2), (1, 2), tp=tp)
    bench.fetch(2, 0)
    bench.broker.check_isr()
    bench.wait(10_000)
    bench.fetch(2, 0, tp=other)
    if records:
        bench.produce(records)
    bench.wait(20_001)
    bench.broker.check_isr()
    assert [item.tp for item in bench.proposal().items] == [TP]


def test_a_partition_whose_followers_are_all_at_the_log_end_is_not_checked_again_until_one_falls_behind() -> None:
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2))
    bench.broker.check_isr()
    assert [*bench.broker.context.maybe_out_of_sync] == [TP]
    bench.fetch(2, 0)
    bench.broker.check_isr()
    assert [*bench.broker.context.maybe_out_of_sync] == []
    bench.produce(5)
    assert [*bench.broker.context.maybe_out_of_sync] == [TP]


@pytest.mark.parametrize(
    ("isr", "adding", "status"),
    [
        ((1, 2), (), PartitionStatus.UNDER_REPLICATED),
        ((1, 2, 3), (), PartitionStatus.HEALTHY),
        ((1, 2), (3,), PartitionStatus.HEALTHY),
    ],
    ids=["ISR-22-under", "ISR-22-healthy", "ISR-22-adding-does-not-count"],
)
def test_isr_22_under_replicated(isr: tuple[int, ...], adding: tuple[int, ...], status: PartitionStatus) -> None:
    registration = PartitionRegistration((1, 2, 3), isr, 1, 5, 1, adding=adding)
    assert status_of(registration, 1, leader_serves=True) is status
    account = DurabilityAccount(Journal())
    account.partition_changed(TP, registration)
    account.journal.now = 7
    assert account.under_replicated_us(TP) == (7 if status is PartitionStatus.UNDER_REPLICATED else 0)


def test_isr_21_under_min_isr() -> None:
    bench = BrokerBench(settings={"min.insync.replicas": 2})
    bench.partition_is((1, 2), (1, 2), leader_epoch=0)
    assert not bench.partition().under_min_isr
    bench.partition_is((1, 2), (1,), leader_epoch=1, partition_epoch=2)
    assert bench.partition().under_min_isr


def test_a_follower_that_lacks_exactly_the_allowed_records_stays() -> None:
    """replica.lag.max.messages, which only releases before 0.9 have, is the largest lag that is allowed."""
    bench = BrokerBench(attrs.evolve(CURRENT, counts_lag=True))
    bench.partition_is((1, 2), (1, 2))
    bench.fetch(2, 0)
    bench.produce(4_000)
    assert bench.partition().out_of_sync_replicas() == ()
    bench.produce(1)
    assert bench.partition().out_of_sync_replicas() == (2,)
