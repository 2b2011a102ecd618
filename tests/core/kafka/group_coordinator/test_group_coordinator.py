"""What a group coordinator does with offsets: inside and outside transactions, by release, and when the coordinator changes."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.group_coordinator import group_metadata_manager
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.group_metadata import GroupMetadata, StoredOffset
from core.kafka.group_coordinator.group_requests import NOT_A_MEMBER, GroupMembership, OffsetCommitRequest, OffsetFetchRequest
from core.kafka.group_coordinator.offsets_log import CommittedOffset, OffsetKey, OffsetRecord, records_bytes
from core.kafka.ids import TopicPartition
from core.lab import acts
from core.lab.cluster import Cluster
from core.sim.units import SECOND
from tests.core.kafka.group_coordinator.raw_client import TP, RawClient, cluster

RELEASES = ("0.11", "2.7", "3.3", "4.0", "4.3")
every_release = pytest.mark.parametrize("release", RELEASES)


def client(release: str, told: list[tuple] | None = None) -> RawClient:
    return RawClient(cluster(release, told))


@every_release
def test_a_commit_is_what_a_fetch_returns(release: str) -> None:
    raw = client(release)
    assert raw.committed() == -1
    assert raw.commit(5) == errors.NONE
    assert raw.commit(3) == errors.NONE, "the coordinator does not check that an offset moves forward"
    assert raw.committed() == 3


@every_release
def test_offsets_of_a_transaction_count_when_it_is_committed(release: str) -> None:
    raw = client(release)
    producer = raw.init()
    assert raw.commit_in_transaction(producer, 7) == errors.NONE
    assert raw.committed() == -1
    assert raw.end(producer, commit=True) == errors.NONE
    assert raw.committed() == 7


@every_release
def test_offsets_of_an_aborted_transaction_are_dropped(release: str) -> None:
    told: list[tuple] = []
    raw = client(release, told)
    producer = raw.init()
    raw.commit(2)
    raw.commit_in_transaction(producer, 7)
    raw.end(producer, commit=False)
    assert raw.committed() == 2
    (dropped,) = [events.explain(each) for each in told if each[3] == "offset-dropped"]
    assert dropped.endswith("the transaction was aborted")


@every_release
def test_a_newer_plain_commit_wins_over_that_of_a_transaction(release: str) -> None:
    """The record of the plain commit has the higher offset in `__consumer_offsets`, although its marker comes last."""
    told: list[tuple] = []
    raw = client(release, told)
    producer = raw.init()
    raw.commit_in_transaction(producer, 7)
    raw.commit(4)
    raw.end(producer, commit=True)
    assert raw.committed() == 4
    assert any("the group has committed a newer offset since then" in events.explain(each) for each in told if each[3] == "offset-dropped")


@pytest.mark.parametrize(
    ("release", "answer"), [("0.11", 2), ("2.4", 2), ("2.7", errors.UNSTABLE_OFFSET_COMMIT), ("4.3", errors.UNSTABLE_OFFSET_COMMIT)]
)
def test_an_offset_in_an_open_transaction_is_unstable_since_kip_447(release: str, answer: int | str) -> None:
    raw = client(release)
    producer = raw.init()
    raw.commit(2)
    raw.commit_in_transaction(producer, 7)
    assert raw.committed(stable=True) == answer
    assert raw.committed(stable=False) == 2
    raw.end(producer, commit=True)
    assert raw.committed(stable=True) == 7


@every_release
def test_a_new_coordinator_loads_committed_and_pending_offsets(release: str) -> None:
    told: list[tuple] = []
    raw = client(release, told)
    run = raw.run
    producer = raw.init()
    raw.commit(2)
    raw.commit_in_transaction(producer, 7)
    old = raw.group_coordinator()
    run.do(acts.Kill(old))
    run.run_until(run.now + 30 * SECOND)
    new = raw.group_coordinator()
    assert new != old
    assert raw.committed() == 2
    if run.release.stable_offsets:
        assert raw.committed(stable=True) == errors.UNSTABLE_OFFSET_COMMIT
    assert raw.end(producer, commit=True) == errors.NONE
    assert raw.committed() == 7
    loaded = [events.explain(each) for each in told if each[3] == "groups-loaded"]
    assert "1 group with 1 committed offset and 1 offset from open transactions from the log" in loaded[-1]


@every_release
def test_a_coordinator_replays_markers(release: str) -> None:
    raw = client(release)
    run = raw.run
    first = raw.init()
    raw.commit_in_transaction(first, 7)
    raw.end(first, commit=True)
    second = raw.init()
    raw.commit_in_transaction(second, 9)
    raw.end(second, commit=False)
    run.do(acts.Kill(raw.group_coordinator()))
    run.run_until(run.now + 30 * SECOND)
    assert raw.committed() == 7


@every_release
def test_a_broker_that_is_not_the_coordinator_says_so(release: str) -> None:
    raw = client(release)
    other = next(broker for broker in (1, 2, 3) if broker != raw.group_coordinator())
    assert raw.ask(other, OffsetFetchRequest, "g", (), False).error == errors.NOT_COORDINATOR


def test_a_broker_that_loads_groups_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = client("4.3")
    monkeypatch.setattr(group_metadata_manager, "LOAD_DELAY", SECOND)
    run = raw.run
    broker = run.brokers[raw.group_coordinator()]
    broker.groups.elected(0, 1)
    assert raw.committed() == errors.COORDINATOR_LOAD_IN_PROGRESS
    run.run_until(run.now + SECOND)
    assert raw.committed() == -1


@pytest.mark.parametrize("release", ["2.7", "4.3"])
def test_a_fenced_producer_cannot_commit_offsets(release: str) -> None:
    """The new epoch is known to the partition of `__consumer_offsets` once its marker or its own offsets are there."""
    raw = client(release)
    old = raw.init()
    raw.commit_in_transaction(old, 5)
    raw.init()  # aborts the transaction
    error = raw.commit_in_transaction(old, 6, add=False)
    assert error in (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
    assert raw.committed() == -1


def test_offsets_without_their_partition_in_the_transaction_are_refused_since_3_7() -> None:
    """KAFKA-15784: a TxnOffsetCommit is verified like a produce request. Before, the offsets of such a request remain pending."""
    for release, answer in (("3.6", errors.NONE), ("3.7", errors.TRANSACTION_ABORTABLE)):
        raw = client(release)
        producer = raw.init()
        assert raw.add_partition(producer, TopicPartition("out", 0)) == errors.NONE
        assert raw.commit_in_transaction(producer, 6, add=False) == answer, release


def test_off_07_a_later_plain_commit_wins_over_an_offset_in_a_transaction() -> None:
    """OFF-07."""
    raw = client("4.0")
    producer = raw.init()
    assert raw.commit_in_transaction(producer, 100) == errors.NONE
    assert raw.commit(101) == errors.NONE
    raw.end(producer, commit=True)
    assert raw.committed() == 101


def test_off_08_offsets_in_open_transactions_are_unstable() -> None:
    """OFF-08: a partition without a committed offset is unstable, too."""
    group = GroupMetadata("g")
    foo, other, bar, fresh = (TopicPartition(topic, number) for topic in ("foo", "bar") for number in (0, 1))
    for place, (tp, offset) in enumerate(((foo, 100), (other, 110), (bar, 200))):
        group.store(tp, StoredOffset(place, CommittedOffset(offset, 0, 0)))
    for place, (tp, offset) in enumerate(((other, 111), (bar, 201), (fresh, 211))):
        group.store_pending(7, tp, StoredOffset(place + 10, CommittedOffset(offset, 0, 0)))
    every = (foo, other, bar, fresh)
    assert [group.is_unstable(tp, plain_commits_count=False) for tp in every] == [False, True, True, True]
    assert [None if (found := group.committed(tp)) is None else found.offset for tp in every] == [100, 110, 200, None]
    group.complete_transaction(7, commit=True)
    assert [None if (found := group.committed(tp)) is None else found.offset for tp in every] == [100, 111, 201, 211]


def test_a_commit_that_is_being_written_makes_an_offset_unstable() -> None:
    """A commit in a transaction always makes the offset unstable. A commit outside a transaction does so only if plain commits count."""
    group, foo = GroupMetadata("g"), TopicPartition("foo", 0)
    for transactional, unstable in ((True, [True, True]), (False, [False, True])):
        group.commit_begun([foo], transactional=transactional)
        assert [group.is_unstable(foo, plain_commits_count=count) for count in (False, True)] == unstable
        group.commit_ended([foo], transactional=transactional)
        assert not group.is_unstable(foo, plain_commits_count=True)


# --- members -------------------------------------------------------------------------------------------------------


def with_members(raw: RawClient) -> Cluster:
    """Create a group with one member in generation 3."""
    run = raw.run
    cache = run.brokers[raw.group_coordinator()].groups.groups.caches[0]
    group = cache.group("g").classic
    group.state, group.generation = GroupState.STABLE, 3
    group.add(ClassicGroupMember("m1", "host-1", "client", 45 * SECOND, 300 * SECOND, ()))
    return run


@pytest.mark.parametrize(
    ("membership", "error"),
    [
        (GroupMembership("m1", 3), errors.NONE),
        (GroupMembership("m1", 2), errors.ILLEGAL_GENERATION),
        (GroupMembership("m2", 3), errors.UNKNOWN_MEMBER_ID),
        (GroupMembership("m1", 3, "host-1"), errors.NONE),
        (GroupMembership("m2", 3, "host-1"), errors.FENCED_INSTANCE_ID),
        (GroupMembership("m1", 3, "host-2"), errors.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_transactional_commit_of_a_zombie_is_refused_since_kip_447(membership: GroupMembership, error: str) -> None:
    for release, answer in (("2.4", errors.NONE), ("2.7", error), ("4.3", error)):
        raw = client(release)
        with_members(raw)
        assert raw.commit_in_transaction(raw.init(), 5, membership) == answer, release


def test_a_plain_commit_must_come_from_a_member() -> None:
    raw = client("2.4")
    with_members(raw)
    assert raw.commit(5) == errors.UNKNOWN_MEMBER_ID
    assert raw.commit(5, GroupMembership("m1", 3)) == errors.NONE
    assert raw.commit_in_transaction(raw.init(), 6) == errors.NONE, "the test of the generation does not apply to old clients"


@pytest.mark.parametrize(("release", "error"), [("3.9", errors.ILLEGAL_GENERATION), ("4.0", errors.GROUP_ID_NOT_FOUND)])
def test_a_generation_of_an_unknown_group(release: str, error: str) -> None:
    raw = client(release)
    assert raw.commit(5, GroupMembership("m1", 3)) == error


def test_during_the_sync_only_transactional_commits_pass() -> None:
    raw = client("4.0")
    run = with_members(raw)
    run.brokers[raw.group_coordinator()].groups.groups.caches[0].groups["g"].classic.state = GroupState.COMPLETING_REBALANCE
    assert raw.commit(5, GroupMembership("m1", 3)) == errors.REBALANCE_IN_PROGRESS
    assert raw.commit_in_transaction(raw.init(), 6, GroupMembership("m1", 3)) == errors.NONE


# --- below min.insync.replicas -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "grows"), [("3.9", False), ("4.1", True)])
def test_commits_below_min_isr(release: str, grows: bool) -> None:
    """Before 4.0, the append is refused at once. Since 4.0, the commit waits for the ISR, and counts later than its timeout."""
    raw = RawClient(cluster(release, offsets_config=(("min.insync.replicas", "2"),)))
    run = raw.run
    coordinator = raw.group_coordinator()
    assert raw.commit(1) == errors.NONE
    others = [broker for broker in (1, 2, 3) if broker != coordinator]
    for broker in others:
        run.do(acts.Kill(broker))
    run.run_until(run.now + 30 * SECOND)
    log = run.brokers[coordinator].disk.logs[next(tp for tp in run.brokers[coordinator].partitions if tp.topic == "__consumer_offsets")]
    before, asked = log.leo, run.now
    response = raw.ask(coordinator, OffsetCommitRequest, "raw", "g", NOT_A_MEMBER, ((TP, 8, -1),))
    assert response.error == errors.COORDINATOR_NOT_AVAILABLE
    assert (log.leo > before) is grows
    assert (run.now - asked >= 5 * SECOND) is grows
    for broker in others:
        run.do(acts.Start(broker))
    run.run_until(run.now + 60 * SECOND)
    assert raw.committed() == (8 if grows else 1)


def test_the_size_of_a_batch_of_offsets() -> None:
    """The header of a batch has 61 bytes. Names count with their bytes in UTF-8, tombstones have no value."""
    short, long = OffsetKey("g", TopicPartition("t", 0)), OffsetKey("gä", TopicPartition("topic", 1))
    committed = CommittedOffset(5, 0, 0, "note")
    batches: list[tuple[OffsetRecord, ...]] = [(), ((short, None),), ((short, committed),), ((long, None), (short, committed))]
    assert [records_bytes(each) for each in batches] == [61, 83, 105, 133]
