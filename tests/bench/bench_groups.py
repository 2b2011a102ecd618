"""Measures how long it takes to assign 5,000 partitions to the 500 members of a group: `python tests/bench/bench_groups.py`.

Each assignor runs three times: when no member owns a partition, after a member joins, and after two members leave. Then, a coordinator
rebalances such a group of the consumer protocol: it handles all heartbeats until the group is stable again.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.kafka.assignors.java_order import hash_map_order
from core.kafka.assignors.subscription import Assignment, Member, TopicMetadata
from core.kafka.clients.group_member.membership_manager import MembershipManager
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from core.kafka.group_coordinator.consumer_group.consumer_group_member import Partitions
from core.kafka.group_coordinator.consumer_group.heartbeats import ConsumerGroupRules, fence_member, heartbeat
from core.kafka.group_coordinator.consumer_group.member_state import ConsumerGroupState
from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS
from tests.core.kafka.assignors.random_groups import ASSIGNORS

MEMBERS = 500
PARTITIONS = 5_000


def topics(number: int, *, racks: int = 0) -> dict[str, TopicMetadata]:
    """Return topics with 5,000 partitions in total."""
    count = PARTITIONS // number
    places = tuple(frozenset({f"r{n % racks}"}) for n in range(count)) if racks else ()
    return {f"topic-{n:03}": TopicMetadata(count, places) for n in range(number)}


def measure(kind: str, by_topic: dict[str, TopicMetadata], *, equal: bool, racks: int = 0) -> list[float]:
    """Return the durations of the three assignments in seconds."""
    rng = random.Random(1)
    names = list(by_topic)

    def subscription() -> tuple[str, ...]:
        return tuple(names if equal else sorted(rng.sample(names, max(1, len(names) // 2))))

    group = {f"m{n}-{rng.randrange(16**12):012x}": (subscription(), f"r{n % racks}" if racks else "") for n in range(MEMBERS)}
    owned: Assignment = {}
    seconds = []
    for change in range(3):
        if change == 1:
            group["newcomer"] = (subscription(), "")
        elif change == 2:
            for name in list(group)[:2]:
                del group[name]
        order = hash_map_order(group)
        members = [
            Member(name, group[name][0], tuple(owned.get(name, ())), change if name in owned else -1, "", group[name][1]) for name in order
        ]
        begin = time.perf_counter()
        owned = ASSIGNORS[kind](by_topic, members)
        seconds.append(time.perf_counter() - begin)
    return seconds


class Coordinator:
    """A group of the consumer protocol, without a cluster."""

    def __init__(self, number: int) -> None:
        self.topics = tuple(f"topic-{n:03}" for n in range(number))
        count = PARTITIONS // number
        self.rules = ConsumerGroupRules(CURRENT, 2 * MEMBERS, ("uniform", "range"), 0, lambda _: count)
        self.group = ConsumerGroup("g")
        self.owned: dict[str, Partitions] = {}
        self.members = [f"m{n}-{n * 7919:x}" for n in range(MEMBERS)]

    def beat(self, member_id: str) -> None:
        """Handle a heartbeat of a member, which then owns the partitions that the response assigns to it."""
        known = self.group.members.get(member_id)
        request = ConsumerGroupHeartbeatRequest(0, "c", "g", member_id, known.epoch if known else 0, owned=self.owned.get(member_id, ()))
        if known is None:
            request = request._replace(rebalance_timeout=1, topics=self.topics)
        result = heartbeat(self.group, request, self.rules, 0)
        self.group.replay_all(result.records)
        if result.assignment is not None:
            self.owned[member_id] = result.assignment

    def rebalance(self) -> float:
        """Handle heartbeats until the group is stable. Return the duration in seconds."""
        begin = time.perf_counter()
        while self.group.state() is not ConsumerGroupState.STABLE:
            for member_id in self.members:
                self.beat(member_id)
        return time.perf_counter() - begin


def measure_rebalances(number: int) -> list[float]:
    """Return the durations of two rebalances in seconds: one after a member is fenced, and one after a member joins."""
    coordinator = Coordinator(number)
    coordinator.beat(coordinator.members[0])
    for member_id in coordinator.members[1:]:
        coordinator.beat(member_id)
    coordinator.rebalance()
    group = coordinator.group
    left = coordinator.members.pop()
    group.replay_all(fence_member(group, group.members[left], coordinator.rules))
    after_leave = coordinator.rebalance()
    coordinator.members.append("newcomer")
    begin = time.perf_counter()
    coordinator.beat("newcomer")
    return [after_leave, time.perf_counter() - begin + coordinator.rebalance()]


class WholeCluster:
    """A group in a cluster of three brokers."""

    def __init__(self, number: int, protocol: str) -> None:
        self.protocol = protocol
        self.names = tuple(f"topic-{n:03}" for n in range(number))
        spec = ClusterSpec(
            tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
            topics=tuple(TopicSpec(name, PARTITIONS // number, 3) for name in self.names),
            settings=(("offsets.topic.num.partitions", "1"),),
        )
        self.cluster = Cluster(spec, CURRENT)
        self.cluster.run_until(SECOND)
        for n in range(MEMBERS):
            self.join(f"m{n:03}")

    def join(self, name: str) -> None:
        """Start a member."""
        self.cluster.do(acts.JoinGroup(self.names, name, "g", protocol=self.protocol))

    def settled(self) -> tuple[int, int]:
        """Return the generation or epoch of all members, and the number of their partitions; 0 and 0 while they differ."""
        members = [
            each for each in (self.cluster.clients.member(f"m{n:03}") for n in range(MEMBERS + 1)) if each is not None and each.running
        ]
        epochs = {
            each.coordinator.epoch if isinstance(each.coordinator, MembershipManager) else each.coordinator.membership.generation
            for each in members
        }
        return (epochs.pop(), len({tp for each in members for tp in each.coordinator.owned})) if len(epochs) == 1 else (0, 0)

    def rebalance(self, before: int) -> tuple[float, float, int]:
        """Run until the members own all partitions in a later generation. Return the CPU seconds, the virtual seconds, and the generation."""
        cluster = self.cluster
        began, spent = cluster.now, 0.0
        while True:
            start = time.process_time()
            cluster.run_until(cluster.now + 100 * US_PER_MS)
            spent += time.process_time() - start
            epoch, owned = self.settled()
            if epoch > before and owned == PARTITIONS:
                return spent, (cluster.now - began) / SECOND, epoch


def measure_whole_cluster(number: int, protocol: str) -> list[tuple[float, float]]:
    """The CPU seconds and the virtual seconds until the members own all partitions: at first, after a departure, and after a join."""
    whole = WholeCluster(number, protocol)
    results = []
    epoch = 0
    for change in range(3):
        if change == 1:
            whole.cluster.do(acts.CloseConsumer("m003"))
        elif change == 2:
            whole.join(f"m{MEMBERS:03}")
        spent, virtual, epoch = whole.rebalance(epoch)
        results.append((spent, virtual))
        whole.cluster.run_until(whole.cluster.now + 10 * SECOND)
        gc.collect()
        gc.freeze()
    gc.unfreeze()
    return results


def main() -> None:
    """Print the durations for each assignor."""
    print(f"{MEMBERS} members, {PARTITIONS} partitions: seconds for the first assignment, after a join, and after two departures")
    for kind in ASSIGNORS:
        for label, by_topic, equal, racks in (
            ("1 topic", topics(1), True, 0),
            ("50 topics", topics(50), True, 0),
            ("50 topics, different subscriptions", topics(50), False, 0),
            ("50 topics, 3 racks", topics(50, racks=3), True, 3),
            ("50 topics, different subscriptions, 3 racks", topics(50, racks=3), False, 3),
        ):
            print(f"  {kind:<20}{label:<46}", "  ".join(f"{each:6.3f}" for each in measure(kind, by_topic, equal=equal, racks=racks)))
    print("the coordinator of a group of the consumer protocol: seconds of the rebalances after a departure and after a join")
    for number in (1, 50):
        print(f"  {number:>3} topics", "  ".join(f"{each:6.3f}" for each in measure_rebalances(number)))
    gc.disable()
    print("a whole cluster: CPU seconds (and virtual seconds) at first, after a departure, and after a join")
    for protocol in ("classic", "consumer"):
        for number in (1, 50):
            found = measure_whole_cluster(number, protocol)
            print(f"  {protocol:<10}{number:>3} topics", "  ".join(f"{spent:6.3f} ({virtual:.1f})" for spent, virtual in found), flush=True)


if __name__ == "__main__":
    main()
