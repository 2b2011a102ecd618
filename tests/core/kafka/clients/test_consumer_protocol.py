"""Groups with the consumer protocol (KIP-848): which member owns each partition, and when."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.lab import acts
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from tests.core.kafka.clients.test_group_member import Run


def join(run: Run, name: str, **fields: Any) -> None:
    run.join(name, **({"protocol": "consumer", "config": (), "commit": "after"} | fields))


def steps(run: Run) -> list[tuple[float, str, int, str]]:
    """Return the times at which members took steps, each with the client, the epoch, and the state."""
    names = {each.member_id: each.client for _, each in run.events(events.GroupMemberJoined)}  # type: ignore[attr-defined]
    return [(at, names[each.member_id], each.member_epoch, each.member_state) for at, each in run.events(events.MemberReconciled)]  # type: ignore[attr-defined]


def callbacks(run: Run, *kinds: type[events.Event]) -> list[tuple[float, str, str]]:
    """Return the rebalance callbacks of consumers, with their partitions."""
    found = [(at, each.client, each.partition_names) for kind in kinds for at, each in run.events(kind)]  # type: ignore[attr-defined]
    return sorted(found)


@pytest.fixture(scope="module")
def story() -> Run:
    """Return a run in which three members join at 0, 1, and 4.5 s under load. The second is killed at 25 s, and the third leaves at 90 s."""
    run = Run()
    run.cluster.do(acts.Load("orders", rate=20))
    for name, at in (("m1", 0), ("m2", 1), ("m3", 4.5)):
        join(run.at(at), name)
    run.at(25).cluster.do(acts.KillConsumer("m2"))
    run.at(90).cluster.do(acts.CloseConsumer("m3"))
    return run.at(100)


def test_members_join_without_a_barrier(story: Run) -> None:
    """The first member gets everything immediately. The others wait only for their own partitions, at most until the next heartbeat of the
    owner.
    """
    assert [(at, client, epoch, state) for at, client, epoch, state in steps(story) if at < 20] == [
        (pytest.approx(0.1, abs=0.1), "m1", 1, "Stable"),
        (pytest.approx(1.0, abs=0.1), "m2", 2, "UnreleasedPartitions"),
        (pytest.approx(4.5, abs=0.1), "m3", 3, "UnreleasedPartitions"),
        (pytest.approx(5.1, abs=0.2), "m1", 1, "UnrevokedPartitions"),
        (pytest.approx(5.2, abs=0.2), "m1", 3, "Stable"),
        (pytest.approx(6.0, abs=0.2), "m2", 3, "Stable"),
        (pytest.approx(9.5, abs=0.2), "m3", 3, "Stable"),
    ]


def test_cgn_07_session_of_45_seconds(story: Run) -> None:
    """CGN-07: The last heartbeat of the dead member was at 21 s. The next heartbeat of another member computes the target assignment."""
    removed = [(at, event.why) for at, event in story.events(events.GroupMemberRemoved)]  # type: ignore[attr-defined]
    assert removed == [(pytest.approx(66.0, abs=0.1), "session-timeout"), (pytest.approx(90.0, abs=0.1), "left")]
    computed = [(at, event.group_epoch) for at, event in story.events(events.TargetAssigned)]  # type: ignore[attr-defined]
    assert [epoch for _, epoch in computed] == [1, 2, 3, 4, 5]
    assert 66 < computed[3][0] < 71
    states = [event.new_state for _, event in story.events(events.ConsumerGroupStateChanged)]  # type: ignore[attr-defined]
    assert states == ["Stable", "Reconciling", "Stable", "Assigning", "Reconciling", "Stable", "Assigning", "Stable"]


def test_each_record_is_processed_once_unless_its_member_died(story: Run) -> None:
    again = [event.client for _, event in story.events(events.ProcessedAgain)]  # type: ignore[attr-defined]
    assert set(again) <= {"m1", "m3"}
    assert not story.events(events.RecordsSkipped)
    assert story.owned("m1") == [[0, 1, 2, 3, 4, 5]]


def test_the_client_gives_up_partitions_before_it_takes_others(story: Run) -> None:
    found = callbacks(story, events.PartitionsRevoked, events.PartitionsAssigned)
    assert found[3][1:] == ("m1", "orders-2, orders-3, orders-4, orders-5")
    assert found[4][1:] == ("m1", ""), "after each revocation, the client also calls onPartitionsAssigned with nothing"


def test_a_stopped_member_is_fenced_and_joins_again_with_its_id() -> None:
    """As in the recording consumer-paused-zombie: its commit fails, its partitions are lost, and it joins again."""
    run = Run()
    run.cluster.do(acts.Produce("orders", 600))
    join(run, "y", record_time=SECOND // 10)
    join(run.at(0.5), "z", record_time=SECOND // 10)
    run.at(20).cluster.do(acts.FreezeConsumer("z"))
    run.at(75).cluster.do(acts.ThawConsumer("z"))
    run.at(90)
    failed = [(event.client, event.error) for _, event in run.events(events.CommitFailed)]  # type: ignore[attr-defined]
    assert failed == [("z", "CommitFailedException")]
    lost = callbacks(run, events.PartitionsLost)
    assert [(client, names) for _, client, names in lost] == [("z", "orders-3, orders-4, orders-5")]
    joined = [event.member_id for _, event in run.events(events.GroupMemberJoined) if event.client == "z"]  # type: ignore[attr-defined]
    assert len(joined) == 2
    assert joined[0] == joined[1]


def test_a_slow_member_delays_its_own_partitions_only() -> None:
    """m1 is not in poll() for 20 s: only the partitions that it must give up are stalled."""
    run = Run()
    join(run, "m1")
    run.at(1).cluster.do(acts.StallConsumer(20 * SECOND, "m1"))
    join(run.at(2), "m2")
    join(run.at(3), "m3")
    run.at(20)
    assert run.owned("m1", "m2", "m3") == [[0, 1, 2, 3, 4, 5], [], []]
    run.at(35)
    assert sorted(map(len, run.owned("m1", "m2", "m3"))) == [2, 2, 2]


def test_a_member_that_does_not_give_up_partitions_in_time_is_fenced() -> None:
    run = Run()
    join(run, "m1", config=(("max.poll.interval.ms", "10000"),))
    join(run.at(1), "m2")
    run.at(4).cluster.do(acts.StallConsumer(9_500_000, "m1"))
    run.at(30)
    assert not run.events(events.GroupMemberRemoved), "it came back in time"
    join(run, "m3")
    run.at(31).cluster.do(acts.StallConsumer(60 * SECOND, "m1"))
    run.at(80)
    why = [event.why for _, event in run.events(events.GroupMemberRemoved)]  # type: ignore[attr-defined]
    assert why == ["left"], "after max.poll.interval.ms, the background thread leaves the group"
    run.at(120)
    assert len(run.owned("m1")[0]) == 2, "it comes back with its next poll()"


def test_a_static_member_keeps_its_partitions_while_its_process_restarts() -> None:
    run = Run()
    join(run, "m1", instance_id="i1")
    join(run.at(1), "m2", instance_id="i2")
    run.at(12).cluster.do(acts.CloseConsumer("m2"))
    before = run.events(events.GroupEpochBumped)
    join(run.at(20), "m2", instance_id="i2")
    run.at(28)
    assert run.events(events.GroupEpochBumped) == before, "no rebalance"
    assert run.owned("m1", "m2") == [[0, 1, 2], [3, 4, 5]]
    run.cluster.do(acts.KillConsumer("m2"))
    join(run.at(30), "m2", instance_id="i2")
    ended = run.at(32).events(events.MemberEnded)[-1][1]
    assert ended.error == "UnreleasedInstanceIdException", "after a crash, the instance ID is in use until the session ends"  # type: ignore[attr-defined]


def test_another_coordinator_continues_a_rebalance_that_is_half_done() -> None:
    run = Run()
    join(run, "m1")
    join(run.at(1), "m2")
    run.at(3)
    coordinator = run.events(events.CoordinatorFound)[0][1].broker  # type: ignore[attr-defined]
    run.cluster.do(acts.Kill(coordinator))
    run.at(40)
    assert run.owned("m1", "m2") == [[0, 1, 2], [3, 4, 5]]
    assert [event.group_epoch for _, event in run.events(events.GroupEpochBumped)] == [1, 2]  # type: ignore[attr-defined]
    assert not run.events(events.GroupMemberRemoved)


def test_partitions_that_are_added_are_assigned() -> None:
    run = Run()
    join(run, "m1")
    run.at(2).cluster.do(acts.CreatePartitions("orders", 8))
    run.at(10)
    assert run.owned("m1") == [[0, 1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("release", "fields"),
    [
        ("3.9", {"protocol": "consumer"}),
        ("4.1", {"protocol": "share"}),
        ("4.1", {"protocol": "consumer", "assignors": ("range",)}),
        ("4.1", {"remote_assignor": "uniform"}),
    ],
)
def test_what_cannot_join(release: str, fields: dict[str, Any]) -> None:
    run = Run(release)
    with pytest.raises(ActRefused):
        run.join("m1", **fields)


def test_an_assignor_that_the_coordinator_does_not_have() -> None:
    run = Run()
    join(run, "m1", remote_assignor="sticky")
    run.at(2)
    assert run.events(events.MemberEnded)[0][1].error == "UnsupportedAssignorException"  # type: ignore[attr-defined]


def test_views_of_a_consumer_group(story: Run) -> None:
    group = next(each for each in story.cluster.view().groups if each.name == "g")
    assert (group.state, group.generation, [member.client for member in group.members]) == ("Stable", 5, ["m1"])
    assert len(group.members[0].assignment) == 6
    member = next(each for each in story.cluster.view().members if each.name == "m1")
    assert (member.state, member.generation, member.member_id) == ("Stable", 5, group.members[0].member_id)


def test_offsets_of_an_empty_consumer_group_expire_with_the_group() -> None:
    """Their retention begins with the last commit. While a member subscribes to the topic, they don't expire."""
    run = Run(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    run.cluster.do(acts.Produce("orders", 60))
    join(run, "m1")
    run.at(90)
    assert not run.events(events.OffsetExpired)
    run.cluster.do(acts.CloseConsumer("m1"))
    run.at(95)
    assert run.events(events.OffsetExpired)
    assert run.events(events.GroupDeleted)
    join(run, "m2")
    run.at(100)
    assert run.owned("m2") == [[0, 1, 2, 3, 4, 5]]


def test_without_migration_all_members_speak_the_same_protocol_but_an_empty_group_can_change_it() -> None:
    """A classic member that joins a consumer group is welcome, but a member of the consumer protocol that joins a classic group is not."""
    run = Run(group_consumer_migration_policy="disabled")
    join(run, "new")
    run.cluster.do(acts.CloseConsumer("new"))
    run.at(4).join("classic")
    run.at(12)
    assert run.owned("classic") == [[0, 1, 2, 3, 4, 5]]
    coordinator = run.events(events.CoordinatorFound)[0][1].broker  # type: ignore[attr-defined]
    run.cluster.do(acts.Kill(coordinator))
    run.at(40)
    assert run.owned("classic") == [[0, 1, 2, 3, 4, 5]], "the next coordinator knows the group as a classic one"
    join(run, "new")
    run.at(42)
    assert run.events(events.MemberEnded)[-1][1].error == "GroupIdNotFoundException"  # type: ignore[attr-defined]


def test_a_restored_cluster_continues_a_rebalance_byte_for_byte() -> None:
    run = Run()
    run.cluster.do(acts.Load("orders", rate=20))
    join(run, "m1")
    join(run.at(1), "m2")
    run.at(5.13)
    again: list[Any] = []
    copy = Cluster.restore(run.cluster.snapshot(), again.append)
    before = len(run.heard)
    run.at(12)
    copy.run_until(run.cluster.now)
    assert run.heard[before:] == again
