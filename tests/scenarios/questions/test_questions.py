"""Answers to questions about a cluster: `isrlab ask`. Static answers are held against what a copy of the cluster does."""

from __future__ import annotations

import json
import random
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.acts import BeginTransaction, Cut, FailDir, InitTransactions, Kill, KillController, Load, Pause, Produce, Reassign, Start
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.sim.units import SECOND
from scenarios.questions.all_questions import QUESTIONS, AnswerTask
from scenarios.questions.asked import Answer, AskedCluster, Branch, seconds
from scenarios.questions.restarts import _wait_for_stop, made_worse, safe_sets, without
from tui.cli import main

T = TypeVar("T")


def asked(cluster: Cluster) -> AskedCluster:
    return AskedCluster(cluster, "mine.yaml")


def answer(cluster: Cluster, question: str, *words: str) -> Answer:
    return QUESTIONS[question].answer(asked(cluster), words)


def of(replicas: tuple[tuple[int, ...], ...], brokers: int = 3, release: str = "4.3", racks: str = "", **config: str) -> Cluster:
    """Return a cluster with one topic, orders."""
    topic = TopicSpec(
        "orders",
        assignment=tuple(PartitionSpec(each) for each in replicas),
        config=tuple((name.replace("_", "."), value) for name, value in config.items()),
    )
    ids = range(1, brokers + 1)
    spec = ClusterSpec(brokers=tuple(BrokerSpec(id, rack=racks[id - 1] if racks else None) for id in ids), topics=(topic,))
    return Cluster(spec, RELEASES[release])


def test_durations_for_people() -> None:
    assert [seconds(time) for time in (999_999, 1_000_000, 1_249_999, 1_250_001, 12_340_000)] == [
        "999.999ms",
        "1s",
        "1.2s",
        "1.3s",
        "12.3s",
    ]


def test_may_i_stop() -> None:
    cluster = of(((1, 2, 3), (2, 3, 4), (3, 4, 1)), 4, min_insync_replicas="2")
    yes = answer(cluster, "may-i-stop", "1")
    assert yes.verdict.startswith("Yes: with b1 down")
    assert "No other broker may fail meanwhile: at min.insync.replicas then are 2 partitions: orders-0, orders-2." in yes.lines
    no = answer(cluster, "may-i-stop", "1,2")
    assert no.verdict == "No: do not stop b1, b2 together."
    assert "Writes with acks=all refused (NOT_ENOUGH_REPLICAS): 1 partition: orders-0." in no.lines
    assert "No two brokers can be down at the same time." in no.lines
    assert "Safe alone: b1, b2, b3, b4." in no.lines


@pytest.mark.parametrize("words", [("what-if", "lose", "2"), ("rolling-restart",)])
def test_an_answer_that_is_found_in_slices_is_the_same(words: tuple[str, ...]) -> None:
    cluster = of(((1, 2, 3), (2, 3, 1)), min_insync_replicas="2")
    question, *about = words
    task = AnswerTask(QUESTIONS[question], asked(cluster), about)
    shares = [task.progress]
    while not task.advance(lambda: True):
        assert task.answer is None
        shares.append(task.progress)
    assert len(shares) > 100
    assert shares == sorted(shares)
    assert 0 == shares[0] < 0.6 < shares[-1] <= 1
    assert task.answer is not None
    assert task.answer.text() == answer(cluster, *words).text()
    canceled = AnswerTask(QUESTIONS[question], asked(cluster), about)
    canceled.advance(lambda: True)
    assert not canceled.cancel(), "a search that is given up has no answer to show"
    assert canceled.advance()
    assert canceled.answer is None


def test_a_no_says_what_to_do_first() -> None:
    cluster = of(((1, 2), (2, 3, 4)), 4, min_insync_replicas="2")
    cluster.do(Load("orders", 100))
    cluster.do(Cut(("b2", "b4")))
    cluster.run_until(60 * SECOND)
    spare = (
        "With as many replicas as min.insync.replicas, so that none of their brokers may ever be down: 1 partition: orders-0. Add replicas"
    )
    no = answer(cluster, "may-i-stop", "2")
    assert [line for line in no.lines if line.startswith(spare)]
    assert "Wait until b4 is in the ISR again of 1 partition: orders-1, and ask again." in no.lines
    assert "press d (shut down) or k (kill) on b2" in no.command
    restart = answer(of(((1, 2), (2, 3, 4)), 4, min_insync_replicas="2"), "rolling-restart", "1")
    assert restart.verdict.endswith("Meanwhile, 1 partition refuses writes with acks=all.")
    assert [line for line in restart.lines if line.startswith(spare)]
    assert "refuse" not in answer(of(((1, 2, 3),), min_insync_replicas="2"), "rolling-restart", "1").verdict


def test_safe_pairs() -> None:
    cluster = of(((1, 2), (3, 4)), 4, min_insync_replicas="1")
    assert safe_sets(asked(cluster), 2) == [(1, 3), (1, 4), (2, 3), (2, 4)]
    no = answer(cluster, "may-i-stop", "b1", "b2")
    assert "Without a leader, so neither readable nor writable: 1 partition: orders-0." in no.lines
    assert "Safe pairs: b1 and b3; b1 and b4; b2 and b3; b2 and b4." in no.lines


def test_what_is_broken_already_is_not_blamed_on_the_brokers_that_are_asked_about() -> None:
    cluster = of(((4,), (1, 2, 3)), 4, min_insync_replicas="1")
    cluster.do(Kill(4))
    cluster.run_until(20 * SECOND)
    found = answer(cluster, "may-i-stop", "1")
    assert found.verdict == "Yes: stopping b1 makes nothing worse than it is."
    assert "Already so: no member of the ISR is alive for 1 partition: orders-0." in found.lines
    assert safe_sets(asked(cluster), 1) == [(1,), (2,), (3,)]
    assert safe_sets(asked(cluster), 2) == [(1, 2), (1, 3), (2, 3)]


def test_a_cluster_that_is_stepped_by_hand_is_not_run() -> None:
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("orders", 1, 2),), pace=Pace.BY_HAND))
    for question, words in (("rolling-restart", ()), ("what-if", ("lose", "1"))):
        with pytest.raises(ValueError, match="this cluster can run only in by-hand mode"):
            answer(cluster, question, *words)


def test_rolling_restart_ends_with_everything_in_sync() -> None:
    found = answer(of(((1, 2, 3),) * 3, min_insync_replicas="2"), "rolling-restart")
    assert found.verdict.startswith("Restart in the order b1, b2, b3; ")
    assert [line.partition(":")[0] for line in found.lines[:3]] == ["b1", "b2", "b3"]
    assert any(line.endswith("acknowledged, none lost") for line in found.lines)
    assert not any("NOT_ENOUGH_REPLICAS" in line for line in found.lines), "the next broker waits until the one before is in sync"
    assert "10 records/s per partition with acks=all" in found.how


def test_what_if_lose_runs_a_copy_and_leaves_the_cluster_alone() -> None:
    cluster = of(((1, 2, 3),) * 2, min_insync_replicas="2")
    found = answer(cluster, "what-if", "lose", "1")
    assert any("because of kill b1 (2s)" in line for line in found.lines)
    assert (cluster.now, cluster.journal.seq) == (0, of(((1, 2, 3),) * 2, min_insync_replicas="2").journal.seq)
    assert cluster.brokers[1].context.state == "running"


def test_zones() -> None:
    assert answer(of(((1, 2, 3),)), "zones").verdict.startswith("The brokers have no racks")
    assert answer(of(((1, 2, 3),), racks="abc", min_insync_replicas="2"), "zones").verdict == "Any one zone can fail."
    found = answer(of(((1, 2, 3),), racks="aab", min_insync_replicas="2"), "zones")
    assert found.verdict == "1 of 2 zones must not fail."
    assert any(line.startswith("without zone a (b1, b2): Writes with acks=all refused") for line in found.lines)


def test_what_breaks() -> None:
    cluster = of(((1, 2, 3), (2, 3, 4), (3, 4)), 4, racks="aabb", min_insync_replicas="2")
    found = answer(cluster, "what-breaks")
    assert found.verdict == "One broker is enough: without b3, a partition refuses writes with acks=all."
    assert "· any of 2 brokers, b3 (1 partition), b4 (1 partition): writes with acks=all refused" in found.lines
    assert "· brokers b3 + b4 (1 partition): no leader; no copy left if the disks are lost" in found.lines
    assert "· any of 2 zones, b (2 partitions), a (1 partition): writes with acks=all refused" in found.lines
    assert not any("one after another" in line for line in found.lines)  # nothing is out of sync
    now = found.as_data()["zones"]["at_once"]["refuses"]
    assert (now["least"], now["sets"][0]["worst"][0]) == (1, {"zones": ["b"], "partitions": 2, "only_together": 2})
    cluster.do(Kill(2))
    cluster.run_until(30 * SECOND)
    later = answer(cluster, "what-breaks")
    assert "brokers, once every broker is back and every replica in sync:" in later.lines
    assert later.verdict == "One broker is enough: without b3, 3 partitions refuse writes with acks=all."


def test_what_breaks_says_how_replicas_are_spread() -> None:
    """Sets of brokers that hold all replicas of a partition, and their share of all sets of so many brokers: 4 of 20."""
    found = answer(of(((1, 2, 3), (4, 5, 6), (1, 5, 3), (2, 4, 6), (1, 2, 3)), 6, min_insync_replicas="2"), "what-breaks")
    assert found.verdict == "No single broker does harm; two are enough: without b1 and b3, 3 partitions refuse writes with acks=all."
    assert found.lines == (
        "brokers, as it stands, all at once:",
        "· 2 brokers in 10 ways, the worst b1 + b3 (3 partitions), b1 + b2 (2 partitions), b2 + b3 (2 partitions): writes with acks=all refused",
        "· 3 brokers in 4 ways, the worst b1 + b2 + b3 (2 partitions), b1 + b3 + b5 (1 partition), b2 + b4 + b6 (1 partition): no leader; "
        "no copy left if the disks are lost",
        "spread: 4 different sets of 3 brokers hold 5 partitions; if 3 brokers are lost at random, they hold all replicas of some partition with "
        "probability 20 %",
    )


def test_what_breaks_counts_the_controllers_that_may_fail() -> None:
    """Three of five voters are a majority."""
    topic = TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)),))
    brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3))
    cluster = Cluster(ClusterSpec(brokers, (topic,), controllers=("c1", "c2", "c3", "c4", "c5")), RELEASES["4.3"])
    for fails, line in (
        ((), "controllers: the quorum stands while 2 more of 5 live voters fail"),
        (("c5",), "controllers: the quorum stands while 1 more of 4 live voters fail"),
        (("c4",), "controllers: no other voter may fail; 3 of 5 are alive"),
    ):
        for controller in fails:
            cluster.do(KillController(controller))
        cluster.run_until(cluster.now + SECOND)
        assert answer(cluster, "what-breaks").lines[-1] == line
    cluster.do(KillController("c3"))
    assert not [line for line in answer(cluster, "what-breaks").lines if line.startswith("controllers")], "there is no majority to lose"


def test_who_holds_the_high_watermark() -> None:
    cluster = of(((1, 2, 3),))
    assert answer(cluster, "who-holds", "hw", "orders-0").verdict.startswith("Nobody: the log of orders-0 is empty")
    cluster.do(Load("orders", 100))
    cluster.run_until(2 * SECOND)
    cluster.do(Pause(3))
    cluster.run_until(4 * SECOND)
    found = answer(cluster, "who-holds", "hw", "orders-0")
    assert found.verdict.startswith("b3: the high watermark of orders-0 is ")
    assert found.lines[0].endswith("its process is paused")
    assert found.lines[1].startswith("If b3 stays silent for broker.session.timeout.ms (9s), the controller removes it from the ISR"), (
        "that is earlier than replica.lag.time.max.ms"
    )
    assert len(found.lines) == 2


def test_who_holds_the_last_stable_offset() -> None:
    cluster = of(((1, 2, 3),))
    assert answer(cluster, "who-holds", "hw", "orders-0").verdict == "Nobody: the log of orders-0 is empty here."
    assert answer(cluster, "who-holds", "lso", "orders-0").verdict.startswith("Nobody: the last stable offset")
    cluster.do(InitTransactions("orders", "app", producer="app"))
    cluster.run_until(2 * SECOND)
    cluster.do(BeginTransaction("app"))
    cluster.do(Produce("orders", 5, producer="app"))
    cluster.run_until(4 * SECOND)
    hw = answer(cluster, "who-holds", "hw", "orders-0")
    assert hw.verdict == "Nobody: everything in orders-0 is committed, up to offset 5."
    assert hw.lines == ("Consumers with read_committed see less: ask who-holds lso orders-0.",)
    found = answer(cluster, "who-holds", "lso", "orders-0")
    assert found.verdict.startswith("A transaction: read_committed consumers of orders-0 stop at 0, 5 below the high watermark")
    assert found.lines[0].startswith("Its coordinator ends it")


def test_why_under_replicated_names_what_keeps_replicas_out() -> None:
    cluster = of(((1, 2, 3),) * 2)
    assert answer(cluster, "why-under-replicated").verdict.startswith("Nothing is under-replicated")
    cluster.do(Load("orders", 100))
    cluster.do(Kill(2))
    cluster.do(Cut(("b1", "b3")))
    cluster.run_until(60 * SECOND)
    found = answer(cluster, "why-under-replicated")
    assert found.verdict == "2 partitions are under-replicated."
    assert "b2: its process is not running; 2 partitions: orders-0, orders-1" in found.lines
    assert any(line.startswith("b3: its link to the leader b1 is cut") for line in found.lines)


def test_why_under_replicated_names_a_failed_log_directory() -> None:
    topic = TopicSpec("orders", assignment=(PartitionSpec((1, 2)),))
    cluster = Cluster(ClusterSpec(brokers=tuple(BrokerSpec(id, log_dirs=2) for id in (1, 2)), topics=(topic,)), RELEASES["4.3"])
    cluster.do(Load("orders", 100))
    cluster.do(FailDir(2, cluster.view().partitions[0].replica_on(2).dir))
    cluster.run_until(5 * SECOND)
    (line,) = [line for line in answer(cluster, "why-under-replicated").lines if line.startswith("b2: ")]
    assert line.startswith("b2: its log directory ")
    assert "has failed" in line


@pytest.mark.parametrize(
    ("release", "config", "safe"),
    [
        ("4.3", {"min_insync_replicas": "2"}, True),
        ("4.3", {"min_insync_replicas": "1"}, False),
        ("4.3", {"min_insync_replicas": "2", "unclean_leader_election_enable": "true"}, False),
        ("3.6", {"min_insync_replicas": "2", "unclean_leader_election_enable": "true"}, True),
        ("0.10.2", {"min_insync_replicas": "2", "unclean_leader_election_enable": "false"}, False),
    ],
)
def test_is_acks_all_safe(release: str, config: dict[str, str], safe: bool) -> None:
    """Before 3.9, KRaft controllers ignore unclean.leader.election.enable (KAFKA-12670); before 0.11, followers truncate to their HW."""
    found = answer(of(((1, 2, 3),), release=release, **config), "is-acks-all-safe", "orders")
    assert found.verdict.startswith("Yes" if safe else "Not in every topic")


def test_what_acks_all_promises_of_each_topic() -> None:
    """A record survives while one of the replicas that must have it is left, and elections keep to the ISR."""
    caches = "The records are in the page cache when they are acknowledged: a power loss of all these brokers at once can lose them (flush.messages)."
    cluster = of(((1, 2, 3), (1, 2, 3)), min_insync_replicas="3")
    assert answer(cluster, "is-acks-all-safe").lines == (
        "orders: acknowledged when at least 3 of 3 replicas have it; survives the loss of 2 disks",
        caches,
    )
    unclean = of(((1, 2, 3),), min_insync_replicas="2", unclean_leader_election_enable="true")
    assert answer(unclean, "is-acks-all-safe").lines[0] == (
        "orders: acknowledged when at least 2 of 3 replicas have it; survives the loss of 1 disk; "
        "unclean.leader.election.enable can elect a replica without it"
    )
    old = answer(of(((1, 2),), release="0.10.2", min_insync_replicas="3"), "is-acks-all-safe", "orders")
    assert old.lines == (
        "orders: acknowledged when at least 2 of 2 replicas have it; survives the loss of 1 disk; "
        "unclean.leader.election.enable can elect a replica without it",
        "Under 0.10.2, followers truncate to their high watermark, which can lose acknowledged records (KIP-101, since 0.11).",
        caches,
    )
    assert old.verdict.startswith("Not in every topic")
    with pytest.raises(ValueError, match="'nope' is not a topic; there are orders"):
        answer(cluster, "is-acks-all-safe", "orders", "nope")


@pytest.mark.parametrize(
    ("release", "leader", "follower"),
    [
        ("4.3", "broker.session.timeout.ms = 9s", "replica.lag.time.max.ms = 30s"),
        ("2.4", "zookeeper.session.timeout.ms = 6s", "replica.lag.time.max.ms = 10s"),
    ],
)
def test_which_setting_decides_when_a_broker_fails(release: str, leader: str, follower: str) -> None:
    found = answer(of(((1, 2, 3),), release=release), "which-setting-stalls")
    assert (found.verdict, found.lines) == (
        "Nothing stalls now; this is what decides when a broker fails.",
        (
            f"If a leader dies: its partitions are dark for {leader}, plus the time of the election.",
            f"If a follower dies or hangs: writes with acks=all wait until it leaves the ISR, after {leader} or {follower}, whichever is first.",
            "The producer gives up after delivery.timeout.ms (2m00s by default), counted from send().",
        ),
    )


def test_which_setting_stalls_now() -> None:
    cluster = of(((1, 2, 3), (2, 3, 1)), min_insync_replicas="3")
    cluster.do(Load("orders", 100, acks="all"))
    cluster.run_until(5 * SECOND)
    cluster.do(Pause(2))
    cluster.run_until(8 * SECOND)
    found = answer(cluster, "which-setting-stalls")
    assert found.verdict == "2 partitions do not serve writes with acks=all now."
    assert found.lines[:2] == (
        "1 partition: orders-1 has a dead leader that the controller notices after 9s (broker.session.timeout.ms)",
        "1 partition: orders-0 waits for a replica that does not fetch: replica.lag.time.max.ms (30s) ends that, or the controller",
    )
    assert found.lines[-1].endswith("one stopped broker stops writes of 2 partitions: orders-0, orders-1")
    cluster.run_until(25 * SECOND)
    assert answer(cluster, "which-setting-stalls").lines[0] == (
        "2 partitions: orders-0, orders-1 refuse writes with acks=all: min.insync.replicas is larger than the ISR"
    )
    alone = of(((1,), (2,), (3,)), min_insync_replicas="1")
    alone.do(Kill(1))
    alone.run_until(20 * SECOND)
    found = answer(alone, "which-setting-stalls")
    assert found.verdict == "1 partition does not serve writes with acks=all now."
    assert found.lines[0].startswith("1 partition: orders-0 has no leader: unclean.leader.election.enable decides")
    assert not found.lines[-1].startswith("min.insync.replicas"), "a partition with one replica has no spare in any case"


def test_before_upgrade() -> None:
    topic = TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((4,)), PartitionSpec((2, 3, 1))))
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4)), (topic,), controllers=("b1", "b2", "c3"))
    cluster = Cluster(attrs.evolve(spec, settings=(("min.insync.replicas", 2),)), RELEASES["4.3"])
    order, keep = (
        "· order: b3, b4, b2, b1, each after the one before is in sync (ask rolling-restart)",
        "· keep the old metadata.version (inter.broker.protocol.version before KRaft) until all brokers run the new release",
    )
    cluster.run_until(SECOND)
    assert cluster.view().controller == "b1"
    risky = "✗ cannot be stopped without harm: b4 (ask may-i-stop 4)"
    assert answer(cluster, "before-upgrade").lines == (risky, order, keep)
    cluster.do(KillController("c3"))
    cluster.do(Kill(4))
    cluster.do(Reassign(TopicPartition("orders", 0), (2, 4, 3)))
    cluster.run_until(20 * SECOND)
    found = answer(cluster, "before-upgrade")
    assert found.verdict == "Not yet: 5 things to mend first."
    assert found.lines == (
        "✗ without a leader: 1 partition: orders-1",
        "✗ being reassigned: 1 partition: orders-0",
        "✗ not up: b4",
        "✗ a controller is down: the quorum has no spare left, or fewer than usual",
        "✗ cannot be stopped without harm: b1, b2 (ask may-i-stop 1)",
        "· not led by their preferred replica: 1 partition: orders-0; elect preferred leaders afterwards",
        order.replace("b4, ", ""),
        keep,
    )
    fine = of(((1, 2, 3),), min_insync_replicas="2")
    assert answer(fine, "before-upgrade").verdict == "Yes, a rolling upgrade can begin."
    fine.do(Kill(3))
    fine.run_until(20 * SECOND)
    assert answer(fine, "before-upgrade").lines[:3] == (
        "✗ under-replicated: 1 partition: orders-0",
        "✗ not up: b3",
        "✗ cannot be stopped without harm: b1, b2 (ask may-i-stop 1)",
    )


def test_a_copy_counts_its_events_as_if_it_were_a_run_of_its_own() -> None:
    """Causes before the copy was made are left out; an event without other causes has none."""
    cluster = of(((1, 2, 3),))
    cluster.run_until(SECOND)
    branch = Branch(Cluster.restore(cluster.snapshot()))
    seen: list[tuple[object, ...]] = []
    branch.summary = seen.append  # type: ignore[misc, assignment]
    made = cluster.journal.seq
    for number, cause in enumerate((0, made - 1, made, made + 2, (made, made + 1), (made + 1, made + 2), (1, made)), made + 3):
        branch._shifted((number, 7, cause, "kind", "column"))
    assert seen == [(number, 7, cause, "kind", "column") for number, cause in enumerate((0, 0, 0, 2, 1, (1, 2), 0), 3)]


def test_a_copy_waits_for_a_broker_as_long_as_it_may() -> None:
    def ended(task: Generator[None, None, T]) -> tuple[T, int]:
        begun = branch.cluster.now
        while True:
            try:
                next(task)
            except StopIteration as end:
                return end.value, branch.cluster.now - begun

    def waited(within: int) -> tuple[int | None, int]:
        return ended(branch.settled(3, within * SECOND))

    cluster = of(((1, 2, 3), (1, 2)))
    cluster.run_until(40 * SECOND)
    branch = Branch(Cluster.restore(cluster.snapshot()))
    assert waited(60) == (0, 0)
    branch.do(Kill(3))
    assert waited(45) == (None, 45 * SECOND)
    assert ended(_wait_for_stop(branch, 3)) == ("", 0)
    assert ended(_wait_for_stop(branch, 2)) == ("its controlled shutdown does not end", 120 * SECOND)
    branch.do(Start(3))
    time, passed = waited(60)
    assert time == passed
    assert 0 < passed < 10 * SECOND
    assert branch.cluster.partition_view(TopicPartition("orders", 0)).isr == (1, 2, 3)


@pytest.mark.parametrize("seed", range(24))
def test_what_is_said_of_stopped_brokers_is_what_happens(seed: int) -> None:
    """Without some brokers of a cluster that is in sync, partitions are dark, refuse, or serve as the static answer says."""
    draw = random.Random(seed)
    brokers = draw.randint(3, 5)
    factor = draw.randint(1, 3)
    replicas = tuple(tuple(draw.sample(range(1, brokers + 1), factor)) for _ in range(draw.randint(1, 5)))
    config = {"min_insync_replicas": str(draw.randint(1, factor)), "unclean_leader_election_enable": draw.choice(("true", "false"))}
    cluster = of(replicas, brokers, draw.choice(("2.4", "3.6", "4.3")), **config)
    down = draw.sample(range(1, brokers + 1), draw.randint(1, 2))
    lacks = without(asked(cluster), down)
    for broker in down:
        cluster.do(Kill(broker))
    cluster.run_until(400 * SECOND)
    view = cluster.view()
    assert {one.tp for one in view.partitions if one.offline} == {one.tp for one in lacks.dark}
    refusing = {one.tp for one in view.partitions if not one.offline and len(one.isr) < one.min_isr}
    assert refusing - {one.tp for one in lacks.unclean} == {one.tp for one in lacks.refusing}


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["may-i-stop", "9"], "may-i-stop: '9' is not a broker; the brokers are 0, 1, 2"),
        (["may-i-stop"], "may-i-stop: name the brokers, for example 2,3; the brokers are 0, 1, 2"),
        (["who-holds", "hw"], "who-holds: name one partition, for example orders-0"),
        (["why-lag", "x"], "why-lag: name one group; there are none"),
        (["zones", "a"], "zones: takes nothing after it, not 'a'"),
        (["may-stop"], "may-stop: unknown question; did you mean 'may-i-stop'?"),
    ):
        assert main(["ask", "b2-high-watermark", *words]) == 2
        assert capsys.readouterr().err == f"isrlab: {said}\n"


def test_the_command_lists_the_questions_and_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "b2-high-watermark"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(QUESTIONS)
    assert main(["ask", "f2-min-isr-2-two-down", "why-under-replicated", "--release", "3.9", "--at", "16s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["command"] == "isrlab play f2-min-isr-2-two-down --release 3.9, then g 16s, then w on a partition"
    assert found["verdict"] == "1 partition is under-replicated."


@pytest.mark.parametrize("down", [(), (2,), (2, 5)])
@pytest.mark.parametrize(
    "settings", [(("min.insync.replicas", 2),), (("unclean.leader.election.enable", True), ("min.insync.replicas", 2))]
)
def test_a_broker_is_safe_alone_if_nothing_gets_worse_without_it(
    down: tuple[int, ...], settings: tuple[tuple[str, bool | int], ...]
) -> None:
    topics = (TopicSpec("orders", partitions=12, replication_factor=3), TopicSpec("few", partitions=3, replication_factor=2))
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(broker) for broker in range(1, 7)), topics, settings), RELEASES["4.3"])
    for broker in down:
        cluster.do(Kill(broker))
    cluster.run_until(30 * SECOND)
    one = asked(cluster)
    assert safe_sets(one, 1) == [(broker,) for broker in sorted(one.up()) if made_worse(one, (broker,)).harmless]


def test_a_follower_that_fetches_holds_the_high_watermark_until_its_next_fetch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "b3-high-watermark-behind", "who-holds", "hw", "t-0"]) == 0
    told = capsys.readouterr().out.splitlines()[1].strip()
    assert told == (
        "b1 has records up to 9; its last fetch asked for offset 3, so the leader does not know more; its next fetch tells the leader the rest"
    )


def test_a_broker_that_is_down_already_is_named() -> None:
    cluster = of(((1, 2, 3),))
    cluster.do(Kill(2))
    cluster.run_until(20 * SECOND)
    assert answer(cluster, "what-if", "lose", "2").lines[0] == "Down already: b2."
    assert "Down already" not in answer(cluster, "what-if", "lose", "1").text()[1]


def test_a_lag_of_one_partition_is_no_matter_of_more_members(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "j2-hot-partition", "why-lag", "billing", "--at", "30s"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("  orders-0: ")
    assert "of all: only one member reads a partition, so more members do not help" in lines[2]
    assert not any("Producers send" in line for line in lines), "the group as a whole processes enough"
    assert main(["ask", "j2-lag", "why-lag", "billing", "--at", "11s"]) == 0
    assert "of all" not in capsys.readouterr().out
