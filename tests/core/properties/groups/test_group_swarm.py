"""A sample of the swarm of groups. `make fuzz-groups` tries any number of seeds."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from tests.core.properties.groups.__main__ import findings, main
from tests.core.properties.groups.timeline import group_swarm
from tests.core.recorded_digests import RunDigest, assert_recorded

SEEDS: Final = (0, 2, 4, 5, 6, 7, 99)
"""Seeds with both protocols, with services and processes, and with unclean elections. In seed 99, a worker of a retry service dies before it learns
that a broker has appended the records that it sent on."""


@pytest.mark.parametrize("seed", SEEDS)
def test_accounts_and_audit_agree_with_a_list_of_all_records(seed: int) -> None:
    """Exactly as many records are re-read, skipped, duplicated, and lost as the accounts and the audit say, and everything comes to rest."""
    digest = RunDigest()
    found, _ = findings(group_swarm(seed), digest, digest.end)
    assert not found
    assert_recorded(f"swarm {seed} of groups", digest)


def test_seeds_differ_and_mean_the_same_for_ever() -> None:
    timelines = [group_swarm(seed) for seed in range(60)]
    words = [{act.word for act in timeline.opening} for timeline in timelines]
    for word in ("delay-service", "retry-service", "process"):
        assert {word in each for each in words} == {True, False}, word
    assert {timeline.members.protocol for timeline in timelines} == {"classic", "consumer"}
    assert {timeline.unclean for timeline in timelines} == {True, False}
    shared = [act for timeline in timelines for act in timeline.opening if getattr(act, "instances", 1) > 1]
    assert {act.protocol for act in shared} == {None, "consumer"}  # type: ignore[attr-defined]
    assert {("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",)} <= {act.assignors for act in shared}  # type: ignore[attr-defined]
    deeds = Counter(type(deed).__name__ for timeline in timelines for _, deed in timeline.steps)
    assert min(deeds[name] for name in ("KillCoordinator", "KillLeader", "KillConsumer", "KillService", "KillProcess", "Isolate")) > 0
    assert repr(group_swarm(3)) == repr(group_swarm(3))


def test_the_command_tries_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "1", "--first", "11", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.startswith("1 seeds, 0 with differences")
