"""A line for each run of the library, and of random timelines with a keyframe on the way: its name, how many events, and their digest.

Run for itself, once for each engine: `python tests/core/event_digests.py`.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

import core
from core import acts
from core.release import Release
from core.sim.cluster import Cluster
from core.spec import BrokerSpec, ClusterSpec, TopicSpec
from core.units import SECOND
from scenarios import catalogue
from scenarios.language.script import releases_of
from scenarios.releases import release_named
from scenarios.runner import run_scenario

RELEASES = ("0.8.2", "0.10.2", "1.1", "2.4", "3.6", "4.1")


def tell(name: str, events: list[Any]) -> None:
    """One run."""
    print(name, len(events), hashlib.sha256("\n".join(map(repr, events)).encode()).hexdigest())


def library() -> None:
    """Every scenario under each release that it names."""
    for name in catalogue.names():
        scenario = catalogue.load(name)
        for release in releases_of(scenario, ()):
            events: list[Any] = []
            run_scenario(scenario, release_named(release.name), sink=events.append)
            tell(f"{name} {release.name}", events)


def timelines() -> None:
    """Brokers that are killed and started under load; half of the way is gone by a restored copy."""
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


if __name__ == "__main__":
    print("compiled" if core.is_compiled() else "pure")
    timelines()
    library()
