"""Random timelines of failures: what Kafka promises holds at every step, a healed cluster becomes whole, and a run repeats itself exactly.

The suite tries few and always the same ones; `search` tries as many as one likes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings

from core.kafka.release import CURRENT, RELEASES, Release
from core.lab import acts
from core.lab.cluster import Cluster
from tests.core.properties.search import watched
from tests.core.properties.timelines import Timeline, events_of, play, timelines

ROOT: Final = Path(__file__).parents[3]


def bounded(examples: int) -> settings:
    """Use the same few examples each time."""
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )  # fmt: skip


@bounded(6)
@given(timelines())
def test_promises_hold_and_a_healed_cluster_becomes_whole(timeline: Timeline) -> None:
    watched(timeline, CURRENT)


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_every_release_keeps_its_promises(release: Release) -> None:
    """Before 2.7, releases promise less (see `Watch`). Elections, epochs, and watermarks follow the same rules in all releases."""

    @bounded(2)
    @given(timelines(steps=20))
    def holds(timeline: Timeline) -> None:
        watched(timeline, release)

    holds()


@bounded(8)
@given(timelines(steps=20))
def test_a_timeline_repeats_itself(timeline: Timeline) -> None:
    assert events_of(timeline) == events_of(timeline)


@bounded(8)
@given(timelines(steps=20))
def test_steps_and_run_until_come_out_the_same(timeline: Timeline) -> None:
    """A run in single steps, with a look at the cluster between them, is the same as a run that goes directly from time to time."""

    def stepwise(cluster: Cluster, time: int) -> None:
        while (due := cluster.next_time()) is not None and due <= time:
            assert cluster.step()
            assert cluster.now == due
        cluster.view()
        cluster.run_until(time)

    events: list[tuple] = []
    play(timeline, CURRENT, events.append, stepwise)
    assert events == events_of(timeline)


def test_a_timeline_is_the_same_bytes_under_another_hash_seed() -> None:
    timeline = Timeline(
        4, (2, 1), 7, 15_000,
        (
            (3_000_000, acts.Link(("b1", "b2"), latency=20_000, jitter=100_000, loss_ppm=300_000)),
            (0, acts.Kill(1)),
            (12_000_000, acts.Start(1)),
            (1_000_000, acts.Isolate("b2")),
            (2_000_000, acts.Produce("t0", 4_000, producer="burst0")),
            (30_000_000, acts.Heal()),
            (5_000_000, acts.Shutdown(3)),
            (9_000_000, acts.Elect()),
            (20_000_000, acts.Start(3)),
        ),
    )  # fmt: skip
    outputs = [
        subprocess.run(
            [sys.executable, "-m", "tests.core.properties.replay"], input=pickle.dumps(timeline), capture_output=True, check=True,
            cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "4242")
    ]  # fmt: skip
    assert outputs[0] == outputs[1]
    assert outputs[0] == "".join(f"{event}\n" for event in events_of(timeline)).encode()
    assert outputs[0].count(b"\n") > 5_000
