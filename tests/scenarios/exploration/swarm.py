"""Compares searches with random runs: `python -m tests.scenarios.exploration.swarm --cases 200 --runs 500 --jobs 2`.

Each case is a small cluster, a release, a load, a goal, and bounds, all random. Random runs draw faults from the same menu, remedies, and the
moments of both. If a run reaches the goal, the search must reach it with no more faults. The exit code is 1 if a search did not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from typing import Final

import attrs

from core.kafka.errors import KafkaError
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.act_handlers import act_arguments
from core.lab.act_sentences import act_sentence
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios.conditions.condition_parser import parse_condition
from scenarios.exploration.exploration import Exploration
from scenarios.exploration.goal import Goal, Timed
from scenarios.exploration.menu import FAULTS, remedies
from scenarios.exploration.player import Bounds
from scenarios.exploration.start import Start

GOALS: Final = (
    *["lost > 0"] * 6,
    "offline > 0",
    "under-min-isr > 0",
    "unclean-elections > 0",
    "duplicated > 0",
    "diverged > 0",
    "stalled(orders-0) > 0",
    "leader(orders-0) == none",
    "leader-epoch(orders-0) > 2",
    "isr-shrinks > 0 and offline > 0",
)
"""The goals of the cases."""

WITHIN: Final = 25 * SECOND
"""How long each run goes on, in µs of virtual time."""


@attrs.frozen
class Case:
    """A case. Its number decides everything in it."""

    number: int

    def start(self) -> Start:
        """Return the cluster, with its load."""
        draw = random.Random(f"cluster {self.number}")
        brokers = draw.randint(2, 4)
        topics = []
        for name in ("orders", "payments")[: draw.choice((1, 1, 2))]:
            replicas = tuple(draw.sample(range(1, brokers + 1), min(brokers, draw.choice((2, 2, 3, 3, 3)))))
            least = draw.choice((1, 1, 2))
            unclean = draw.random() < 0.4
            config = (("min.insync.replicas", str(least)), ("unclean.leader.election.enable", str(unclean).lower()))
            topics.append(TopicSpec(name, assignment=(PartitionSpec(replicas),), config=config))
        spec = ClusterSpec(brokers=tuple(BrokerSpec(number) for number in range(1, brokers + 1)), topics=tuple(topics))
        release = draw.choice([release for release in RELEASES.values() if spec_runs(spec, release.name)])
        return Start(spec, release, self.number, (), 0).with_load(draw.choice(("1", "all", "all")))

    def bounds(self) -> Bounds:
        """Return the bounds."""
        draw = random.Random(f"bounds {self.number}")
        goal = draw.choice(GOALS)
        words = draw.sample(sorted(set(FAULTS) - {"kill-controller", "fail-zone", "cut-zone"}), draw.randint(1, 3))
        return Bounds(Goal(parse_condition(goal)), tuple([FAULTS[word] for word in words]), 2, WITHIN)

    def words(self) -> str:
        """Describe the case in a line."""
        start, bounds = self.start(), self.bounds()
        topics = ", ".join(f"{one.name} {list(one.assignment[0].replicas)} {dict(one.config)}" for one in start.spec.topics)
        words = ",".join(fault.word for fault in bounds.faults)
        return f"case {self.number}: {start.release.name}, {len(start.spec.brokers)} brokers, {topics}; {start.load}; {bounds.goal.condition.text} by {words}"


@attrs.frozen
class Compared:
    """What the random runs and the search found in a case.

    Attributes:
        case: the case.
        runs: the number of random runs.
        random: the acts of the random run with the fewest faults that reached the goal; None if none did.
        least: the number of its faults.
        found: the number of faults with which the search reached the goal; None if it did not.
        seconds: the CPU time of the random runs, and that of the search.
    """

    case: Case
    runs: int
    random: tuple[Timed, ...] | None
    least: int
    found: int | None
    seconds: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether the search found the goal with no more faults than the random runs."""
        return self.random is None or (self.found is not None and self.found <= self.least)


def spec_runs(spec: ClusterSpec, release: str) -> bool:
    """Return whether a cluster can be built under a release."""
    try:
        Cluster(spec, RELEASES[release], 0)
    except (KafkaError, ValueError):
        return False
    return True


def random_run(cluster: Cluster, bounds: Bounds, end: int, draw: random.Random, most: int) -> tuple[tuple[Timed, ...], int] | None:
    """Run a cluster with at most `most` random faults, and as many remedies as happen. Return the acts and the number of faults if the goal
    was reached.
    """
    faults = draw.randint(0, most)
    plan = sorted(
        [(_moment(draw, cluster.now, end), True) for _ in range(faults)]
        + [(_moment(draw, cluster.now, end), False) for _ in range(draw.randint(0, faults + 1))]
    )
    done: list[Timed] = []
    count = 0
    for moment, harmful in [*plan, (end, False)]:
        if any(reached for _, reached in bounds.goal.watch(cluster, moment)):
            return tuple(done), count
        if moment == end:
            break
        menu: list[Act] = [act for fault in bounds.faults for act in fault.acts(cluster)] if harmful else list(remedies(cluster))
        if menu:
            act = draw.choice(menu)
            try:
                cluster.do(act)
            except (ActRefused, KafkaError, ValueError):
                continue
            done.append((cluster.now, act))
            count += harmful
    return None


def _moment(draw: random.Random, begin: int, end: int) -> int:
    """Return a random moment: anywhere, or soon after the begin."""
    return draw.randrange(begin, end) if draw.random() < 0.7 else begin + draw.randrange(0, 2 * SECOND)


def compare(case: Case, runs: int) -> Compared:
    """Play random runs of a case, and search if one of them reached the goal."""
    begun = time.process_time()
    start, bounds = case.start(), case.bounds()
    cluster = start.cluster()
    here = cluster.snapshots.take(cluster)
    end = cluster.now + bounds.within
    draw = random.Random(f"runs {case.number}")
    best: tuple[tuple[Timed, ...], int] | None = None
    played = 0
    while played < runs and (best is None or best[1] > 0):
        here.restore()
        played += 1
        reached = random_run(cluster, bounds, end, draw, bounds.at_most if best is None else best[1] - 1)
        best = best if reached is None else reached
    between = time.process_time()
    found = None if best is None else searched(start, attrs.evolve(bounds, at_most=best[1]))
    seconds = (between - begun, time.process_time() - between)
    return Compared(case, played, None if best is None else best[0], 0 if best is None else best[1], found, seconds)


def searched(start: Start, bounds: Bounds) -> int | None:
    """Return the number of faults with which a search first reaches the goal; None if it does not."""
    exploration = Exploration(start, bounds, "swarm")
    for _ in exploration.steps():
        if exploration.found:
            return len(exploration.found[0].finding.faults)
    return None


def in_words(compared: Compared) -> str:
    """Return a line about a case."""
    case = compared.case.words()
    took = f"{compared.seconds[0]:.1f} s + {compared.seconds[1]:.1f} s"
    if compared.random is None:
        return f"{case}: nothing in {compared.runs} random runs ({took})"
    times = ", ".join(f"{time / SECOND:.3f}s {act_sentence(act.word, act_arguments(act))}" for time, act in compared.random)
    found = "NOTHING" if compared.found is None else f"{compared.found} faults"
    return f"{case}: random {compared.least} faults ({times}); the search {found} ({took}){'' if compared.holds else '  <-- WRONG'}"


def main() -> int:
    """Compare some cases."""
    parser = argparse.ArgumentParser(description="Compares searches with random runs.")
    parser.add_argument("--cases", type=int, default=200, help="the number of cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--runs", type=int, default=500, help="the number of random runs of each case")
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    options = parser.parse_args()
    cases = [(Case(number), options.runs) for number in range(options.first, options.first + options.cases)]
    wrong = reached = 0
    with multiprocessing.Pool(options.jobs) as pool:
        for compared in pool.imap(_compare, cases):
            print(in_words(compared), flush=True)
            wrong += not compared.holds
            reached += compared.random is not None
    print(f"{len(cases)} cases; random runs reached the goal in {reached}, and in {wrong} of these the search did not with as few faults")
    return 1 if wrong else 0


def _compare(task: tuple[Case, int]) -> Compared:
    return compare(*task)


if __name__ == "__main__":
    sys.exit(main())
