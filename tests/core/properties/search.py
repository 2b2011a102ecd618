"""Searches random timelines for a broken invariant, for any number of timelines: `python -m tests.core.properties.search 2000 4.1`."""

from __future__ import annotations

import sys
from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from core.kafka.release import RELEASES, Release
from core.lab.cluster import Cluster
from tests.core.properties.invariants import Watch
from tests.core.properties.timelines import Timeline, heal, play, timelines
from tests.core.recorded_digests import RunDigest, assert_recorded


def watched(
    timeline: Timeline, release: Release, *, healed: bool = True, lossless: bool = True, equal: bool = False, recorded_as: str = ""
) -> Cluster:
    """Play a timeline under watch, heal the cluster, and check that it becomes whole. Without `lossless`, records may be lost on the way.
    With `equal`, replicas must be equal in the end even if the release does not promise it. With `recorded_as`, the
    event log and the final state must have the digests that are recorded under this name.
    """
    watch = Watch(release)
    watch.lossless = watch.lossless and lossless
    watch.equal = watch.equal or equal
    digest = RunDigest()

    def sink(event: tuple) -> None:
        digest(event)
        watch.sink(event)

    cluster = play(timeline, release, sink if recorded_as else watch.sink, watch.run)
    watch.look()
    if healed:
        heal(cluster, watch.run)
        watch.whole(cluster)
    if recorded_as:
        digest.end(cluster)
        assert_recorded(recorded_as, digest)
    return cluster


def search(release: Release, examples: int, seed: int) -> None:
    """Try the given number of timelines, and raise the smallest one that breaks an invariant."""

    @settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink)
    )
    @given(timelines(steps=40))
    def holds(timeline: Timeline) -> None:
        watched(timeline, release)

    seeded(seed)(holds)()


if __name__ == "__main__":
    for name in sys.argv[2:] or list(RELEASES):
        search(RELEASES[name], int(sys.argv[1]), Random().randrange(2**32))
        print(f"{name}: {sys.argv[1]} timelines hold")
