"""Prints a line for each run of the library, and for random timelines with a keyframe on the way: the name, the number of events, their
digest, the digest of the state at the end, and the digest of the events without their causes.

Run this program once for each engine: `python -m tests.core.event_digests`. With a number, the program also runs that many timelines of the
swarm, under the releases in turn; with `everywhere` after the number, it runs every scenario under every release. The output must be the
same before and after a change that does not change behavior.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from typing import Any

import core
from core.kafka.errors import KafkaError
from core.kafka.release import RELEASES as RELEASES_OF_KAFKA
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.language.script import Scenario, releases_of
from scenarios.releases import release_named
from scenarios.running import runner
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import play
from tests.core.recorded_digests import RunDigest

RELEASES = ("0.8.2", "0.10.2", "1.1", "2.4", "3.6", "4.1")


class Run(RunDigest):
    """The digests of a run. It is a sink of events."""

    def __init__(self) -> None:
        super().__init__()
        self._without_causes = hashlib.blake2b(digest_size=8)

    def __call__(self, event: tuple[Any, ...]) -> None:
        super().__call__(event)
        self._without_causes.update(repr((event[1], *event[3:])).encode())

    def tell(self, name: str, play: Callable[..., Cluster], *arguments: Any) -> None:
        """Play the run with `arguments`, and print its line. If the run is refused, print the reason."""
        try:
            self.end(play(*arguments))
        except (ValueError, KafkaError) as refused:
            self.state = f"refused: {refused}"
        print(name, self, self._without_causes.hexdigest(), flush=True)


def library() -> None:
    """Run every scenario under each release that it names."""
    for name in catalogue.names():
        scenario = catalogue.load(name)
        for release in releases_of(scenario, ()):
            run = Run()
            run.tell(f"{name} {release.name}", scenario_played, scenario, release_named(release.name), run)


def scenario_played(scenario: Scenario, release: Release, run: Run) -> Cluster:
    """Run a scenario to its end, and return its cluster."""
    played = runner.Run(scenario, release, sink=run)
    played.run()
    return played.cluster


def timelines() -> None:
    """Run timelines in which brokers are killed and started under load. A restored copy continues each timeline from its middle."""
    for number, release in enumerate(RELEASES):
        run = Run()
        run.tell(f"timeline {release}", timeline, number, release, run)


def timeline(number: int, release: str, run: Run) -> Cluster:
    """Run one timeline, and return its cluster."""
    draw = random.Random(number)
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in range(1, 5)), (TopicSpec("t", 6, 3),))
    cluster = Cluster(spec, Release.named(release), seed=number, sink=run)
    cluster.do(acts.Load("t", 50, producer="p"))
    for leg in range(8):
        broker = draw.randrange(1, 5)
        cluster.do(acts.Kill(broker))
        cluster.run_until(cluster.now + draw.randrange(20 * SECOND))
        cluster.do(acts.Start(broker))
        cluster.run_until(cluster.now + draw.randrange(10 * SECOND))
        if leg == 4:
            cluster = Cluster.restore(cluster.snapshot(), run)
    return cluster


def swarms(count: int) -> None:
    """Run the given number of timelines of the swarm, under the releases in turn. Every second timeline has harsh faults, and every third
    has reassignments.
    """
    releases = list(RELEASES_OF_KAFKA.values())
    for seed in range(count):
        release = releases[seed % len(releases)]
        drawn = swarm(seed, harsh=seed % 2 == 1, moves=seed % 3 == 0)
        run = Run()
        run.tell(f"swarm {seed} {release.name}", play, drawn, release, run, Cluster.run_until)


def library_everywhere() -> None:
    """Run every scenario under every release, even under releases that it does not name. If a scenario is refused, print the reason."""
    for name in catalogue.names():
        scenario = catalogue.load(name)
        for release in releases_of(scenario, list(RELEASES_OF_KAFKA.values())):
            run = Run()
            run.tell(f"{name} {release.name}", scenario_played, scenario, release, run)


def main(arguments: list[str]) -> None:
    """Print the lines that the arguments ask for."""
    if "--help" in arguments:
        print(__doc__)
        return
    print("compiled" if core.is_compiled() else "pure")
    timelines()
    if arguments:
        swarms(int(arguments[0]))
    if arguments[1:] == ["everywhere"]:
        library_everywhere()
    else:
        library()


if __name__ == "__main__":
    main(sys.argv[1:])
