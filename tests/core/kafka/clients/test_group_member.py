"""Members of groups: three members share a topic, one dies, one leaves, and a new one joins."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.clients.group_member.group_member import Phase
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.kernel_messages import Timer
from core.sim.units import SECOND, US_PER_MS
from scenarios.language.script import read_script
from scenarios.running.runner import run_scenario

SESSION = (("session.timeout.ms", "10000"),)


class Run:
    """A cluster with a topic of six partitions, and everything that happens in it."""

    def __init__(self, release: str = "4.1", partitions: int = 6, **settings: object) -> None:
        self.heard: list[Any] = []
        spec = ClusterSpec(
            tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
            topics=(TopicSpec("orders", partitions, 3),),
            settings=(("offsets.topic.num.partitions", 3), *((name.replace("_", "."), value) for name, value in settings.items())),
        )
        self.cluster = Cluster(spec, Release.named(release), sink=self.heard.append)
        self.cluster.run_until(SECOND)
        self.began = self.cluster.now

    def at(self, seconds: float) -> Run:
        """Run until the given time after the start."""
        self.cluster.run_until(self.began + int(seconds * SECOND))
        return self

    def join(self, name: str, **fields: Any) -> None:
        self.cluster.do(acts.JoinGroup(("orders",), name, "g", **({"config": SESSION} | fields)))

    def events(self, kind: type[events.Event]) -> list[tuple[float, events.Event]]:
        """Return the events of a kind, each with its time in seconds after the start."""
        return [((each[1] - self.began) / SECOND, events.decode(each)) for each in self.heard if each[3] == kind.kind]

    def owned(self, *names: str) -> list[list[int]]:
        """Return the partitions that each consumer owns."""
        found = []
        for name in names:
            member = self.cluster.clients.member(name)
            assert member is not None
            found.append(sorted(tp.partition for tp in member.coordinator.owned))
        return found


@pytest.fixture(scope="module")
def story() -> Run:
    """Return a run in which three members join at 0, 1, and 4.5 s under load. The second is killed at 20 s, the third leaves at 50 s, and
    another one joins.
    """
    run = Run()
    run.cluster.do(acts.Load("orders", rate=100))
    for name, at in (("m1", 0), ("m2", 1), ("m3", 4.5)):
        run.at(at).join(name, commit="after", record_time=US_PER_MS)
    run.at(20).cluster.do(acts.KillConsumer("m2"))
    run.at(45).cluster.do(acts.StopLoad())
    run.at(50).cluster.do(acts.CloseConsumer("m3"))
    run.join("m4", commit="after")
    return run.at(60)


def test_the_first_generation_waits_for_newcomers(story: Run) -> None:
    """Joins at 0, 1, and 4.5 s extend the delay of 3 s twice: generation 1 begins at 9 s."""
    at, first = story.events(events.GroupGeneration)[0]
    assert (first.generation, first.member_ids.count(",")) == (1, 2)  # type: ignore[attr-defined]
    assert at == pytest.approx(9.0, abs=0.2)


def test_each_member_gets_its_range(story: Run) -> None:
    first = [event for _, event in story.events(events.PartitionsAssigned)][:3]
    assert sorted(event.partition_names for event in first) == ["orders-0, orders-1", "orders-2, orders-3", "orders-4, orders-5"]  # type: ignore[attr-defined]


def test_a_dead_member_is_noticed_after_its_session(story: Run) -> None:
    (at, removed), *_ = story.events(events.GroupMemberRemoved)
    assert removed.why == "session-timeout"  # type: ignore[attr-defined]
    assert 27 <= at <= 30.1


def test_the_others_take_over(story: Run) -> None:
    assert [event.generation for _, event in story.events(events.GroupStable)] == [1, 2, 3]  # type: ignore[attr-defined]
    assert story.owned("m1", "m4") == [[0, 1, 2], [3, 4, 5]]


def test_every_record_is_processed_and_the_batch_of_the_dead_member_twice_at_most(story: Run) -> None:
    account = story.cluster.account
    counts = account.consumption_counts("g")
    ends = {tp: log.high_watermark for tp, log in account.leader_logs().items() if tp.topic == "orders"}
    assert {tp: part.processed for tp, part in counts.items()} == ends
    assert all(not part.skipped for part in counts.values())
    again = account.consumption.again("g")
    assert {harm.tp.partition for harm in again} <= {2, 3}, "only what the dead member had processed and not committed"


def test_offsets_are_committed_to_the_end(story: Run) -> None:
    groups = [
        group
        for broker in story.cluster.brokers.values()
        for cache in broker.groups.groups.caches.values()
        for group in cache.groups.values()
    ]
    (group,) = groups
    for tp, log in story.cluster.account.leader_logs().items():
        if tp.topic == "orders":
            committed = group.committed(tp)
            assert committed is not None
            assert committed.offset == log.high_watermark


def test_a_restored_cluster_continues_byte_for_byte() -> None:
    run = Run()
    for name in ("m1", "m2"):
        run.join(name, assignors=("cooperative-sticky",))
    run.cluster.do(acts.Load("orders", rate=50))
    run.at(8).join("m3", assignors=("cooperative-sticky",))
    run.at(9.5)
    again: list[Any] = []
    copy = Cluster.restore(run.cluster.snapshot(), again.append)
    before = len(run.heard)
    run.at(20)
    copy.run_until(run.cluster.now)
    assert run.heard[before:] == again
    assert [len(owned) for owned in run.owned("m1", "m2", "m3")] == [2, 2, 2]


def test_cooperative_members_keep_what_they_keep() -> None:
    """A third member of a cooperative group gets partitions in a second rebalance. Only the partitions that move are stalled."""
    run = Run()
    run.join("m1", assignors=("cooperative-sticky",))
    run.join("m2", assignors=("cooperative-sticky",))
    run.at(10).join("m3", assignors=("cooperative-sticky",))
    run.at(20)
    stable = [event.generation for _, event in run.events(events.GroupStable)]  # type: ignore[attr-defined]
    assert stable == [1, 2, 3]
    revoked = [event.partition_names for _, event in run.events(events.PartitionsRevoked)]  # type: ignore[attr-defined]
    assert [len(names.split(", ")) for names in revoked] == [1, 1]


def test_a_cooperative_member_joins_again_in_the_poll_in_which_it_gives_up_partitions() -> None:
    """`AbstractCoordinator#joinGroupIfNeeded` loops while a rejoin is needed. Between the revocation and the next generation, the member goes
    on consuming, but each commitSync fails in the client with a RebalanceInProgressException."""
    run = Run()
    run.cluster.do(acts.Load("orders", rate=600))
    run.join("m1", assignors=("cooperative-sticky",), commit="after", poll_time=SECOND, record_time=1000)
    run.at(10).join("m2", assignors=("cooperative-sticky",))
    run.at(30)
    (revoked, event), *_ = [each for each in run.events(events.PartitionsRevoked) if "orders" in each[1].partition_names]  # type: ignore[attr-defined]
    assert event.client == "m1"  # type: ignore[attr-defined]
    (rebalancing, _), *_ = [each for each in run.events(events.GroupRebalancing) if each[0] > revoked]
    assert rebalancing - revoked < 0.01, "m1 does not first process records for a second"
    completed = next(at for at, _ in run.events(events.GroupStable) if at > revoked)
    refused = [event.error for at, event in run.events(events.CommitFailed) if revoked < at < completed]  # type: ignore[attr-defined]
    assert set(refused) == {"RebalanceInProgressException"}
    assert not [at for at, _ in run.events(events.OffsetCommitted) if revoked + 0.01 < at < completed]


def test_processing_that_takes_too_long_costs_the_membership() -> None:
    run = Run(partitions=2)
    short = (("max.poll.interval.ms", "5000"), *SESSION)
    run.join("m1", config=short, commit="after")
    run.at(5)
    run.cluster.do(acts.StallConsumer(8 * SECOND, "m1"))
    run.at(20)
    (at, late), *_ = run.events(events.PollTooLate)
    assert (at, late.interval_ms) == (pytest.approx(10, abs=0.1), 5000)  # type: ignore[attr-defined]
    assert [event.why for _, event in run.events(events.GroupMemberRemoved)] == ["left"]  # type: ignore[attr-defined]
    assert [event.partition_names for _, event in run.events(events.PartitionsLost)] == ["orders-0, orders-1"]  # type: ignore[attr-defined]
    assert run.owned("m1") == [[0, 1]], "it joins again when it is back in poll()"


def test_a_static_member_returns_without_a_rebalance() -> None:
    run = Run()
    run.join("m1", instance_id="host-1")
    run.join("m2", instance_id="host-2")
    run.at(10).cluster.do(acts.KillConsumer("m2"))
    run.at(14).join("m2", instance_id="host-2")
    run.at(20)
    assert [event.generation for _, event in run.events(events.GroupStable)] == [1]  # type: ignore[attr-defined]
    assert len(run.events(events.StaticMemberReplaced)) == 1
    assert run.owned("m1", "m2") == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(("release", "notices"), [("2.4", False), ("2.8", False), ("3.3", True), ("4.1", True)])
@pytest.mark.parametrize("assign_time", [0, SECOND])
def test_a_static_leader_that_returned_notices_new_partitions(release: str, notices: bool, assign_time: int) -> None:
    """`ConsumerCoordinator#onLeaderElected` watches the topics of the group before it skips the assignment (KIP-814). Until 3.1, the leader
    comes back as a follower, so nobody watches the topics."""
    run = Run(release)
    run.join("m1", instance_id="host-1")
    run.at(1).join("m2", instance_id="host-2")
    run.at(10).cluster.do(acts.KillConsumer("m1"))
    run.at(14).join("m1", instance_id="host-1", assign_time=assign_time)
    run.at(14.5)
    assert run.owned("m1") == [[0, 1, 2]], "a returning leader does not assign the partitions again"
    run.at(20).cluster.do(acts.CreatePartitions("orders", 8))
    run.at(600)
    assert [event.generation for _, event in run.events(events.GroupStable)] == ([1, 2] if notices else [1])  # type: ignore[attr-defined]
    assert run.owned("m1", "m2") == ([[0, 1, 2, 3], [4, 5, 6, 7]] if notices else [[0, 1, 2], [3, 4, 5]])


def test_members_survive_the_death_of_their_coordinator() -> None:
    run = Run(broker_session_timeout_ms=4000)
    run.join("m1", commit="after")
    run.join("m2", commit="after")
    run.cluster.do(acts.Load("orders", rate=50))
    run.at(10)
    leader = run.cluster.partition_view(TopicPartition("__consumer_offsets", ord("g") % 3)).leader
    run.cluster.do(acts.Kill(leader))
    run.at(40)
    assert [event.generation for _, event in run.events(events.GroupStable)] == [1]  # type: ignore[attr-defined]
    assert run.events(events.GroupMemberRemoved) == []
    # Brokers name the dead coordinator until its partition has another leader, but each member loses it once, and finds the new one once.
    assert len(run.events(events.CoordinatorLost)) == 2
    assert len(run.events(events.CoordinatorFound)) == 4
    account = run.cluster.account
    assert all(not part.skipped for part in account.consumption_counts("g").values())


@pytest.mark.parametrize("release", ["0.9", "0.10.2", "1.1", "2.4", "3.3", "4.3"])
def test_groups_in_all_releases(release: str) -> None:
    run = Run(release)
    run.join("m1")
    run.at(0.5).join("m2")
    run.cluster.do(acts.Load("orders", rate=50))
    run.at(25)
    assert run.owned("m1", "m2") == [[0, 1, 2], [3, 4, 5]]
    run.cluster.do(acts.CloseConsumer("m1"))
    run.at(35)
    assert run.owned("m2") == [[0, 1, 2, 3, 4, 5]]


READINGS = """
cluster:
  brokers: 3
  settings: {offsets.topic.num.partitions: 1}
  topics: {orders: {partitions: 2, replication-factor: 3}}
timeline:
  - load: {topic: orders, rate: 100}
  - join-group: {topics: orders, consumer: first, group: billing, commit: after, config: {session.timeout.ms: 10000}}
  - join-group: {topics: [orders], consumer: second, group: billing, commit: before, poll-time: 100ms, record-time: 1ms}
  - at: 8s
    expect:
      - group-state(billing) == stable and generation(billing) == 1 and members(billing) == 2
      - owner(billing, orders-0) == first and owner(billing, orders-1) == second and owned(second) == 1
      - processed(first) > 200 and repeats(billing) == 0
      - lag(billing, orders-0) < 20
  - kill-consumer: second
  - until: members(billing) == 1
    within: 60s
  - wait: 5s
    expect:
      - activity(second) == ended
      - owned(first) == 2
      - skipped(billing) > 0
expect:
  - order [group-generation, group-stable, member-removed {why=session-timeout}, group-generation]
"""


def test_a_script_reads_groups() -> None:
    scenario = read_script(READINGS, "groups.yaml")
    result = run_scenario(scenario, Release.named("4.3"))
    assert result.held, list(result.lines(result))


def test_a_member_that_crashes_within_a_batch_processes_no_other_record_and_does_not_return_to_poll() -> None:
    run = Run(partitions=1)
    run.cluster.do(acts.Produce("orders", 20))
    run.join("m1", reset="earliest", record_time=US_PER_MS, crash_after_records=7)
    run.at(10)
    member = run.cluster.clients.member("m1")
    assert member is not None
    assert [event.how for _, event in run.events(events.MemberEnded)] == ["crashed"]  # type: ignore[attr-defined]
    assert (member.processed, member.phase, member.is_polling) == (7, Phase.ENDED, False)


def test_a_member_whose_heartbeats_get_no_response_looks_up_the_coordinator_after_its_session_timeout() -> None:
    """`HeartbeatThread#run` checks `heartbeat.sessionTimeoutExpired`. The heartbeat itself would time out only after 30 s."""
    run = Run()
    run.join("m1")
    run.at(10)
    leader = run.cluster.partition_view(TopicPartition("__consumer_offsets", ord("g") % 3)).leader
    run.cluster.do(acts.Pause(leader))
    run.at(25)
    (at, lost), *_ = run.events(events.CoordinatorLost)
    assert lost.reason == "no heartbeat was answered within the session timeout"  # type: ignore[attr-defined]
    assert 17 <= at <= 20.1


@pytest.mark.parametrize(("poll_interval", "waits"), [("40000", 45), ("20000", 30)])
def test_a_join_without_a_response_fails_five_seconds_after_the_rebalance_timeout(poll_interval: str, waits: int) -> None:
    """`AbstractCoordinator#JOIN_GROUP_TIMEOUT_LAPSE`; a JoinGroup request has at least request.timeout.ms."""
    run = Run()
    run.join("m1", config=(("max.poll.interval.ms", poll_interval), *SESSION))
    run.at(1)
    (joined,) = run.events(events.GroupMemberJoined)
    run.cluster.do(acts.Pause(run.cluster.partition_view(TopicPartition("__consumer_offsets", ord("g") % 3)).leader))
    run.at(60)
    assert [at for at, _ in run.events(events.CoordinatorLost)] == [pytest.approx(joined[0] + waits, abs=0.1)]


def test_a_consumer_that_restarts_does_not_get_the_timers_of_its_former_process() -> None:
    """The former process would have finished its 10 records, which take 1 s each, before the new process finishes them."""
    run = Run(partitions=1)
    run.cluster.do(acts.Produce("orders", 10))
    run.join("m1", instance_id="i1", record_time=SECOND)
    run.at(10).cluster.do(acts.KillConsumer("m1"))
    run.join("m1", instance_id="i1", record_time=SECOND)
    run.at(25)
    (first, _), (assigned, _) = run.events(events.PartitionsAssigned)
    (died, before), (finished, after) = run.events(events.RecordsProcessed)
    assert first < died < first + 10 < finished
    assert (before.from_offset, before.to_offset) == (0, int(died - first))  # type: ignore[attr-defined]
    assert (after.from_offset, after.to_offset) == (0, 10)  # type: ignore[attr-defined]
    assert finished == pytest.approx(assigned + 10, abs=0.1)


def test_the_heartbeat_thread_of_a_member_has_one_timer() -> None:
    run = Run(partitions=1)
    run.join("m1")
    run.at(60)
    timers = [each.message for each in run.cluster.agenda.entries if type(each.message) is Timer and each.node == each.sender == "m1"]
    assert [timer.name for timer in timers].count("heartbeat-thread") == 1
