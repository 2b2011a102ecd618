"""Swarm-drawn fault mixes under every release: what it promises holds, what it is known to break is found broken, and a healed cluster becomes whole."""

from __future__ import annotations

from typing import Final

import attrs
import pytest

from core import acts
from core.release import RELEASES, Release
from core.spec import ControlPlane
from scenarios.releases import release_named
from tests.core.properties.invariants import Broken
from tests.core.properties.search import watched
from tests.core.properties.swarm import harms, swarm

SEEDS: Final = range(3)
"""Seeds that every release is held to; `search` and `swarm` try as many as one likes."""

HARSH_SEEDS: Final = range(3)
"""Seeds of harsh mixes."""


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_promises_hold_and_a_healed_cluster_becomes_whole(release: Release) -> None:
    """At every step what this release promises (`Watch`); after the faults, within bounded time, all online, in sync and equal.

    Old releases with ZooKeeper, and every second seed also with the control plane of KRaft.
    """
    for seed in SEEDS:
        watched(swarm(seed), release)
        if release.zookeeper and seed % 2:
            watched(attrs.evolve(swarm(seed), control_plane=ControlPlane.KRAFT), release)


def test_seeds_differ_in_which_faults_exist_and_how_often() -> None:
    mixes = [frozenset(type(act).word for _, act in swarm(seed).steps) for seed in range(40)]
    assert len(set(mixes)) > 30
    assert all(
        any(word in mix for mix in mixes) and any(word not in mix for mix in mixes) for word in ("kill", "isolate", "hold", "link", "elect")
    )
    assert min(map(len, mixes)) <= 3 < 8 <= max(map(len, mixes))
    assert all(any(word in mix for mix in mixes) for word in ("clock", "link"))
    assert any(isinstance(act, acts.Link) and act.duplicate_ppm for seed in range(40) for _, act in swarm(seed).steps)
    assert swarm(3) == swarm(3)


@pytest.mark.parametrize("name", ["2.1", "2.4", "2.7", "3.3", "4.0", "4.1"])
def test_replicas_agree_in_the_end_also_after_harsh_faults(name: str) -> None:
    """Power losses and unclean elections lose records; they leave no replica that differs from its leader for good."""
    for seed in HARSH_SEEDS:
        watched(swarm(seed, harsh=True), RELEASES[name], lossless=False)


@pytest.mark.parametrize(
    ("broken", "repaired", "shape", "seeds"),
    [
        ("0.10.2", "0.11", None, (7, 60)),
        ("4.1 without request-time-leo", "4.1", None, (1, 40)),
        ("2.0", "2.1", "zombie-follower", (15, 16)),
        ("4.1 without maximal-isr", "4.1", "slow-expansion", (3, 11)),
        ("4.1 without expand-needs-epoch-start", "4.1", "early-join", (20, 71)),
    ],
)
def test_acknowledged_records_are_lost_without_the_rule(broken: str, repaired: str, shape: str | None, seeds: tuple[int, ...]) -> None:
    """A harm that is never seen is a model that is too kind: cutting to the high watermark, joining too early, counting what was only sent,
    serving who is of another epoch, committing without who is just being let in."""
    for seed in seeds:
        assert harms(seed, release_named(broken), shape=shape)["records-lost"], seed
        assert not harms(seed, release_named(repaired), shape=shape), seed


def test_replicas_differ_for_good_where_followers_cut_to_their_high_watermark() -> None:
    with pytest.raises(Broken, match="differs from its leader"):
        watched(swarm(3, harsh=True), RELEASES["0.10.2"], lossless=False, equal=True)
    watched(swarm(3, harsh=True), RELEASES["0.11"], lossless=False, equal=True)
