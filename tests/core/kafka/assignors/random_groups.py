"""Checks the invariants of every assignor on random groups: `python -m tests.core.kafka.assignors.random_groups --number 10000`.

Each group starts without an assignment. Then members join and leave, subscriptions and topics change, and each assignor runs again with what the
members own.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import attrs

from core.kafka.assignors import range_assignor, round_robin
from core.kafka.assignors.java_order import hash_map_order
from core.kafka.assignors.server import range_assignor as server_range
from core.kafka.assignors.server import uniform_assignor
from core.kafka.assignors.sticky import sticky_assignor
from core.kafka.assignors.sticky.sticky_assignor import StickyRules
from core.kafka.assignors.subscription import Assignment, Member, TopicMetadata, Topics
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES

Assignor = Callable[[Topics, list[Member]], Assignment]

BEFORE_3_0: Final = StickyRules.of(RELEASES["2.8"])
IN_3_3: Final = StickyRules.of(RELEASES["3.3"])

ASSIGNORS: Final[dict[str, Assignor]] = {
    "range": range_assignor.assign,
    "roundrobin": round_robin.assign,
    "sticky": lambda topics, members: sticky_assignor.assign(topics, members).assignment,
    "sticky of 2.8": lambda topics, members: sticky_assignor.assign(topics, members, BEFORE_3_0).assignment,
    "sticky of 3.3": lambda topics, members: sticky_assignor.assign(topics, members, IN_3_3).assignment,
    "cooperative-sticky": sticky_assignor.cooperative_assign,
    "server range": server_range.assign,
    "uniform": uniform_assignor.assign,
    "uniform of 4.0": lambda topics, members: uniform_assignor.assign(topics, members, extra_goes_to_any_member=False),
}


@attrs.define
class Group:
    """A random group.

    Attributes:
        topics: its topics.
        subscriptions: the topics of each member.
        racks: the rack of each member; empty without racks.
        statics: the static members.
        equal: whether all members subscribe to the same topics.
    """

    topics: dict[str, TopicMetadata]
    subscriptions: dict[str, tuple[str, ...]]
    racks: dict[str, str]
    statics: set[str]
    equal: bool

    @classmethod
    def random(cls, rng: random.Random) -> Group:
        racks = rng.choice((0, 0, 2, 3))
        topics = {}
        for number in range(rng.randint(1, 6)):
            count = rng.choice((0, 1, 2, 3, 4, 5, 7, 8, 12, 20))
            replication = rng.randint(1, 3)
            found = tuple(frozenset(f"r{rng.randrange(racks)}" for _ in range(replication)) for _ in range(count)) if racks else ()
            topics[f"t{number}"] = TopicMetadata(count, found)
        group = cls(topics, {}, {}, set(), rng.random() < 0.5)
        for number in range(rng.randint(1, 8)):
            group.join(rng, f"m{number}-{rng.randrange(16**6):06x}", racks)
        return group

    def join(self, rng: random.Random, name: str, racks: int) -> None:
        """Add a member."""
        names = list(self.topics)
        if self.equal and self.subscriptions:
            self.subscriptions[name] = next(iter(self.subscriptions.values()))
        else:
            self.subscriptions[name] = tuple(sorted(rng.sample(names, rng.randint(1, len(names)))))
        if racks and rng.random() < 0.8:
            self.racks[name] = f"r{rng.randrange(racks + 1)}"
        if rng.random() < 0.1:
            self.statics.add(name)

    def change(self, rng: random.Random) -> None:
        """Let a member join or leave, or change a topic or a subscription."""
        what = rng.randrange(5)
        if what == 0 and len(self.subscriptions) > 1:
            del self.subscriptions[rng.choice(list(self.subscriptions))]
        elif what in (1, 2):
            self.join(rng, f"n{rng.randrange(16**6):06x}", 3 if self.racks else 0)
        elif what == 3:
            topic = rng.choice(list(self.topics))
            count, racks = self.topics[topic]
            if count:
                added = rng.randint(1, 4)
                self.topics[topic] = TopicMetadata(count + added, racks + racks[:1] * added)
        elif not self.equal:
            member = rng.choice(list(self.subscriptions))
            names = list(self.topics)
            self.subscriptions[member] = tuple(sorted(rng.sample(names, rng.randint(1, len(names)))))

    def members(self, owned: Assignment, generations: dict[str, int]) -> list[Member]:
        """Return the members in the order of a hash map."""
        return [
            Member(
                name, self.subscriptions[name], tuple(owned.get(name, ())), generations.get(name, -1),
                f"i-{name}" if name in self.statics else "", self.racks.get(name, ""),
            )
            for name in hash_map_order(self.subscriptions)
        ]  # fmt: skip


def check(kind: str, group: Group, members: list[Member], found: Assignment) -> None:
    """Check the invariants of every assignor.

    Raises:
        AssertionError: an invariant does not hold.
    """
    subscriptions = group.subscriptions
    assert found.keys() == subscriptions.keys()
    assigned = [tp for tps in found.values() for tp in tps]
    assert len(assigned) == len(set(assigned)), "one owner only"
    for name, tps in found.items():
        assert all(tp.topic in subscriptions[name] for tp in tps), "only subscribed topics"
    wanted = {topic for names in subscriptions.values() for topic in names}
    every = {TopicPartition(topic, n) for topic in wanted for n in range(group.topics[topic].partitions)}
    owned = {tp: member.member_id for member in members for tp in member.owned}
    if kind == "cooperative-sticky":
        full = sticky_assignor.assign(group.topics, members).assignment
        for name, tps in found.items():
            assert set(tps) <= set(full[name])
            assert not any(owned.get(tp, name) != name for tp in tps), "nobody gets what another member has not given up"
        assert all(tp in owned for tp in every - set(assigned)), "only partitions that change hands wait"
        return
    assert set(assigned) == every, "each partition has an owner"
    sizes = {name: len(tps) for name, tps in found.items()}
    if "range" in kind:
        check_ranges(kind, group, found)
    elif kind == "roundrobin":
        if group.equal:
            assert max(sizes.values()) - min(sizes.values()) <= 1
    elif group.equal:
        assert max(sizes.values()) - min(sizes.values()) <= 1, "balance"
        racked = bool(group.racks) and "uniform" not in kind
        if not racked and "4.0" not in kind:
            kept = sum(owned.get(tp) == name for name, tps in found.items() for tp in tps)
            assert kept == most_kept(members, every, len(every)), "as sticky as the balance allows"
    elif "sticky" in kind or "uniform" in kind:
        check_balance(group, found, sizes)


def most_kept(members: list[Member], every: set[TopicPartition], partitions: int) -> int:
    """Return how many partitions can stay where they are if each member gets the lower or the upper quota."""
    low, extra = divmod(partitions, len(members))
    owned = sorted((sum(tp in every for tp in member.owned) for member in members), reverse=True)
    return sum(min(count, low + (place < extra)) for place, count in enumerate(owned))


def check_balance(group: Group, found: Assignment, sizes: dict[str, int]) -> None:
    """Check that no member has two partitions more than another member that could take one of them."""
    for name, tps in found.items():
        topics = {tp.topic for tp in tps}
        for other, subscribed in group.subscriptions.items():
            if topics.intersection(subscribed):
                assert sizes[name] - sizes[other] <= 1, "balance"


def check_ranges(kind: str, group: Group, found: Assignment) -> None:
    """Check that every subscriber has the lower or the upper quota of each topic and, without racks, a contiguous range."""
    for topic, (count, _) in group.topics.items():
        subscribers = [name for name, topics in group.subscriptions.items() if topic in topics]
        if not subscribers:
            continue
        low, extra = divmod(count, len(subscribers))
        numbers = {name: sorted(tp.partition for tp in found[name] if tp.topic == topic) for name in subscribers}
        assert sorted(map(len, numbers.values())) == sorted([low + 1] * extra + [low] * (len(subscribers) - extra))
        if kind == "server range" or not group.racks:
            assert all(each == list(range(each[0], each[-1] + 1)) for each in numbers.values() if each)


def check_stable(kind: str, assign: Assignor, group: Group, found: Assignment) -> None:
    """Check that no partition moves if nothing has changed."""
    again = assign(group.topics, group.members(found, dict.fromkeys(found, 9)))
    if kind == "cooperative-sticky" or not group.equal or kind == "uniform of 4.0" or (kind.startswith("sticky") and group.racks):
        return
    assert {name: set(tps) for name, tps in again.items()} == {name: set(tps) for name, tps in found.items()}, (
        "nothing moves without a reason"
    )


def read_across_racks(kind: str, group: Group, members: list[Member], found: Assignment) -> tuple[int, int]:
    """Return how many partitions members read from another rack, and how many it would be if the assignor did not consider racks."""
    plain = [member._replace(rack="") for member in members]

    def across(assignment: Assignment) -> int:
        return sum(
            group.racks[name] not in group.topics[tp.topic].racks[tp.partition]
            for name, tps in assignment.items()
            if name in group.racks
            for tp in tps
        )

    return across(found), across(ASSIGNORS[kind](group.topics, plain))


class Played(NamedTuple):
    """The number of assignments, and the numbers of partitions that are read across racks if the assignor considers racks, and if it does
    not.
    """

    assignments: int = 0
    across: int = 0
    without: int = 0

    def plus(self, other: Played) -> Played:
        """Return the sums of both."""
        return Played(*(a + b for a, b in zip(self, other, strict=True)))


def play(kind: str, seed: int) -> Played:
    """Play one random group with an assignor, and check each assignment."""
    assign = ASSIGNORS[kind]
    rng = random.Random(seed)
    group = Group.random(rng)
    owned: Assignment = {}
    generations: dict[str, int] = {}
    played = Played()
    for generation in range(rng.randint(1, 4)):
        members = group.members(owned, generations)
        found = assign(group.topics, members)
        check(kind, group, members, found)
        if kind == "cooperative-sticky":
            members = group.members(found, dict.fromkeys(found, generation))
            found = assign(group.topics, members)
            check(kind, group, members, found)
            if group.equal and not group.racks:
                check("sticky", group, members, found)
        check_stable(kind, assign, group, found)
        across = (
            read_across_racks(kind, group, members, found) if generation == 0 and group.racks and kind in ("sticky", "range") else (0, 0)
        )
        played = played.plus(Played(1, *across))
        owned = found
        generations = dict.fromkeys(found, generation)
        group.change(rng)
    return played


def play_many(kind: str, seeds: range) -> Played:
    """Play many random groups with an assignor.

    Raises:
        AssertionError: an invariant does not hold, or the racks don't help.
    """
    played = Played()
    for seed in seeds:
        try:
            played = played.plus(play(kind, seed))
        except Exception as error:
            raise AssertionError(f"{kind}, seed {seed}: {error!r}") from error
    assert played.across < played.without or kind not in ("sticky", "range"), "racks help"
    return played


def main() -> None:
    """Play random groups with every assignor, and print what was checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=10_000, help="random groups for each assignor (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    options = parser.parse_args()
    for kind in ASSIGNORS:
        begin = time.perf_counter()
        played = play_many(kind, range(options.seed, options.seed + options.number))
        racks = f", across racks {played.across} instead of {played.without}" if played.without else ""
        print(f"{kind}: {options.number} groups, {played.assignments} assignments{racks}, {time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
