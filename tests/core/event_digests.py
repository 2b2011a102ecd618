"""Prints a line for each run of the library, and for random timelines with a keyframe on the way: the name, the number of events, and their
digest.

Run this program once for each engine: `python tests/core/event_digests.py`. With a number, the program also runs that many timelines of the
swarm, under the releases in turn, and every scenario under every release. The output must be the same before and after a change that does
not change behavior.
"""

from __future__ import annotations

import random
import sys
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
from scenarios.language.script import releases_of
from scenarios.releases import release_named
from scenarios.running.runner import run_scenario
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import play
from tests.core.recorded_digests import digest_of

RELEASES = ("0.8.2", "0.10.2", "1.1", "2.4", "3.6", "4.1")


def tell(name: str, events: list[Any]) -> None:
    """Print the digest of one run."""
    print(name, digest_of(events))


def library() -> None:
    """Run every scenario under each release that it names."""
    for name in catalogue.names():
        scenario = catalogue.load(name)
        for release in releases_of(scenario, ()):
            events: list[Any] = []
            run_scenario(scenario, release_named(release.name), sink=events.append)
            tell(f"{name} {release.name}", events)


def timelines() -> None:
    """Run timelines in which brokers are killed and started under load. A restored copy continues each timeline from its middle."""
    for number, release in enumerate(RELEASES):
        draw = random.Random(number)
        events: list[Any] = []
        spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in range(1, 5)), (TopicSpec("t", 6, 3),))
        cluster = Cluster(spec, Release.named(release), seed=number, sink=events.append)
        cluster.do(acts.Load("t", 50, producer="p"))
        for leg in range(8):
            broker = draw.randrange(1, 5)
            cluster.do(acts.Kill(broker))
            cluster.run_until(cluster.now + draw.randrange(20 * SECOND))
            cluster.do(acts.Start(broker))
            cluster.run_until(cluster.now + draw.randrange(10 * SECOND))
            if leg == 4:
                cluster = Cluster.restore(cluster.snapshot(), events.append)
        tell(f"timeline {release}", events)


def swarms(count: int) -> None:
    """Run the given number of timelines of the swarm, under the releases in turn. Every second timeline has harsh faults, and every third
    has reassignments.
    """
    releases = list(RELEASES_OF_KAFKA.values())
    for seed in range(count):
        release = releases[seed % len(releases)]
        events: list[Any] = []
        play(swarm(seed, harsh=seed % 2 == 1, moves=seed % 3 == 0), release, events.append, Cluster.run_until)
        tell(f"swarm {seed} {release.name}", events)


def library_everywhere() -> None:
    """Run every scenario under every release, even under releases that it does not name. If a scenario is refused, print the reason."""
    for name in catalogue.names():
        scenario = catalogue.load(name)
        for release in releases_of(scenario, list(RELEASES_OF_KAFKA.values())):
            events: list[Any] = []
            try:
                run_scenario(scenario, release, sink=events.append)
            except (ValueError, KafkaError) as refused:
                events.append(str(refused))
            tell(f"{name} {release.name}", events)


if __name__ == "__main__":
    print("compiled" if core.is_compiled() else "pure")
    timelines()
    if len(sys.argv) > 1:
        swarms(int(sys.argv[1]))
        library_everywhere()
    else:
        library()
