"""Swarm-drawn fault mixes under every release: what it promises holds, what it is known to break is found broken, and a healed cluster becomes whole."""

from __future__ import annotations

from typing import Final

import pytest

from core.release import RELEASES, Release
from scenarios.releases import release_named
from tests.core.properties.invariants import Broken
from tests.core.properties.search import watched
from tests.core.properties.swarm import FAULTS, harms, swarm

SEEDS: Final = range(6)
"""Seeds that every release is held to; `search` and `swarm` try as many as one likes."""

HARSH_SEEDS: Final = range(4)
"""Seeds of harsh mixes."""


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_promises_hold_and_a_healed_cluster_becomes_whole(release: Release) -> None:
    """At every step what this release promises (`Watch`); after the faults, within bounded time, all online, in sync and equal."""
    for seed in SEEDS:
        watched(swarm(seed), release)


def test_seeds_differ_in_which_faults_exist_and_how_often() -> None:
    mixes = [frozenset(type(act).word for _, act in swarm(seed).steps) for seed in range(40)]
    assert len(set(mixes)) > 30
    assert all(
        any(word in mix for mix in mixes) and any(word not in mix for mix in mixes) for word in ("kill", "isolate", "hold", "link", "elect")
    )
    assert min(map(len, mixes)) <= 3 < 8 <= max(map(len, mixes))
    assert swarm(3) == swarm(3)
    assert FAULTS


@pytest.mark.parametrize("name", ["1.1", "2.1", "2.7", "3.3", "4.0", "4.1"])
def test_replicas_agree_in_the_end_also_after_harsh_faults(name: str) -> None:
    """Power losses and unclean elections lose records; they leave no replica that differs from its leader for good."""
    for seed in HARSH_SEEDS:
        watched(swarm(seed, harsh=True), RELEASES[name], lossless=False)


@pytest.mark.parametrize(
    ("broken", "repaired", "seeds"),
    [
        ("0.10.2", "0.11", (23, 140, 151)),
        ("4.1 without expand-needs-epoch-start", "4.1", (71,)),
        ("4.1 without request-time-leo", "4.1", (31, 50, 54)),
    ],
)
def test_acknowledged_records_are_lost_without_the_rule(broken: str, repaired: str, seeds: tuple[int, ...]) -> None:
    """A harm that is never seen is a model that is too kind: cutting to the high watermark, joining too early, counting what was only sent."""
    for seed in seeds:
        assert harms(seed, release_named(broken))["records-lost"], seed
        assert not harms(seed, release_named(repaired)), seed


def test_replicas_differ_for_good_where_followers_cut_to_their_high_watermark() -> None:
    with pytest.raises(Broken, match="differs from its leader"):
        watched(swarm(1, harsh=True), RELEASES["0.10.2"], lossless=False)
    watched(swarm(1, harsh=True), RELEASES["0.11"], lossless=False)
