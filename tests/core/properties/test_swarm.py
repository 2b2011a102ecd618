"""Random mixes of faults under every release: the release keeps its promises, its known flaws are found, and a healed cluster becomes
whole.
"""

from __future__ import annotations

from typing import Final

import attrs
import pytest

from core.kafka.release import RELEASES, Release
from core.lab import acts
from core.lab.spec import ControlPlane
from scenarios.releases import release_named
from tests.core.properties.invariants import Broken
from tests.core.properties.search import watched
from tests.core.properties.swarm import FENCED_JOINED, HARMS, harms, swarm

LOST, DIVERGED = HARMS

SEEDS: Final = 12
"""The number of seeds that the releases share. `search` and `swarm` try as many as one likes."""


def seed_of(release: Release, *, moves: bool) -> int:
    """Return a seed: an even one of the one kind of swarm and an odd one of the other. Neighboring releases, which differ least, have different
    seeds.
    """
    return (list(RELEASES).index(release.name) + moves) % SEEDS


HARSH_SEEDS: Final = range(3)
"""The seeds with harsh faults."""


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_promises_hold_and_a_healed_cluster_becomes_whole(release: Release) -> None:
    """The promises of the release hold at every step (`Watch`). After the faults, everything is online, in sync, and equal within a limited
    time.

    Old releases run with ZooKeeper and, for every second seed, also with the KRaft control plane.
    """
    seed = seed_of(release, moves=False)
    watched(swarm(seed), release, recorded_as=f"swarm {seed} ({release.name})")
    if release.zookeeper and seed % 2:
        watched(attrs.evolve(swarm(seed), control_plane=ControlPlane.KRAFT), release, recorded_as=f"swarm {seed} ({release.name}, KRaft)")


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_promises_hold_while_partitions_move_and_every_move_ends(release: Release) -> None:
    """Moves begin while others run, and are canceled: leaders and ISR members are always replicas, and no move is left after healing."""
    seed = seed_of(release, moves=True)
    watched(swarm(seed, moves=True), release, recorded_as=f"swarm {seed} with moves ({release.name})")
    if release.zookeeper and seed % 2:
        kraft = attrs.evolve(swarm(seed, moves=True), control_plane=ControlPlane.KRAFT)
        watched(kraft, release, recorded_as=f"swarm {seed} with moves ({release.name}, KRaft)")


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


@pytest.mark.parametrize("name", ["2.1", "2.4", "2.7", "3.3", "4.0", "4.1", "4.3"])
def test_replicas_agree_in_the_end_also_after_harsh_faults(name: str) -> None:
    """Power losses and unclean elections lose records, but leave no replica that permanently differs from its leader."""
    for seed in HARSH_SEEDS:
        watched(swarm(seed, harsh=True), RELEASES[name], lossless=False, recorded_as=f"swarm {seed} with harsh faults ({name})")


HARMED: Final[dict[str, tuple[tuple[str, ...], str, str, str | None, tuple[int, ...]]]] = {
    "S1": (("0.8.2", "0.9", "0.10.2"), "0.11", LOST, None, (7,)),
    "S3": (("0.11", "1.1"), "2.0", DIVERGED, "turns", (1,)),
    "S4": (("2.0",), "2.7", LOST, "zombie-follower", (15,)),
    "S4, replicas that differ": (("2.0", "2.1 without fetch-epoch-fencing"), "2.7", DIVERGED, "late-orders", (41,)),
    "S5": (("1.1", "2.0 without truncate-on-epoch-change"), "2.0", DIVERGED, "missed-leadership", (11,)),
    "S6": (("4.1 without expand-needs-epoch-start",), "4.1", LOST, "early-join", (71,)),
    "S7": (
        ("3.3 without fetch-epoch-fencing without hw-same-epoch", "4.1 without fetch-epoch-fencing without hw-same-epoch"),
        "4.1 without fetch-epoch-fencing",
        LOST,
        "older-order",
        (3,),
    ),
    "S8": (("3.3", "4.1 without broker-epoch-in-isr"), "3.6", LOST, "rejoined-empty", (3,)),
    "S9": (("3.3 without isr-eligibility", "4.1 without isr-eligibility"), "3.3", FENCED_JOINED, "silent-heartbeats", (2,)),
    "S10": (("4.1 without maximal-isr",), "4.1", LOST, "slow-expansion", (3,)),
    "S11": (
        ("2.1", "2.4", "2.7", "2.8", "3.3", "3.6", "3.7", "3.9", "4.0", "4.1 without elr"),
        "4.1",
        LOST,
        "last-standing",
        (4,),
    ),
    "S12": (("4.1 without ignores-diverging-fetch",), "4.1", LOST, "diverging-tail", (9,)),
    "S13": (("4.1 without elect-from-isr",), "4.1", LOST, None, (1,)),
    "B5": (("4.1 without request-time-leo",), "4.1", LOST, None, (40,)),
}
"""By story: the releases, or missing guards, that it goes wrong under, the first release in which it does not, the harm, the shape of the
faults, and seeds that find it. Found with a rule alone missing: S6; S7, where fencing is missing as well; S9, since older profiles here have
no fencing; S10, since before 2.7 no proposal was on its way; S12, since 2.8 here is the repaired 2.8.1; S13 and B5, since no Kafka ever did
that."""


@pytest.mark.parametrize(
    ("story", "broken"), [pytest.param(story, name, id=f"{story} {name}") for story, known in HARMED.items() for name in known[0]]
)
def test_a_harm_that_a_release_is_known_for_is_found(story: str, broken: str) -> None:
    """If the known harm never occurs, the model is too lenient."""
    _, _, harm, shape, seeds = HARMED[story]
    for seed in seeds:
        assert harms(seed, release_named(broken), shape=shape)[harm], seed


@pytest.mark.parametrize("story", HARMED)
def test_the_repair_ends_it(story: str) -> None:
    """The same seeds do not do this harm under the release that has the rule."""
    _, repaired, harm, shape, seeds = HARMED[story]
    for seed in seeds:
        assert not harms(seed, release_named(repaired), shape=shape)[harm], seed


def test_every_release_before_elr_is_found_harmful() -> None:
    """The known flaws of each profile are found under that very profile, with no guard switched off."""
    found = {name for broken, *_ in HARMED.values() for name in broken if name in RELEASES}
    assert found == {name for name, release in RELEASES.items() if not release.elr}


def test_replicas_differ_for_good_where_followers_cut_to_their_high_watermark() -> None:
    with pytest.raises(Broken, match="differs from its leader"):
        watched(swarm(3, harsh=True), RELEASES["0.10.2"], lossless=False, equal=True)
    watched(swarm(3, harsh=True), RELEASES["0.11"], lossless=False, equal=True)
