"""A sample of the transactional swarm. `make fuzz-transactions` tries as many seeds as one likes."""

from __future__ import annotations

from typing import Final

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import CURRENT, RELEASES
from tests.core.properties.transactions import verdict
from tests.core.properties.transactions.__main__ import finding, harms_or_error, main
from tests.core.properties.transactions.applications import BANK, Transaction
from tests.core.properties.transactions.timeline import transactional_swarm
from tests.core.recorded_digests import RunDigest, assert_recorded

SEEDS: Final = range(12)
OLD_SEEDS: Final = range(2)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_newest_release_is_exactly_once_and_atomic(seed: int) -> None:
    """Nothing is lost, twice, half visible, reordered, hanging, or stuck; a harm is excused only by a known issue that explains it."""
    digest = RunDigest()
    wrong = finding((seed, CURRENT.name), digest, digest.end)
    assert wrong is None or wrong.issue, wrong
    assert_recorded(f"swarm {seed} of transactions ({CURRENT.name})", digest)


@pytest.mark.parametrize("name", [name for name, release in RELEASES.items() if release.transactions])
def test_each_release_plays_to_the_end(name: str) -> None:
    """What an old release does may be a harm; it is never an error of the model."""
    for seed in OLD_SEEDS:
        digest = RunDigest()
        found, _ = harms_or_error(transactional_swarm(seed), name, sink=digest, ended=digest.end)
        assert set(found) <= set(verdict.HARMS), (seed, found)
        assert_recorded(f"swarm {seed} of transactions ({name})", digest)


def test_the_unreplicated_state_of_a_coordinator_explains_a_harm() -> None:
    """Seed 40: a coordinator loads its log above the high watermark, and the next leader in the ISR lacks these records."""
    wrong = finding((40, CURRENT.name))
    assert wrong is not None
    assert wrong.issue == "t14-unreplicated-coordinator-state"


def test_seeds_differ_and_mean_the_same_for_ever() -> None:
    mixes = [frozenset(type(deed).__name__ for _, deed in transactional_swarm(seed).steps) for seed in range(40)]
    assert len(set(mixes)) > 30
    for kind in ("Kill", "Pause", "Hold", "HoldClient", "ReleaseHeld", "TakeOver", "Lose", "Lead", "KillProcess"):
        assert {kind in mix for mix in mixes} == {True, False}, kind
    assert repr(transactional_swarm(3)) == repr(transactional_swarm(3))


def test_the_command_reports_the_steps_of_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "1", "--first", "0", "--jobs", "1", CURRENT.name]) == 0
    assert capsys.readouterr().out.startswith(f"{CURRENT.name}: 1 seeds, 0 with harm")


@pytest.mark.parametrize(
    ("outcome", "visible", "harm"),
    [
        ("committed", ["r0", "r1"], None),
        ("committed", ["r0"], verdict.LOST),
        ("committed", ["r0", "r1", "r1"], verdict.DUPLICATED),
        ("committed", ["r1", "r0"], verdict.REORDERED),
        ("aborted", [], None),
        ("aborted", ["r0"], verdict.UNDEAD),
        ("open", ["r1"], verdict.UNDEAD),
        ("unknown", [], None),
        ("unknown", ["r0", "r1"], None),
        ("unknown", ["r1"], verdict.HALF),
    ],
)
def test_the_verdict_on_a_transaction(outcome: str, visible: list[str], harm: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What readers see is compared with what the application knows."""
    monkeypatch.setattr(verdict, "committed_records", lambda _: [("bank0/1/1", key) for key in visible])
    transaction = Transaction("bank0/1/1", (1, 1), [(0, "r0"), (0, "r1")], outcome)
    found = verdict.atomicity([transaction], {TopicPartition(BANK, 0): ReplicaLog()})
    assert found == ({} if harm is None else {harm: 1})
