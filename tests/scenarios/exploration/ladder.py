"""The ladder of searches: harms of Kafka's history, which a search finds under one release and not under the next.

`python -m tests.scenarios.exploration.ladder` climbs all rungs and prints a table (`make explore-ladder`); with names of rungs, only these. A test
climbs the short ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.acts import Act, Arrive, Fence, Fetch, Hold, Produce
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane
from core.sim.units import SECOND
from scenarios.conditions.condition_parser import parse_condition
from scenarios.exploration.by_hand import Bounds, HandSearch
from scenarios.exploration.exploration import explore
from scenarios.exploration.goal import Goal
from scenarios.exploration.menu import FAULTS
from scenarios.exploration.player import Bounds as TimelineBounds
from scenarios.exploration.start import Start
from scenarios.releases import release_named

FOUND: Final = "found"
NOT_FOUND: Final = "not found"
NONE: Final = "none"
"""The answers of a search: it found an example; it found none within its bounds; there is none, because all states were visited and compared."""


@attrs.frozen
class Setting:
    """A cluster with one topic, and a goal.

    Attributes:
        replicas: the brokers of the cluster, all of which have a replica, the preferred leader first.
        min_isr, unclean, acks: settings of the topic, and the acks of the producers.
        goal: the condition that the search tries to make true.
    """

    replicas: tuple[int, ...] = (1, 2)
    min_isr: int = 1
    unclean: bool = False
    acks: str = "all"
    goal: str = "lost > 0"

    def spec(self, plane: ControlPlane) -> ClusterSpec:
        """Return the specification of the cluster."""
        config = (("min.insync.replicas", str(self.min_isr)), ("unclean.leader.election.enable", str(self.unclean).lower()))
        topic = TopicSpec("orders", assignment=(PartitionSpec(self.replicas),), config=config)
        return ClusterSpec(brokers=tuple(BrokerSpec(number) for number in sorted(self.replicas)), topics=(topic,), control_plane=plane)


@attrs.frozen
class ByHand:
    """The bounds of a search by hand."""

    faults: Mapping[str, int]
    records: int
    fetches: int
    arrives: bool = False
    before: tuple[Act, ...] = ()


@attrs.frozen
class OnTimeline:
    """The bounds of a search on the timeline. `within` is in seconds of virtual time. With `exactly`, only an example with each of the kinds of
    faults once counts as found."""

    faults: Sequence[str]
    at_most: int
    within: int
    exactly: bool = False


@attrs.frozen
class Side:
    """One search of a rung.

    Attributes:
        release: the release, possibly without guards.
        answer: the answer that is expected.
        how: the bounds of the search.
        setting: the cluster and the goal.
        quick: whether the search is short enough for every run of the tests.
    """

    release: str
    answer: str
    how: ByHand | OnTimeline
    setting: Setting
    quick: bool = True


@attrs.frozen
class Rung:
    """A harm, with the searches that find it or do not."""

    name: str
    about: str
    sides: tuple[Side, ...]


@attrs.frozen
class Climbed:
    """What a search did.

    Attributes:
        answer: the answer.
        depth: the number of acts of the example, or of the longest order that was tried by hand; the number of faults on the timeline.
        states: the number of states or of new situations.
        runs: the number of choices or of runs.
        seconds: seconds of CPU time.
        acts: the acts of the example.
    """

    answer: str
    depth: int
    states: int
    runs: int
    seconds: float
    acts: str


def climb(side: Side) -> Climbed:
    """Search."""
    goal = Goal(parse_condition(side.setting.goal))
    release = release_named(side.release)
    if isinstance(side.how, ByHand):
        how = side.how
        bounds = Bounds(how.records, how.fetches, how.faults, sum(how.faults.values()), side.setting.acks, how.arrives)
        outcome = HandSearch(side.setting.spec(ControlPlane.KRAFT), release, 0, goal, bounds, how.before).run(
            "ladder", compare=side.answer == NONE
        )
        found = outcome.search
        answer = FOUND if found.bad else NONE if outcome.is_none else NOT_FOUND
        return Climbed(answer, found.depth, found.states, found.taken, outcome.seconds, " | ".join(found.path))
    begin = Start(side.setting.spec(ControlPlane.BY_RELEASE), release, 0, (), 0).with_load(side.setting.acks)
    faults = tuple(FAULTS[word] for word in side.how.faults)
    begun = time.process_time()
    searched = explore(begin, TimelineBounds(goal, faults, side.how.at_most, side.how.within * SECOND), "ladder")
    layers = searched.layers
    found = [each for each in searched.found if not side.how.exactly or each.finding.faults == tuple(sorted(side.how.faults))]
    return Climbed(
        FOUND if found else NOT_FOUND,
        len(found[0].finding.faults) if found else side.how.at_most,
        sum(layer.situations for layer in layers),
        sum(layer.runs for layer in layers),
        time.process_time() - begun,
        found[0].acts if found else "",
    )


_PRODUCE: Final = Produce("orders", 1, acks="all", idempotence=False, producer="p1")
_ACKS_1: Final = Setting(acks="1")
_TWICE: Final = ByHand({"kill": 2}, 1, 1)
_LOST: Final = ByHand({"kill": 1, "lost-answer": 1}, 1, 1, arrives=True)
_TRUNCATES: Final = ByHand({"kill": 1, "restart": 1}, 1, 2, arrives=True)
_E1: Final = Setting((2, 1))
_FAST: Final = Setting(unclean=True, acks="1", goal="diverged > 0")
_FAST_FAILOVER: Final = ByHand({"kill": 2}, 2, 1, before=(attrs.evolve(_PRODUCE, acks="1"),))
_DIVERGES: Final = ByHand({"kill": 1, "power-restart": 1}, 1, 1, before=(_PRODUCE, Fetch(1), Arrive(1)))
_E2: Final = Setting((2, 1), goal="diverged > 0")
_ZOMBIE: Final = ByHand({"power-loss": 1}, 2, 2, before=(_PRODUCE, Fetch(2), Fetch(2), Hold(("controller", "b2")), Fence(2)))
_STALE: Final = Setting(goal="diverged > 0")
_DISK: Final = ByHand({"shutdown": 1, "power-loss": 1}, 1, 2)
_KILLED: Final = ByHand({"kill": 1, "power-loss": 1}, 1, 2)
_LAST_STANDING: Final = OnTimeline(("shutdown", "power-loss"), 2, 40, exactly=True)

RUNGS: Final = (
    Rung(
        "acks",
        "A leader dies before a follower has fetched a record that was acknowledged.",
        (
            Side("4.3", FOUND, ByHand({"kill": 1}, 1, 2), _ACKS_1),
            Side("4.3", NONE, ByHand({"kill": 1}, 1, 2), Setting()),
            Side("4.3", FOUND, OnTimeline(("kill",), 1, 12), _ACKS_1),
            Side("4.3", NOT_FOUND, OnTimeline(("kill",), 1, 12), Setting()),
        ),
    ),
    Rung(
        "D6",
        "A broker that is not in the ISR becomes leader.",
        (
            Side("4.3", FOUND, _TWICE, Setting(unclean=True)),
            Side("4.3", NONE, _TWICE, Setting()),
            Side("4.3 without elect-from-isr", FOUND, _TWICE, Setting()),
        ),
    ),
    Rung(
        "requests",
        "A leader counts records that a follower has not received.",
        (
            Side("4.3 without request-time-leo", FOUND, _LOST, Setting()),
            Side("4.3", NONE, _LOST, Setting()),
        ),
    ),
    Rung(
        "E1",
        "A restarted follower truncates its log to its high watermark, and leads (KIP-101).",
        (Side("0.10.2", FOUND, _TRUNCATES, _E1), Side("4.3", NONE, _TRUNCATES, _E1, quick=False)),
    ),
    Rung(
        "min ISR",
        "A record is acknowledged that only one broker has, and this broker's machine loses power.",
        (
            Side("4.3", FOUND, _DISK, Setting(min_isr=1)),
            Side("4.3", NONE, _DISK, Setting(min_isr=2), quick=False),
        ),
    ),
    Rung(
        "E2",
        "Replicas keep different records at one offset, because a follower trusts its high watermark (KIP-101).",
        (Side("0.10.2", FOUND, _DIVERGES, _E2), Side("0.11", NONE, _DIVERGES, _E2, quick=False)),
    ),
    Rung(
        "KIP-279",
        "Leaders change fast, and the leader answers with the end of an epoch that the follower does not have.",
        (Side("0.11", FOUND, _FAST_FAILOVER, _FAST), Side("2.0", NONE, _FAST_FAILOVER, _FAST, quick=False)),
    ),
    Rung(
        "KIP-320",
        "A follower that has missed an epoch goes on fetching, and its log has other records than the leader's.",
        (
            Side("2.0", FOUND, _ZOMBIE, _STALE),
            Side("2.1", NONE, _ZOMBIE, _STALE, quick=False),
            Side("2.1 without fetch-epoch-fencing", FOUND, _ZOMBIE, _STALE, quick=False),
        ),
    ),
    Rung(
        "KIP-966",
        "The last member of the ISR loses power, and returns as the leader, although another broker has all records.",
        (
            Side("4.0", FOUND, _DISK, Setting(min_isr=2)),
            Side("4.1", NONE, _DISK, Setting(min_isr=2), quick=False),
            Side("4.3 without elr", FOUND, _DISK, Setting(min_isr=2), quick=False),
            Side("4.1", FOUND, _KILLED, Setting(min_isr=2), quick=False),
            Side("4.0", FOUND, _LAST_STANDING, Setting(min_isr=2), quick=False),
            Side("4.1", NOT_FOUND, _LAST_STANDING, Setting(min_isr=2), quick=False),
            Side("4.1 without elr", FOUND, _LAST_STANDING, Setting(min_isr=2), quick=False),
            Side("4.1", FOUND, attrs.evolve(_LAST_STANDING, faults=("kill", "power-loss")), Setting(min_isr=2), quick=False),
        ),
    ),
)
"""All rungs. The bounds are as small as they can be for the harm to be found."""


def main(names: Sequence[str]) -> int:
    """Climb rungs, and print a table. Return 1 if an answer is not the expected one."""
    print(f"{'rung':<9} {'release':<34} {'pace':<8} {'answer':<9} {'depth':>5} {'states':>7} {'choices':>7} {'CPU s':>6}")
    wrong = 0
    for rung in RUNGS:
        if names and rung.name not in names:
            continue
        for side in rung.sides:
            done = climb(side)
            pace = "by hand" if isinstance(side.how, ByHand) else "timeline"
            wrong += done.answer != side.answer
            mark = "" if done.answer == side.answer else f"  expected: {side.answer}"
            print(
                f"{rung.name:<9} {side.release:<34} {pace:<8} {done.answer:<9} {done.depth:>5} {done.states:>7,} {done.runs:>7,} "
                f"{done.seconds:>6.1f}{mark}",
                flush=True,
            )
            if done.acts:
                print(f"{'':<10}{done.acts}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
