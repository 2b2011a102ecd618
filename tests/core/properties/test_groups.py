"""Random histories of groups: members that join, die, freeze, stall, and leave while their coordinator and leaders die.

What the account says is held against the events: it is exact at every moment. At rest, every partition has one owner, and the group has read to the end.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, Final

import pytest

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS

SEEDS: Final = 6
"""How many histories the suite plays; `play` takes any seed."""

STEPS: Final = 14

SHORT: Final = (("session.timeout.ms", "8000"), ("heartbeat.interval.ms", "2000"), ("max.poll.interval.ms", "15000"))


def play(seed: int) -> tuple[Cluster, list[Any], str]:
    """Play a random history, and let the group come to rest."""
    dice = random.Random(f"groups:{seed}")
    release = dice.choice(["2.4", "2.8", "3.3", "3.9", "4.1", "4.3"])
    heard: list[Any] = []
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        topics=(TopicSpec("t", 5, 3), TopicSpec("u", 2, 3)),
        settings=(("offsets.topic.num.partitions", 1), ("group.initial.rebalance.delay.ms", 1000)),
    )
    run = Cluster(spec, RELEASES[release], seed=seed, sink=heard.append)
    run.run_until(SECOND)
    run.do(acts.Load("t", rate=60, producer="pt"))
    run.do(acts.Load("u", rate=20, producer="pu"))
    assignor = dice.choice([("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",)])
    commit = dice.choice(["after", "auto", "async"])
    run.do(
        acts.JoinGroup(("t", "u"), "m2", "g", assignor, commit=commit, config=SHORT)
    )  # it creates __consumer_offsets while all brokers run
    for _ in range(STEPS):
        run.run_until(run.now + dice.randrange(200 * US_PER_MS, 6 * SECOND))
        try:
            run.do(_act(dice, assignor, commit))
        except ActRefused:
            continue
    run.run_until(run.now + 2 * SECOND)  # a shutdown can still be under way
    for broker in (1, 2, 3):
        _try(run, acts.Start(broker))
    for name in ("m1", "m2", "m3", "m4"):
        _try(run, acts.ThawConsumer(name))
    _try(run, acts.JoinGroup(("t", "u"), "m1", "g", assignor, commit=commit, config=SHORT))
    _try(run, acts.JoinGroup(("t", "u"), "m9", "g", assignor, commit=commit, config=SHORT))
    run.do(acts.StopLoad("pt"))
    run.do(acts.StopLoad("pu"))
    run.run_until(run.now + 120 * SECOND)
    return run, heard, commit


def _act(dice: random.Random, assignor: tuple[str, ...], commit: str) -> acts.Act:
    name, broker = dice.choice(["m1", "m2", "m3", "m4"]), dice.choice([1, 2, 3])
    join = acts.JoinGroup(
        ("t", "u"),
        name,
        "g",
        assignor,
        f"i-{name}" if name == "m4" else None,
        commit=commit,
        record_time=dice.choice([0, 500, 2000]),
        config=SHORT,
    )
    return dice.choice(
        [
            join, join, join, join, acts.KillConsumer(name), acts.CloseConsumer(name), acts.FreezeConsumer(name), acts.ThawConsumer(name),
            acts.StallConsumer(dice.choice([3, 20]) * SECOND, name), acts.Kill(broker), acts.Start(broker), acts.Shutdown(broker),
        ]
    )  # fmt: skip


def _try(run: Cluster, act: acts.Act) -> None:
    try:
        run.do(act)
    except ActRefused:
        return


def check(run: Cluster, heard: list[Any], commit: str) -> None:
    """Check what must hold at rest."""
    owned = [tp for view in run.view().members if view.running for tp in view.owned]
    assert sorted(owned) == [TopicPartition(topic, number) for topic, count in (("t", 5), ("u", 2)) for number in range(count)]
    (group,) = [view for view in run.view().groups if view.name == "g"]
    assert group.state == "Stable"
    assert sorted(tp for member in group.members for tp in member.assignment) == sorted(owned)
    times: dict[TopicPartition, Counter[int]] = {tp: Counter() for tp in owned}
    for each in heard:
        if each[3] == events.RecordsProcessed.kind:
            times[TopicPartition(each[6], each[7])].update(range(each[8], each[9]))
    counts = run.account.consumption.counts("g", run.account.leader_logs(), run.polled_by_members("g"))
    for tp in owned:
        end = run.partition_view(tp).replica_on(run.partition_view(tp).leader).hw
        again = sum(1 for count in times[tp].values() if count > 1)
        repeats = sum(count - 1 for count in times[tp].values())
        assert counts[tp] == (end, again, repeats, 0), f"{tp} to {end}"
    for tp, offset in group.offsets:
        end = run.partition_view(tp).replica_on(run.partition_view(tp).leader).hw
        # Only automatic commits are repeated at rest. A commit that a rebalance has refused is not.
        assert offset == end or (commit != "auto" and offset < end)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_at_least_once_groups_process_every_record(seed: int) -> None:
    check(*play(seed))
